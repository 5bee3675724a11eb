/* SPDX-License-Identifier: Apache-2.0 */
/* How clients play sessions, with times worked out by hand (fixture.h): a first step alone takes
 * 1000 + 160 * 10 to its first token and 1000 + 10 + 100 more to its last: 3710. A second one where
 * its prefix is cached (160 of 320): the same; where it is not, 1600 more: 5310. */
#include "tests/unit/simulator/cluster/fixture.h"

static void alone__two_steps__take_what_the_formula_says(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "saga");
    uint32_t a = fix_session(&fix, 500);
    fix_run(&fix);
    fix_expect_end(&fix, a, 500 + 3710 + 10000 + 3710);
    assert_int_equal(fix.result.outcomes[a].began_at_us, 500);
    assert_int_equal(fix.result.outcomes[a].wait_max_us, 2600);
    assert_int_equal(fix.result.steps, 2);
    assert_int_equal(fix.result.prompt_tokens, 160 + 320);
    assert_int_equal(fix.result.cached_tokens, 160);
    assert_int_equal(fix.result.output_tokens, 4);
    /* 161 tokens were computed, the last one in a block that was not full. */
    assert_int_equal(fix.result.regenerated_tokens, 1);
    assert_int_equal(fix.result.first_count, 2);
    assert_int_equal(fix.result.firsts[1].at_us, 14210);
    assert_int_equal(fix.result.firsts[1].first_us, 2600);
    uint64_t alone_us = 0;
    assert_status(lab_alone_us(&fix.plan, a, mem_heap(), &alone_us), ST_OK);
    assert_int_equal(alone_us, 17420);
    fix_fini(&fix);
}

static void network__each_way__is_added_to_tokens_and_ends(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "saga");
    fix.plan.network_us = 300;
    uint32_t a = fix_session(&fix, 0);
    fix_run(&fix);
    fix_expect_end(&fix, a, 17420 + 4 * 300);
    assert_int_equal(fix.result.firsts[0].at_us, 0);
    assert_int_equal(fix.result.firsts[0].first_us, 2600 + 600);
    assert_int_equal(fix.result.firsts[1].at_us, 3710 + 600 + 10000);
    fix_fini(&fix);
}

static void human_gap__is_told_apart(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "saga");
    uint32_t a = fix_session(&fix, 0);
    fix.steps[a][1].is_human = true;
    fix_run(&fix);
    fix_expect_end(&fix, a, 17420);
    assert_int_equal(fix.result.outcomes[a].human_us, 10000);
    uint64_t alone_us = 0;
    assert_status(lab_alone_us(&fix.plan, a, mem_heap(), &alone_us), ST_OK);
    assert_int_equal(alone_us, 7420);
    fix_fini(&fix);
}

static void sub_agents__of_a_step__hold_the_next_one_back(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "saga");
    uint32_t a = fix_session(&fix, 0);
    uint32_t b = fix_child(&fix, a, 0);
    uint32_t c = fix_child(&fix, b, 1);
    fix.steps[b][0].gap_us = 290;
    fix_run(&fix);
    /* b begins when a's first answer ends, works until 3710 + 290 + 17420; c begins then, and b
     * ends with it. */
    assert_int_equal(fix.result.outcomes[b].began_at_us, 3710);
    assert_int_equal(fix.result.outcomes[c].began_at_us, 21420);
    fix_expect_end(&fix, c, 38840);
    fix_expect_end(&fix, b, 38840);
    fix_expect_end(&fix, a, 38840 + 3710);
    uint64_t alone_us = 0;
    assert_status(lab_alone_us(&fix.plan, a, mem_heap(), &alone_us), ST_OK);
    assert_int_equal(alone_us, 42550);
    assert_status(lab_alone_us(&fix.plan, b, mem_heap(), &alone_us), ST_OK);
    assert_int_equal(alone_us, 38840 - 4000); /* as a root it waits for nothing at first */
    fix_fini(&fix);
}

static void sub_agent__shorter_than_the_gap__costs_nothing(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "saga");
    uint32_t a = fix_session(&fix, 0);
    uint32_t b = fix_child(&fix, a, 0);
    fix.sessions[b].step_count = 1;
    fix_run(&fix);
    fix_expect_end(&fix, b, 7420);
    fix_expect_end(&fix, a, 17420);
    fix_fini(&fix);
}

static void system_prompt__shared__is_computed_once(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "saga");
    uint32_t a = fix_session(&fix, 0);
    uint32_t b = fix_session(&fix, 1000000);
    fix.sessions[a].system_id = 9;
    fix.sessions[b].system_id = 9;
    fix.sessions[a].system_tokens = 100; /* 6 blocks and 4 tokens */
    fix.sessions[b].system_tokens = 100;
    fix_run(&fix);
    fix_expect_end(&fix, b, 1000000 + 17420 - 960);
    assert_int_equal(fix.result.cached_tokens, 160 + 96 + 160);
    fix_fini(&fix);
}

