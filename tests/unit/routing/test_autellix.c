/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_fixture.h"

enum { ENGINES = 3 };
#define S UINT64_C(1000000)

static uint32_t place(uint32_t home, uint32_t prompt_bytes)
{
    const struct route_engine engines[ENGINES] = {
        {.key = 1, .id = 0, .slots = 8, .running = 4, .reuse_bytes = 8000},
        {.key = 2, .id = 1, .slots = 8, .running = 9},
        {.key = 3, .id = 2, .slots = 8, .running = 1},
    };
    const struct route_view view = {engines, ENGINES};
    const struct route_step step = {.key = 5, .prompt_bytes = prompt_bytes, .home = home};
    double costs_us[ENGINES];
    struct route_choice choice;
    struct route_state state = {0};
    assert_status(route_policy_autellix.place(&view, &step, &state, costs_us, &choice), ST_OK);
    return choice.idx;
}

static void autellix__short_call__fewest_steps(void **state)
{
    (void)state;
    assert_int_equal(place(1, 2048 * 4), 2);
    assert_int_equal(place(ROUTE_NONE, 2048 * 4), 2);
}

static void autellix__long_call__its_programs_engine(void **state)
{
    (void)state;
    assert_int_equal(place(1, 2048 * 4 + 1), 1);
    assert_int_equal(place(ROUTE_NONE, 2048 * 4 + 1), 2);
}

/* 1 has been served for 20 s, 2 for 7.9, 3 for 8: levels 1, 0 and 1. */
static struct gate_step *three_served(struct gate_fix *fix)
{
    gate_fix_play(fix, 1, 0, 100, 0, 20 * S);
    gate_fix_play(fix, 2, 0, 100, 20 * S, 27900000);
    gate_fix_play(fix, 3, 0, 100, 27900000, 35900000);
    struct gate_step *running = gate_fix_submit(fix, 9, 0, 100, 0, 36 * S);
    (void)gate_fix_submit(fix, 1, 0, 100, 0, 37 * S);
    (void)gate_fix_submit(fix, 3, 0, 100, 0, 38 * S);
    (void)gate_fix_submit(fix, 2, 0, 100, 0, 39 * S);
    return running;
}

static void autellix__several_wait__lowest_level_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "autellix", (const double[]){8.0, 3.0}, 1);
    struct gate_step *running = three_served(&fix);
    gate_fix_expect_order(&fix, running, (const uint64_t[]){2, 1, 3}, 3, 40 * S);
    gate_fix_fini(&fix);
}

/* At 63 s 3 has waited for 25 s, more than three times its service, and 2 for 24, more too; 1 for
 * 26, less than 60. Equals by arrival. */
static void autellix__waited_too_long_in_proportion__first_queue(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "autellix", (const double[]){8.0, 3.0}, 1);
    struct gate_step *running = three_served(&fix);
    gate_fix_expect_order(&fix, running, (const uint64_t[]){3, 2, 1}, 3, 63 * S);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(autellix__short_call__fewest_steps),
        cmocka_unit_test(autellix__long_call__its_programs_engine),
        cmocka_unit_test(autellix__several_wait__lowest_level_first),
        cmocka_unit_test(autellix__waited_too_long_in_proportion__first_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
