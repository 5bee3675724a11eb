/* SPDX-License-Identifier: Apache-2.0 */
/* Random sessions on an engine with memory for all of them, against a plain reference that keeps
 * every hash ever computed in one list: same prefix hits, same batches. */
#include "tests/kit/kit.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "simulator/model/engine.h"

enum { REQUESTS = 80, HASHES = 20, BLOCK_TOKENS = 16, SEEDS = 12 };

struct item {
    uint64_t hashes[HASHES];
    uint32_t prompt_tokens;
    uint32_t output_tokens;
    uint32_t generated;
    uint32_t computed;
    uint32_t planned;
    uint32_t cached;
    bool is_running;
    bool is_done;
};

struct world {
    struct rng rng;
    struct sim_engine *engine;
    struct sim_engine_opts opts;
    struct item items[REQUESTS];
    uint32_t item_count; /* submitted */
    uint64_t stored[REQUESTS * HASHES];
    uint32_t stored_count;
    uint32_t running;
    uint64_t hit_tokens;
    uint64_t blind_tokens; /* that would be hits if an iteration saw its own blocks */
};

static bool is_stored(const struct world *w, uint64_t hash)
{
    for (uint32_t i = 0; i < w->stored_count; i++) {
        if (w->stored[i] == hash) {
            return true;
        }
    }
    return false;
}

static bool is_decode(const struct item *item)
{
    return item->generated > 0 && item->prompt_tokens + item->generated - item->computed == 1;
}

static void ref_plan_one(struct item *item, uint32_t *budget)
{
    uint32_t left = item->prompt_tokens + item->generated - item->computed;
    item->planned = left < *budget ? left : *budget;
    *budget -= item->planned;
}

static void ref_admit(struct world *w, struct item *item)
{
    uint32_t most = (item->prompt_tokens - 1) / BLOCK_TOKENS;
    uint32_t hit = 0;
    while (hit < most && is_stored(w, item->hashes[hit])) {
        hit++;
    }
    item->cached = hit * BLOCK_TOKENS;
    item->computed = item->cached;
    item->is_running = true;
    w->running++;
    w->hit_tokens += item->cached;
    for (uint32_t i = 0; i < w->item_count; i++) {
        const struct item *other = &w->items[i];
        bool will_be = other != item && other->is_running && hit < most &&
                       other->computed + other->planned >= (hit + 1) * BLOCK_TOKENS &&
                       other->hashes[hit] == item->hashes[hit];
        w->blind_tokens += will_be ? BLOCK_TOKENS : 0;
    }
}

/* In order of arrival; gives the number of decodes. */
static uint32_t ref_plan(struct world *w)
{
    uint32_t budget = w->opts.profile.budget_tokens;
    uint32_t decodes = 0;
    for (uint32_t i = 0; i < w->item_count; i++) {
        struct item *item = &w->items[i];
        if (item->is_running && is_decode(item)) {
            ref_plan_one(item, &budget);
            decodes++;
        }
    }
    for (uint32_t i = 0; i < w->item_count && budget > 0; i++) {
        if (w->items[i].is_running && !is_decode(&w->items[i])) {
            ref_plan_one(&w->items[i], &budget);
        }
    }
    for (uint32_t i = 0; i < w->item_count && budget > 0; i++) {
        struct item *item = &w->items[i];
        if (!item->is_running && !item->is_done && w->running < w->opts.profile.max_running) {
            ref_admit(w, item);
            ref_plan_one(item, &budget);
        }
    }
    return decodes;
}

static void ref_end(struct world *w)
{
    for (uint32_t i = 0; i < w->item_count; i++) {
        struct item *item = &w->items[i];
        item->computed += item->planned;
        for (uint32_t b = 0; b < item->computed / BLOCK_TOKENS && b < HASHES; b++) {
            if (item->planned > 0 && !is_stored(w, item->hashes[b])) {
                w->stored[w->stored_count++] = item->hashes[b];
            }
        }
        if (item->planned > 0 && item->computed == item->prompt_tokens + item->generated) {
            item->generated++;
        }
        item->planned = 0;
        if (item->is_running && item->generated == item->output_tokens) {
            item->is_running = false;
            item->is_done = true;
            w->running--;
        }
    }
}

