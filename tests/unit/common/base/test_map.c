/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/map.h"
#include "common/base/rng.h"

enum { KEYS = 64, STEPS = 200000, SEED = 7 };

static void map__random_puts_and_removes__agree_with_a_plain_array(void **state)
{
    (void)state;
    struct kit_mem km;
    struct map map;
    struct rng rng;
    uint64_t values[KEYS];
    bool is_in[KEYS] = {false};
    uint32_t count = 0;
    kit_mem_init(&km);
    map_init(&map, &km.mem, KEYS);
    rng_init(&rng, SEED);
    print_message("seed %d\n", SEED);
    for (int step = 0; step < STEPS; step++) {
        uint64_t k = rng_below(&rng, KEYS);
        uint64_t key = k << 58 | k; /* few homes, long runs that wrap */
        if (rng_below(&rng, 2) == 0) {
            values[k] = rng_u64(&rng);
            count += is_in[k] ? 0 : 1;
            is_in[k] = true;
            assert_status(map_put(&map, key, values[k]), ST_OK);
        } else {
            assert_int_equal(map_remove(&map, key), is_in[k]);
            count -= is_in[k] ? 1 : 0;
            is_in[k] = false;
        }
        assert_int_equal(map.count, count);
        uint64_t probe = rng_below(&rng, KEYS);
        uint64_t *found = map_get(&map, probe << 58 | probe);
        assert_int_equal(found != NULL, is_in[probe]);
        assert_true(found == NULL || *found == values[probe]);
    }
    map_fini(&map);
    kit_mem_expect_empty(&km);
}

static void map__all_keys_share_a_home__are_found_and_removed(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, mem_heap(), 1000);
    /* key ^ key >> 32 is 0 for all of these, so they have one home. */
    for (uint64_t i = 0; i < 200; i++) {
        assert_status(map_put(&map, i << 32 | i, i), ST_OK);
    }
    for (uint64_t i = 0; i < 200; i += 2) {
        assert_true(map_remove(&map, i << 32 | i));
    }
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t *found = map_get(&map, i << 32 | i);
        assert_int_equal(found != NULL, i % 2);
        assert_true(found == NULL || *found == i);
    }
    map_fini(&map);
}

static void map_put__limit_reached__is_full_but_overwrites(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, mem_heap(), 2);
    assert_status(map_put(&map, 1, 10), ST_OK);
    assert_status(map_put(&map, 2, 20), ST_OK);
    assert_status(map_put(&map, 3, 30), ST_FULL);
    assert_int_equal(map.full_count, 1);
    assert_null(map_get(&map, 3));
    assert_status(map_put(&map, 2, 21), ST_OK);
    assert_int_equal(*map_get(&map, 2), 21);
    assert_true(map_remove(&map, 1));
    assert_status(map_put(&map, 3, 30), ST_OK);
    map_fini(&map);
}

static void map__empty__answers_everything(void **state)
{
    (void)state;
    struct map map;
    uint32_t it = 0;
    uint64_t key;
    uint64_t val;
    map_init(&map, mem_heap(), 10);
    assert_null(map_get(&map, 0));
    assert_false(map_remove(&map, 0));
    assert_false(map_next(&map, &it, &key, &val));
    assert_int_equal(map_bytes(&map), 0);
    map_fini(&map);
    map_fini(NULL);
}

static void map_next__some_entries__visits_each_once(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, mem_heap(), 100);
    for (uint64_t i = 0; i < 100; i++) {
        assert_status(map_put(&map, i, i * i), ST_OK);
    }
    bool is_met[100] = {false};
    uint32_t it = 0;
    uint64_t key;
    uint64_t val;
    while (map_next(&map, &it, &key, &val)) {
        assert_in_range(key, 0, 99);
        assert_false(is_met[key]);
        is_met[key] = true;
        assert_int_equal(val, key * key);
    }
    for (int i = 0; i < 100; i++) {
        assert_true(is_met[i]);
    }
    map_fini(&map);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct map map;
    map_init(&map, mem, 1000);
    bool is_done = true;
    uint64_t i = 0;
    for (; i < 200 && is_done; i++) {
        enum status st = map_put(&map, i, i);
        assert_true(st == ST_OK || st == ST_NOMEM);
        is_done = st == ST_OK;
    }
    uint64_t in = is_done ? i : i - 1;
    assert_int_equal(map.count, in);
    for (uint64_t k = 0; k < in; k++) {
        assert_non_null(map_get(&map, k));
    }
    map_fini(&map);
    return is_done;
}

static void map__each_allocation_fails__keeps_what_it_had(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map__random_puts_and_removes__agree_with_a_plain_array),
        cmocka_unit_test(map__all_keys_share_a_home__are_found_and_removed),
        cmocka_unit_test(map_put__limit_reached__is_full_but_overwrites),
        cmocka_unit_test(map__empty__answers_everything),
        cmocka_unit_test(map_next__some_entries__visits_each_once),
        cmocka_unit_test(map__each_allocation_fails__keeps_what_it_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
