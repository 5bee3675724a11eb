/* SPDX-License-Identifier: Apache-2.0 */
/* What faults do, with times worked out by hand (fixture.h): of a step alone, the first token comes
 * after 2600 and the end after 3710; with nothing cached a second step takes 4200 and 5310. */
#include "tests/unit/simulator/cluster/fixture.h"

struct bad {
    struct fix fix;
    struct lab_scenario scenario;
    struct lab_fault fault;
};

static void bad_init(struct bad *bad, uint32_t engines, struct lab_fault fault)
{
    *bad = (struct bad){.fault = fault};
    fix_init(&bad->fix, engines, "saga");
    bad->scenario = (struct lab_scenario){.faults = &bad->fault, .fault_count = 1};
    bad->fix.plan.scenario = &bad->scenario;
}

static struct lab_fault at(enum lab_fault_kind kind, uint64_t at_us, uint64_t until_us)
{
    return (struct lab_fault){.kind = kind,
                              .at_us = at_us,
                              .until_us = until_us,
                              .engine_count = 1,
                              .slow_per_mille = 2000};
}

static void slow__twice__every_iteration_takes_twice_as_long(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 1, at(LAB_FAULT_SLOW, 0, 0));
    uint32_t a = fix_session(&bad.fix, 500);
    fix_run(&bad.fix);
    fix_expect_end(&bad.fix, a, 500 + 2 * 3710 + 10000 + 2 * 3710);
    fix_fini(&bad.fix);
}

static void slow__between_the_steps__touches_neither(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 1, at(LAB_FAULT_SLOW, 4000, 13000));
    uint32_t a = fix_session(&bad.fix, 0);
    fix_run(&bad.fix);
    fix_expect_end(&bad.fix, a, 17420);
    fix_fini(&bad.fix);
}

static void slow__in_the_middle__begins_with_the_next_iteration(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 1, at(LAB_FAULT_SLOW, 100, 0));
    uint32_t a = fix_session(&bad.fix, 0);
    fix_run(&bad.fix);
    fix_expect_end(&bad.fix, a, 2600 + 2 * 1110 + 10000 + 2 * 3710);
    fix_fini(&bad.fix);
}

static void lose_cache__between_the_steps__the_second_computes_all(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 1, at(LAB_FAULT_LOSE_CACHE, 5000, 0));
    uint32_t a = fix_session(&bad.fix, 0);
    fix_run(&bad.fix);
    fix_expect_end(&bad.fix, a, 13710 + 5310);
    assert_int_equal(bad.fix.result.cached_tokens, 0);
    fix_fini(&bad.fix);
}

static void crash__before_the_first_token__the_step_goes_elsewhere(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 2, at(LAB_FAULT_CRASH, 1000, 0));
    uint32_t a = fix_session(&bad.fix, 0);
    fix_run(&bad.fix);
    bool was_there = bad.fix.result.attempts_failed == 1;
    if (was_there) { /* begins again on the other engine */
        fix_expect_end(&bad.fix, a, 1000 + 17420);
        assert_int_equal(bad.fix.result.outcomes[a].refused, 0);
    } else {
        fix_expect_end(&bad.fix, a, 17420);
    }
    fix_fini(&bad.fix);
    bad.fault.engine_first = was_there ? 1 : 0; /* the other one's crash is nobody's */
    fix_run(&bad.fix);
    assert_int_equal(bad.fix.result.attempts_failed, was_there ? 0 : 1);
    fix_fini(&bad.fix);
}

static void crash__in_the_middle_of_an_answer__clients_do_as_their_kind(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 1, at(LAB_FAULT_CRASH, 3000, 3500));
    uint32_t a = fix_session(&bad.fix, 0);
    fix_run(&bad.fix);
    assert_true(bad.fix.result.outcomes[a].is_given_up); /* the SDKs leave it to their caller */
    assert_int_equal(bad.fix.result.cut, 1);
    fix_fini(&bad.fix);
    bad.fix.sessions[a].client = LAB_CLIENT_CLAUDE_CODE;
    fix_run(&bad.fix);
    assert_int_equal(bad.fix.result.outcomes[a].steps, 2);
    assert_int_equal(bad.fix.result.outcomes[a].cut, 1);
    assert_true(bad.fix.result.outcomes[a].ended_at_us > 3000 + 525000);
    fix_fini(&bad.fix);
}

static void crash__for_ever__ends_with_the_session_given_up(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 1, at(LAB_FAULT_CRASH, 1000, 0));
    uint32_t a = fix_session(&bad.fix, 0);
    fix_run(&bad.fix);
    assert_true(bad.fix.result.outcomes[a].is_given_up);
    assert_int_equal(bad.fix.result.outcomes[a].refused, 3);
    assert_int_equal(bad.fix.result.steps, 0);
    fix_fini(&bad.fix);
}

static void drain__in_the_middle__the_step_ends_there_and_the_next_goes_elsewhere(void **state)
{
    (void)state;
    for (uint32_t engine = 0; engine < 2; engine++) {
        struct bad bad;
        bad_init(&bad, 2, at(LAB_FAULT_DRAIN, 1000, 60000));
        bad.fault.engine_first = engine;
        uint32_t a = fix_session(&bad.fix, 0);
        fix_run(&bad.fix);
        bool was_there = bad.fix.result.moves == 1;
        fix_expect_end(&bad.fix, a, 13710 + (was_there ? 5310 : 3710));
        assert_int_equal(bad.fix.result.attempts_failed, 0);
        fix_fini(&bad.fix);
    }
}

