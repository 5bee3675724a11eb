/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/metrics.h"

#include "tests/kit/kit.h"

#include <math.h>

#define S UINT64_C(1000000)

static const uint64_t alone_us[] = {10 * S, 20 * S};
static const struct lab_session sessions[] = {
    {.parent = LAB_NONE, .recorded = 0}, {.parent = LAB_NONE, .recorded = 1},
    {.parent = LAB_NONE, .recorded = 0}, {.parent = LAB_NONE, .recorded = 1},
    {.parent = 0, .recorded = 0}, /* a sub-agent: no session of its own */
};
static const struct lab_arrival arrivals[] = {{0, 0}, {50 * S, 1}, {80 * S, 2}, {100 * S, 3}};
static const struct lab_plan plan = {
    .sessions = sessions, .session_count = 5, .arrivals = arrivals, .arrival_count = 4};

/* 1: 20 s of 10. 2: 100 s and 20 of them a person's, of 20. 3: unfinished, 120 s of 10. 4: refused.
 */
static struct metrics make(struct metrics_session *ret)
{
    struct lab_outcome outcomes[] = {
        {.began_at_us = 0, .ended_at_us = 20 * S, .wait_max_us = 3 * S},
        {.began_at_us = 50 * S, .ended_at_us = 150 * S, .human_us = 20 * S},
        {.began_at_us = 80 * S, .wait_max_us = 40 * S},
        {.began_at_us = 100 * S, .is_given_up = true},
        {.began_at_us = 5 * S, .ended_at_us = 9 * S},
    };
    struct lab_first firsts[] = {{.first_us = 1 * S}, {.first_us = 2 * S}, {.first_us = 6 * S}};
    const struct lab_result result = {
        .outcomes = outcomes,
        .session_count = 5,
        .firsts = firsts,
        .first_count = 3,
        .ended_at_us = 200 * S,
        .prompt_tokens = 1000,
        .cached_tokens = 600,
        .regenerated_tokens = 100,
        .output_tokens = 500,
        .steals = 7,
        .pauses = 6,
    };
    struct metrics metrics;
    assert_status(metrics_make(&plan, &result, alone_us, ret, &metrics), ST_OK);
    return metrics;
}

static void make__worked_example__each_number(void **state)
{
    (void)state;
    struct metrics_session scores[4];
    struct metrics m = make(scores);
    assert_int_equal(m.sessions, 4);
    assert_int_equal(m.finished, 2);
    assert_close(scores[1].tct_s, 80, 1e-9);
    assert_close(scores[2].tct_s, 120, 1e-9);
    assert_close(m.mean_slowdown, (2 + 4 + 12) / 3.0, 1e-9);
    assert_close(m.geomean_slowdown, cbrt(2 * 4 * 12), 1e-9);
    assert_close(m.p50_slowdown, 4, 1e-9);
    assert_close(m.p99_slowdown, 12, 1e-9);
    assert_close(m.mean_tct_s, (20 + 80 + 120) / 3.0, 1e-9);
    assert_close(m.p50_tct_s, 80, 1e-9);
    assert_close(m.p99_tct_s, 120, 1e-9);
    assert_int_equal(m.steals, 7);
    assert_close(m.pauses_per_session, 1.5, 1e-9);
    assert_int_equal(metrics_within(scores, 4, 4), 2);
    assert_int_equal(metrics_within(scores, 4, 3.9), 1);
    assert_close(m.mean_ttft_s, 3, 1e-9);
    assert_close(m.p99_ttft_s, 6, 1e-9);
    assert_close(m.max_wait_s, 40, 1e-9);
    assert_close(m.tokens_per_s, 2.5, 1e-9);
    assert_close(m.cached_share, 0.6, 1e-9);
    assert_close(m.regenerated_share, 0.25, 1e-9);
    assert_close(m.share_within_2p5x, 0.25, 1e-9);
    assert_close(m.refused_share, 0.25, 1e-9);
    assert_close(m.goodput_share, 10 / 60.0, 1e-9);
    /* late: from 40 s on; the second half of it from 70 s */
    assert_close(m.late_slowdown, 8, 1e-9);
    assert_true(m.is_rising);
}

static void make__an_unfinished_session_that_just_came__counts_as_alone(void **state)
{
    (void)state;
    struct lab_outcome outcomes[5] = {{0}};
    const struct lab_result result = {.outcomes = outcomes, .session_count = 5, .ended_at_us = S};
    struct metrics_session scores[4];
    struct metrics metrics;
    assert_status(metrics_make(&plan, &result, alone_us, scores, &metrics), ST_OK);
    assert_close(metrics.mean_slowdown, 1, 1e-9);
    assert_int_equal(metrics.finished, 0);
}

static void carries__twice_the_bound_and_steady__does(void **state)
{
    (void)state;
    const struct metrics bound = {.late_slowdown = 1.5};
    assert_true(metrics_carries(&(struct metrics){.late_slowdown = 3.0}, &bound));
    assert_false(metrics_carries(&(struct metrics){.late_slowdown = 3.01}, &bound));
    assert_false(metrics_carries(&(struct metrics){.late_slowdown = 2, .is_rising = true}, &bound));
    assert_false(
        metrics_carries(&(struct metrics){.late_slowdown = 2, .refused_share = 0.1}, &bound));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make__worked_example__each_number),
        cmocka_unit_test(make__an_unfinished_session_that_just_came__counts_as_alone),
        cmocka_unit_test(carries__twice_the_bound_and_steady__does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
