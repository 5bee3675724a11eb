/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/model/engine.h"
#include "simulator/model/evict.h"

enum { HASHES = 12, BLOCKS = 12, BLOCK_TOKENS = 16 };

/* Chains 1 and 2 share their first two blocks; 3 and 4 share nothing. */
struct fixture {
    uint64_t hashes[5][HASHES];
    struct sim_engine *engine;
    uint32_t cached_tokens; /* of the last request that ended */
    uint32_t preempted;
};

static void setup(struct fixture *f, const char *evict)
{
    static const struct sim_profile machine = {
        .name = "test",
        .f_s = 5e-3,
        .kv_tokens = BLOCKS * BLOCK_TOKENS,
        .max_running = 4,
        .budget_tokens = 512,
    };
    struct sim_engine_opts opts;
    memset(f, 0, sizeof(*f));
    for (uint64_t chain = 1; chain < 5; chain++) {
        for (uint64_t i = 0; i < HASHES; i++) {
            f->hashes[chain][i] = (chain < 3 && i < 2 ? 1 : chain) * 100 + i;
        }
    }
    sim_engine_opts_init(&opts, &machine);
    opts.evict = sim_evict_find(str_of(evict));
    opts.has_pins = true;
    assert_status(sim_engine_new(&f->engine, mem_heap(), &opts), ST_OK);
}

static struct sim_request_id
submit(struct fixture *f, uint64_t chain, uint32_t prompt_tokens, uint32_t output_tokens)
{
    const struct sim_request_spec spec = {
        .chain = chain,
        .block_hashes = f->hashes[chain],
        .block_hash_count = HASHES,
        .prompt_tokens = prompt_tokens,
        .output_tokens = output_tokens,
    };
    struct sim_request_id id = {0};
    assert_status(sim_engine_submit(f->engine, &spec, &id), ST_OK);
    return id;
}

static bool step(struct fixture *f)
{
    uint64_t us = 0;
    size_t count = 0;
    if (sim_engine_begin(f->engine, &us) != ST_OK) {
        return false;
    }
    assert_true(sim_engine_check(f->engine));
    const struct sim_event *events = sim_engine_end(f->engine, &count);
    assert_true(sim_engine_check(f->engine));
    for (size_t i = 0; i < count; i++) {
        f->preempted += events[i].kind == SIM_EVENT_PREEMPTED;
        if (events[i].kind == SIM_EVENT_FINISHED) {
            f->cached_tokens = events[i].cached_tokens;
        }
    }
    return true;
}

/* A request of the chain that computes so many full blocks; the prompt tokens that were cached. */
static uint32_t run(struct fixture *f, uint64_t chain, uint32_t blocks)
{
    (void)submit(f, chain, blocks * BLOCK_TOKENS, 1);
    while (step(f)) {
    }
    return f->cached_tokens / BLOCK_TOKENS;
}

static void pin(struct fixture *f, uint64_t chain, uint64_t until_us)
{
    assert_status(sim_engine_pin(f->engine, chain, until_us), ST_OK);
    assert_true(sim_engine_check(f->engine));
}

static void pin__room_is_needed__other_chains_give_it(void **state)
{
    (void)state;
    for (size_t i = 0; sim_evict_at(i) != NULL; i++) {
        struct fixture f;
        setup(&f, sim_evict_at(i)->name);
        assert_int_equal(run(&f, 3, 4), 0);
        pin(&f, 3, UINT64_MAX);
        assert_int_equal(sim_engine_pins(f.engine).blocks, 4);
        assert_int_equal(run(&f, 1, 8), 0);
        assert_int_equal(run(&f, 4, 8), 0); /* needs all that is not pinned */
        assert_int_equal(run(&f, 1, 8), 0);
        assert_int_equal(run(&f, 3, 4), 3); /* the last token is always computed */
        assert_int_equal(sim_engine_pins(f.engine).chains, 0);
        assert_int_equal(sim_engine_pins(f.engine).used_count, 1);
        sim_engine_free(f.engine);
    }
}

