/* SPDX-License-Identifier: Apache-2.0 */
/* Random plans under random scenarios; every run checks its invariants at each event: no step is
 * lost, none ends twice, the cores and the engines agree, the books balance in the end. */
#include "tests/unit/simulator/cluster/random_plan.h"

enum { SEEDS = 60, FAULTS_MAX = 12 };
#define SECOND_US UINT64_C(1000000)

struct storm {
    struct lab_scenario scenario;
    struct lab_fault faults[FAULTS_MAX];
};

static const struct str model_names[] = {STR("m0"), STR("m1")};

static void random_fault(struct rng *rng, struct lab_fault *fault, uint32_t engines)
{
    *fault = (struct lab_fault){
        .kind = (enum lab_fault_kind)rng_below(rng, LAB_FAULT_KINDS),
        .at_us = rng_below(rng, 8 * SECOND_US),
        .engine_first = (uint32_t)rng_below(rng, engines),
        .engine_count = 1 + (uint32_t)rng_below(rng, engines),
        .slow_per_mille = 1000 + (uint32_t)rng_below(rng, 9000),
    };
    if (rng_below(rng, 8) > 0 || fault->kind == LAB_FAULT_PARTITION) {
        fault->until_us = fault->at_us + 1 + rng_below(rng, 6 * SECOND_US);
    }
}

static void random_storm(struct storm *storm, struct fix *fix, uint64_t seed)
{
    static const uint32_t model_engines[] = {1, 1};
    struct rng rng;
    rng_init(&rng, seed ^ 0x5a5a);
    *storm = (struct storm){0};
    storm->scenario.faults = storm->faults;
    storm->scenario.fault_count = (uint32_t)rng_below(&rng, FAULTS_MAX + 1);
    for (uint32_t i = 0; i < storm->scenario.fault_count; i++) {
        random_fault(&rng, &storm->faults[i], fix->plan.engines);
    }
    storm->scenario.net = (struct lab_net){
        .jitter_us = rng_below(&rng, 3000),
        .retransmit_us = 1 + rng_below(&rng, 300000),
        .loss_ratio = rng_below(&rng, 2) > 0 ? rng_unit(&rng) * 0.3 : 0.0,
        .duplicate_ratio = rng_below(&rng, 2) > 0 ? rng_unit(&rng) * 0.6 : 0.0,
    };
    storm->scenario.stale_us = rng_below(&rng, 3) > 0 ? 0 : rng_below(&rng, 3 * SECOND_US);
    if (fix->plan.engines > 1 && rng_below(&rng, 3) == 0) {
        storm->scenario.model_names = model_names;
        storm->scenario.model_engines = model_engines;
        storm->scenario.model_count = 2;
    }
    for (uint32_t i = 0; i < fix->plan.session_count; i++) {
        fix->sessions[i].client = (enum lab_client_kind)rng_below(&rng, LAB_CLIENT_KINDS);
        fix->sessions[i].model = (uint32_t)rng_below(&rng, 2);
    }
    fix->plan.scenario = &storm->scenario;
}

/* Each session has ended with all its steps, or was given up, or never began. */
static void expect_all_told(const struct fix *fix)
{
    uint64_t steps = 0;
    uint64_t given_up = 0;
    uint64_t cut = 0;
    for (uint32_t i = 0; i < fix->plan.session_count; i++) {
        const struct lab_outcome *outcome = &fix->result.outcomes[i];
        const struct lab_session *session = &fix->sessions[i];
        bool has_begun = session->parent == LAB_NONE ||
                         fix->result.outcomes[session->parent].steps > session->spawn_step;
        steps += outcome->steps;
        given_up += outcome->is_given_up;
        cut += outcome->cut;
        assert_true(outcome->is_given_up || !has_begun || outcome->steps == session->step_count);
        assert_true((outcome->ended_at_us > 0) == (has_begun && !outcome->is_given_up));
        assert_true(outcome->refused + outcome->cut <=
                    lab_retry_of(session->client)->tries * session->step_count);
    }
    assert_int_equal(steps, fix->result.steps);
    assert_int_equal(given_up, fix->result.given_up);
    assert_int_equal(cut, fix->result.cut);
}

static void storms__random__keep_the_invariants_and_come_out_the_same_twice(void **state)
{
    (void)state;
    static struct fix fix;
    static struct storm storm;
    uint64_t failed = 0;
    uint64_t cut = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        random_plan(&fix, seed);
        random_storm(&storm, &fix, seed);
        fix_run(&fix);
        expect_all_told(&fix);
        failed += fix.result.attempts_failed;
        cut += fix.result.cut;
        uint64_t hash = fix.result.event_hash;
        fix_fini(&fix);
        fix.plan.is_checked = false;
        fix_run(&fix);
        assert_int_equal(fix.result.event_hash, hash);
        fix_fini(&fix);
    }
    assert_true(failed > 100 && cut > 20); /* they did hurt */
}

/* The same bits from any compiler at any level. */
static void storm__of_one_seed__has_this_digest(void **state)
{
    (void)state;
    static struct fix fix;
    static struct storm storm;
    uint64_t digest = 0;
    for (uint64_t seed = 101; seed <= 110; seed++) {
        random_plan(&fix, seed);
        fix.plan.policy = STR("round_robin"); /* knows no forecast, so stays as it is */
        random_storm(&storm, &fix, seed);
        fix_run(&fix);
        digest = digest * 31 + fix.result.event_hash;
        fix_fini(&fix);
    }
    print_message("%016llx\n", (unsigned long long)digest);
    assert_int_equal(digest, UINT64_C(0x34a2cd7dffe53357));
}

static void scenario__that_does_nothing__changes_nothing(void **state)
{
    (void)state;
    static struct fix fix;
    static const struct lab_scenario calm = {0};
    random_plan(&fix, 3);
    fix_run(&fix);
    uint64_t hash = fix.result.event_hash;
    fix_fini(&fix);
    fix.plan.scenario = &calm;
    fix_run(&fix);
    assert_int_equal(fix.result.event_hash, hash);
    fix_fini(&fix);
}

static bool run_storm(void *ctx, const struct mem *mem)
{
    struct fix *fix = ctx;
    struct lab_result result;
    if (lab_run(&fix->plan, mem, NULL, NULL, &result) != ST_OK) {
        return false;
    }
    lab_result_fini(&result, mem);
    return true;
}

static void memory__failing_anywhere__ends_the_run_and_leaves_nothing(void **state)
{
    (void)state;
    struct fix fix;
    const struct lab_fault faults[] = {
        {.kind = LAB_FAULT_CRASH, .at_us = 1000, .until_us = 9000, .engine_count = 1},
        {.kind = LAB_FAULT_PARTITION, .at_us = 2000, .until_us = 90000, .engine_count = 2},
    };
    const struct lab_scenario scenario = {
        .faults = faults, .fault_count = 2, .net = {.duplicate_ratio = 0.5}, .stale_us = 100};
    fix_init(&fix, 2, "saga");
    (void)fix_session(&fix, 0);
    (void)fix_session(&fix, 0);
    fix.plan.scenario = &scenario;
    assert_true(kit_torture(run_storm, &fix) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storms__random__keep_the_invariants_and_come_out_the_same_twice),
        cmocka_unit_test(storm__of_one_seed__has_this_digest),
        cmocka_unit_test(scenario__that_does_nothing__changes_nothing),
        cmocka_unit_test(memory__failing_anywhere__ends_the_run_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
