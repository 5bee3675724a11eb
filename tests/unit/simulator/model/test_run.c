/* SPDX-License-Identifier: Apache-2.0 */
/* Random loads played iteration by iteration and in runs: the same events at the same times, the
 * same state whenever somebody looks, under each eviction policy and on any compiler. */
#include "tests/kit/kit.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "simulator/model/engine.h"
#include "simulator/model/evict.h"

enum { OPS = 220, HASHES = 24, SEEDS = 16, BLOCK_TOKENS = 16 };

/* With gcc and clang, -O0 and -O2. */
#define KNOWN_DIGEST         UINT64_C(0x485e9ce068681f7c)
#define KNOWN_OPTIONS_DIGEST UINT64_C(0x356cd1cb2a675172)

enum mode { MODE_SINGLE, MODE_CUT, MODE_LIMIT, MODES };

struct op {
    uint64_t at_us;
    uint64_t hashes[HASHES];
    struct sim_request_id id; /* of a submit that was accepted */
    uint32_t prompt_tokens;
    uint32_t output_tokens;
    uint32_t given_tokens;
    uint32_t aborts; /* index of an op before; OPS = this one submits */
    int64_t priority;
    uint64_t chain;
};

struct world {
    struct rng rng;
    struct op ops[OPS];
    struct sim_engine_opts opts;
    struct sim_engine *engine;
    enum mode mode;
    uint64_t begun_at_us;
    uint64_t digest;
    uint64_t first_count;
    uint64_t begin_count;
    uint64_t preempted_count;
    uint64_t evicted_count;
    uint64_t store_tokens;               /* 0 = no store */
    struct sim_engine_counters counters; /* of the last play */
    struct sim_pin_counts pins;
};

static void make_op(struct world *w, uint32_t idx, uint64_t *at_us)
{
    struct op *op = &w->ops[idx];
    uint64_t parent = 5;
    /* Bursts, and pauses in which the engine falls idle. */
    *at_us += rng_below(&w->rng, 3) == 0 ? rng_below(&w->rng, 400000) : rng_below(&w->rng, 20000);
    op->at_us = *at_us;
    op->chain = 1 + rng_below(&w->rng, 12);
    for (uint32_t i = 0; i < HASHES; i++) {
        parent = hash_mix(parent, i == 3 || i > 8 ? op->chain + (i > 14 ? idx : 0) : 0) | 1;
        op->hashes[i] = parent;
    }
    op->prompt_tokens = 1 + (uint32_t)rng_below(&w->rng, HASHES * 8ULL);
    op->output_tokens = 1 + (uint32_t)rng_below(&w->rng, HASHES * 8ULL);
    op->given_tokens = (uint32_t)rng_below(&w->rng, op->prompt_tokens + 1ULL);
    op->aborts = idx > 0 && rng_below(&w->rng, 8) == 0 ? (uint32_t)rng_below(&w->rng, idx) : OPS;
}

/* Everything that is off by default. */
static void add_options(struct world *w)
{
    w->opts.has_pins = true;
    w->opts.tiers.host_tokens = BLOCK_TOKENS * rng_below(&w->rng, 80);
    w->opts.tiers.host_mode =
        rng_below(&w->rng, 2) == 0 ? SIM_TIER_WRITE_BACK : SIM_TIER_WRITE_THROUGH;
    w->opts.tiers.host_link = (struct sim_link_opts){
        .bytes_per_s = 1000000000 + rng_below(&w->rng, 9000000000),
        .latency_us = rng_below(&w->rng, 6000),
        .has_write_time = rng_below(&w->rng, 2) == 0,
    };
    w->opts.tiers.store_link = w->opts.tiers.host_link;
    w->store_tokens = rng_below(&w->rng, 2) * BLOCK_TOKENS * 200;
    w->opts.admission = (enum sim_admission)rng_below(&w->rng, 3);
    if (w->opts.admission == SIM_ADMIT_STATES) {
        w->opts.tiers.host_tokens = 0;
        w->store_tokens = 0;
    }
    for (uint32_t i = 0; i < OPS; i++) {
        w->ops[i].priority = (int64_t)rng_below(&w->rng, 3) - 1;
    }
}

