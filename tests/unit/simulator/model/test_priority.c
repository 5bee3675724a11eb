/* SPDX-License-Identifier: Apache-2.0 */
/* Requests with priorities on a small memory without prefix cache, against a plain reference that
 * looks at everybody for each decision: the same batches, preemptions and ends. */
#include "tests/kit/kit.h"

#include "common/base/rng.h"
#include "simulator/model/engine.h"

enum { REQUESTS = 120, SEEDS = 40, BLOCK_TOKENS = 16, MOST_BLOCKS = 12, MOST_OUTPUT = 92 };

struct item {
    int64_t priority;
    uint32_t prompt_tokens;
    uint32_t output_tokens;
    uint32_t generated;
    uint32_t computed;
    uint32_t planned;
    uint32_t blocks;
    uint32_t admitted_nr; /* 0 = waits */
    uint32_t preempted;
    uint32_t seen_preempted;
    bool is_done;
    bool is_seen_done;
};

struct world {
    struct rng rng;
    struct sim_engine *engine;
    struct sim_engine_opts opts;
    struct item items[REQUESTS];
    uint32_t item_count;
    uint32_t running;
    uint32_t admitted_nr;
    uint32_t free_blocks;
    uint64_t preempted;
};

static bool is_running(const struct item *item)
{
    return item->admitted_nr != 0;
}

static uint32_t known(const struct item *item)
{
    return item->prompt_tokens + item->generated;
}

static bool is_decode(const struct item *item)
{
    return item->generated > 0 && known(item) - item->computed == 1;
}

static void ref_preempt(struct world *w, uint32_t *budget)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < w->item_count; i++) {
        bool is_worse = !is_running(&w->items[at]) || w->items[i].priority >= w->items[at].priority;
        at = is_running(&w->items[i]) && is_worse ? i : at;
    }
    struct item *worst = &w->items[at];
    *budget += worst->planned;
    w->free_blocks += worst->blocks;
    worst->planned = 0;
    worst->blocks = 0;
    worst->computed = 0;
    worst->admitted_nr = 0;
    worst->preempted++;
    w->running--;
    w->preempted++;
}