static void partition__in_the_middle_of_an_answer__holds_it_back(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 1, at(LAB_FAULT_PARTITION, 1000, 50000));
    uint32_t a = fix_session(&bad.fix, 0);
    fix_run(&bad.fix);
    fix_expect_end(&bad.fix, a, 50000 + 10000 + 3710);
    assert_int_equal(bad.fix.result.firsts[0].first_us, 50000);
    fix_fini(&bad.fix);
}

static void partition__of_one_of_two__connections_time_out_and_go_elsewhere(void **state)
{
    (void)state;
    uint64_t failed = 0;
    for (uint32_t engine = 0; engine < 2; engine++) {
        struct bad bad;
        bad_init(&bad, 2, at(LAB_FAULT_PARTITION, 5000, 900000));
        bad.fault.engine_first = engine;
        uint32_t a = fix_session(&bad.fix, 0);
        fix_run(&bad.fix);
        bool was_there = bad.fix.result.attempts_failed == 1;
        fix_expect_end(&bad.fix, a, 13710 + (was_there ? 3000000 + 5310 : 3710));
        failed += bad.fix.result.attempts_failed;
        fix_fini(&bad.fix);
    }
    assert_int_equal(failed, 1);
}

static void net__jitter_and_loss__delay_each_message(void **state)
{
    (void)state;
    struct bad bad;
    bad_init(&bad, 1, at(LAB_FAULT_SLOW, 0, 0));
    bad.scenario.fault_count = 0;
    bad.scenario.net =
        (struct lab_net){.jitter_us = 100, .loss_ratio = 0.5, .retransmit_us = 1000000};
    uint64_t lost = 0;
    for (uint32_t i = 0; i < 20; i++) {
        (void)fix_session(&bad.fix, i);
    }
    fix_run(&bad.fix);
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t tct_us = bad.fix.result.outcomes[i].ended_at_us - i;
        assert_true(tct_us > 17420);
        lost += tct_us / 1000000;
    }
    assert_true(lost > 60 && lost < 1500); /* 80 messages, 4 s each in the mean */
    fix_fini(&bad.fix);
}

static void models__two__each_step_goes_where_its_model_is(void **state)
{
    (void)state;
    const struct str names[] = {STR("m0"), STR("m1")};
    const uint32_t engines[] = {1, 1};
    struct bad bad;
    bad_init(&bad, 2, at(LAB_FAULT_SLOW, 0, 0)); /* the first engine, so the first model, is slow */
    bad.scenario.model_names = names;
    bad.scenario.model_engines = engines;
    bad.scenario.model_count = 2;
    uint32_t a = fix_session(&bad.fix, 0);
    uint32_t b = fix_session(&bad.fix, 0);
    bad.fix.sessions[b].model = 1;
    fix_run(&bad.fix);
    fix_expect_end(&bad.fix, a, 2 * 7420 + 10000);
    fix_expect_end(&bad.fix, b, 17420);
    fix_fini(&bad.fix);
}

static void scenario__broken__is_refused(void **state)
{
    (void)state;
    static const struct lab_fault faults[] = {
        {.kind = LAB_FAULT_PARTITION, .at_us = 5, .engine_count = 1},
        {.kind = LAB_FAULT_CRASH, .at_us = 5, .until_us = 5, .engine_count = 1},
        {.kind = LAB_FAULT_SLOW, .at_us = 5, .engine_count = 1, .slow_per_mille = 999},
    };
    struct lab_result result;
    for (size_t i = 0; i < 5; i++) {
        struct bad bad;
        bad_init(&bad, 1, at(LAB_FAULT_SLOW, 0, 0));
        (void)fix_session(&bad.fix, 0);
        if (i < 3) {
            bad.fault = faults[i];
        }
        bad.scenario.net.loss_ratio = i == 3 ? 1.0 : 0.0;
        bad.scenario.model_count = i == 4 ? LAB_MODELS_MAX + 1 : 0;
        assert_status(lab_run(&bad.fix.plan, mem_heap(), NULL, NULL, &result), ST_INVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow__twice__every_iteration_takes_twice_as_long),
        cmocka_unit_test(slow__between_the_steps__touches_neither),
        cmocka_unit_test(slow__in_the_middle__begins_with_the_next_iteration),
        cmocka_unit_test(lose_cache__between_the_steps__the_second_computes_all),
        cmocka_unit_test(crash__before_the_first_token__the_step_goes_elsewhere),
        cmocka_unit_test(crash__in_the_middle_of_an_answer__clients_do_as_their_kind),
        cmocka_unit_test(crash__for_ever__ends_with_the_session_given_up),
        cmocka_unit_test(drain__in_the_middle__the_step_ends_there_and_the_next_goes_elsewhere),
        cmocka_unit_test(partition__in_the_middle_of_an_answer__holds_it_back),
        cmocka_unit_test(partition__of_one_of_two__connections_time_out_and_go_elsewhere),
        cmocka_unit_test(net__jitter_and_loss__delay_each_message),
        cmocka_unit_test(models__two__each_step_goes_where_its_model_is),
        cmocka_unit_test(scenario__broken__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
