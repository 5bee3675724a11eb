/* SPDX-License-Identifier: Apache-2.0 */
/* An engine of 10000 tokens that runs one step at a time (gate_fixture.h): prompts of more than
 * 2500 are large. */
#include "tests/unit/routing/gate_fixture.h"

/* One whose last answer had so many tokens. */
static void had_output(struct gate_fix *fix, uint64_t session, uint32_t output_tokens)
{
    struct gate_step *step = gate_fix_submit(fix, session, 0, 100, 0, 0);
    const struct gate_usage usage = {
        .prompt_tokens = 100, .output_tokens = output_tokens, .is_ok = true};
    gate_settled(&fix->gate, step, &usage, 0);
}

/* Large ones, then other prompts, then long answers; each by prompt times limit: 2 * 2000 * 1 of 4,
 * 2 * 400 * 16 of 5. */
static void key__classes_in_turn__smallest_area_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "regime", NULL, 1);
    had_output(&fix, 5, 10);
    had_output(&fix, 6, 500);
    had_output(&fix, 7, 5000);
    struct gate_step *running = gate_fix_submit(&fix, 1, 0, 10, 0, 0);
    (void)gate_fix_submit(&fix, 7, 0, 90, 0, 1);
    (void)gate_fix_submit(&fix, 6, 0, 90, 0, 2);
    (void)gate_fix_submit(&fix, 5, 0, 400, 0, 3);
    (void)gate_fix_submit(&fix, 4, 0, 2000, 0, 4);
    (void)gate_fix_submit(&fix, 3, 0, 4000, 0, 5);
    (void)gate_fix_submit(&fix, 2, 0, 3000, 0, 6);
    /* 155 token-steps of 1 and 30055 of 2 are the three turns of 10000 of the first round, and
     * some; 40055 of 3 the first two of 20000: then long answers, and large ones again, but there
     * is none */
    gate_fix_expect_order(&fix, running, (const uint64_t[]){2, 3, 6, 7, 4, 5}, 6, 10);
    gate_fix_fini(&fix);
}

/* Twice the prompt, of a long answer the limit: 512 for 500. */
static void reserve__prompt_twice_or_with_the_limit(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "regime", NULL, 1);
    had_output(&fix, 6, 500);
    (void)gate_fix_submit(&fix, 1, 0, 1000, 0, 0);
    assert_int_equal(fix.gate.engines[0]->run_tokens, 2000);
    (void)gate_fix_submit(&fix, 6, 0, 90, 0, 0);
    assert_int_equal(fix.gate.engines[0]->queued_tokens, 90 + 512);
    gate_fix_fini(&fix);
}

/* 10055 token-steps use up the first turn, of 10000: prompts are next, and after 9055 more still,
 * but there is none left; long answers come before large prompts then. */
static void turn__used_up__the_next_class(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "regime", NULL, 1);
    had_output(&fix, 6, 500);
    struct gate_step *running = gate_fix_submit(&fix, 1, 0, 1000, 0, 1);
    (void)gate_fix_submit(&fix, 2, 0, 3000, 0, 2);
    (void)gate_fix_submit(&fix, 6, 0, 90, 0, 3);
    (void)gate_fix_submit(&fix, 3, 0, 900, 0, 4);
    gate_fix_expect_order(&fix, running, (const uint64_t[]){3, 6, 2}, 3, 10);
    gate_fix_fini(&fix);
}

static void all_over__rounds_begin_anew(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "regime", NULL, 1);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 1000, 0, 1);
    struct gate_step *second = gate_fix_submit(&fix, 2, 0, 1000, 0, 1);
    gate_fix_end(&fix, first, 0, 2);
    assert_true(fix.gate.engines[0]->notes[0] == 1.0);
    gate_fix_end(&fix, second, 0, 3);
    assert_true(fix.gate.engines[0]->notes[0] == 0.0);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key__classes_in_turn__smallest_area_first),
        cmocka_unit_test(reserve__prompt_twice_or_with_the_limit),
        cmocka_unit_test(turn__used_up__the_next_class),
        cmocka_unit_test(all_over__rounds_begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
