/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_fixture.h"

#define MS UINT64_C(1000)
#define S  UINT64_C(1000000)

/* Plays a step that is over at to_us; its session comes back within return_us. */
static void
play(struct gate_fix *fix, uint64_t session, uint32_t tokens, uint64_t return_us, uint64_t to_us)
{
    struct gate_step *step = gate_fix_submit(fix, session, 0, tokens, 0, to_us - 1);
    gate_fix_end(fix, step, return_us, to_us);
}

static void expect_pin(const struct gate_fix *fix, uint64_t session, uint64_t until_us)
{
    const struct gate_action *pin = gate_fix_action(fix, GATE_RETAIN);
    assert_non_null(pin);
    assert_int_equal(pin->session, session);
    assert_int_equal(pin->until_us, until_us);
}

/* 400 tokens and 10 of the answer cost 410 ms. */
static void continuum__back_sooner_than_recomputed__pinned(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "continuum", (const double[]){1.0}, 1);
    play(&fix, 1, 400, 300 * MS, 1 * S);
    expect_pin(&fix, 1, 1300 * MS);
    play(&fix, 2, 400, 1000 * MS, 3 * S);
    assert_null(gate_fix_action(&fix, GATE_RETAIN));
    play(&fix, 3, 400, 0, 4 * S); /* nothing is known */
    assert_null(gate_fix_action(&fix, GATE_RETAIN));
    gate_fix_fini(&fix);
}

static void continuum__scale__multiplies_the_worth(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "continuum", (const double[]){3.0}, 1);
    play(&fix, 2, 400, 1000 * MS, 3 * S);
    expect_pin(&fix, 2, 4 * S);
    gate_fix_fini(&fix);
}

/* 2's first step waits for 6 s, a tenth of which is the mean then: 410 and 600 ms are worth a
 * second's pin. 2's next one finds its pin and waits for 5 s more: that says nothing of those
 * without. */
static void continuum__steps_without_pins_wait__pinned_for_longer(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "continuum", (const double[]){1.0}, 1);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 400, 0, 0);
    struct gate_step *second = gate_fix_submit(&fix, 2, 0, 400, 0, 0);
    gate_fix_end(&fix, first, 0, 6 * S);
    gate_fix_end(&fix, second, 1000 * MS, 7 * S);
    expect_pin(&fix, 2, 8 * S);
    struct gate_step *third = gate_fix_submit(&fix, 1, 0, 400, 0, 7 * S);
    struct gate_step *fourth = gate_fix_submit(&fix, 2, 0, 400, 0, 7 * S);
    gate_fix_end(&fix, third, 0, 12 * S); /* 600 ms less a tenth */
    gate_fix_end(&fix, fourth, 1000 * MS, 13 * S);
    assert_close(fix.gate.engines[0]->notes[0], 540000.0, 1e-6);
    assert_null(gate_fix_action(&fix, GATE_RETAIN));
    gate_fix_fini(&fix);
}

static void continuum__found_its_pin__before_older_sessions(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "continuum_2s", NULL, 1);
    play(&fix, 1, 100, 0, 1 * S);
    play(&fix, 2, 100, 0, 2 * S);
    play(&fix, 3, 100, 0, 3 * S);
    play(&fix, 4, 100, 0, 4 * S);
    struct gate_step *running = gate_fix_submit(&fix, 9, 0, 100, 0, 4500 * MS);
    (void)gate_fix_submit(&fix, 5, 0, 100, 0, 4501 * MS);
    (void)gate_fix_submit(&fix, 2, 0, 100, 0, 4502 * MS); /* pinned until 4 s */
    (void)gate_fix_submit(&fix, 4, 0, 100, 0, 4503 * MS); /* until 6 s */
    (void)gate_fix_submit(&fix, 3, 0, 100, 0, 4504 * MS); /* until 5 s */
    (void)gate_fix_submit(&fix, 1, 0, 100, 0, 4505 * MS); /* until 3 s */
    gate_fix_expect_order(&fix, running, (const uint64_t[]){3, 4, 1, 2, 5}, 5, 4600 * MS);
    gate_fix_fini(&fix);
}

static void continuum_2s__tool__pinned_two_seconds(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "continuum_2s", NULL, 1);
    play(&fix, 1, 100, 0, 1 * S);
    expect_pin(&fix, 1, 3 * S);
    gate_fix_fini(&fix);
}

static void both__no_tool__no_pin(void **state)
{
    (void)state;
    static const char *const names[] = {"continuum", "continuum_2s"};
    for (size_t i = 0; i < 2; i++) {
        struct gate_fix fix;
        gate_fix_init(&fix, names[i], NULL, 1);
        struct gate_step *step = gate_fix_submit(&fix, 1, 0, 9000, 0, 0);
        struct gate_usage usage = {.prompt_tokens = 9000, .is_ok = true, .has_return = true};
        for (uint32_t h = 0; h < GATE_HORIZONS; h++) {
            usage.return_ratio[h] = 1.0f;
        }
        gate_settled(&fix.gate, step, &usage, 1 * S);
        assert_null(gate_fix_action(&fix, GATE_RETAIN));
        gate_fix_fini(&fix);
    }
}

static void set_policy__another_one__finds_no_notes(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "continuum", (const double[]){1.0}, 1);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 400, 0, 0);
    struct gate_step *second = gate_fix_submit(&fix, 2, 0, 400, 0, 0);
    gate_fix_end(&fix, first, 0, 6 * S);
    gate_fix_end(&fix, second, 0, 7 * S);
    assert_true(fix.gate.engines[0]->notes[0] > 0.0 && second->session->notes[0] > 0.0);
    gate_set_policy(&fix.gate, route_policy_find(STR("kvflow")), NULL, 8 * S);
    assert_true(fix.gate.engines[0]->notes[0] == 0.0 && second->session->notes[0] == 0.0);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(continuum__back_sooner_than_recomputed__pinned),
        cmocka_unit_test(continuum__scale__multiplies_the_worth),
        cmocka_unit_test(continuum__steps_without_pins_wait__pinned_for_longer),
        cmocka_unit_test(continuum__found_its_pin__before_older_sessions),
        cmocka_unit_test(continuum_2s__tool__pinned_two_seconds),
        cmocka_unit_test(both__no_tool__no_pin),
        cmocka_unit_test(set_policy__another_one__finds_no_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
