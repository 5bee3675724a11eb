/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of random plans; every run checks its invariants at each event (lab_plan.is_checked):
 * each step ends once, no engine rests while it has work, the cores and the engines agree, no token
 * is lost, Little's law. */
#include "common/base/rng.h"
#include "tests/unit/simulator/cluster/random_plan.h"

#include <stdlib.h>

enum { SEEDS = 40, MANY = 4000 };

/* Every session that was not given up has done all its steps, and took no less than its own gaps.
 */
static void expect_all_over(const struct fix *fix)
{
    for (uint32_t i = 0; i < fix->plan.session_count; i++) {
        const struct lab_outcome *outcome = &fix->result.outcomes[i];
        const struct lab_session *session = &fix->sessions[i];
        uint64_t gaps_us = session->parent != LAB_NONE ? fix->steps[i][0].gap_us : 0;
        for (uint32_t k = 1; k < session->step_count; k++) {
            gaps_us += fix->steps[i][k].gap_us;
        }
        bool has_begun = session->parent == LAB_NONE ||
                         fix->result.outcomes[session->parent].steps > session->spawn_step;
        if (outcome->is_given_up || !has_begun) {
            assert_int_equal(outcome->ended_at_us, 0);
            continue;
        }
        assert_int_equal(outcome->steps, session->step_count);
        assert_true(outcome->ended_at_us > outcome->began_at_us + gaps_us);
    }
}

static void plans__random__keep_the_invariants_and_come_out_the_same_twice(void **state)
{
    (void)state;
    static struct fix fix;
    uint64_t preempted = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        random_plan(&fix, seed);
        fix_run(&fix);
        expect_all_over(&fix);
        preempted += fix.result.preempted;
        uint64_t hash = fix.result.event_hash;
        fix_fini(&fix);
        fix.plan.is_checked = false;
        fix_run(&fix);
        assert_int_equal(fix.result.event_hash, hash);
        fix_fini(&fix);
    }
    assert_true(preempted > 0); /* memory was short in some */
}

static void plan__changed_a_little__has_another_hash(void **state)
{
    (void)state;
    static struct fix fix;
    random_plan(&fix, 1);
    fix_run(&fix);
    uint64_t hash = fix.result.event_hash;
    fix_fini(&fix);
    fix.steps[0][0].output_tokens++;
    fix_run(&fix);
    assert_int_not_equal(fix.result.event_hash, hash);
    fix_fini(&fix);
}

/* Two steps each, at 50 a second for 80 s of which the run sees 60: with sessions on their way at
 * the end. */
static void long_run__in_flight__is_rate_times_time(void **state)
{
    (void)state;
    static struct lab_session sessions[MANY];
    static struct lab_arrival arrivals[MANY];
    struct rng rng;
    struct fix fix;
    struct lab_result result;
    rng_init(&rng, 4);
    fix_init(&fix, 4, "saga");
    (void)fix_session(&fix, 0);
    double at_us = 0.0;
    for (uint32_t i = 0; i < MANY; i++) {
        at_us += rng_exp(&rng, 20000.0);
        sessions[i] = fix.sessions[0];
        sessions[i].system_id = i;
        arrivals[i] = (struct lab_arrival){.at_us = (uint64_t)at_us, .session = i};
    }
    fix.plan.sessions = sessions;
    fix.plan.session_count = MANY;
    fix.plan.arrivals = arrivals;
    fix.plan.arrival_count = MANY;
    fix.plan.until_us = 60000000;
    assert_status(lab_run(&fix.plan, mem_heap(), NULL, NULL, &result), ST_OK);
    assert_int_equal(result.ended_at_us, 60000000);
    double mean_in_flight = (double)result.in_flight_us / (double)result.ended_at_us;
    double rate = (double)result.steps / (double)result.ended_at_us;
    double mean_us = (double)result.gateway_us / (double)result.steps;
    assert_true(result.steps > 5000 && mean_in_flight > 0.3);
    assert_close(mean_in_flight / (rate * mean_us), 1.0, 0.01);
    lab_result_fini(&result, mem_heap());
}

/* More than node and gateway take: queues of 4096 for each of two engines, one slot each. */
static void overload__beyond_the_queues__is_refused_tried_again_and_given_up(void **state)
{
    (void)state;
    enum { CROWD = 20000 };
    struct lab_session *sessions = calloc(CROWD, sizeof(*sessions));
    struct lab_arrival *arrivals = calloc(CROWD, sizeof(*arrivals));
    struct fix fix;
    struct lab_result result;
    assert_non_null(sessions);
    assert_non_null(arrivals);
    fix_init(&fix, 2, "saga");
    (void)fix_session(&fix, 0);
    fix.steps[0][0].output_tokens = 20;
    for (uint32_t i = 0; i < CROWD; i++) {
        sessions[i] = fix.sessions[0];
        sessions[i].step_count = 1;
        sessions[i].system_id = i;
        arrivals[i] = (struct lab_arrival){.session = i};
    }
    fix.plan.sessions = sessions;
    fix.plan.session_count = CROWD;
    fix.plan.arrivals = arrivals;
    fix.plan.arrival_count = CROWD;
    fix.plan.engine.profile.max_running = 1;
    fix.plan.is_checked = false;
    assert_status(lab_run(&fix.plan, mem_heap(), NULL, NULL, &result), ST_OK);
    uint64_t done = 0;
    uint64_t given_up = 0;
    uint64_t came_back = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        const struct lab_outcome *outcome = &result.outcomes[i];
        assert_true(outcome->refused <= 3);
        assert_true((outcome->refused == 3) == outcome->is_given_up);
        assert_true((outcome->ended_at_us == 0) == outcome->is_given_up);
        done += outcome->ended_at_us > 0;
        given_up += outcome->is_given_up;
        came_back += outcome->ended_at_us > 0 && outcome->refused > 0;
    }
    assert_int_equal(done + given_up, CROWD);
    assert_int_equal(given_up, result.given_up);
    assert_int_equal(done, result.steps);
    assert_true(given_up > 0 && came_back > 0);
    lab_result_fini(&result, mem_heap());
    free(sessions);
    free(arrivals);
}

static bool end_at_once(void *ctx, double done_ratio)
{
    assert_true(done_ratio >= 0.0 && done_ratio <= 1.0);
    (*(int *)ctx)++;
    return false;
}

static void progress__that_says_no__ends_the_run_with_what_there_is(void **state)
{
    (void)state;
    struct fix fix;
    int calls = 0;
    fix_init(&fix, 1, "saga");
    uint32_t a = fix_session(&fix, 0);
    fix.steps[a][1].gap_us = UINT64_C(36000000000); /* ten hours of ticks */
    fix.plan.is_checked = false;
    assert_status(lab_run(&fix.plan, mem_heap(), end_at_once, &calls, &fix.result), ST_CLOSED);
    assert_int_equal(calls, 1);
    assert_int_equal(fix.result.steps, 1);
    fix_expect_end(&fix, a, 0);
    fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans__random__keep_the_invariants_and_come_out_the_same_twice),
        cmocka_unit_test(plan__changed_a_little__has_another_hash),
        cmocka_unit_test(long_run__in_flight__is_rate_times_time),
        cmocka_unit_test(overload__beyond_the_queues__is_refused_tried_again_and_given_up),
        cmocka_unit_test(progress__that_says_no__ends_the_run_with_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
