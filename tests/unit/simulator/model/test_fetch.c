/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/model/engine.h"

/* A block is 16 kB and takes 16 us after 100 us. */
enum { HASHES = 16, BLOCKS = 8, BLOCK_TOKENS = 16, ITERATION_US = 5000 };

struct fixture {
    uint64_t one[HASHES];
    uint64_t two[HASHES];
    struct sim_engine *engine;
    uint32_t cached_tokens; /* of the last request that ended */
};

static void setup(struct fixture *f, uint64_t latency_us)
{
    static const struct sim_profile machine = {
        .name = "test",
        .f_s = 5e-3,
        .kv_bytes_per_token = 1000,
        .kv_tokens = BLOCKS * BLOCK_TOKENS,
        .max_running = 4,
        .budget_tokens = 512,
    };
    struct sim_engine_opts opts;
    memset(f, 0, sizeof(*f));
    for (uint64_t i = 0; i < HASHES; i++) {
        f->one[i] = 100 + i;
        f->two[i] = 200 + i;
    }
    sim_engine_opts_init(&opts, &machine);
    opts.has_pins = true;
    opts.tiers.host_tokens = 256;
    opts.tiers.host_link =
        (struct sim_link_opts){.bytes_per_s = UINT64_C(1000000000), .latency_us = latency_us};
    assert_status(sim_engine_new(&f->engine, mem_heap(), &opts), ST_OK);
}

static void submit(struct fixture *f, const uint64_t *hashes, uint32_t prompt, uint32_t output)
{
    const struct sim_request_spec spec = {
        .chain = hashes[0],
        .block_hashes = hashes,
        .block_hash_count = HASHES,
        .prompt_tokens = prompt,
        .output_tokens = output,
    };
    struct sim_request_id id = {0};
    assert_status(sim_engine_submit(f->engine, &spec, &id), ST_OK);
}

static uint64_t begin(struct fixture *f)
{
    uint64_t us = 0;
    assert_status(sim_engine_begin(f->engine, &us), ST_OK);
    assert_true(sim_engine_check(f->engine));
    return us;
}

static void end(struct fixture *f)
{
    size_t count = 0;
    const struct sim_event *events = sim_engine_end(f->engine, &count);
    for (size_t i = 0; i < count; i++) {
        assert_int_not_equal(events[i].kind, SIM_EVENT_PREEMPTED);
        if (events[i].kind == SIM_EVENT_FINISHED) {
            f->cached_tokens = events[i].cached_tokens;
        }
    }
    assert_true(sim_engine_check(f->engine));
}

static uint32_t run(struct fixture *f, const uint64_t *hashes, uint32_t prompt)
{
    uint64_t us = 0;
    submit(f, hashes, prompt, 1);
    while (sim_engine_begin(f->engine, &us) == ST_OK) {
        end(f);
    }
    return f->cached_tokens;
}

/* The host has five blocks of one; two is in the GPU. */
static void fill(struct fixture *f, uint64_t latency_us)
{
    setup(f, latency_us);
    (void)run(f, f->one, 5 * 16);
    (void)run(f, f->two, 8 * 16);
    assert_int_equal(sim_engine_host(f->engine).blocks, 5);
}

static void prefetch__over_before_the_request_comes__is_a_hit_without_a_wait(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 100);
    assert_int_equal(sim_engine_prefetch(f.engine, f.one, HASHES, f.one[0]), 5);
    assert_true(sim_engine_check(f.engine));
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 5);
    sim_engine_set_now(f.engine, 2 * ITERATION_US + 180);
    submit(&f, f.one, 5 * 16 + 1, 1);
    assert_int_equal(begin(&f), ITERATION_US);
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 1);
    end(&f);
    assert_int_equal(f.cached_tokens, 5 * 16);
    assert_int_equal(sim_engine_counters(f.engine)->load_count, 0);
    sim_engine_free(f.engine);
}

static void prefetch__request_comes_meanwhile__waits_for_the_rest_of_it(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 100);
    assert_int_equal(sim_engine_prefetch(f.engine, f.one, 3, f.one[0]), 3); /* until 148 us */
    sim_engine_set_now(f.engine, 2 * ITERATION_US + 100);
    submit(&f, f.one, 5 * 16 + 1, 1);
    assert_int_equal(begin(&f), 48 + 100 + 2 * 16); /* and two more behind it on the link */
    end(&f);
    (void)begin(&f);
    end(&f);
    assert_int_equal(f.cached_tokens, 5 * 16);
    assert_int_equal(sim_engine_tiers(f.engine).host_hit_blocks, 5);
    assert_int_equal(sim_engine_counters(f.engine)->prefetch_lost_blocks, 0);
    sim_engine_free(f.engine);
}

static void prefetch__blocks_are_in_use__takes_only_what_is_not(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 100);
    submit(&f, f.two, 5 * 16 + 1, 9);
    (void)begin(&f);
    end(&f);
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 6);
    assert_int_equal(sim_engine_prefetch(f.engine, f.one, HASHES, f.one[0]), 2);
    assert_true(sim_engine_check(f.engine));
    (void)begin(&f);
    end(&f);
    sim_engine_free(f.engine);
}

