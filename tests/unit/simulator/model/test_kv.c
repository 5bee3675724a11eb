/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/model/kv.h"

static struct sim_kv *new_kv(uint32_t blocks)
{
    const struct sim_kv_opts opts = {.evict = sim_evict_default(), .block_count = blocks};
    struct sim_kv *kv = NULL;
    assert_status(sim_kv_new(&kv, mem_heap(), &opts), ST_OK);
    return kv;
}

static void expect_counts(const struct sim_kv *kv, uint32_t used, uint32_t cached, uint32_t unused)
{
    struct sim_kv_counts n = sim_kv_counts(kv);
    assert_int_equal(n.used_blocks, used);
    assert_int_equal(n.cached_blocks, cached);
    assert_int_equal(n.free_blocks, unused);
    assert_int_equal(n.used_blocks + n.cached_blocks + n.free_blocks, n.total_blocks);
    assert_true(sim_kv_check(kv));
}

/* Allocates and stores a chain as one request would. */
static void fill(struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *blocks)
{
    assert_status(sim_kv_alloc(kv, n, blocks), ST_OK);
    for (uint32_t i = 0; i < n; i++) {
        sim_kv_store(kv, blocks[i], hashes[i], i == 0 ? SIM_BLOCK_NONE : blocks[i - 1]);
    }
}

static void kv__no_blocks_or_too_many__is_refused(void **state)
{
    (void)state;
    struct sim_kv *kv = NULL;
    struct sim_kv_opts opts = {.evict = sim_evict_default()};
    assert_status(sim_kv_new(&kv, mem_heap(), &opts), ST_INVAL);
    opts.block_count = SIM_KV_BLOCKS_MAX + 1U;
    assert_status(sim_kv_new(&kv, mem_heap(), &opts), ST_INVAL);
    assert_null(kv);
}

static void kv__blocks_released__stay_cached_and_are_hit(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(4);
    const uint64_t chain[3] = {11, 22, 33};
    uint32_t blocks[3];
    uint32_t again[3];
    uint32_t idle = 0;
    fill(kv, chain, 3, blocks);
    expect_counts(kv, 3, 0, 1);
    assert_int_equal(sim_kv_match(kv, chain, 3, &idle), 3);
    assert_int_equal(idle, 0);
    sim_kv_release(kv, blocks, 3, 0);
    expect_counts(kv, 0, 3, 1);
    assert_int_equal(sim_kv_match(kv, chain, 3, &idle), 3);
    assert_int_equal(idle, 3);
    sim_kv_take(kv, chain, 3, again);
    assert_memory_equal(again, blocks, sizeof(blocks));
    expect_counts(kv, 3, 0, 1);
    sim_kv_release(kv, again, 3, 0);
    sim_kv_free(kv);
}

static void kv__match__stops_at_the_first_absent_hash(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(4);
    const uint64_t chain[2] = {11, 33};
    const uint64_t probe[3] = {11, 22, 33};
    uint32_t blocks[2];
    fill(kv, chain, 2, blocks);
    assert_int_equal(sim_kv_match(kv, probe, 3, NULL), 1);
    sim_kv_release(kv, blocks, 2, 0);
    sim_kv_free(kv);
}

static void kv__more_than_unreferenced_asked_for__changes_nothing(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(3);
    uint32_t blocks[3];
    uint32_t more[2];
    assert_status(sim_kv_alloc(kv, 2, blocks), ST_OK);
    assert_status(sim_kv_alloc(kv, 2, more), ST_FULL);
    expect_counts(kv, 2, 0, 1);
    sim_kv_release(kv, blocks, 2, 0);
    sim_kv_free(kv);
}

static void kv__shared_blocks__are_freed_with_the_last_reference(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(2);
    const uint64_t chain[1] = {11};
    uint32_t first[1];
    uint32_t second[1];
    fill(kv, chain, 1, first);
    sim_kv_take(kv, chain, 1, second);
    sim_kv_release(kv, first, 1, 0);
    expect_counts(kv, 1, 0, 1);
    sim_kv_release(kv, second, 1, 0);
    expect_counts(kv, 0, 1, 1);
    sim_kv_free(kv);
}