static void
make_world(struct world *w, uint64_t seed, const struct sim_evict *evict, bool has_options)
{
    uint64_t at_us = 0;
    memset(w, 0, sizeof(*w));
    rng_init(&w->rng, seed);
    sim_engine_opts_init(&w->opts, sim_profile_at(0));
    w->opts.profile.max_running = 1 + (uint32_t)rng_below(&w->rng, 12);
    w->opts.profile.budget_tokens = w->opts.profile.max_running + (uint32_t)rng_below(&w->rng, 100);
    w->opts.profile.kv_tokens = BLOCK_TOKENS * (HASHES + (uint32_t)rng_below(&w->rng, 60));
    w->opts.watermark_blocks = (uint32_t)rng_below(&w->rng, 4);
    w->opts.has_prefix_cache = rng_below(&w->rng, 6) != 0;
    w->opts.keeps_all = rng_below(&w->rng, 5) == 0;
    w->opts.evict = evict;
    for (uint32_t i = 0; i < OPS; i++) {
        make_op(w, i, &at_us);
    }
    if (has_options) {
        add_options(w);
    }
}

static void note(struct world *w, uint64_t value)
{
    w->digest = hash_mix(w->digest, value);
}

static void note_state(struct world *w)
{
    struct sim_kv_counts kv = sim_engine_kv(w->engine);
    const struct sim_engine_counters *n = sim_engine_counters(w->engine);
    note(w, kv.used_blocks);
    note(w, kv.cached_blocks);
    note(w, kv.evicted_count);
    note(w, sim_engine_running(w->engine));
    note(w, sim_engine_waiting(w->engine));
    note(w, n->iteration_count);
    note(w, n->generated_tokens);
    note(w, n->computed_tokens);
    note(w, n->hit_tokens);
    note(w, n->recomputed_tokens);
    note(w, n->busy_us);
    note(w, sim_engine_batch(w->engine)->decode_tokens);
    if (w->opts.has_pins) {
        note(w, sim_engine_pins(w->engine).blocks);
        note(w, sim_engine_pins(w->engine).expired_count);
        note(w, sim_engine_pins(w->engine).broken_count);
        note(w, n->load_count);
        note(w, n->prefetch_lost_blocks);
        note(w, n->received_blocks);
        note(w, n->unadmitted_blocks);
        note(w, sim_engine_tiers(w->engine).host_hit_blocks);
        note(w, sim_engine_tiers(w->engine).host_written_blocks);
        note(w, sim_engine_tiers(w->engine).store_hit_blocks);
        note(w, sim_engine_tiers(w->engine).store_written_blocks);
    }
}

/* For one that comes later: its KV from a tier or from another engine. */
static void bring(struct world *w, uint32_t idx)
{
    const struct op *op = &w->ops[idx < OPS ? idx : 0];
    if (idx % 2 == 0) {
        note(w, sim_engine_prefetch(w->engine, op->hashes, HASHES, op->chain));
    } else if (idx % 8 == 1) {
        note(w, sim_engine_receive(w->engine, op->hashes, HASHES / 2, op->chain));
    }
}

static void do_op(struct world *w, struct op *op)
{
    sim_engine_set_now(w->engine, op->at_us);
    if (w->opts.has_pins) {
        bring(w, (uint32_t)(op - w->ops) + 2);
    }
    if (op->aborts < OPS) {
        note(w, sim_engine_abort(w->engine, w->ops[op->aborts].id));
    } else {
        struct sim_request_spec spec = {
            .owner = op,
            .chain = op->chain,
            .block_hashes = op->hashes,
            .block_hash_count = HASHES,
            .prompt_tokens = op->prompt_tokens,
            .output_tokens = op->output_tokens,
            .given_tokens = op->given_tokens,
            .priority = op->priority,
        };
        assert_status(sim_engine_submit(w->engine, &spec, &op->id), ST_OK);
    }
    note_state(w);
    assert_true(sim_engine_check(w->engine));
}

