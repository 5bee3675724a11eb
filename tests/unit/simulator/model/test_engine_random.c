/* SPDX-License-Identifier: Apache-2.0 */
/* Random loads: invariants after each step, every accepted request ends exactly once, nothing is
 * lost. */
#include "tests/kit/kit.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "simulator/model/engine.h"

enum { REQUESTS = 160, HASHES = 24, SEEDS = 24, STEPS_MAX = 200000 };

enum fate { FATE_NONE, FATE_LIVE, FATE_FINISHED, FATE_ABORTED };

struct client {
    uint64_t hashes[HASHES];
    struct sim_request_id id;
    uint32_t output_tokens;
    uint32_t prompt_tokens;
    uint32_t token_count; /* seen */
    enum fate fate;
};

struct world {
    struct rng rng;
    struct sim_engine *engine;
    struct client clients[REQUESTS];
    uint32_t next;
    uint64_t now_us;
    uint64_t digest; /* of all events */
    uint64_t generated;
};

static void make_world(struct world *w, uint64_t seed, struct sim_engine_opts *opts)
{
    memset(w, 0, sizeof(*w));
    rng_init(&w->rng, seed);
    sim_engine_opts_init(opts, sim_profile_at(0));
    opts->profile.max_running = 1 + (uint32_t)rng_below(&w->rng, 12);
    opts->profile.budget_tokens = opts->profile.max_running + (uint32_t)rng_below(&w->rng, 100);
    opts->profile.kv_tokens = 16 * (HASHES + (uint32_t)rng_below(&w->rng, 40));
    opts->queue_max = 1 + (uint32_t)rng_below(&w->rng, 20);
    opts->watermark_blocks = (uint32_t)rng_below(&w->rng, 4);
    opts->has_prefix_cache = rng_below(&w->rng, 4) != 0;
}

/* Few chains with many common prefixes. */
static void make_client(struct world *w, struct client *c)
{
    uint64_t parent = 5;
    for (int i = 0; i < HASHES; i++) {
        parent = hash_mix(parent, i % 4 == 3 ? rng_below(&w->rng, 2) : 0) | 1;
        c->hashes[i] = parent;
    }
    c->prompt_tokens = 1 + (uint32_t)rng_below(&w->rng, HASHES * 10ULL);
    c->output_tokens = 1 + (uint32_t)rng_below(&w->rng, HASHES * 6ULL);
}

static void submit_one(struct world *w)
{
    struct client *c = &w->clients[w->next];
    make_client(w, c);
    struct sim_request_spec spec = {
        .owner = c,
        .block_hashes = c->hashes,
        .block_hash_count = HASHES,
        .prompt_tokens = c->prompt_tokens,
        .output_tokens = c->output_tokens,
    };
    enum status st = sim_engine_submit(w->engine, &spec, &c->id);
    if (st == ST_OK) {
        c->fate = FATE_LIVE;
        w->next++;
    } else {
        assert_status(st, ST_FULL);
    }
}

static void abort_one(struct world *w)
{
    struct client *c = &w->clients[rng_below(&w->rng, REQUESTS)];
    bool is_live = c->fate == FATE_LIVE;
    if (c->fate != FATE_NONE) {
        assert_int_equal(sim_engine_abort(w->engine, c->id), is_live);
        c->fate = is_live ? FATE_ABORTED : c->fate;
    }
}

static void take_event(struct world *w, const struct sim_event *ev)
{
    struct client *c = ev->owner;
    assert_int_equal(c->id.v, ev->id.v);
    assert_int_equal(c->fate, FATE_LIVE);
    w->digest = hash_mix(w->digest, hash_mix(w->now_us, ev->id.v * 4 + (uint64_t)ev->kind));
    switch (ev->kind) {
    case SIM_EVENT_PREEMPTED:
        break;
    case SIM_EVENT_TOKEN:
        assert_int_equal(ev->token_idx, c->token_count);
        assert_true(ev->cached_tokens < c->prompt_tokens);
        assert_int_equal(ev->cached_tokens % 16, 0);
        c->token_count++;
        w->generated++;
        break;
    case SIM_EVENT_FINISHED:
        assert_int_equal(c->token_count, c->output_tokens);
        c->fate = FATE_FINISHED;
        break;
    }
}

