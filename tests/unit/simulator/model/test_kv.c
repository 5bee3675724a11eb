/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "simulator/model/evict.h"

static struct sim_kv *new_kv(uint32_t blocks)
{
    struct sim_kv *kv = NULL;
    assert_status(sim_kv_new(&kv, mem_heap(), blocks, sim_evict_default()), ST_OK);
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
        sim_kv_store(kv, blocks[i], hashes[i]);
    }
}

static void kv__no_blocks_or_too_many__is_refused(void **state)
{
    (void)state;
    struct sim_kv *kv = NULL;
    assert_status(sim_kv_new(&kv, mem_heap(), 0, sim_evict_default()), ST_INVAL);
    assert_status(sim_kv_new(&kv, mem_heap(), SIM_KV_BLOCKS_MAX + 1U, sim_evict_default()),
                  ST_INVAL);
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
    sim_kv_release(kv, blocks, 3);
    expect_counts(kv, 0, 3, 1);
    assert_int_equal(sim_kv_match(kv, chain, 3, &idle), 3);
    assert_int_equal(idle, 3);
    sim_kv_take(kv, chain, 3, again);
    assert_memory_equal(again, blocks, sizeof(blocks));
    expect_counts(kv, 3, 0, 1);
    sim_kv_release(kv, again, 3);
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
    sim_kv_release(kv, blocks, 2);
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
    sim_kv_release(kv, blocks, 2);
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
    sim_kv_release(kv, first, 1);
    expect_counts(kv, 1, 0, 1);
    sim_kv_release(kv, second, 1);
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
    sim_kv_release(kv, a, 2);
    sim_kv_release(kv, b, 2);
    assert_status(sim_kv_alloc(kv, 2, c), ST_OK); /* the free one and the tail of old */
    assert_int_equal(sim_kv_match(kv, old, 2, NULL), 1);
    assert_int_equal(sim_kv_match(kv, young, 2, NULL), 2);
    assert_int_equal(sim_kv_counts(kv).evicted_count, 1);
    assert_status(sim_kv_alloc(kv, 1, c + 2), ST_OK);
    assert_int_equal(sim_kv_match(kv, old, 2, NULL), 0);
    assert_int_equal(sim_kv_match(kv, young, 2, NULL), 2);
    sim_kv_release(kv, c, 3);
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
    sim_kv_release(kv, a, 2);
    sim_kv_release(kv, b, 1);
    assert_status(sim_kv_alloc(kv, 1, c), ST_OK);
    assert_int_equal(c[0], b[0]);
    assert_int_equal(sim_kv_match(kv, chain, 2, NULL), 2);
    sim_kv_release(kv, c, 1);
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
    sim_kv_release(kv, a, 2);
    sim_kv_release(kv, b, 2);
    sim_kv_take(kv, old, 2, a);
    sim_kv_release(kv, a, 2);
    assert_status(sim_kv_alloc(kv, 2, b), ST_OK);
    assert_int_equal(sim_kv_match(kv, old, 2, NULL), 2);
    assert_int_equal(sim_kv_match(kv, young, 2, NULL), 0);
    sim_kv_release(kv, b, 2);
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
        sim_kv_store(kv, blocks[i], chain[0]);
    }
    for (uint32_t i = 0; i < 3; i++) {
        sim_kv_release(kv, &blocks[i], 1);
    }
    expect_counts(kv, 0, 3, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sim_kv_match(kv, chain, 1, NULL), 1);
        assert_status(sim_kv_alloc(kv, 1, &taken[i]), ST_OK);
        assert_true(sim_kv_check(kv));
    }
    assert_int_equal(sim_kv_match(kv, chain, 1, NULL), 0);
    sim_kv_release(kv, taken, 3);
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
    sim_kv_release(kv, a, 2);
    sim_kv_reset(kv);
    assert_int_equal(sim_kv_match(kv, gone, 2, NULL), 0);
    assert_int_equal(sim_kv_match(kv, held, 1, NULL), 1);
    expect_counts(kv, 1, 0, 3);
    sim_kv_release(kv, b, 1);
    sim_kv_free(kv);
}

static uint32_t pick_youngest(const struct sim_kv *kv)
{
    uint32_t last = SIM_BLOCK_NONE;
    for (uint32_t i = sim_kv_idle_first(kv); i != SIM_BLOCK_NONE; i = sim_kv_idle_next(kv, i)) {
        last = i;
    }
    return last;
}

static void kv__another_policy__decides_what_goes(void **state)
{
    (void)state;
    static const struct sim_evict youngest = {.name = "youngest", .pick = pick_youngest};
    const uint64_t chain[2] = {11, 12};
    struct sim_kv *kv = NULL;
    uint32_t blocks[2];
    uint32_t taken[1];
    assert_status(sim_kv_new(&kv, mem_heap(), 2, &youngest), ST_OK);
    fill(kv, chain, 2, blocks);
    sim_kv_release(kv, blocks, 2); /* the tail first, so the head is the youngest */
    assert_status(sim_kv_alloc(kv, 1, taken), ST_OK);
    assert_int_equal(taken[0], blocks[0]);
    sim_kv_release(kv, taken, 1);
    sim_kv_free(kv);
}