static void kv__room_needed__takes_uncached_first_then_tails_of_the_oldest(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(5);
    const uint64_t old[2] = {11, 12};
    const uint64_t young[2] = {21, 22};
    uint32_t a[2];
    uint32_t b[2];
    uint32_t c[3];
    fill(kv, old, 2, a);
    fill(kv, young, 2, b);
    sim_kv_release(kv, a, 2, 0);
    sim_kv_release(kv, b, 2, 0);
    assert_status(sim_kv_alloc(kv, 2, c), ST_OK); /* the free one and the tail of old */
    assert_int_equal(sim_kv_match(kv, old, 2, NULL), 1);
    assert_int_equal(sim_kv_match(kv, young, 2, NULL), 2);
    assert_int_equal(sim_kv_counts(kv).evicted_count, 1);
    assert_status(sim_kv_alloc(kv, 1, c + 2), ST_OK);
    assert_int_equal(sim_kv_match(kv, old, 2, NULL), 0);
    assert_int_equal(sim_kv_match(kv, young, 2, NULL), 2);
    sim_kv_release(kv, c, 3, 0);
    expect_counts(kv, 0, 2, 3);
    sim_kv_free(kv);
}

static void kv__block_without_content_released_last__is_still_taken_first(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(3);
    const uint64_t chain[2] = {11, 12};
    uint32_t a[2];
    uint32_t b[1];
    uint32_t c[1];
    assert_status(sim_kv_alloc(kv, 1, b), ST_OK);
    fill(kv, chain, 2, a);
    sim_kv_release(kv, a, 2, 0);
    sim_kv_release(kv, b, 1, 0);
    assert_status(sim_kv_alloc(kv, 1, c), ST_OK);
    assert_int_equal(c[0], b[0]);
    assert_int_equal(sim_kv_match(kv, chain, 2, NULL), 2);
    sim_kv_release(kv, c, 1, 0);
    sim_kv_free(kv);
}

static void kv__hit__refreshes_the_prefix(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(4);
    const uint64_t old[2] = {11, 12};
    const uint64_t young[2] = {21, 22};
    uint32_t a[2];
    uint32_t b[2];
    fill(kv, old, 2, a);
    fill(kv, young, 2, b);
    sim_kv_release(kv, a, 2, 0);
    sim_kv_release(kv, b, 2, 0);
    sim_kv_take(kv, old, 2, a);
    sim_kv_release(kv, a, 2, 0);
    assert_status(sim_kv_alloc(kv, 2, b), ST_OK);
    assert_int_equal(sim_kv_match(kv, old, 2, NULL), 2);
    assert_int_equal(sim_kv_match(kv, young, 2, NULL), 0);
    sim_kv_release(kv, b, 2, 0);
    sim_kv_free(kv);
}

static void kv__same_hash_stored_thrice__is_hit_until_the_last_copy_goes(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(3);
    const uint64_t chain[1] = {11};
    uint32_t blocks[3];
    uint32_t taken[3];
    assert_status(sim_kv_alloc(kv, 3, blocks), ST_OK);
    for (int i = 0; i < 3; i++) {
        sim_kv_store(kv, blocks[i], chain[0], SIM_BLOCK_NONE);
    }
    for (uint32_t i = 0; i < 3; i++) {
        sim_kv_release(kv, &blocks[i], 1, 0);
    }
    expect_counts(kv, 0, 3, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sim_kv_match(kv, chain, 1, NULL), 1);
        assert_status(sim_kv_alloc(kv, 1, &taken[i]), ST_OK);
        assert_true(sim_kv_check(kv));
    }
    assert_int_equal(sim_kv_match(kv, chain, 1, NULL), 0);
    sim_kv_release(kv, taken, 3, 0);
    sim_kv_free(kv);
}