static void pin__set_before_the_request_ends__holds_what_it_leaves(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "lru");
    pin(&f, 3, UINT64_MAX);
    (void)submit(&f, 3, 64, 1);
    pin(&f, 4, UINT64_MAX); /* admission forgets only the pin of the chain that runs */
    uint64_t us = 0;
    size_t count = 0;
    assert_status(sim_engine_begin(f.engine, &us), ST_OK);
    assert_int_equal(sim_engine_pins(f.engine).chains, 1);
    pin(&f, 3, UINT64_MAX);
    assert_int_equal(sim_engine_pins(f.engine).blocks, 0);
    (void)sim_engine_end(f.engine, &count);
    assert_int_equal(sim_engine_pins(f.engine).blocks, 4);
    sim_engine_free(f.engine);
}

static void pin__shared_prefix_of_another_chain__is_held_too(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "lru");
    (void)run(&f, 1, 4);
    pin(&f, 1, UINT64_MAX);
    (void)run(&f, 2, 3); /* the shared blocks are in use by both, then by the pin */
    assert_int_equal(f.cached_tokens, 32);
    (void)run(&f, 3, 8);
    assert_int_equal(run(&f, 2, 3), 2);
    assert_int_equal(run(&f, 1, 4), 3);
    sim_engine_free(f.engine);
}

static void pin__time_is_over__blocks_go_as_if_released_then(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "lru");
    (void)run(&f, 3, 4); /* ends at 5 ms */
    pin(&f, 3, 12000);
    (void)run(&f, 4, 4); /* at 10 ms */
    sim_engine_set_now(f.engine, 11999);
    assert_int_equal(sim_engine_pins(f.engine).expired_count, 0);
    sim_engine_set_now(f.engine, 12000);
    assert_int_equal(sim_engine_pins(f.engine).expired_count, 1);
    (void)run(&f, 1, 8); /* takes those of chain 4, which were released before the pin went */
    assert_int_equal(run(&f, 4, 4), 0);
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 0);
    sim_engine_free(f.engine);
}

static void pin__past_or_zero__is_no_pin(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "lru");
    (void)run(&f, 3, 4);
    pin(&f, 3, 5000);
    assert_int_equal(sim_engine_pins(f.engine).chains, 0);
    pin(&f, 3, 5001);
    assert_int_equal(sim_engine_pins(f.engine).chains, 1);
    pin(&f, 3, 0);
    assert_int_equal(sim_engine_pins(f.engine).chains, 0);
    assert_int_equal(sim_engine_kv(f.engine).cached_blocks, 4);
    sim_engine_free(f.engine);
}

static void pin__nothing_runs_and_the_first_does_not_fit__the_earliest_is_broken(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "lru");
    (void)run(&f, 3, 4);
    pin(&f, 3, 2000000);
    (void)run(&f, 4, 4);
    pin(&f, 4, 1000000);
    assert_int_equal(run(&f, 1, 7), 0);
    assert_int_equal(sim_engine_pins(f.engine).broken_count, 1);
    assert_int_equal(run(&f, 3, 4), 3);
    sim_engine_free(f.engine);
}

/* 4 pinned, 8 left, and a request that grows to 10 blocks. */
static void pin__only_request_grows__is_broken_before_it_is_preempted(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "lru");
    (void)run(&f, 3, 4);
    pin(&f, 3, UINT64_MAX);
    (void)submit(&f, 1, 100, 60);
    while (step(&f)) {
    }
    assert_int_equal(f.preempted, 0);
    assert_int_equal(sim_engine_pins(f.engine).broken_count, 1);
    sim_engine_free(f.engine);
}

static void pin__other_requests_run__one_of_them_gives_way(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "lru");
    (void)run(&f, 3, 4);
    pin(&f, 3, UINT64_MAX);
    (void)submit(&f, 1, 60, 30);
    (void)submit(&f, 4, 60, 30);
    while (step(&f)) {
    }
    assert_int_equal(f.preempted, 1);
    assert_int_equal(sim_engine_pins(f.engine).broken_count, 0);
    sim_engine_free(f.engine);
}