static void take_events(struct world *w, uint64_t now_us)
{
    size_t count = 0;
    const struct sim_event *events = sim_engine_end(w->engine, &count);
    for (size_t i = 0; i < count; i++) {
        const struct sim_event *ev = &events[i];
        const struct op *op = ev->owner;
        if (ev->kind == SIM_EVENT_TOKEN && ev->token_idx > 0) {
            assert_int_equal(w->mode, MODE_SINGLE);
            continue;
        }
        w->first_count += ev->kind == SIM_EVENT_TOKEN;
        note(w, hash_mix(now_us, ev->id.v * 4 + (uint64_t)ev->kind));
        note(w, ev->cached_tokens);
        if (ev->kind == SIM_EVENT_FINISHED) {
            const struct sim_chain_hint hint = {
                .reuse_ratio = (double)(ev->id.v % 7) / 6.0,
                .next_use_at_us = now_us + ev->id.v * 7919 % 100000,
            };
            sim_engine_hint(w->engine, op->chain, &hint);
            if (w->opts.has_pins && ev->id.v % 2 == 0) {
                assert_status(sim_engine_pin(w->engine, op->chain, now_us + ev->id.v % 5 * 40000),
                              ST_OK);
            }
        }
    }
    assert_true(sim_engine_check(w->engine));
}

/* UINT64_MAX when there is nothing to do. */
static uint64_t begin(struct world *w, uint64_t now_us, uint64_t op_at_us)
{
    uint64_t us = 0;
    enum status st = ST_AGAIN;
    sim_engine_set_now(w->engine, now_us);
    switch (w->mode) {
    case MODE_SINGLE:
        st = sim_engine_begin(w->engine, &us);
        break;
    case MODE_LIMIT:
        st = sim_engine_begin_run(w->engine, op_at_us - now_us, &us);
        break;
    case MODE_CUT:
    case MODES:
        st = sim_engine_begin_run(w->engine, UINT64_MAX, &us);
        break;
    }
    w->begun_at_us = now_us;
    w->begin_count++;
    return st == ST_OK ? now_us + us : UINT64_MAX;
}

/* At equal times the op comes first. */
static void play(struct world *w, enum mode mode)
{
    uint64_t end_at_us = UINT64_MAX;
    uint32_t next = 0;
    w->mode = mode;
    w->digest = 0;
    w->first_count = 0;
    w->begin_count = 0;
    if (w->store_tokens > 0) {
        assert_status(
            sim_store_new(&w->opts.tiers.store, mem_heap(), w->store_tokens, BLOCK_TOKENS), ST_OK);
    }
    assert_status(sim_engine_new(&w->engine, mem_heap(), &w->opts), ST_OK);
    while (next < OPS || end_at_us != UINT64_MAX) {
        uint64_t op_at_us = next < OPS ? w->ops[next].at_us : UINT64_MAX;
        uint64_t now_us = op_at_us;
        if (op_at_us <= end_at_us) {
            if (end_at_us != UINT64_MAX) {
                end_at_us =
                    w->begun_at_us + sim_engine_cut_run(w->engine, op_at_us - w->begun_at_us);
            }
            do_op(w, &w->ops[next++]);
            if (end_at_us != UINT64_MAX) {
                continue;
            }
        } else {
            now_us = end_at_us;
            take_events(w, now_us);
        }
        end_at_us = begin(w, now_us, next < OPS ? w->ops[next].at_us : UINT64_MAX);
    }
    note_state(w);
    sim_engine_set_now(w->engine, UINT64_MAX - 1);
    assert_int_equal(sim_engine_kv(w->engine).used_blocks, 0);
    w->preempted_count = sim_engine_counters(w->engine)->preempted_count;
    w->evicted_count = sim_engine_kv(w->engine).evicted_count;
    w->counters = *sim_engine_counters(w->engine);
    w->pins = sim_engine_pins(w->engine);
    sim_engine_free(w->engine);
    sim_store_free(w->opts.tiers.store);
    w->opts.tiers.store = NULL;
}

