/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/budget.h"

#include "tests/kit/kit.h"

#define SECOND UINT64_C(1000000)

static uint32_t take_all(struct coord_budget *budget, double ratio, uint64_t now_us)
{
    uint32_t taken = 0;
    while (taken < 10000 && coord_budget_take(budget, ratio, now_us)) {
        taken++;
    }
    return taken;
}

/* The worked example of docs/formulas.md#F4. */
static void take__300_steps_at_a_tenth__30_retries(void **state)
{
    (void)state;
    struct coord_budget budget = {.steps = {0}};
    for (uint32_t i = 0; i < 300; i++) {
        coord_budget_note_step(&budget, (uint64_t)(i / 30) * SECOND);
    }
    assert_int_equal(take_all(&budget, 0.1, 9 * SECOND), 30);
}

static void take__no_traffic__minimum(void **state)
{
    (void)state;
    struct coord_budget budget = {.steps = {0}};
    assert_int_equal(take_all(&budget, 0.1, 5 * SECOND), COORD_BUDGET_MIN);
}

static void take__ten_seconds_later__renewed(void **state)
{
    (void)state;
    struct coord_budget budget = {.steps = {0}};
    assert_int_equal(take_all(&budget, 0.0, 5 * SECOND), COORD_BUDGET_MIN);
    assert_false(coord_budget_take(&budget, 0.0, 14 * SECOND));
    assert_int_equal(take_all(&budget, 0.0, 15 * SECOND), COORD_BUDGET_MIN);
}

static void take__steps_of_an_old_window__do_not_count(void **state)
{
    (void)state;
    struct coord_budget budget = {.steps = {0}};
    for (uint32_t i = 0; i < 1000; i++) {
        coord_budget_note_step(&budget, SECOND);
    }
    assert_int_equal(take_all(&budget, 0.1, 100 * SECOND), COORD_BUDGET_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take__300_steps_at_a_tenth__30_retries),
        cmocka_unit_test(take__no_traffic__minimum),
        cmocka_unit_test(take__ten_seconds_later__renewed),
        cmocka_unit_test(take__steps_of_an_old_window__do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
