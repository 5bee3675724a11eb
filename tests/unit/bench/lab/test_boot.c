/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/boot.h"

#include "common/base/rng.h"
#include "tests/kit/kit.h"

static void mean__no_values__is_zero(void **state)
{
    (void)state;
    const struct boot_group empty = {0};
    assert_close(boot_mean(NULL, 0, 1).high, 0, 0);
    assert_close(boot_mean(&empty, 1, 1).low, 0, 0);
}

static void mean__equal_values__has_no_width(void **state)
{
    (void)state;
    const double values[] = {3, 3, 3};
    const struct boot_group groups[] = {{values, 3}, {values, 2}};
    assert_close(boot_mean(groups, 2, 1).low, 3, 1e-12);
    assert_close(boot_mean(groups, 2, 1).high, 3, 1e-12);
}

/* Uniform in [0, 1): a mean of 1000 has the standard error 0.2887 / sqrt(1000) = 0.00913, and 95 %
 * are within 1.96 of it: a width of 0.0358. */
static void mean__one_group__has_the_width_of_theory(void **state)
{
    (void)state;
    double values[1000];
    double sum = 0;
    struct rng rng;
    rng_init(&rng, 3);
    for (int i = 0; i < 1000; i++) {
        values[i] = rng_unit(&rng);
        sum += values[i];
    }
    const struct boot_group group = {values, 1000};
    struct boot_ci ci = boot_mean(&group, 1, 1);
    assert_close(ci.high - ci.low, 0.0358, 0.006);
    assert_true(ci.low < sum / 1000 && sum / 1000 < ci.high);
}

/* What differs between seeds is not hidden by many sessions of each. */
static void mean__groups_that_differ__widen_it(void **state)
{
    (void)state;
    double low[100];
    double high[100];
    for (int i = 0; i < 100; i++) {
        low[i] = 1;
        high[i] = 9;
    }
    const struct boot_group groups[] = {{low, 100}, {high, 100}, {low, 100}, {high, 100}};
    struct boot_ci ci = boot_mean(groups, 4, 1);
    assert_true(ci.low <= 3 && ci.high >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean__no_values__is_zero),
        cmocka_unit_test(mean__equal_values__has_no_width),
        cmocka_unit_test(mean__one_group__has_the_width_of_theory),
        cmocka_unit_test(mean__groups_that_differ__widen_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