/* A digest over all seeds and policies. */
static uint64_t compare_modes(bool has_options)
{
    static struct world w;
    uint64_t digest = 0;
    for (size_t i = 0; sim_evict_at(i) != NULL; i++) {
        uint64_t single_begins = 0;
        uint64_t run_begins = 0;
        uint64_t preempted = 0;
        uint64_t evicted = 0;
        uint64_t rare[6] = {0};
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            print_message("%s, seed %llu\n", sim_evict_at(i)->name, (unsigned long long)seed);
            make_world(&w, seed, sim_evict_at(i), has_options);
            play(&w, MODE_SINGLE);
            uint64_t expected = w.digest;
            uint64_t firsts = w.first_count;
            single_begins += w.begin_count;
            preempted += w.preempted_count;
            evicted += w.evicted_count;
            const uint64_t seen[6] = {w.counters.load_count,
                                      w.counters.prefetch_blocks,
                                      w.counters.prefetch_lost_blocks,
                                      w.counters.received_blocks,
                                      w.pins.expired_count,
                                      w.pins.broken_count};
            for (int k = 0; k < 6; k++) {
                rare[k] += seen[k];
            }
            digest = hash_mix(digest, expected);
            for (enum mode mode = MODE_CUT; mode < MODES; mode++) {
                play(&w, mode);
                assert_true(w.digest == expected);
                assert_int_equal(w.first_count, firsts);
                run_begins += w.begin_count;
            }
        }
        assert_true(run_begins / 2 < single_begins / 3); /* else nothing was merged */
        assert_true(preempted > 0 && evicted > 0);
        for (int k = 0; k < 6; k++) {
            assert_true(!has_options || rare[k] > 0);
        }
    }
    print_message("digest 0x%llx\n", (unsigned long long)digest);
    return digest;
}

static void run__random_load_in_runs__is_as_iteration_by_iteration(void **state)
{
    (void)state;
    assert_true(compare_modes(false) == KNOWN_DIGEST);
}

static void run__with_every_option__is_as_iteration_by_iteration(void **state)
{
    (void)state;
    assert_true(compare_modes(true) == KNOWN_OPTIONS_DIGEST);
}

/* An engine whose decodes take 5000.5 us, rounded up, after the prefill of 16 tokens for 40. */
static struct sim_engine *new_decoding_engine(void)
{
    static const uint64_t hashes[4] = {1, 2, 3, 4};
    static const struct sim_profile machine = {
        .name = "test",
        .a_s = 1e-3,
        .b_s_per_token = 10e-6,
        .f_s = 5e-3,
        .g_s_per_request = 0.5e-6,
        .kv_tokens = 4 * BLOCK_TOKENS,
        .max_running = 4,
        .budget_tokens = 64,
    };
    struct sim_request_spec spec = {
        .block_hashes = hashes, .block_hash_count = 4, .prompt_tokens = 16, .output_tokens = 40};
    struct sim_engine_opts opts;
    struct sim_engine *engine = NULL;
    struct sim_request_id id;
    uint64_t us = 0;
    size_t count = 0;
    sim_engine_opts_init(&opts, &machine);
    assert_status(sim_engine_new(&engine, mem_heap(), &opts), ST_OK);
    assert_status(sim_engine_submit(engine, &spec, &id), ST_OK);
    assert_status(sim_engine_begin_run(engine, UINT64_MAX, &us), ST_OK);
    assert_int_equal(us, 5000);
    const struct sim_event *ev = sim_engine_end(engine, &count);
    assert_int_equal(count, 1);
    assert_int_equal(ev[0].kind, SIM_EVENT_TOKEN);
    return engine;
}