static void pin__hint_before_or_while_pinned__holds_afterwards(void **state)
{
    (void)state;
    for (int is_before = 0; is_before < 2; is_before++) {
        struct fixture f;
        setup(&f, "belady");
        const struct sim_chain_hint soon = {.reuse_ratio = 1.0, .next_use_at_us = 1};
        (void)run(&f, 3, 4);
        if (is_before) {
            sim_engine_hint(f.engine, 3, &soon);
        }
        pin(&f, 3, UINT64_MAX);
        if (!is_before) {
            sim_engine_hint(f.engine, 3, &soon);
        }
        (void)run(&f, 4, 4); /* its next use: never */
        pin(&f, 3, 0);
        (void)run(&f, 1, 8);
        assert_int_equal(run(&f, 3, 4), 3);
        sim_engine_free(f.engine);
    }
}

static void pin__cache_is_reset__is_forgotten(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, "lru");
    (void)run(&f, 3, 4);
    pin(&f, 3, UINT64_MAX);
    assert_true(sim_engine_reset_cache(f.engine));
    assert_int_equal(sim_engine_pins(f.engine).chains, 0);
    assert_int_equal(run(&f, 3, 4), 0);
    (void)submit(&f, 3, 64, 2);
    uint64_t us = 0;
    size_t count = 0;
    assert_status(sim_engine_begin(f.engine, &us), ST_OK);
    (void)sim_engine_end(f.engine, &count);
    pin(&f, 3, UINT64_MAX);
    assert_false(sim_engine_reset_cache(f.engine));
    assert_int_equal(sim_engine_pins(f.engine).chains, 1);
    sim_engine_free(f.engine);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    const struct sim_profile machine = {
        .f_s = 5e-3, .kv_tokens = 192, .max_running = 4, .budget_tokens = 512};
    static const uint64_t hashes[4] = {1, 2, 3, 4};
    struct sim_engine_opts opts;
    struct sim_engine *engine = NULL;
    struct sim_request_id id;
    uint64_t us = 0;
    size_t count = 0;
    bool is_done = true;
    (void)ctx;
    sim_engine_opts_init(&opts, &machine);
    opts.has_pins = true;
    if (sim_engine_new(&engine, mem, &opts) != ST_OK) {
        return false;
    }
    for (uint64_t i = 0; i < 3; i++) {
        const struct sim_request_spec spec = {.chain = 1,
                                              .block_hashes = hashes,
                                              .block_hash_count = 4,
                                              .prompt_tokens = 64,
                                              .output_tokens = 1};
        is_done = sim_engine_submit(engine, &spec, &id) == ST_OK && is_done;
        while (sim_engine_begin(engine, &us) == ST_OK) {
            (void)sim_engine_end(engine, &count);
        }
        is_done = sim_engine_pin(engine, 1, UINT64_MAX) == ST_OK && is_done;
        is_done =
            is_done && sim_engine_pins(engine).blocks >= 4; /* 5 with an old copy of the last */
        assert_true(sim_engine_check(engine));
    }
    sim_engine_free(engine);
    return is_done;
}

static void pin__any_allocation_fails__nothing_is_lost(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pin__room_is_needed__other_chains_give_it),
        cmocka_unit_test(pin__set_before_the_request_ends__holds_what_it_leaves),
        cmocka_unit_test(pin__shared_prefix_of_another_chain__is_held_too),
        cmocka_unit_test(pin__time_is_over__blocks_go_as_if_released_then),
        cmocka_unit_test(pin__past_or_zero__is_no_pin),
        cmocka_unit_test(pin__nothing_runs_and_the_first_does_not_fit__the_earliest_is_broken),
        cmocka_unit_test(pin__only_request_grows__is_broken_before_it_is_preempted),
        cmocka_unit_test(pin__other_requests_run__one_of_them_gives_way),
        cmocka_unit_test(pin__hint_before_or_while_pinned__holds_afterwards),
        cmocka_unit_test(pin__cache_is_reset__is_forgotten),
        cmocka_unit_test(pin__any_allocation_fails__nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
