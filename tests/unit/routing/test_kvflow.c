/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_fixture.h"

#define S UINT64_C(1000000)

/* A session whose step is over at 10 s and half of whose kind are back after half of return_us. */
static void play(struct gate_fix *fix, uint64_t session, uint64_t return_us)
{
    struct gate_step *step = gate_fix_submit(fix, session, 0, 100, 0, 10 * S - 1);
    gate_fix_end(fix, step, return_us, 10 * S);
}

static void expect_told(const struct gate_fix *fix, uint64_t session, uint64_t next_at_us)
{
    const struct gate_action *value = gate_fix_action(fix, GATE_VALUE);
    assert_non_null(value);
    assert_int_equal(value->session, session);
    assert_int_equal(value->engine, 0);
    assert_int_equal(value->next_at_us, next_at_us);
    assert_true(value->reuse_ratio == (next_at_us == UINT64_MAX ? 0.0 : 1.0));
}

static void kvflow__gap__told_when_it_is_expected(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "kvflow", NULL, 1);
    play(&fix, 1, 30 * S);
    expect_told(&fix, 1, 25 * S);
    play(&fix, 2, 4000 * S); /* 45 % within 30 minutes: later than is known */
    expect_told(&fix, 2, UINT64_MAX);
    play(&fix, 3, 0);
    expect_told(&fix, 3, UINT64_MAX);
    gate_fix_fini(&fix);
}

static void kvflow__late__expected_anew(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "kvflow", NULL, 1);
    play(&fix, 1, 30 * S);
    gate_tick(&fix.gate, 24 * S);
    assert_null(gate_fix_action(&fix, GATE_VALUE));
    gate_tick(&fix.gate, 30 * S); /* two thirds are gone; half of the rest by 25 s of 30 */
    expect_told(&fix, 1, 35 * S);
    gate_tick(&fix.gate, 45 * S); /* nobody is left */
    expect_told(&fix, 1, UINT64_MAX);
    gate_tick(&fix.gate, 50 * S);
    assert_null(gate_fix_action(&fix, GATE_VALUE));
    gate_fix_fini(&fix);
}

static void kvflow__slower_memory__loaded_once_before_it_comes(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "kvflow", NULL, 1);
    struct gate_engine_info info = fix.gate.engines[0]->info;
    info.tier_tokens = 50000;
    gate_tell_engine(&fix.gate, 0, &info, 0);
    play(&fix, 1, 30 * S);
    play(&fix, 2, 4000 * S);
    gate_tick(&fix.gate, 22 * S);
    assert_null(gate_fix_action(&fix, GATE_PREFETCH));
    gate_tick(&fix.gate, 23 * S); /* two seconds before */
    assert_int_equal(gate_fix_action(&fix, GATE_PREFETCH)->session, 1);
    assert_int_equal(fix.gate.action_count, 1);
    gate_tick(&fix.gate, 24 * S);
    assert_null(gate_fix_action(&fix, GATE_PREFETCH));
    gate_fix_fini(&fix);
}

static void kvflow__no_slower_memory__nothing_to_load(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "kvflow", NULL, 1);
    play(&fix, 1, 30 * S);
    gate_tick(&fix.gate, 24 * S);
    assert_int_equal(fix.gate.action_count, 0);
    gate_fix_fini(&fix);
}

static void kvflow__has_come__wanted_now_and_then_left_alone(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "kvflow", NULL, 1);
    play(&fix, 1, 30 * S);
    (void)gate_fix_submit(&fix, 1, 0, 200, 100, 20 * S);
    expect_told(&fix, 1, 20 * S);
    gate_tick(&fix.gate, 30 * S);
    assert_null(gate_fix_action(&fix, GATE_VALUE));
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kvflow__gap__told_when_it_is_expected),
        cmocka_unit_test(kvflow__late__expected_anew),
        cmocka_unit_test(kvflow__slower_memory__loaded_once_before_it_comes),
        cmocka_unit_test(kvflow__no_slower_memory__nothing_to_load),
        cmocka_unit_test(kvflow__has_come__wanted_now_and_then_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
