/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of 10000 tokens that compute one in a millisecond (gate_fixture.h); a session takes its
 * prompt or context, 10 of an answer and 100 to grow. */
#include "tests/unit/routing/gate_pauses.h"

enum { PARAMS = 12, WINDOW = 7 };

/* Its defaults, with means of so few steps. */
static void init(struct gate_fix *fix, double window, uint32_t engines)
{
    const struct route_policy *policy = route_policy_find(STR("vllm_program"));
    double params[PARAMS];
    for (uint32_t i = 0; i < PARAMS; i++) {
        params[i] = policy->params[i].def;
    }
    params[WINDOW] = window;
    gate_fix_init(fix, "vllm_program", params, engines);
}

static void nothing_known__paused_at_once__back_where_it_was(void **state)
{
    (void)state;
    struct gate_fix fix;
    init(&fix, 100, 2);
    (void)gate_fix_submit(&fix, 1, 1, 1000, 0, 0);
    expect_in(&fix, 1, 1); /* where it was placed */
    gate_fix_end(&fix, &fix.steps[0], 0, 1 * S);
    expect_out(&fix, 1);
    (void)gate_fix_submit(&fix, 1, 0, 1200, 1010, 2 * S); /* placed elsewhere meanwhile */
    expect_in(&fix, 1, 1);
    gate_fix_fini(&fix);
}

static void no_room__the_one_used_last_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    init(&fix, 100, 1);
    gate_fix_play(&fix, 1, 0, 3000, 0, 10);
    gate_fix_play(&fix, 2, 0, 3000, 20, 30);
    struct gate_step *big = gate_fix_submit(&fix, 3, 0, 9000, 0, 40);
    (void)gate_fix_submit(&fix, 1, 0, 6000, 3010, 50);
    (void)gate_fix_submit(&fix, 2, 0, 6000, 3010, 60);
    (void)gate_fix_submit(&fix, 4, 0, 3500, 0, 70); /* was never there: after both */
    expect_out(&fix, 1);
    gate_fix_end(&fix, big, 0, 1 * S);
    expect_in(&fix, 2, 0);
    expect_out(&fix, 1); /* 6110 each */
    expect_in(&fix, 4, 0);
    gate_fix_fini(&fix);
}

static void waited_for_300_s__let_in_anyway(void **state)
{
    (void)state;
    struct gate_fix fix;
    init(&fix, 100, 1);
    (void)gate_fix_submit(&fix, 1, 0, 9000, 0, 0);
    (void)gate_fix_submit(&fix, 2, 0, 900, 0, 1 * S);
    tick(&fix, 300ull * S);
    expect_out(&fix, 2);
    tick(&fix, 301ull * S);
    expect_in(&fix, 2, 0);
    gate_fix_fini(&fix);
}

static void steps_wait_inside__nobody_is_let_in(void **state)
{
    (void)state;
    struct gate_fix fix;
    init(&fix, 100, 1);
    const struct gate_engine_info info = {
        .max_running = 8, .kv_tokens = 10000, .chunk_tokens = 512};
    gate_tell_engine(&fix.gate, 0, &info, 0);
    (void)gate_fix_submit(&fix, 1, 0, 1000, 0, 0);
    (void)gate_fix_submit(&fix, 2, 0, 1000, 0, 0);
    tick(&fix, 1 * S);
    (void)gate_fix_submit(&fix, 3, 0, 1000, 0, 1 * S);
    expect_out(&fix, 3);
    gate_answered(&fix.gate, &fix.steps[0], 1500000);
    expect_out(&fix, 3);
    tick(&fix, 2 * S);
    expect_in(&fix, 3, 0);
    gate_fix_fini(&fix);
}

/* With means of two: after gaps of 1 s, 3010 tokens, 5.6 s to compute, are held for a while. */
static void short_gaps__held_while_tools_run__then_paused(void **state)
{
    (void)state;
    struct gate_fix fix;
    init(&fix, 2, 1);
    for (uint64_t i = 0; i < 3; i++) {
        gate_fix_play(&fix, 1, 0, 3000, i * 2 * S, (i * 2 + 1) * S);
    }
    expect_in(&fix, 1, 0);
    uint64_t until_us = (uint64_t)session_of(&fix, 1)->notes[6];
    assert_true(until_us >= 6 * S && until_us <= 10550000);
    tick(&fix, until_us - 1);
    expect_in(&fix, 1, 0);
    tick(&fix, until_us + 1 * S);
    expect_out(&fix, 1);
    gate_fix_fini(&fix);
}

/* Both reason, 8110 and 4110 tokens; prompts are 3000 on average. 1 has been served since it lost
 * its KV at 5 s, for 1 s, which counts 0.61 times; 2 for 0.9 s, which counts 0.87 times: 2 has to
 * go when its step is over. */
static void short_of_memory__one_is_paused_when_its_step_is_over(void **state)
{
    (void)state;
    struct gate_fix fix;
    init(&fix, 2, 1);
    for (uint64_t i = 0; i < 3; i++) {
        gate_fix_play(&fix, 1, 0, 3000, i * 2 * S, (i * 2 + 1) * S);
    }
    struct gate_step *second = gate_fix_submit(&fix, 2, 0, 4000, 0, 5100000);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 8000, 3010, 5200000);
    uint64_t pauses = fix.gate.counters.pauses;
    tick(&fix, 6 * S);
    expect_in(&fix, 2, 0);
    gate_fix_end(&fix, second, 0, 6100000);
    expect_out(&fix, 2);
    gate_fix_end(&fix, first, 0, 6200000);
    expect_in(&fix, 1, 0);
    assert_int_equal(fix.gate.counters.pauses, pauses + 1);
    gate_fix_fini(&fix);
}

/* 1 waits for its engine behind 3, which was there later; the other engine has been used and is
 * free. */
static void other_engine_free__goes_there_after_a_second(void **state)
{
    (void)state;
    struct gate_fix fix;
    init(&fix, 1, 2);
    gate_fix_play(&fix, 9, 1, 100, 0, 10);
    gate_fix_play(&fix, 1, 0, 2000, 20, 30);
    gate_fix_play(&fix, 3, 0, 2000, 40, 50);
    (void)gate_fix_submit(&fix, 4, 0, 9000, 0, 60);
    (void)gate_fix_submit(&fix, 1, 0, 2000, 2010, 1 * S);
    (void)gate_fix_submit(&fix, 3, 0, 2000, 2010, 1 * S);
    expect_out(&fix, 1);
    tick(&fix, 1500000);
    expect_out(&fix, 1);
    tick(&fix, 2500000);
    expect_in(&fix, 1, 1);
    expect_out(&fix, 3); /* nobody is before it at home */
    gate_fix_fini(&fix);
}

static void failed_step__paused(void **state)
{
    (void)state;
    struct gate_fix fix;
    const struct gate_usage failed = {0};
    init(&fix, 1, 1);
    struct gate_step *step = gate_fix_submit(&fix, 1, 0, 1000, 0, 0);
    gate_settled(&fix.gate, step, &failed, 10);
    expect_out(&fix, 1);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known__paused_at_once__back_where_it_was),
        cmocka_unit_test(no_room__the_one_used_last_first),
        cmocka_unit_test(waited_for_300_s__let_in_anyway),
        cmocka_unit_test(steps_wait_inside__nobody_is_let_in),
        cmocka_unit_test(short_gaps__held_while_tools_run__then_paused),
        cmocka_unit_test(short_of_memory__one_is_paused_when_its_step_is_over),
        cmocka_unit_test(other_engine_free__goes_there_after_a_second),
        cmocka_unit_test(failed_step__paused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
