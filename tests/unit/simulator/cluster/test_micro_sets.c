/* SPDX-License-Identifier: Apache-2.0 */
/* As test_micro.c, for policies that decide at the gate: SAGA as published, fair queueing, working
 * sets. Alone, prefill p and decode d of a step are 2600 and 1110 us where its prefix is cached or
 * it is the first, 4200 and 1110 where not: 3710 and 5310. */
#include "routing/gate.h"
#include "routing/registry.h"
#include "tests/unit/simulator/cluster/fixture.h"

enum { A, B, C };

static void begin(struct fix *fix, const char *policy, uint32_t engines, uint32_t slots)
{
    fix_init(fix, engines, policy);
    for (int i = 0; i < 3; i++) {
        (void)fix_session(fix, 0);
    }
    fix->plan.engine.profile.max_running = slots;
}

static void
run_and_expect(struct fix *fix, const uint64_t ends[3], uint64_t moves, uint64_t cached_tokens)
{
    fix_run(fix);
    for (uint32_t i = 0; i < 3; i++) {
        fix_expect_end(fix, i, ends[i]);
    }
    assert_int_equal(fix->result.moves, moves);
    assert_int_equal(fix->result.cached_tokens, cached_tokens);
    fix_fini(fix);
}

static void saga_paper__three_sessions__spread_and_stay(void **state)
{
    (void)state;
    struct fix fix;
    begin(&fix, "saga_paper", 2, 8);
    run_and_expect(&fix, (const uint64_t[3]){20620, 17420, 21730}, 0, 480); /* as test_micro.c */
}

/* A decodes 2000 tokens, 2600 + 1999 * 1110 = 2221490 us, and C waits behind it. */
static void begin_long(struct fix *fix, double *params, double steal)
{
    const struct route_policy *policy = route_policy_find(STR("saga_paper"));
    begin(fix, "saga_paper", 2, 1);
    fix->steps[A][0].output_tokens = 2000;
    fix->steps[A][1].kept_tokens = 160;
    for (uint32_t i = 0; i < policy->param_count; i++) {
        params[i] = policy->params[i].def;
        params[i] = strcmp(policy->params[i].name, "steal") == 0 ? steal : params[i];
    }
    fix->plan.params = params;
}

static void saga_paper__stealing__a_waiting_step_goes_to_the_idle_engine(void **state)
{
    (void)state;
    struct fix fix;
    double params[GATE_PARAMS_MAX];
    begin_long(&fix, params, 2);
    /* B ends at 3710, and its second step at 17420. In the epoch at 100000 the second engine has no
     * load: C runs there until 103710, and its second step from 113710 to 117420. A's second step
     * finds its prompt: 2221490 + 10000 + 3710. */
    run_and_expect(&fix, (const uint64_t[3]){2235200, 17420, 117420}, 0, 480);
}

static void saga_paper__stealing_off__waits(void **state)
{
    (void)state;
    struct fix fix;
    double params[GATE_PARAMS_MAX];
    begin_long(&fix, params, 0);
    /* C's first from 2221490 to 2225200. A's second from 2231490 to 2235200, when C's comes. */
    run_and_expect(&fix, (const uint64_t[3]){2235200, 17420, 2238910}, 0, 480);
}

static void sfq__two_tenants__the_second_goes_before_the_firsts_queue(void **state)
{
    (void)state;
    struct fix fix;
    begin(&fix, "sfq", 1, 1);
    fix.sessions[C].tenant = 1;
    /* A until 3710, then C, whose tenant had nothing, until 7420, B until 11130. Second steps come
     * at 13710, 17420 and 21130, and none has to wait. */
    run_and_expect(&fix, (const uint64_t[3]){17420, 24840, 21130}, 0, 480);
}

static void working_set__little_memory__the_third_waits_at_the_gate(void **state)
{
    (void)state;
    struct fix fix;
    begin(&fix, "working_set", 2, 8);
    fix.plan.engine.profile.kv_tokens = 800;
    /* A step needs 160 and, as nothing is known of answers, 256: two do not go into 680. A and B
     * end at 3710. Then C needs 160 and 243, fits beside A's 162, and runs until 7420. Second steps
     * run alone. */
    run_and_expect(&fix, (const uint64_t[3]){17420, 17420, 21130}, 0, 480);
}

static void perfect__little_memory__the_third_waits_at_the_gate(void **state)
{
    (void)state;
    struct fix fix;
    begin(&fix, "perfect", 2, 8);
    fix.plan.engine.profile.kv_tokens = 336;
    /* 162 each: two do not go into 285. C runs when A has ended, from 3710 to 7420: A returns after
     * 10000, and its 162 are worth 336 * 10 us. A's second step takes all 21 blocks, C's among
     * them: C begins anew at 17420, 4200 + 1110. */
    run_and_expect(&fix, (const uint64_t[3]){17420, 17420, 22730}, 0, 320);
}

static void perfect__short_and_long__the_short_goes_first(void **state)
{
    (void)state;
    struct fix fix;
    begin(&fix, "perfect", 1, 8);
    fix.plan.engine.profile.kv_tokens = 336;
    fix.sessions[A].step_count = 1;
    fix.sessions[C].step_count = 1;
    /* A runs first, until 3710; C has less left than B, until 7420; B until 11130 and from 21130 to
     * 24840, with its prefix still there. */
    run_and_expect(&fix, (const uint64_t[3]){3710, 24840, 7420}, 0, 160);
}

static void perfect__parent_waits_for_its_child__gives_it_its_room(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "perfect");
    uint32_t parent = fix_session(&fix, 0);
    uint32_t child = fix_child(&fix, parent, 0);
    fix.steps[parent][1].gap_us = 1000;
    fix.plan.engine.profile.kv_tokens = 336;
    /* The parent's 162 are held as it would return in 1000 us; the child needs as much, of 285. At
     * 1000000 the parent is late, and is let out; the child's steps end at 1003710 and 1017420. The
     * second took all memory: the parent's begins anew, 1017420 + 5310. */
    fix_run(&fix);
    fix_expect_end(&fix, child, 1017420);
    fix_expect_end(&fix, parent, 1022730);
    fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saga_paper__three_sessions__spread_and_stay),
        cmocka_unit_test(saga_paper__stealing__a_waiting_step_goes_to_the_idle_engine),
        cmocka_unit_test(saga_paper__stealing_off__waits),
        cmocka_unit_test(sfq__two_tenants__the_second_goes_before_the_firsts_queue),
        cmocka_unit_test(working_set__little_memory__the_third_waits_at_the_gate),
        cmocka_unit_test(perfect__little_memory__the_third_waits_at_the_gate),
        cmocka_unit_test(perfect__parent_waits_for_its_child__gives_it_its_room),
        cmocka_unit_test(perfect__short_and_long__the_short_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
