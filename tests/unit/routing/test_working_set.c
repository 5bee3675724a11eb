/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of 10000 tokens: in up to 8500, out above 9500. */
#include "routing/working_set.h"
#include "tests/unit/routing/gate_fixture.h"

#define S UINT64_C(1000000)

static void start(struct gate_fix *fix, uint32_t engines)
{
    gate_fix_init(fix, "working_set", NULL, engines);
    for (uint32_t i = 0; i < engines; i++) {
        struct gate_engine_info info = fix->gate.engines[i]->info;
        info.max_running = 8;
        gate_tell_engine(&fix->gate, i, &info, 0);
    }
}

static void expect_start(const struct gate_fix *fix, uint64_t session)
{
    const struct gate_action *action = gate_fix_action(fix, GATE_START);
    assert_non_null(action);
    assert_int_equal(action->session, session);
}

static void admit__no_room__waits_until_a_session_ends(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, 1);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 4000, 0, 0);
    (void)gate_fix_submit(&fix, 2, 0, 4000, 0, 0);
    struct gate_step *third = gate_fix_submit(&fix, 3, 0, 4000, 0, 0);
    assert_int_equal(third->state, GATE_STEP_AT_GATE);
    const struct gate_usage last = {
        .prompt_tokens = 4000, .output_tokens = 10, .is_ok = true, .is_final = true};
    gate_settled(&fix.gate, first, &last, S);
    expect_start(&fix, 3);
    gate_fix_fini(&fix);
}

static void admit__returns_unknown__room_is_held_for_60_s(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, 1);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 4000, 0, 0);
    (void)gate_fix_submit(&fix, 2, 0, 4000, 0, 0);
    (void)gate_fix_submit(&fix, 3, 0, 4000, 0, 0);
    gate_fix_end(&fix, first, 0, S);
    assert_int_equal(fix.gate.engines[0]->gap_tokens, 4010);
    gate_tick(&fix.gate, 60 * S);
    assert_int_equal(fix.gate.action_count, 0);
    gate_tick(&fix.gate, 61 * S);
    expect_start(&fix, 3);
    assert_int_equal(fix.gate.counters.pauses, 0);
    gate_fix_fini(&fix);
}

static void gap__counts_by_its_chance_to_return_in_time(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, 1);
    /* 10000 tokens at 1000 us each: 10 s. Returns are even over 40 s, as far as between horizons
     * lines are drawn. */
    assert_int_equal(ws_hold_us(fix.gate.engines[0], 4010), 10 * S);
    struct gate_step *step = gate_fix_submit(&fix, 1, 0, 4000, 0, 0);
    gate_fix_end(&fix, step, 40 * S, S);
    assert_int_equal(fix.gate.engines[0]->gap_tokens, 4010 / 4);
    /* After 20 s half have returned; of the rest half does within 30 s. */
    gate_tick(&fix.gate, 21 * S);
    assert_close((double)fix.gate.engines[0]->gap_tokens, 4010 / 2.0, 1);
    /* It comes back and counts whole. */
    (void)gate_fix_submit(&fix, 1, 0, 4100, 4010, 22 * S);
    assert_int_equal(fix.gate.engines[0]->gap_tokens, 0);
    assert_int_equal(fix.gate.engines[0]->run_tokens, 4110);
    gate_fix_fini(&fix);
}

static void admit__two_wait__least_served_first_and_nobody_overtakes(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, 1);
    gate_fix_play(&fix, 1, 0, 3000, 0, S); /* served, and waited for 60 s */
    gate_tick(&fix.gate, 62 * S);
    struct gate_step *big = gate_fix_submit(&fix, 2, 0, 6000, 0, 63 * S);
    (void)gate_fix_submit(&fix, 1, 0, 3100, 3010, 64 * S);
    (void)gate_fix_submit(&fix, 3, 0, 7000, 0, 65 * S);
    (void)gate_fix_submit(&fix, 4, 0, 100, 0, 66 * S); /* would fit; it waits behind session 3 */
    assert_int_equal(fix.gate.waiting_count, 3);
    gate_withdraw(&fix.gate, &fix.steps[3], 67 * S);
    expect_start(&fix, 4);
    const struct gate_usage last = {
        .prompt_tokens = 6000, .output_tokens = 10, .is_ok = true, .is_final = true};
    gate_settled(&fix.gate, big, &last, 68 * S);
    expect_start(&fix, 1);
    gate_fix_fini(&fix);
}

static void gap__too_much_together__most_served_is_paused(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, 1);
    gate_fix_play(&fix, 1, 0, 4000, 0, S);
    struct gate_step *second = gate_fix_submit(&fix, 2, 0, 4000, 0, S);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 6000, 4010, S);
    assert_int_equal(first->state, GATE_STEP_RUNNING); /* it is in: no gate */
    gate_fix_end(&fix, second, 0, 2 * S);
    assert_int_equal(fix.gate.counters.pauses, 1); /* 6010 + 4010, and none but 2 in a gap */
    gate_fix_end(&fix, first, 0, 3 * S);
    assert_int_equal(fix.gate.counters.pauses, 1);
    /* 6010 held for the first: the second's 4110 fit only when that is given up. */
    second = gate_fix_submit(&fix, 2, 0, 4100, 4010, 4 * S);
    assert_int_equal(second->state, GATE_STEP_AT_GATE);
    gate_tick(&fix.gate, 64 * S);
    expect_start(&fix, 2);
    gate_fix_fini(&fix);
}

static void admit__larger_than_the_mark__goes_to_an_engine_with_nobody(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, 2);
    (void)gate_fix_submit(&fix, 1, 0, 100, 0, 0);
    (void)gate_fix_submit(&fix, 2, 0, 9000, 0, 0);
    expect_start(&fix, 2);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->engine, 1);
    struct gate_step *other = gate_fix_submit(&fix, 3, 0, 9000, 0, 0);
    assert_int_equal(other->state, GATE_STEP_AT_GATE);
    gate_fix_fini(&fix);
}

static void admit__kv_still_there__goes_back_to_it(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, 2);
    (void)gate_fix_submit(&fix, 9, 0, 100, 0, 0); /* on the first */
    struct gate_step *step = gate_fix_submit(&fix, 1, 0, 3000, 0, 0);
    assert_int_equal(step->engine, 1);
    gate_fix_end(&fix, step, 0, S);
    gate_tick(&fix.gate, 62 * S);
    (void)gate_fix_submit(&fix, 8, 0, 100, 0, 63 * S); /* another one on the second */
    step = gate_fix_submit(&fix, 1, 0, 3100, 3010, 64 * S);
    assert_int_equal(step->engine, 1); /* 90 tokens there, 3100 on the first: 3 s more */
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admit__no_room__waits_until_a_session_ends),
        cmocka_unit_test(admit__returns_unknown__room_is_held_for_60_s),
        cmocka_unit_test(gap__counts_by_its_chance_to_return_in_time),
        cmocka_unit_test(admit__two_wait__least_served_first_and_nobody_overtakes),
        cmocka_unit_test(gap__too_much_together__most_served_is_paused),
        cmocka_unit_test(admit__larger_than_the_mark__goes_to_an_engine_with_nobody),
        cmocka_unit_test(admit__kv_still_there__goes_back_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