static void ref_plan_one(struct world *w, struct item *item, uint32_t *budget)
{
    uint32_t left = known(item) - item->computed;
    uint32_t tokens = left < *budget ? left : *budget;
    uint32_t want = (item->computed + tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
    while (want > item->blocks && want - item->blocks > w->free_blocks) {
        ref_preempt(w, budget);
        if (!is_running(item)) {
            return;
        }
    }
    w->free_blocks -= want - item->blocks;
    item->blocks = want;
    item->planned = tokens;
    *budget -= tokens;
}

/* As admitted; each once, whoever goes meanwhile. */
static void ref_plan_running(struct world *w, bool decodes, uint32_t *budget)
{
    for (uint32_t nr = 1; nr <= w->admitted_nr && *budget > 0; nr++) {
        for (uint32_t i = 0; i < w->item_count; i++) {
            struct item *item = &w->items[i];
            if (item->admitted_nr == nr && item->planned == 0 && is_decode(item) == decodes) {
                ref_plan_one(w, item, budget);
                break;
            }
        }
    }
}

static bool ref_admit(struct world *w, uint32_t *budget)
{
    struct item *best = NULL;
    for (uint32_t i = 0; i < w->item_count; i++) {
        struct item *item = &w->items[i];
        if (!is_running(item) && !item->is_done &&
            (best == NULL || item->priority < best->priority)) {
            best = item;
        }
    }
    if (best == NULL || (known(best) + BLOCK_TOKENS - 1) / BLOCK_TOKENS > w->free_blocks) {
        return false;
    }
    best->admitted_nr = ++w->admitted_nr;
    w->running++;
    ref_plan_one(w, best, budget);
    return true;
}

static void ref_begin(struct world *w)
{
    uint32_t budget = w->opts.profile.budget_tokens;
    uint64_t before = w->preempted;
    ref_plan_running(w, true, &budget);
    ref_plan_running(w, false, &budget);
    while (w->preempted == before && budget > 0 && w->running < w->opts.profile.max_running &&
           ref_admit(w, &budget)) {
    }
}

static void ref_end(struct world *w)
{
    for (uint32_t i = 0; i < w->item_count; i++) {
        struct item *item = &w->items[i];
        item->computed += item->planned;
        item->generated += item->planned > 0 && item->computed == known(item);
        item->planned = 0;
        if (is_running(item) && item->generated == item->output_tokens) {
            w->free_blocks += item->blocks;
            item->blocks = 0;
            item->admitted_nr = 0;
            item->is_done = true;
            w->running--;
        }
    }
}

static void submit(struct world *w)
{
    struct item *item = &w->items[w->item_count++];
    item->priority = (int64_t)rng_below(&w->rng, 4) - 2;
    item->prompt_tokens = 1 + (uint32_t)rng_below(&w->rng, 100);
    item->output_tokens = 1 + (uint32_t)rng_below(&w->rng, MOST_OUTPUT);
    const struct sim_request_spec spec = {.owner = item,
                                          .prompt_tokens = item->prompt_tokens,
                                          .output_tokens = item->output_tokens,
                                          .priority = item->priority};
    struct sim_request_id id;
    assert_status(sim_engine_submit(w->engine, &spec, &id), ST_OK);
}

static bool step(struct world *w)
{
    uint64_t us = 0;
    size_t count = 0;
    if (sim_engine_begin(w->engine, &us) != ST_OK) {
        return false;
    }
    ref_begin(w);
    assert_true(sim_engine_check(w->engine));
    uint64_t planned = 0;
    for (uint32_t i = 0; i < w->item_count; i++) {
        planned += w->items[i].planned;
    }
    const struct sim_batch *batch = sim_engine_batch(w->engine);
    assert_int_equal(batch->prefill_tokens + batch->decode_requests, planned);
    assert_int_equal(sim_engine_running(w->engine), w->running);
    const struct sim_event *events = sim_engine_end(w->engine, &count);
    ref_end(w);
    for (size_t i = 0; i < count; i++) {
        struct item *item = events[i].owner;
        item->seen_preempted += events[i].kind == SIM_EVENT_PREEMPTED;
        item->is_seen_done = item->is_seen_done || events[i].kind == SIM_EVENT_FINISHED;
    }
    for (uint32_t i = 0; i < w->item_count; i++) {
        assert_int_equal(w->items[i].seen_preempted, w->items[i].preempted);
        assert_int_equal(w->items[i].is_seen_done, w->items[i].is_done);
    }
    return true;
}

static void priority__random_requests__go_as_in_a_plain_reference(void **state)
{
    (void)state;
    static struct world w;
    uint64_t preempted = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        memset(&w, 0, sizeof(w));
        rng_init(&w.rng, seed);
        sim_engine_opts_init(&w.opts, sim_profile_at(0));
        w.opts.has_prefix_cache = false;
        w.free_blocks = MOST_BLOCKS + (uint32_t)rng_below(&w.rng, 40);
        w.opts.profile.kv_tokens = w.free_blocks * BLOCK_TOKENS;
        w.opts.profile.max_running = 1 + (uint32_t)rng_below(&w.rng, 10);
        w.opts.profile.budget_tokens = w.opts.profile.max_running + (uint32_t)rng_below(&w.rng, 90);
        assert_status(sim_engine_new(&w.engine, mem_heap(), &w.opts), ST_OK);
        bool is_busy = true;
        while (is_busy || w.item_count < REQUESTS) {
            while (w.item_count < REQUESTS && rng_below(&w.rng, 8) == 0) {
                submit(&w);
            }
            is_busy = step(&w);
        }
        preempted += w.preempted;
        sim_engine_free(w.engine);
    }
    assert_true(preempted > SEEDS); /* else it was not tested */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority__random_requests__go_as_in_a_plain_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
