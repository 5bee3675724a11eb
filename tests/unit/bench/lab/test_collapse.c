/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/collapse.h"

#include "tests/kit/kit.h"

#define S(window, slowdown)                                                       \
    {                                                                             \
        .at_s = (window)*COLLAPSE_WINDOW_S + 1, .tct_s = (slowdown), .alone_s = 1 \
    }

static void collapse__bad_to_the_end__begins_with_the_first_of_them(void **state)
{
    (void)state;
    /* A bad spell that passes, a window of two that is good on average, one without sessions. */
    const struct metrics_session sessions[] = {
        S(0, 1), S(1, 9), S(2, 1), S(2, 4.9), S(3, 3.1), S(4, 2), S(4, 5), S(6, 8), S(7, 9),
    };
    assert_close(collapse_at_s(sessions, 9), 3 * COLLAPSE_WINDOW_S, 1e-9);
}

static void collapse__too_short_or_over__is_none(void **state)
{
    (void)state;
    const struct metrics_session two[] = {S(0, 1), S(1, 9), S(2, 9)};
    assert_close(collapse_at_s(two, 3), COLLAPSE_NEVER, 1e-9);
    const struct metrics_session over[] = {S(0, 9), S(1, 9), S(2, 9), S(3, 3)};
    assert_close(collapse_at_s(over, 4), COLLAPSE_NEVER, 1e-9);
    assert_close(collapse_at_s(over, 3), 0, 1e-9);
    assert_close(collapse_at_s(over, 0), COLLAPSE_NEVER, 1e-9);
}

static void collapse__given_up_sessions__are_passed_over(void **state)
{
    (void)state;
    struct metrics_session sessions[] = {S(0, 9), S(1, 9), S(2, 9), S(3, 1)};
    sessions[3].is_given_up = true;
    assert_close(collapse_at_s(sessions, 4), 0, 1e-9);
}

static void recovery__after_a_pulse__ends_with_the_first_steady_window(void **state)
{
    (void)state;
    /* Steady is 1.1, of the last two; 1.155 is near enough. */
    const struct metrics_session sessions[] = {
        S(0, 5), S(1, 9), S(2, 4), S(3, 1.2), S(4, 1), S(4, 1.3), S(5, 1.3), S(6, 1), S(7, 1.2),
    };
    assert_close(collapse_recovery_s(sessions, 9, 2 * COLLAPSE_WINDOW_S), 3 * COLLAPSE_WINDOW_S,
                 1e-9);
    assert_close(collapse_recovery_s(sessions, 9, 7.5 * COLLAPSE_WINDOW_S), COLLAPSE_NEVER, 1e-9);
    assert_close(collapse_recovery_s(sessions, 0, 0), COLLAPSE_NEVER, 1e-9);
}

static void recovery__into_collapse__is_none(void **state)
{
    (void)state;
    const struct metrics_session sessions[] = {S(0, 5), S(1, 4), S(2, 4), S(3, 4)};
    assert_close(collapse_recovery_s(sessions, 4, 0), COLLAPSE_NEVER, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collapse__bad_to_the_end__begins_with_the_first_of_them),
        cmocka_unit_test(collapse__too_short_or_over__is_none),
        cmocka_unit_test(collapse__given_up_sessions__are_passed_over),
        cmocka_unit_test(recovery__after_a_pulse__ends_with_the_first_steady_window),
        cmocka_unit_test(recovery__into_collapse__is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
