/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/arrivals.h"

#include "tests/kit/kit.h"

#include <math.h>

enum { DRAWS = 200000 };

static void expect_moments(double mean_s, double cv)
{
    struct arrivals arrivals;
    double sum = 0;
    double squares = 0;
    arrivals_init(&arrivals, mean_s, cv, 7);
    for (int i = 0; i < DRAWS; i++) {
        double s = arrivals_next_s(&arrivals);
        assert_true(s >= 0);
        sum += s;
        squares += s * s;
    }
    double mean = sum / DRAWS;
    double spread = sqrt(squares / DRAWS - mean * mean);
    assert_close(mean, mean_s, mean_s * 0.03);
    assert_close(spread / mean, cv, cv * 0.03);
}

static void next__any_variation__has_that_mean_and_variation(void **state)
{
    (void)state;
    expect_moments(2.5, 1);
    expect_moments(2.5, 0.5);
    expect_moments(10, 3);
    expect_moments(0.1, 1.5);
}

static void next__same_seed__same_times(void **state)
{
    (void)state;
    struct arrivals a;
    struct arrivals b;
    struct arrivals c;
    arrivals_init(&a, 1, 3, 5);
    arrivals_init(&b, 1, 3, 5);
    arrivals_init(&c, 1, 3, 6);
    double differ = 0;
    for (int i = 0; i < 100; i++) {
        double x = arrivals_next_s(&a);
        assert_true(x == arrivals_next_s(&b));
        differ += fabs(x - arrivals_next_s(&c));
    }
    assert_true(differ > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next__any_variation__has_that_mean_and_variation),
        cmocka_unit_test(next__same_seed__same_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
