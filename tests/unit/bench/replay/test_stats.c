/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/stats.h"

static void stats_engine__steps_of_sessions__give_share_that_stayed_and_busiest(void **state)
{
    (void)state;
    struct stats stats;
    stats_init(&stats, mem_heap(), 1);
    stats_engine(&stats, "e1", "");
    stats_engine(&stats, "e1", "e1");
    stats_engine(&stats, "e1", "e1");
    stats_engine(&stats, "e2", "e1");
    stats_engine(&stats, "", "e2");
    assert_close(stats_stay_ratio(&stats), 2.0 / 3, 1e-12);
    assert_int_equal(stats.engine_count, 2);
    assert_close(stats_busiest_ratio(&stats), 1.5, 1e-12);
    stats_fini(&stats);
}

static void stats_step_done__without_usage__is_not_in_the_token_shares(void **state)
{
    (void)state;
    struct stats stats;
    struct stats_step with = {.prompt_tokens = 100,
                              .cached_tokens = 80,
                              .has_usage = true,
                              .bound_tokens = 90,
                              .own_tokens = 100,
                              .ttft_s = 1,
                              .step_s = 2};
    struct stats_step without = {.bound_tokens = 50, .own_tokens = 100, .ttft_s = -1, .step_s = 2};
    stats_init(&stats, mem_heap(), 1);
    stats_step_done(&stats, &with);
    stats_step_done(&stats, &without);
    assert_int_equal(stats.step_done, 2);
    assert_int_equal(stats.no_usage_count, 1);
    assert_close(stats_cached_ratio(&stats), 0.8, 1e-12);
    assert_close(stats_bound_ratio(&stats), 0.9, 1e-12);
    assert_int_equal(stats.ttft_s.seen_count, 1);
    assert_int_equal(stats.step_s.seen_count, 2);
    stats_fini(&stats);
}

static void stats_step_failed__several__counts_by_kind_and_keeps_the_first_text(void **state)
{
    (void)state;
    struct stats stats;
    stats_init(&stats, mem_heap(), 1);
    stats_step_failed(&stats, STATS_HTTP_429, "slow down");
    stats_step_failed(&stats, STATS_HTTP_429, "still");
    stats_step_failed(&stats, STATS_CUT, "cut");
    assert_int_equal(stats.step_failed, 3);
    assert_int_equal(stats.error_count[STATS_HTTP_429], 2);
    assert_string_equal(stats.first_error, "slow down");
    assert_string_equal(stats_error_key(STATS_CUT), "cut");
    stats_fini(&stats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stats_engine__steps_of_sessions__give_share_that_stayed_and_busiest),
        cmocka_unit_test(stats_step_done__without_usage__is_not_in_the_token_shares),
        cmocka_unit_test(stats_step_failed__several__counts_by_kind_and_keeps_the_first_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
