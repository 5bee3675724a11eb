/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/samples.h"

static void samples_quantile__of_1_to_100__is_the_nearest_rank(void **state)
{
    (void)state;
    struct samples samples;
    samples_init(&samples, mem_heap(), 1);
    for (int i = 100; i >= 1; i--) {
        samples_add(&samples, i);
    }
    assert_close(samples_quantile(&samples, 0.5), 50, 0);
    assert_close(samples_quantile(&samples, 0.9), 90, 0);
    assert_close(samples_quantile(&samples, 0.99), 99, 0);
    assert_close(samples_quantile(&samples, 1), 100, 0);
    assert_close(samples_mean(&samples), 50.5, 1e-12);
    assert_close(samples.max, 100, 0);
    samples_fini(&samples);
}

static void samples_quantile__nothing_added__is_zero(void **state)
{
    (void)state;
    struct samples samples;
    samples_init(&samples, mem_heap(), 1);
    assert_close(samples_quantile(&samples, 0.5), 0, 0);
    assert_close(samples_mean(&samples), 0, 0);
    samples_fini(&samples);
}

static void samples_quantile__value_added_after_a_quantile__counts(void **state)
{
    (void)state;
    struct samples samples;
    samples_init(&samples, mem_heap(), 1);
    samples_add(&samples, 5);
    assert_close(samples_quantile(&samples, 0.5), 5, 0);
    samples_add(&samples, 1);
    samples_add(&samples, 2);
    assert_close(samples_quantile(&samples, 0.5), 2, 0);
    samples_fini(&samples);
}

static void samples_add__more_than_the_reservoir__keeps_a_fair_sample(void **state)
{
    (void)state;
    struct samples samples;
    samples_init(&samples, mem_heap(), 7);
    print_message("seed 7\n");
    for (uint32_t i = 0; i < 3 * SAMPLES_MAX; i++) {
        samples_add(&samples, i);
    }
    assert_int_equal(samples.count, SAMPLES_MAX);
    assert_int_equal(samples.seen_count, 3 * SAMPLES_MAX);
    assert_close(samples_quantile(&samples, 0.5), 1.5 * SAMPLES_MAX, 0.01 * SAMPLES_MAX);
    assert_close(samples.max, 3.0 * SAMPLES_MAX - 1, 0);
    samples_fini(&samples);
}

static void samples_add__no_memory__is_counted(void **state)
{
    (void)state;
    struct kit_mem km;
    struct samples samples;
    kit_mem_init(&km);
    km.fail_at = 1;
    samples_init(&samples, &km.mem, 1);
    samples_add(&samples, 1);
    assert_int_equal(samples.lost_count, 1);
    assert_int_equal(samples.count, 0);
    samples_fini(&samples);
    kit_mem_expect_empty(&km);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_quantile__of_1_to_100__is_the_nearest_rank),
        cmocka_unit_test(samples_quantile__nothing_added__is_zero),
        cmocka_unit_test(samples_quantile__value_added_after_a_quantile__counts),
        cmocka_unit_test(samples_add__more_than_the_reservoir__keeps_a_fair_sample),
        cmocka_unit_test(samples_add__no_memory__is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
