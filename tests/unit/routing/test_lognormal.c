/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/lognormal.h"

#include "tests/kit/kit.h"

#include <math.h>

static void ln_and_exp__wide_range__are_those_of_libm(void **state)
{
    (void)state;
    double x = 1e-9;
    for (int i = 0; i < 132; i++, x *= 1.37) {
        assert_close(route_ln(x), log(x), 1e-14 + 1e-14 * fabs(log(x)));
        assert_close(route_exp(route_ln(x)) / x, 1.0, 1e-12);
    }
    assert_close(route_ln(1.0), 0.0, 1e-15);
    assert_true(route_exp(0.0) == 1.0);
    assert_true(route_exp(-1e6) == 0.0 && isinf(route_exp(1e6)));
}

static void normal_ratio__is_half_and_half(void **state)
{
    (void)state;
    for (int i = -24; i < 24; i++) {
        double z = i / 4.0;
        assert_close(route_normal_ratio(z), 0.5 * (1.0 + erf(z / sqrt(2.0))), 2e-7);
        assert_close(route_normal_ratio(z) + route_normal_ratio(-z), 1.0, 1e-8);
    }
}

/* Gaps of 1 s, hardly any other: held for longer than that when it is worth more than 1 s. */
static void hold__sure_of_the_gap__when_it_is_worth_it(void **state)
{
    (void)state;
    double held_s = route_lognormal_hold_s(0.0, 0.05, 5.0, 5.0);
    assert_true(held_s > 1.0 && held_s <= 5.0);
    assert_true(route_lognormal_hold_s(0.0, 0.05, 0.9, 0.9) == 0.0);
    assert_true(route_lognormal_hold_s(0.0, 0.05, 5.0, 0.9) == 0.0); /* may not be held so long */
    assert_true(route_lognormal_hold_s(0.0, 0.05, 0.0, 5.0) == 0.0);
    assert_true(route_lognormal_hold_s(0.0, 0.05, 5.0, 0.0) == 0.0);
}

static void hold__short_gaps__up_to_the_limit(void **state)
{
    (void)state;
    assert_true(route_lognormal_hold_s(-7.0, 3.0, 1000.0, 10.0) == 10.0);
    assert_true(route_lognormal_hold_s(-7.0, 0.5, 0.04, 0.04) > 0.0); /* below 50 ms */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ln_and_exp__wide_range__are_those_of_libm),
        cmocka_unit_test(normal_ratio__is_half_and_half),
        cmocka_unit_test(hold__sure_of_the_gap__when_it_is_worth_it),
        cmocka_unit_test(hold__short_gaps__up_to_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
