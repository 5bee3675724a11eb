/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/cluster.h"

static struct sim_plan calm(uint64_t seed)
{
    return (struct sim_plan){.seed = seed,
                             .engines = 4,
                             .clients = 24,
                             .slots = 4,
                             .queue_max = 50,
                             .duration_us = 120000000};
}

static void run(const struct sim_plan *plan, struct sim_result *ret)
{
    sim_run(plan, ret);
    print_message(
        "seed %llu: %llu events, %llu ok, %llu failed attempts, %llu cut, %llu gone, %llu refused; "
        "same engine %llu, other %llu\n",
        (unsigned long long)plan->seed, (unsigned long long)ret->events,
        (unsigned long long)ret->ok, (unsigned long long)ret->failed, (unsigned long long)ret->cut,
        (unsigned long long)ret->gone, (unsigned long long)ret->refused,
        (unsigned long long)ret->turns_same_engine, (unsigned long long)ret->turns_other_engine);
}

static void calm__no_faults__every_step_ends_well__at_home(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct sim_plan plan = calm(seed);
        struct sim_result result;
        plan.clients = 12;
        run(&plan, &result);
        assert_int_equal(result.refused + result.failed + result.gone, 0);
        assert_true(result.ok > 500);
        assert_int_equal(result.turns_other_engine, 0);
    }
}

static void crashes__engines_die_and_return__steps_end_once(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 16; seed++) {
        struct sim_plan plan = calm(seed);
        struct sim_result result;
        plan.faults = (struct sim_faults){.crash_per_s = 0.2, .leave_ratio = 0.1};
        run(&plan, &result);
        assert_true(result.failed > 0 && result.cut > 0 && result.gone > 0);
        assert_true(result.ok > 500);
    }
}

static void churn__engines_come_and_go__steps_end_once(void **state)
{
    (void)state;
    for (uint64_t seed = 21; seed <= 26; seed++) {
        struct sim_plan plan = calm(seed);
        struct sim_result result;
        plan.faults = (struct sim_faults){.churn_per_s = 0.4, .leave_ratio = 0.05};
        run(&plan, &result);
        assert_true(result.ok > 500);
        assert_int_equal(result.failed, 0); /* nothing fails because an engine is taken out */
    }
}

static void overload__queues_full__steps_end_once(void **state)
{
    (void)state;
    for (uint64_t seed = 31; seed <= 33; seed++) {
        struct sim_plan plan = calm(seed);
        struct sim_result result;
        plan.slots = 1;
        plan.queue_max = 3;
        plan.clients = 60;
        run(&plan, &result);
        assert_true(result.refused > 100 && result.ok > 100);
    }
}

static void everything_at_once__steps_end_once(void **state)
{
    (void)state;
    for (uint64_t seed = 41; seed <= 52; seed++) {
        struct sim_plan plan = calm(seed);
        struct sim_result result;
        plan.clients = 40;
        plan.queue_max = 8;
        plan.faults = (struct sim_faults){.crash_per_s = 0.3,
                                          .churn_per_s = 0.3,
                                          .status_ratio = 0.05,
                                          .client_error_ratio = 0.05,
                                          .lost_ratio = 0.02,
                                          .leave_ratio = 0.1};
        run(&plan, &result);
        assert_true(result.ok > 300 && result.failed > 20 && result.gone > 20);
    }
}

static void everything__and_memory_runs_out__steps_end_once(void **state)
{
    (void)state;
    for (uint64_t seed = 61; seed <= 66; seed++) {
        struct sim_plan plan = calm(seed);
        struct sim_result result;
        plan.faults = (struct sim_faults){
            .crash_per_s = 0.2, .status_ratio = 0.05, .leave_ratio = 0.1, .nomem_ratio = 0.2};
        run(&plan, &result);
        assert_true(result.ok > 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calm__no_faults__every_step_ends_well__at_home),
        cmocka_unit_test(crashes__engines_die_and_return__steps_end_once),
        cmocka_unit_test(churn__engines_come_and_go__steps_end_once),
        cmocka_unit_test(overload__queues_full__steps_end_once),
        cmocka_unit_test(everything_at_once__steps_end_once),
        cmocka_unit_test(everything__and_memory_runs_out__steps_end_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