static void kept_prefix__cut__only_that_is_cached(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "saga");
    uint32_t a = fix_session(&fix, 0);
    fix.steps[a][1].kept_tokens = 70; /* 4 blocks and 6 tokens */
    fix_run(&fix);
    assert_int_equal(fix.result.cached_tokens, 64);
    assert_int_equal(fix.result.regenerated_tokens, 6);
    fix_expect_end(&fix, a, 17420 + 960);
    fix_fini(&fix);
}

static void too_big__for_any_engine__gives_the_session_up_and_lets_its_parent_go_on(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 2, "saga");
    uint32_t a = fix_session(&fix, 0);
    uint32_t b = fix_child(&fix, a, 0);
    fix.steps[b][0].prompt_tokens = 16000;
    fix_run(&fix);
    assert_true(fix.result.outcomes[b].is_given_up);
    assert_int_equal(fix.result.outcomes[b].refused, 1);
    assert_int_equal(fix.result.given_up, 1);
    fix_expect_end(&fix, b, 0);
    fix_expect_end(&fix, a, 17420);
    uint64_t alone_us = 0;
    assert_status(lab_alone_us(&fix.plan, b, mem_heap(), &alone_us), ST_TOOBIG);
    fix_fini(&fix);
}

static void unlimited__all_that_was_ever_computed__is_cached_everywhere(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 4, "saga");
    for (uint64_t i = 0; i < 12; i++) {
        uint32_t s = fix_session(&fix, 1000000 * i);
        fix.sessions[s].system_id = 3;
        fix.sessions[s].system_tokens = 96;
    }
    fix.plan.is_unlimited = true;
    fix.plan.engine.profile.kv_tokens =
        352; /* hardly room for one request: real memory would forget */
    fix_run(&fix);
    fix_expect_end(&fix, 0, 17420);
    for (uint32_t i = 1; i < 12; i++) {
        fix_expect_end(&fix, i, 1000000 * i + 17420 - 960);
    }
    fix_fini(&fix);
}

static void until__in_the_middle__leaves_sessions_unfinished(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "saga");
    uint32_t a = fix_session(&fix, 0);
    uint32_t b = fix_session(&fix, 10000);
    fix.plan.until_us = 20000;
    fix_run(&fix);
    fix_expect_end(&fix, a, 17420);
    fix_expect_end(&fix, b, 0);
    assert_false(fix.result.outcomes[b].is_given_up);
    assert_int_equal(fix.result.outcomes[b].steps, 1);
    assert_int_equal(fix.result.ended_at_us, 20000);
    fix_fini(&fix);
}

static void plan__broken__is_refused(void **state)
{
    (void)state;
    struct lab_result result;
    for (int i = 0; i < 9; i++) {
        struct fix fix;
        fix_init(&fix, 1, "saga");
        uint32_t a = fix_session(&fix, 0);
        uint32_t b = fix_child(&fix, a, 0);
        switch (i) {
        case 0:
            fix.steps[a][1].kept_tokens = 163;
            break;
        case 1:
            fix.steps[a][0].output_tokens = 0;
            break;
        case 2:
            fix.sessions[a].system_tokens = 161;
            break;
        case 3:
            fix.sessions[b].spawn_step = 2;
            break;
        case 4:
            fix.sessions[b].parent = 2;
            break;
        case 5:
            fix.arrivals[0].session = b;
            break;
        case 6:
            fix.plan.engines = 0;
            break;
        case 7:
            fix.sessions[a].step_count = 0;
            break;
        default:
            fix.plan.policy = STR("no such policy");
            break;
        }
        assert_status(lab_run(&fix.plan, mem_heap(), NULL, NULL, &result), ST_INVAL);
    }
}

static bool run_scenario(void *ctx, const struct mem *mem)
{
    struct fix *fix = ctx;
    struct lab_result result;
    uint64_t alone_us;
    if (lab_alone_us(&fix->plan, 0, mem, &alone_us) != ST_OK ||
        lab_run(&fix->plan, mem, NULL, NULL, &result) != ST_OK) {
        return false;
    }
    lab_result_fini(&result, mem);
    return true;
}

static void memory__failing_anywhere__ends_the_run_and_leaves_nothing(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 2, "saga");
    uint32_t a = fix_session(&fix, 0);
    (void)fix_child(&fix, a, 0);
    (void)fix_session(&fix, 0);
    fix.plan.is_unlimited = true;
    assert_true(kit_torture(run_scenario, &fix) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone__two_steps__take_what_the_formula_says),
        cmocka_unit_test(network__each_way__is_added_to_tokens_and_ends),
        cmocka_unit_test(human_gap__is_told_apart),
        cmocka_unit_test(sub_agents__of_a_step__hold_the_next_one_back),
        cmocka_unit_test(sub_agent__shorter_than_the_gap__costs_nothing),
        cmocka_unit_test(system_prompt__shared__is_computed_once),
        cmocka_unit_test(kept_prefix__cut__only_that_is_cached),
        cmocka_unit_test(too_big__for_any_engine__gives_the_session_up_and_lets_its_parent_go_on),
        cmocka_unit_test(unlimited__all_that_was_ever_computed__is_cached_everywhere),
        cmocka_unit_test(until__in_the_middle__leaves_sessions_unfinished),
        cmocka_unit_test(plan__broken__is_refused),
        cmocka_unit_test(memory__failing_anywhere__ends_the_run_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