static void evict__find__knows_lru_only(void **state)
{
    (void)state;
    assert_ptr_equal(sim_evict_find(STR("lru")), sim_evict_default());
    assert_null(sim_evict_find(STR("lr")));
}

/* A plain reference: contents in the order of their last release, held ones apart. */
enum { REF_BLOCKS = 24, REF_DEPTH = 6, REF_HOLDERS = 4, REF_STEPS = 30000, REF_SEED = 11 };

struct reference {
    uint64_t idle[REF_BLOCKS]; /* oldest first; 0 = no content, at the front */
    uint32_t idle_count;
    uint64_t held[REF_HOLDERS][REF_DEPTH];
    uint32_t held_count[REF_HOLDERS];
};

static bool ref_has(const struct reference *ref, uint64_t hash, uint32_t *ret_idle_at)
{
    for (uint32_t i = 0; i < ref->idle_count; i++) {
        if (ref->idle[i] == hash) {
            *ret_idle_at = i;
            return true;
        }
    }
    *ret_idle_at = UINT32_MAX;
    for (int h = 0; h < REF_HOLDERS; h++) {
        for (uint32_t i = 0; i < ref->held_count[h]; i++) {
            if (ref->held[h][i] == hash) {
                return true;
            }
        }
    }
    return false;
}

static void ref_drop(struct reference *ref, uint32_t at)
{
    memmove(&ref->idle[at], &ref->idle[at + 1], (ref->idle_count - at - 1) * sizeof(ref->idle[0]));
    ref->idle_count--;
}

/* Number of leading hashes that are hit; takes them and what else is needed. */
static uint32_t ref_acquire(struct reference *ref, int holder, const uint64_t *hashes)
{
    uint32_t at;
    uint32_t hit = 0;
    while (hit < REF_DEPTH && ref_has(ref, hashes[hit], &at)) {
        hit++;
    }
    for (uint32_t i = 0; i < hit; i++) {
        (void)ref_has(ref, hashes[i], &at);
        if (at != UINT32_MAX) {
            ref_drop(ref, at);
        }
    }
    for (uint32_t i = hit; i < REF_DEPTH; i++) {
        ref_drop(ref, 0);
    }
    memcpy(ref->held[holder], hashes, sizeof(ref->held[holder]));
    ref->held_count[holder] = REF_DEPTH;
    return hit;
}

static void ref_release(struct reference *ref, int holder)
{
    uint64_t hashes[REF_DEPTH];
    memcpy(hashes, ref->held[holder], sizeof(hashes));
    ref->held_count[holder] = 0;
    for (uint32_t i = REF_DEPTH; i-- > 0;) {
        uint32_t at;
        if (!ref_has(ref, hashes[i], &at)) {
            ref->idle[ref->idle_count++] = hashes[i];
        }
    }
}

static void kv__random_requests__hit_what_a_plain_reference_hits(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv(REF_BLOCKS);
    struct reference ref = {.idle_count = REF_BLOCKS};
    uint32_t blocks[REF_HOLDERS][REF_DEPTH];
    struct rng rng;
    uint64_t hits = 0;
    rng_init(&rng, REF_SEED);
    print_message("seed %d\n", REF_SEED);
    for (int step = 0; step < REF_STEPS; step++) {
        int holder = (int)rng_below(&rng, REF_HOLDERS);
        if (ref.held_count[holder] > 0) {
            ref_release(&ref, holder);
            sim_kv_release(kv, blocks[holder], REF_DEPTH);
        } else {
            uint64_t hashes[REF_DEPTH];
            uint64_t parent = 1;
            for (int i = 0; i < REF_DEPTH; i++) {
                parent = hash_mix(parent, rng_below(&rng, 2));
                hashes[i] = parent;
            }
            uint32_t expected = ref_acquire(&ref, holder, hashes);
            uint32_t hit = sim_kv_match(kv, hashes, REF_DEPTH, NULL);
            assert_int_equal(hit, expected);
            sim_kv_take(kv, hashes, hit, blocks[holder]);
            assert_status(sim_kv_alloc(kv, REF_DEPTH - hit, blocks[holder] + hit), ST_OK);
            for (uint32_t i = hit; i < REF_DEPTH; i++) {
                sim_kv_store(kv, blocks[holder][i], hashes[i]);
            }
            hits += hit;
        }
        assert_int_equal(sim_kv_counts(kv).used_blocks, REF_BLOCKS - ref.idle_count);
        assert_true(sim_kv_check(kv));
    }
    assert_true(hits > REF_STEPS / 2); /* else nothing was tested */
    sim_kv_free(kv);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct sim_kv *kv = NULL;
    uint32_t blocks[64];
    if (sim_kv_new(&kv, mem, 64, sim_evict_default()) != ST_OK) {
        return false;
    }
    assert_status(sim_kv_alloc(kv, 64, blocks), ST_OK);
    for (uint32_t i = 0; i < 64; i++) {
        sim_kv_store(kv, blocks[i], i + 1);
    }
    sim_kv_release(kv, blocks, 64);
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
    assert_true(kit_torture(scenario, NULL) > 3);
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
        cmocka_unit_test(kv__another_policy__decides_what_goes),
        cmocka_unit_test(evict__find__knows_lru_only),
        cmocka_unit_test(kv__random_requests__hit_what_a_plain_reference_hits),
        cmocka_unit_test(kv__any_allocation_fails__stays_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
