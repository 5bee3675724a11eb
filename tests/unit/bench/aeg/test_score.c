/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/aeg/score.h"

#include "tests/kit/kit.h"

#include <math.h>

static void brier__worked_example__mean_square(void **state)
{
    (void)state;
    struct score score;
    const double yes[SCORE_WHO_COUNT] = {0.9, 0.5, 1.0, 0.0};
    const double no[SCORE_WHO_COUNT] = {0.2, 0.5, 1.0, 0.0};
    score_init(&score, mem_heap());
    assert_true(isnan(score_brier(&score, 0, SCORE_SAGA)));
    score_wait(&score, 0, yes, true);
    score_wait(&score, 0, no, false);
    assert_close(score_brier(&score, 0, SCORE_SAGA), (0.01 + 0.04) / 2, 1e-12);
    assert_close(score_brier(&score, 0, SCORE_GLOBAL_MEAN), 0.25, 1e-12);
    assert_close(score_brier(&score, 0, SCORE_LAST_VALUE), 0.5, 1e-12);
    assert_int_equal(score.bins[0][9].count, 1);
    assert_close(score.bins[0][9].happened, 1.0, 1e-12);
    assert_close(score.bins[0][2].forecast_sum, 0.2, 1e-12);
    score_fini(&score);
}

static void size__worked_example__log_error(void **state)
{
    (void)state;
    struct score score;
    const double said[SCORE_WHO_COUNT] = {99.0, 9.0, 999.0, 199.0};
    score_init(&score, mem_heap());
    score_size(&score, SCORE_OUT, said, 99.0);
    assert_close(samples_mean(&score.errors[SCORE_OUT][SCORE_SAGA]), 0.0, 1e-12);
    assert_close(samples_mean(&score.errors[SCORE_OUT][SCORE_GLOBAL_MEAN]), log(10.0), 1e-12);
    assert_close(samples_mean(&score.errors[SCORE_OUT][SCORE_LAST_VALUE]), log(10.0), 1e-12);
    assert_close(samples_mean(&score.errors[SCORE_OUT][SCORE_TOOL_P95]), log(2.0), 1e-12);
    score_fini(&score);
}

static void concordance__right_wrong_and_tie__one_zero_half(void **state)
{
    (void)state;
    struct score score;
    const struct score_point points[] = {{1.0, {10.0, 5.0, 9.0, 0.0}, 0},
                                         {2.0, {20.0, 5.0, 8.0, 0.0}, 1},
                                         {3.0, {30.0, 5.0, 7.0, 0.0}, 2}};
    score_init(&score, mem_heap());
    assert_true(isnan(score_concordance(&score, SCORE_SAGA)));
    for (size_t i = 0; i < 3; i++) {
        assert_status(score_work(&score, &points[i]), ST_OK);
    }
    assert_close(score_concordance(&score, SCORE_SAGA), 1.0, 1e-12);
    assert_close(score_concordance(&score, SCORE_GLOBAL_MEAN), 0.5, 1e-12);
    assert_close(score_concordance(&score, SCORE_LAST_VALUE), 0.0, 1e-12);
    score_fini(&score);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brier__worked_example__mean_square),
        cmocka_unit_test(size__worked_example__log_error),
        cmocka_unit_test(concordance__right_wrong_and_tie__one_zero_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