static void prefetch__running_request_grows__is_given_up(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 100000);
    submit(&f, f.two, 6 * 16, 9);
    (void)begin(&f);
    end(&f);
    assert_int_equal(sim_engine_prefetch(f.engine, f.one, HASHES, f.one[0]), 2);
    (void)begin(&f);
    assert_int_equal(sim_engine_counters(f.engine)->prefetch_lost_blocks, 2);
    end(&f);
    sim_engine_free(f.engine);
}

/* Five of eight blocks are on their way, and the only request needs four. */
static void prefetch__only_request_that_waits_needs_the_room__is_given_up(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 100);
    assert_int_equal(sim_engine_prefetch(f.engine, f.one, HASHES, f.one[0]), 5);
    const uint64_t three[HASHES] = {300, 301, 302, 303};
    submit(&f, three, 4 * 16, 1);
    assert_int_equal(begin(&f), ITERATION_US);
    end(&f);
    assert_int_equal(sim_engine_counters(f.engine)->prefetch_lost_blocks, 5);
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 0);
    sim_engine_free(f.engine);
}

static void prefetch__no_tier_has_it__does_nothing(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 100);
    assert_int_equal(sim_engine_prefetch(f.engine, f.two, HASHES, f.two[0]), 0);
    const uint64_t three[HASHES] = {300, 301, 302, 303};
    assert_int_equal(sim_engine_prefetch(f.engine, three, 4, 300), 0);
    assert_true(sim_engine_check(f.engine));
    sim_engine_free(f.engine);
}

static void receive__blocks_of_another_engine__are_cached_as_far_as_there_is_room(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    assert_int_equal(sim_engine_receive(f.engine, f.one, 5, f.one[0]), 5);
    assert_true(sim_engine_check(f.engine));
    assert_int_equal(sim_engine_receive(f.engine, f.one, 7, f.one[0]), 2);
    assert_int_equal(run(&f, f.one, 7 * 16 + 1), 7 * 16);
    submit(&f, f.two, 5 * 16 + 1, 2);
    (void)begin(&f);
    end(&f);
    uint32_t cached = sim_engine_kv(f.engine).cached_blocks;
    assert_int_equal(sim_engine_receive(f.engine, f.one, 8, f.one[0]), 2 - cached);
    assert_int_equal(sim_engine_counters(f.engine)->received_blocks, 7 + 2 - cached);
    assert_true(sim_engine_check(f.engine));
    sim_engine_free(f.engine);
}

static void receive__chain_is_pinned__stays(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    assert_status(sim_engine_pin(f.engine, f.one[0], UINT64_MAX), ST_OK);
    assert_int_equal(sim_engine_receive(f.engine, f.one, 4, f.one[0]), 4);
    assert_int_equal(sim_engine_pins(f.engine).blocks, 4);
    assert_true(sim_engine_check(f.engine));
    sim_engine_free(f.engine);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    static const struct sim_profile machine = {
        .f_s = 5e-3, .kv_tokens = 8 * 16, .max_running = 4, .budget_tokens = 512};
    static const uint64_t hashes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const uint64_t others[4] = {9, 10, 11, 12};
    struct sim_engine_opts opts;
    struct sim_engine *engine = NULL;
    bool is_done = true;
    (void)ctx;
    sim_engine_opts_init(&opts, &machine);
    opts.tiers.host_tokens = 1024;
    opts.tiers.host_mode = SIM_TIER_WRITE_THROUGH;
    opts.admission = SIM_ADMIT_SECOND;
    if (sim_engine_new(&engine, mem, &opts) != ST_OK) {
        return false;
    }
    is_done = sim_engine_receive(engine, hashes, 4, 1) == 4 && is_done;
    is_done = sim_engine_receive(engine, hashes + 4, 4, 2) == 4 && is_done;
    is_done = sim_engine_receive(engine, others, 4, 3) == 4 && is_done;
    is_done = sim_engine_prefetch(engine, hashes, 4, 1) == 4 && is_done;
    assert_true(sim_engine_check(engine));
    is_done = sim_engine_host(engine).refused_count == 0 && is_done;
    sim_engine_free(engine);
    return is_done;
}

static void fetch__any_allocation_fails__nothing_is_lost(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefetch__over_before_the_request_comes__is_a_hit_without_a_wait),
        cmocka_unit_test(prefetch__request_comes_meanwhile__waits_for_the_rest_of_it),
        cmocka_unit_test(prefetch__blocks_are_in_use__takes_only_what_is_not),
        cmocka_unit_test(prefetch__running_request_grows__is_given_up),
        cmocka_unit_test(prefetch__only_request_that_waits_needs_the_room__is_given_up),
        cmocka_unit_test(prefetch__no_tier_has_it__does_nothing),
        cmocka_unit_test(receive__blocks_of_another_engine__are_cached_as_far_as_there_is_room),
        cmocka_unit_test(receive__chain_is_pinned__stays),
        cmocka_unit_test(fetch__any_allocation_fails__nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