/* A prompt that goes on from where an earlier one forked off, often as long as one before. */
static void submit(struct world *w)
{
    struct item *item = &w->items[w->item_count];
    const struct item *before = &w->items[w->item_count > 0 ? w->item_count - 1 : 0];
    uint64_t parent = 3;
    uint64_t fork = rng_below(&w->rng, 4);
    for (uint32_t i = 0; i < HASHES; i++) {
        parent = hash_mix(parent, i < 4 ? 0 : i < 10 ? fork : w->item_count) | 1;
        item->hashes[i] = parent;
    }
    item->prompt_tokens = 1 + (uint32_t)rng_below(&w->rng, 200);
    item->output_tokens = 1 + (uint32_t)rng_below(&w->rng, 100);
    if (w->item_count > 0 && rng_below(&w->rng, 4) == 0) {
        memcpy(item->hashes, before->hashes, sizeof(item->hashes));
        item->prompt_tokens = before->prompt_tokens;
    }
    const struct sim_request_spec spec = {
        .owner = item,
        .block_hashes = item->hashes,
        .block_hash_count = HASHES,
        .prompt_tokens = item->prompt_tokens,
        .output_tokens = item->output_tokens,
    };
    struct sim_request_id id;
    assert_status(sim_engine_submit(w->engine, &spec, &id), ST_OK);
    w->item_count++;
}

static bool step(struct world *w)
{
    uint64_t us = 0;
    size_t count = 0;
    if (sim_engine_begin(w->engine, &us) != ST_OK) {
        return false;
    }
    uint32_t decodes = ref_plan(w);
    uint64_t planned = 0;
    for (uint32_t i = 0; i < w->item_count; i++) {
        planned += w->items[i].planned;
    }
    const struct sim_batch *batch = sim_engine_batch(w->engine);
    assert_int_equal(batch->decode_requests, decodes);
    assert_int_equal(batch->prefill_tokens + decodes, planned);
    const struct sim_event *events = sim_engine_end(w->engine, &count);
    ref_end(w);
    for (size_t i = 0; i < count; i++) {
        const struct item *item = events[i].owner;
        assert_int_equal(events[i].cached_tokens, item->cached);
        assert_int_equal(item->is_done && events[i].kind == SIM_EVENT_FINISHED,
                         events[i].kind == SIM_EVENT_FINISHED);
    }
    assert_int_equal(sim_engine_counters(w->engine)->hit_tokens, w->hit_tokens);
    return true;
}

static void engine__random_sessions__hit_what_a_plain_reference_hits(void **state)
{
    (void)state;
    static struct world w;
    uint64_t blind_tokens = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        memset(&w, 0, sizeof(w));
        rng_init(&w.rng, seed);
        sim_engine_opts_init(&w.opts, sim_profile_at(0));
        w.opts.profile.kv_tokens = REQUESTS * (HASHES + 1) * BLOCK_TOKENS;
        w.opts.profile.max_running = 1 + (uint32_t)rng_below(&w.rng, 10);
        w.opts.profile.budget_tokens =
            w.opts.profile.max_running + (uint32_t)rng_below(&w.rng, 300);
        assert_status(sim_engine_new(&w.engine, mem_heap(), &w.opts), ST_OK);
        bool is_busy = true;
        while (is_busy || w.item_count < REQUESTS) {
            while (w.item_count < REQUESTS && rng_below(&w.rng, 8) == 0) {
                submit(&w);
            }
            is_busy = step(&w);
        }
        assert_true(w.hit_tokens > 0);
        assert_int_equal(sim_engine_counters(w.engine)->preempted_count, 0);
        blind_tokens += w.blind_tokens;
        sim_engine_free(w.engine);
    }
    assert_true(blind_tokens > 0); /* else equal prompts never met in one iteration */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine__random_sessions__hit_what_a_plain_reference_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
