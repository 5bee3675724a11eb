/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/model/prefill.h"

/* An iteration takes 5 ms; a block is 16 kB and moves in 16 us after 100 us. */
enum { HASHES = 16, BLOCK_TOKENS = 16, ITERATION_US = 5000 };

struct fixture {
    uint64_t one[HASHES];
    uint64_t two[HASHES];
    struct sim_engine_opts engine;
    struct sim_prefill_opts opts;
    struct sim_prefill *pool;
};

static void setup(struct fixture *f, uint32_t engines)
{
    static const struct sim_profile machine = {
        .name = "test",
        .f_s = 5e-3,
        .kv_bytes_per_token = 1000,
        .kv_tokens = 32 * BLOCK_TOKENS,
        .max_running = 4,
        .budget_tokens = 512,
    };
    memset(f, 0, sizeof(*f));
    for (uint64_t i = 0; i < HASHES; i++) {
        f->one[i] = 100 + i;
        f->two[i] = 200 + i;
    }
    sim_engine_opts_init(&f->engine, &machine);
    f->opts.engines = engines;
    f->opts.min_tokens = 50;
    f->opts.link = (struct sim_link_opts){.bytes_per_s = UINT64_C(1000000000), .latency_us = 100};
    assert_status(sim_prefill_new(&f->pool, mem_heap(), &f->opts, &f->engine), ST_OK);
}

static enum status
submit(struct sim_prefill *pool, const uint64_t *hashes, uint32_t there_blocks, uint64_t now_us)
{
    const struct sim_request_spec spec = {.owner = (void *)(uintptr_t)hashes,
                                          .block_hashes = hashes,
                                          .block_hash_count = HASHES,
                                          .prompt_tokens = 5 * BLOCK_TOKENS,
                                          .output_tokens = 50};
    return sim_prefill_submit(pool, &spec, there_blocks, now_us);
}

/* When it has come. */
static uint64_t wait(struct fixture *f, const uint64_t *hashes)
{
    struct sim_prefill_done done = {0};
    while (done.owner == NULL) {
        uint64_t at_us = sim_prefill_next_at_us(f->pool);
        assert_true(at_us != UINT64_MAX);
        sim_prefill_advance(f->pool, at_us);
        assert_true(sim_prefill_check(f->pool));
        if (sim_prefill_pop(f->pool, at_us, &done)) {
            assert_ptr_equal(done.owner, hashes);
            assert_int_equal(done.blocks, 5);
            return at_us;
        }
    }
    return 0;
}

static void prefill__bad_options__are_refused(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 1);
    struct sim_prefill *pool = NULL;
    struct sim_prefill_opts bad = f.opts;
    bad.engines = 0;
    assert_status(sim_prefill_new(&pool, mem_heap(), &bad, &f.engine), ST_INVAL);
    bad = f.opts;
    bad.link.bytes_per_s = 0;
    assert_status(sim_prefill_new(&pool, mem_heap(), &bad, &f.engine), ST_INVAL);
    sim_prefill_free(f.pool);
}

static void prefill__few_tokens_missing__are_not_wanted(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 1);
    assert_false(sim_prefill_wants(f.pool, 49));
    assert_true(sim_prefill_wants(f.pool, 50));
    sim_prefill_free(f.pool);
}

static void prefill__one_engine__moves_one_after_the_other(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 1);
    assert_status(submit(f.pool, f.one, 0, 0), ST_OK);
    assert_status(submit(f.pool, f.two, 2, 0), ST_OK);
    sim_prefill_advance(f.pool, 0);
    assert_int_equal(sim_prefill_held(f.pool), 2);
    assert_int_equal(wait(&f, f.one), ITERATION_US + 180);
    assert_int_equal(wait(&f, f.two), ITERATION_US + 180 + 100 + 3 * 16);
    assert_int_equal(sim_prefill_held(f.pool), 0);
    assert_true(sim_prefill_next_at_us(f.pool) == UINT64_MAX);
    assert_int_equal(sim_prefill_counts(f.pool).moved_bytes, 8 * 16000);
    assert_int_equal(sim_prefill_counts(f.pool).computed_tokens, 160);
    sim_prefill_free(f.pool);
}

static void prefill__two_engines__each_moves_its_own(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 2);
    assert_status(submit(f.pool, f.one, 0, 0), ST_OK);
    assert_status(submit(f.pool, f.two, 0, 0), ST_OK);
    sim_prefill_advance(f.pool, 0);
    assert_int_equal(wait(&f, f.one), ITERATION_US + 180);
    struct sim_prefill_done done;
    assert_true(sim_prefill_pop(f.pool, ITERATION_US + 180, &done));
    assert_false(sim_prefill_pop(f.pool, UINT64_MAX - 1, &done));
    sim_prefill_free(f.pool);
}

/* Both rest, and the first would have 16 tokens to compute, the second 80. */
static void prefill__prefix_is_cached__counts_as_less_work(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 2);
    assert_status(submit(f.pool, f.one, 0, 0), ST_OK);
    sim_prefill_advance(f.pool, 0);
    (void)wait(&f, f.one);
    assert_status(submit(f.pool, f.one, 0, 20000), ST_OK);
    sim_prefill_advance(f.pool, 20000);
    (void)wait(&f, f.one);
    assert_int_equal(sim_prefill_counts(f.pool).cached_tokens, 64);
    sim_prefill_free(f.pool);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    struct fixture *f = ctx;
    struct sim_prefill *pool = NULL;
    if (sim_prefill_new(&pool, mem, &f->opts, &f->engine) != ST_OK) {
        return false;
    }
    bool is_done = submit(pool, f->one, 0, 0) == ST_OK;
    is_done = submit(pool, f->two, 0, 0) == ST_OK && is_done;
    sim_prefill_advance(pool, 0);
    assert_true(sim_prefill_check(pool));
    sim_prefill_free(pool); /* with prompts under way */
    return is_done;
}

static void prefill__any_allocation_fails__nothing_is_lost(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 2);
    assert_true(kit_torture(scenario, &f) > 10);
    sim_prefill_free(f.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefill__bad_options__are_refused),
        cmocka_unit_test(prefill__few_tokens_missing__are_not_wanted),
        cmocka_unit_test(prefill__one_engine__moves_one_after_the_other),
        cmocka_unit_test(prefill__two_engines__each_moves_its_own),
        cmocka_unit_test(prefill__prefix_is_cached__counts_as_less_work),
        cmocka_unit_test(prefill__any_allocation_fails__nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
