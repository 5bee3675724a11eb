/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_fixture.h"

#define S UINT64_C(1000000)

static struct gate_step *
submit_of(struct gate_fix *fix, uint64_t tenant, uint64_t session, uint64_t now_us)
{
    const struct gate_need need = {
        .session = session, .tenant = tenant, .prompt_tokens = 100, .remaining_s = -1.0};
    struct gate_step *step = &fix->steps[fix->count++];
    assert_status(gate_submit(&fix->gate, step, &need, 0, now_us), ST_OK);
    return step;
}

static void sfq__one_asks_for_much__the_other_goes_before_its_queue(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "sfq", NULL, 1);
    struct gate_step *running = submit_of(&fix, 1, 11, 0);
    (void)submit_of(&fix, 1, 12, 0);
    (void)submit_of(&fix, 1, 13, 0);
    (void)submit_of(&fix, 2, 21, S);
    (void)submit_of(&fix, 2, 22, S);
    gate_fix_end(&fix, running, 0, 4 * S); /* 4 and 0 */
    running = gate_fix_action(&fix, GATE_START)->step;
    assert_int_equal(running->need.session, 21);
    gate_fix_end(&fix, running, 0, 7 * S); /* 4 and 3 */
    running = gate_fix_action(&fix, GATE_START)->step;
    assert_int_equal(running->need.session, 22);
    gate_fix_end(&fix, running, 0, 9 * S); /* 4 and 5 */
    gate_fix_expect_order(&fix, gate_fix_action(&fix, GATE_START)->step, (const uint64_t[]){13}, 1,
                          10 * S);
    gate_fix_fini(&fix);
}

static void sfq__weight_of_two__gets_twice_as_much(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "sfq", NULL, 1);
    struct gate_step *running = submit_of(&fix, 1, 1, 0);
    for (uint64_t i = 0; i < 6; i++) {
        (void)submit_of(&fix, 1, 11 + i, 0);
        (void)submit_of(&fix, 2, 21 + i, 0);
    }
    struct gate_tenant *second = fix.steps[2].session->tenant;
    assert_int_equal(second->key, 2);
    second->weight = 2.0;
    uint32_t got[3] = {0};
    for (uint64_t i = 1; i <= 9; i++) {
        got[running->need.tenant]++;
        gate_fix_end(&fix, running, 0, i * S);
        running = gate_fix_action(&fix, GATE_START)->step;
    }
    assert_int_equal(got[1], 3);
    assert_int_equal(got[2], 6);
    gate_fix_fini(&fix);
}

static void sfq__idle_tenant__saves_nothing_up(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "sfq", NULL, 1);
    struct gate_step *step = submit_of(&fix, 2, 20, 0);
    gate_fix_end(&fix, step, 0, S);
    step = submit_of(&fix, 1, 10, S);
    (void)submit_of(&fix, 1, 11, 2 * S);
    gate_fix_end(&fix, step, 0, 11 * S); /* 10 for the first, who goes on */
    step = gate_fix_action(&fix, GATE_START)->step;
    gate_tick(&fix.gate, 11 * S + 100000); /* 20 with the one under way: the second's too */
    (void)submit_of(&fix, 2, 21, 12 * S);
    (void)submit_of(&fix, 1, 12, 13 * S);
    (void)submit_of(&fix, 2, 22, 14 * S);
    gate_fix_end(&fix, step, 0, 21 * S); /* 20 and 20 */
    step = gate_fix_action(&fix, GATE_START)->step;
    assert_int_equal(step->need.session, 21);
    gate_fix_end(&fix, step, 0, 31 * S); /* 20 and 30; with what it saved it would be 20 and 11 */
    assert_int_equal(gate_fix_action(&fix, GATE_START)->session, 12);
    gate_fix_fini(&fix);
}

static void sfq__step_of_no_session__is_served(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "sfq", NULL, 1);
    struct gate_step *running = submit_of(&fix, 1, 11, 0);
    (void)submit_of(&fix, 2, 21, 0);
    (void)submit_of(&fix, 0, 0, 0);
    gate_fix_end(&fix, running, 0, S);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->session, 21);
    gate_fix_end(&fix, gate_fix_action(&fix, GATE_START)->step, 0, 2 * S);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->session, 0);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sfq__one_asks_for_much__the_other_goes_before_its_queue),
        cmocka_unit_test(sfq__weight_of_two__gets_twice_as_much),
        cmocka_unit_test(sfq__idle_tenant__saves_nothing_up),
        cmocka_unit_test(sfq__step_of_no_session__is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