static void kv__reset__forgets_cached_and_keeps_used(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(4);
    const uint64_t gone[2] = {11, 12};
    const uint64_t held[1] = {21};
    uint32_t a[2];
    uint32_t b[1];
    fill(kv, gone, 2, a);
    fill(kv, held, 1, b);
    sim_kv_release(kv, a, 2, 0);
    sim_kv_reset(kv);
    assert_int_equal(sim_kv_match(kv, gone, 2, NULL), 0);
    assert_int_equal(sim_kv_match(kv, held, 1, NULL), 1);
    expect_counts(kv, 1, 0, 3);
    sim_kv_release(kv, b, 1, 0);
    sim_kv_free(kv);
}

/* Its own copy of the prefix goes first because another one stays; the other one waits for what
 * depends on it. */
static void kv__copies_of_a_prefix__the_last_one_outlives_what_depends_on_it(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(4);
    const uint64_t chain[2] = {11, 12};
    uint32_t a[2];
    uint32_t b[2];
    uint32_t taken[3];
    assert_status(sim_kv_alloc(kv, 2, a), ST_OK);
    fill(kv, chain, 2, b);
    sim_kv_store(kv, a[0], 11, SIM_BLOCK_NONE);
    sim_kv_release(kv, a, 2, 0);
    sim_kv_release(kv, b, 2, 0);
    expect_counts(kv, 0, 3, 1);
    assert_status(sim_kv_alloc(kv, 2, taken), ST_OK);
    assert_int_equal(taken[0], a[1]); /* no content */
    assert_int_equal(taken[1], a[0]);
    assert_int_equal(sim_kv_match(kv, chain, 2, NULL), 2);
    assert_status(sim_kv_alloc(kv, 1, taken + 2), ST_OK);
    assert_int_equal(taken[2], b[1]);
    assert_true(sim_kv_check(kv));
    sim_kv_release(kv, taken, 3, 0);
    sim_kv_free(kv);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    struct sim_kv *kv = NULL;
    uint32_t blocks[64];
    const struct sim_kv_opts opts = {.evict = ctx, .block_count = 64};
    if (sim_kv_new(&kv, mem, &opts) != ST_OK) {
        return false;
    }
    assert_status(sim_kv_alloc(kv, 64, blocks), ST_OK);
    for (uint32_t i = 0; i < 64; i++) {
        sim_kv_store(kv, blocks[i], i + 1, i == 0 ? SIM_BLOCK_NONE : blocks[i - 1]);
    }
    for (uint32_t i = 64; i-- > 0;) {
        sim_kv_release(kv, &blocks[i], 1, i / 8); /* chains that find no place are one */
    }
    struct sim_kv_counts n = sim_kv_counts(kv);
    bool is_whole = n.unstored_count == 0;
    assert_int_equal(n.cached_blocks + n.unstored_count, 64);
    assert_true(sim_kv_check(kv));
    sim_kv_free(kv);
    return is_whole;
}

static void kv__any_allocation_fails__stays_consistent(void **state)
{
    (void)state;
    struct sim_evict lru = *sim_evict_default();
    struct sim_evict wa_lru = *sim_evict_find(STR("wa_lru"));
    assert_true(kit_torture(scenario, &lru) > 3);
    assert_true(kit_torture(scenario, &wa_lru) > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kv__no_blocks_or_too_many__is_refused),
        cmocka_unit_test(kv__blocks_released__stay_cached_and_are_hit),
        cmocka_unit_test(kv__match__stops_at_the_first_absent_hash),
        cmocka_unit_test(kv__more_than_unreferenced_asked_for__changes_nothing),
        cmocka_unit_test(kv__shared_blocks__are_freed_with_the_last_reference),
        cmocka_unit_test(kv__room_needed__takes_uncached_first_then_tails_of_the_oldest),
        cmocka_unit_test(kv__block_without_content_released_last__is_still_taken_first),
        cmocka_unit_test(kv__hit__refreshes_the_prefix),
        cmocka_unit_test(kv__same_hash_stored_thrice__is_hit_until_the_last_copy_goes),
        cmocka_unit_test(kv__reset__forgets_cached_and_keeps_used),
        cmocka_unit_test(kv__copies_of_a_prefix__the_last_one_outlives_what_depends_on_it),
        cmocka_unit_test(kv__any_allocation_fails__stays_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