static void run__nothing_comes__ends_with_blocks_and_with_the_request(void **state)
{
    (void)state;
    struct sim_engine *engine = new_decoding_engine();
    uint64_t us = 0;
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        assert_status(sim_engine_begin_run(engine, UINT64_MAX, &us), ST_OK);
        assert_int_equal(us, 16 * 5001);
        (void)sim_engine_end(engine, &count);
        assert_int_equal(count, 0);
    }
    assert_status(sim_engine_begin_run(engine, UINT64_MAX, &us), ST_OK);
    assert_int_equal(us, 7 * 5001); /* 1 + 16 + 16 + 7 = 40 */
    const struct sim_event *ev = sim_engine_end(engine, &count);
    assert_int_equal(count, 1);
    assert_int_equal(ev[0].kind, SIM_EVENT_FINISHED);
    assert_int_equal(sim_engine_counters(engine)->iteration_count, 40);
    assert_int_equal(sim_engine_counters(engine)->busy_us, 5000 + 39 * 5001);
    assert_status(sim_engine_begin_run(engine, UINT64_MAX, &us), ST_AGAIN);
    sim_engine_free(engine);
}

static void run__cut__ends_with_the_iteration_under_way(void **state)
{
    (void)state;
    struct sim_engine *engine = new_decoding_engine();
    uint64_t us = 0;
    size_t count = 0;
    assert_status(sim_engine_begin_run(engine, UINT64_MAX, &us), ST_OK);
    assert_int_equal(sim_engine_cut_run(engine, 10003), 15003);
    assert_int_equal(sim_engine_cut_run(engine, 15003), 15003);
    (void)sim_engine_end(engine, &count);
    assert_int_equal(sim_engine_counters(engine)->iteration_count, 4);
    assert_status(sim_engine_begin_run(engine, UINT64_MAX, &us), ST_OK);
    assert_int_equal(us, 13 * 5001);
    assert_int_equal(sim_engine_cut_run(engine, 10002), 10002); /* at its very end */
    (void)sim_engine_end(engine, &count);
    assert_int_equal(sim_engine_counters(engine)->generated_tokens, 6);
    sim_engine_free(engine);
}

static void run__limit__ends_with_the_iteration_that_reaches_it(void **state)
{
    (void)state;
    struct sim_engine *engine = new_decoding_engine();
    uint64_t us = 0;
    size_t count = 0;
    const uint64_t limits_us[3] = {0, 10002, 10003};
    const uint64_t durations_us[3] = {5001, 10002, 15003};
    for (int i = 0; i < 3; i++) {
        assert_status(sim_engine_begin_run(engine, limits_us[i], &us), ST_OK);
        assert_int_equal(us, durations_us[i]);
        (void)sim_engine_end(engine, &count);
    }
    sim_engine_free(engine);
}

static void run__submit_without_a_cut__is_our_bug(void **state)
{
    (void)state;
    struct sim_engine *engine = new_decoding_engine();
    const struct sim_request_spec spec = {.prompt_tokens = 1, .output_tokens = 1};
    struct sim_request_id id;
    uint64_t us = 0;
    assert_status(sim_engine_begin_run(engine, UINT64_MAX, &us), ST_OK);
    expect_assert_failure(status_ignore(sim_engine_submit(engine, &spec, &id), "must not return"));
    sim_engine_free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__nothing_comes__ends_with_blocks_and_with_the_request),
        cmocka_unit_test(run__cut__ends_with_the_iteration_under_way),
        cmocka_unit_test(run__limit__ends_with_the_iteration_that_reaches_it),
        cmocka_unit_test(run__submit_without_a_cut__is_our_bug),
        cmocka_unit_test(run__random_load_in_runs__is_as_iteration_by_iteration),
        cmocka_unit_test(run__with_every_option__is_as_iteration_by_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
