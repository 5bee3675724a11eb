/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_fixture.h"

static void lpm__several_wait__fewest_uncached_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "lpm", NULL, 1);
    gate_fix_play(&fix, 1, 0, 500, 0, 10);
    gate_fix_play(&fix, 2, 0, 900, 20, 30);
    struct gate_step *running = gate_fix_submit(&fix, 9, 0, 100, 0, 40);
    (void)gate_fix_submit(&fix, 3, 0, 300, 0, 41);   /* 300 */
    (void)gate_fix_submit(&fix, 1, 0, 700, 510, 42); /* 190 */
    (void)gate_fix_submit(&fix, 2, 0, 950, 910, 43); /* 40 */
    (void)gate_fix_submit(&fix, 4, 0, 190, 0, 44);   /* 190, later than 1's */
    gate_fix_expect_order(&fix, running, (const uint64_t[]){2, 1, 4, 3}, 4, 50);
    gate_fix_fini(&fix);
}

static void lpm__longer_queue_than_it_orders__by_arrival(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "lpm", (const double[]){0.0, 2.0}, 1);
    struct gate_step *running = gate_fix_submit(&fix, 9, 0, 100, 0, 0);
    (void)gate_fix_submit(&fix, 1, 0, 300, 0, 1);
    (void)gate_fix_submit(&fix, 2, 0, 200, 0, 2);
    (void)gate_fix_submit(&fix, 3, 0, 100, 0, 3);
    /* With three in the queue 1 is the first; with two, the smaller one. */
    gate_fix_expect_order(&fix, running, (const uint64_t[]){1, 3, 2}, 3, 10);
    gate_fix_fini(&fix);
}

static void lpm__gap__pinned_as_long_as_that_pays(void **state)
{
    (void)state;
    struct gate_fix fix;
    /* 1010 tokens cost 1.01 s; three times that, and surely back within 1 s: pinned 1 s. */
    gate_fix_init(&fix, "lpm", NULL, 1);
    struct gate_step *step = gate_fix_submit(&fix, 1, 0, 1000, 0, 0);
    gate_fix_end(&fix, step, 1000000, 5000);
    const struct gate_action *pin = gate_fix_action(&fix, GATE_RETAIN);
    assert_non_null(pin);
    assert_int_equal(pin->session, 1);
    assert_int_equal(pin->engine, 0);
    assert_int_equal(pin->until_us, 1005000);
    /* Within 100 s: a second of memory buys 3 % of 3.03 s. */
    step = gate_fix_submit(&fix, 2, 0, 1000, 0, 6000);
    gate_fix_end(&fix, step, 100000000, 7000);
    assert_null(gate_fix_action(&fix, GATE_RETAIN));
    /* Nothing is known. */
    step = gate_fix_submit(&fix, 3, 0, 1000, 0, 8000);
    gate_fix_end(&fix, step, 0, 9000);
    assert_null(gate_fix_action(&fix, GATE_RETAIN));
    gate_fix_fini(&fix);
}

static void lpm__scale_zero__no_pins(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "lpm", (const double[]){0.0, 128.0}, 1);
    struct gate_step *step = gate_fix_submit(&fix, 1, 0, 9000, 0, 0);
    gate_fix_end(&fix, step, 100000, 5000);
    assert_null(gate_fix_action(&fix, GATE_RETAIN));
    gate_fix_fini(&fix);
}

/* The engine keeps 4000 tokens for 1 and runs 2's 3010: a step of 4010 has no room until the pin
 * has run out, one of 1's that takes up its pin has. */
static void pins__of_others__take_room(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "lpm", NULL, 1);
    struct gate_engine_info info = fix.gate.engines[0]->info;
    info.max_running = 4;
    gate_tell_engine(&fix.gate, 0, &info, 0);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 3990, 0, 0);
    gate_fix_end(&fix, first, 1000000, 1000);
    assert_int_equal(gate_fix_action(&fix, GATE_RETAIN)->until_us, 1001000);
    struct gate_step *second = gate_fix_submit(&fix, 2, 0, 3000, 0, 2000);
    gate_answered(&fix.gate, second, 3000);
    (void)gate_fix_submit(&fix, 3, 0, 4000, 0, 4000);
    assert_null(gate_fix_action(&fix, GATE_START));
    (void)gate_fix_submit(&fix, 1, 0, 5000, 4000, 5000);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->session, 1);
    gate_fix_fini(&fix);
}

static void pins__run_out__the_next_tick_lets_others_go(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "lpm", NULL, 1);
    struct gate_engine_info info = fix.gate.engines[0]->info;
    info.max_running = 4;
    gate_tell_engine(&fix.gate, 0, &info, 0);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 3990, 0, 0);
    gate_fix_end(&fix, first, 1000000, 1000);
    struct gate_step *second = gate_fix_submit(&fix, 2, 0, 3000, 0, 2000);
    gate_answered(&fix.gate, second, 3000);
    (void)gate_fix_submit(&fix, 3, 0, 4000, 0, 4000);
    gate_tick(&fix.gate, 1000999);
    assert_null(gate_fix_action(&fix, GATE_START));
    gate_tick(&fix.gate, 1001000);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->session, 3);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lpm__several_wait__fewest_uncached_first),
        cmocka_unit_test(lpm__longer_queue_than_it_orders__by_arrival),
        cmocka_unit_test(lpm__gap__pinned_as_long_as_that_pays),
        cmocka_unit_test(lpm__scale_zero__no_pins),
        cmocka_unit_test(pins__of_others__take_room),
        cmocka_unit_test(pins__run_out__the_next_tick_lets_others_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