static bool step(struct world *w, const struct sim_engine_opts *opts)
{
    uint64_t us = 0;
    size_t count = 0;
    if (sim_engine_begin(w->engine, &us) != ST_OK) {
        return false;
    }
    assert_true(us >= 1);
    assert_true(sim_engine_check(w->engine));
    const struct sim_batch *batch = sim_engine_batch(w->engine);
    assert_true(batch->decode_requests + batch->prefill_tokens <= opts->profile.budget_tokens);
    assert_true(sim_engine_running(w->engine) > 0); /* never idle while somebody waits */
    if (rng_below(&w->rng, 20) == 0) {
        abort_one(w);
    }
    w->now_us += us;
    const struct sim_event *events = sim_engine_end(w->engine, &count);
    assert_true(sim_engine_check(w->engine));
    for (size_t i = 0; i < count; i++) {
        take_event(w, &events[i]);
    }
    return true;
}

static uint64_t run_world(uint64_t seed, uint64_t *ret_preempted)
{
    static struct world w;
    struct kit_mem km;
    struct sim_engine_opts opts;
    kit_mem_init(&km);
    make_world(&w, seed, &opts);
    assert_status(sim_engine_new(&w.engine, &km.mem, &opts), ST_OK);
    bool is_busy = true;
    for (int i = 0; i < STEPS_MAX && (is_busy || w.next < REQUESTS); i++) {
        while (w.next < REQUESTS && rng_below(&w.rng, 4) == 0) {
            submit_one(&w);
        }
        if (rng_below(&w.rng, 50) == 0) {
            abort_one(&w);
        }
        is_busy = step(&w, &opts);
    }
    assert_false(is_busy);
    const struct sim_engine_counters *n = sim_engine_counters(w.engine);
    uint64_t finished = 0;
    for (int i = 0; i < REQUESTS; i++) {
        assert_true(w.clients[i].fate == FATE_FINISHED || w.clients[i].fate == FATE_ABORTED);
        finished += w.clients[i].fate == FATE_FINISHED;
    }
    assert_int_equal(n->finished_count, finished);
    assert_int_equal(n->aborted_count, REQUESTS - finished);
    assert_int_equal(n->generated_tokens, w.generated);
    assert_int_equal(n->busy_us, w.now_us);
    assert_int_equal(sim_engine_kv(w.engine).used_blocks, 0);
    assert_true(n->hit_tokens <= n->query_tokens);
    *ret_preempted += n->preempted_count;
    sim_engine_free(w.engine);
    kit_mem_expect_empty(&km);
    return w.digest;
}

static void engine__random_load__keeps_its_invariants_and_repeats_exactly(void **state)
{
    (void)state;
    uint64_t preempted = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        uint64_t first = run_world(seed, &preempted);
        assert_true(first == run_world(seed, &preempted));
    }
    assert_true(preempted > 0); /* else preemption was not tested */
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct sim_engine_opts opts;
    struct sim_engine *engine = NULL;
    uint64_t us = 0;
    size_t count = 0;
    uint64_t hashes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    bool is_done = true;
    sim_engine_opts_init(&opts, sim_profile_at(0));
    opts.profile.kv_tokens = 16 * 16;
    if (sim_engine_new(&engine, mem, &opts) != ST_OK) {
        return false;
    }
    for (int i = 0; i < 5; i++) {
        struct sim_request_spec spec = {.block_hashes = hashes,
                                        .block_hash_count = 8,
                                        .prompt_tokens = 90,
                                        .output_tokens = 40};
        struct sim_request_id id = {0};
        uint32_t before = sim_engine_waiting(engine);
        if (sim_engine_submit(engine, &spec, &id) != ST_OK) {
            is_done = false;
            assert_int_equal(sim_engine_waiting(engine), before);
        }
        assert_true(sim_engine_check(engine));
    }
    while (sim_engine_begin(engine, &us) == ST_OK) {
        (void)sim_engine_end(engine, &count);
        assert_true(sim_engine_check(engine));
    }
    is_done = is_done && sim_engine_kv(engine).unstored_count == 0;
    sim_engine_free(engine);
    return is_done;
}

static void engine__any_allocation_fails__accepted_requests_still_end(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine__random_load__keeps_its_invariants_and_repeats_exactly),
        cmocka_unit_test(engine__any_allocation_fails__accepted_requests_still_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
