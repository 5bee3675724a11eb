/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/rng.h"
#include "simulator/model/store.h"

static struct sim_store *new_store(uint64_t tokens)
{
    struct sim_store *store = NULL;
    assert_status(sim_store_new(&store, mem_heap(), tokens, 16), ST_OK);
    return store;
}

static void store__no_whole_block_or_too_many__is_refused(void **state)
{
    (void)state;
    struct sim_store *store = NULL;
    assert_status(sim_store_new(&store, mem_heap(), 15, 16), ST_INVAL);
    assert_status(sim_store_new(&store, mem_heap(), 16, 0), ST_INVAL);
    assert_status(sim_store_new(&store, mem_heap(), UINT64_MAX, 16), ST_INVAL);
    assert_null(store);
}

static void store__full__the_one_used_longest_ago_goes(void **state)
{
    (void)state;
    struct sim_store *store = new_store(63);
    assert_true(sim_store_put(store, 1));
    assert_true(sim_store_put(store, 2));
    assert_true(sim_store_put(store, 3));
    assert_false(sim_store_put(store, 1)); /* is there: just used */
    sim_store_touch(store, 2);
    sim_store_touch(store, 9);
    assert_true(sim_store_put(store, 4));
    assert_false(sim_store_has(store, 3));
    assert_true(sim_store_put(store, 5));
    assert_false(sim_store_has(store, 1));
    assert_true(sim_store_has(store, 2));
    assert_int_equal(sim_store_counts(store).evicted_count, 2);
    assert_true(sim_store_check(store));
    sim_store_free(store);
}

static void store__dropped_and_cleared__has_room_again(void **state)
{
    (void)state;
    struct sim_store *store = new_store(32);
    (void)sim_store_put(store, 1);
    (void)sim_store_put(store, 2);
    sim_store_drop(store, 1);
    sim_store_drop(store, 1);
    (void)sim_store_put(store, 3);
    assert_true(sim_store_has(store, 2));
    sim_store_clear(store);
    assert_int_equal(sim_store_counts(store).blocks, 0);
    assert_int_equal(sim_store_counts(store).dropped_count, 3);
    assert_true(sim_store_check(store));
    sim_store_free(store);
}

static void store__random_use__is_as_a_list_by_age(void **state)
{
    (void)state;
    enum { CAP = 8, KEYS = 20, STEPS = 5000 };
    uint64_t used_nr[KEYS + 1] = {0}; /* 0 = not there */
    uint32_t count = 0;
    struct sim_store *store = new_store(CAP * UINT64_C(16));
    struct rng rng;
    rng_init(&rng, 3);
    print_message("seed 3\n");
    for (uint64_t step = 1; step <= STEPS; step++) {
        uint64_t key = 1 + rng_below(&rng, KEYS);
        switch (rng_below(&rng, 4)) {
        case 0:
            sim_store_drop(store, key);
            count -= used_nr[key] != 0;
            used_nr[key] = 0;
            break;
        case 1:
            sim_store_touch(store, key);
            used_nr[key] = used_nr[key] != 0 ? step : 0;
            break;
        default:
            assert_int_equal(sim_store_put(store, key), used_nr[key] == 0);
            if (used_nr[key] == 0 && count++ == CAP) {
                uint64_t oldest = 0;
                for (uint64_t i = 1; i <= KEYS; i++) {
                    bool is_older = oldest == 0 || used_nr[i] < used_nr[oldest];
                    oldest = used_nr[i] != 0 && is_older ? i : oldest;
                }
                used_nr[oldest] = 0;
                count--;
            }
            used_nr[key] = step;
            break;
        }
        for (uint64_t i = 1; i <= KEYS; i++) {
            assert_int_equal(sim_store_has(store, i), used_nr[i] != 0);
        }
        assert_true(sim_store_check(store));
    }
    sim_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store__no_whole_block_or_too_many__is_refused),
        cmocka_unit_test(store__full__the_one_used_longest_ago_goes),
        cmocka_unit_test(store__dropped_and_cleared__has_room_again),
        cmocka_unit_test(store__random_use__is_as_a_list_by_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
