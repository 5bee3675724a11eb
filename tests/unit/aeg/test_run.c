/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/run.h"

#include "common/base/rng.h"
#include "tests/kit/kit.h"

#include <math.h>

#define U      AEG_SPEC_UNSAID
#define SECOND UINT64_C(1000000)

/* new tokens, output tokens, gap, work, visits */
static const struct aeg_spec_node_input nodes[] = {
    {{"plan", 4}, 2000, 800, 10000, 4000, 1},
    {{"code", 4}, 500, 300, U, 2000, 3},
    {{"test", 4}, U, 100, 60000, U, 3},
    {{"done", 4}, U, U, U, 1000, 1},
};
static const struct aeg_spec_edge_input edges[] = {
    {{"plan", 4}, {"code", 4}, AEG_SPEC_CERTAIN},
    {{"code", 4}, {"test", 4}, AEG_SPEC_CERTAIN},
    {{"test", 4}, {"done", 4}, 800000},
};

static struct aeg_spec *the_spec(void)
{
    const struct aeg_spec_input input = {nodes, edges, 4, 3};
    struct aeg_spec *spec = NULL;
    assert_status(aeg_spec_new(&spec, mem_heap(), &input, NULL), ST_OK);
    return spec;
}

/* A learned forecast with round numbers: half come within 1 s, 0.1 never. */
static struct aeg_forecast learned(void)
{
    struct aeg_forecast f = {.survival_ratio = 1.0, .return_ratio = 0.9, .return_confidence = 0.5};
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        double left = i >= DIST_EDGES || dist_axis_time_us.edges[i] >= 1e6 ? 0.1 : 1.0;
        f.wait.after[i] = (float)left;
    }
    f.new_tokens = (struct aeg_sizes){100.0, 120.0, 0.5};
    f.out_tokens = (struct aeg_sizes){50.0, 60.0, 0.5};
    f.steps_to_go = (struct aeg_sizes){20.0, 30.0, 0.4};
    f.work_s = 90.0;
    f.work_confidence = 0.2;
    f.reuse_ratio = 0.45;
    f.reuse_confidence = 0.25;
    return f;
}

static void expect_forecast_is_sane(const struct aeg_forecast *f, uint64_t seed)
{
    const double ratios[] = {f->survival_ratio,         f->return_ratio,
                             f->return_confidence,      f->new_tokens.confidence,
                             f->out_tokens.confidence,  f->steps_to_go.confidence,
                             f->work_confidence,        f->reuse_ratio,
                             f->reuse_confidence,       aeg_forecast_return(f, SECOND),
                             aeg_forecast_return(f, 0), aeg_forecast_return(f, 3600 * SECOND)};
    const double sizes[] = {
        f->hazard_per_s,      f->new_tokens.mean,  f->new_tokens.median,  f->out_tokens.mean,
        f->out_tokens.median, f->steps_to_go.mean, f->steps_to_go.median, f->work_s};
    for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
        if (!(ratios[i] >= 0.0 && ratios[i] <= 1.0)) {
            fail_msg("seed %llu: ratio %zu is %.9f", (unsigned long long)seed, i, ratios[i]);
        }
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (!(sizes[i] >= 0.0 && sizes[i] < 1e12)) {
            fail_msg("seed %llu: size %zu is %f", (unsigned long long)seed, i, sizes[i]);
        }
    }
    float before = 1.0f;
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        if (!(f->wait.after[i] >= 0.0f && f->wait.after[i] <= before)) {
            fail_msg("seed %llu: survival at %u is %f after %f", (unsigned long long)seed, i,
                     (double)f->wait.after[i], (double)before);
        }
        before = f->wait.after[i];
    }
}

/* --- F13 --- */

static void trust__worked_example__odds_doubled_by_a_hit_and_cut_to_a_third_by_a_miss(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("plan"), 0));
    assert_close(aeg_run_trust(&run, AEG_TRUST_GAP), 0.950, 5e-4);
    static const double after_misses[] = {0.861, 0.667, 0.393, 0.174, 0.064};
    for (size_t i = 0; i < sizeof(after_misses) / sizeof(after_misses[0]); i++) {
        aeg_run_returned(&run, 21 * SECOND);
        assert_close(aeg_run_trust(&run, AEG_TRUST_GAP), after_misses[i], 5e-4);
    }
    aeg_run_returned(&run, 20 * SECOND);
    assert_close(aeg_run_trust(&run, AEG_TRUST_GAP), 0.120, 5e-4);
    for (int i = 0; i < 100; i++) {
        aeg_run_returned(&run, SECOND);
    }
    assert_close(aeg_run_trust(&run, AEG_TRUST_GAP), 1.0 / 1025.0, 1e-9);
    for (int i = 0; i < 100; i++) {
        aeg_run_returned(&run, 5 * SECOND);
    }
    assert_close(aeg_run_trust(&run, AEG_TRUST_GAP), 1024.0 / 1025.0, 1e-9);
    assert_close(aeg_run_trust(&run, AEG_TRUST_OUTPUT), 0.950, 5e-4);
    aeg_spec_free(mem_heap(), spec);
}

static void trust__each_quantity__is_judged_by_itself(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("plan"), 999));
    assert_true(aeg_run_trust(&run, AEG_TRUST_NEW) < 0.9);
    assert_close(aeg_run_trust(&run, AEG_TRUST_OUTPUT), 0.950, 5e-4);
    aeg_run_answered(&run, 1600, 8 * SECOND);
    assert_true(aeg_run_trust(&run, AEG_TRUST_OUTPUT) > 0.96);
    assert_true(aeg_run_trust(&run, AEG_TRUST_WORK) > 0.96);
    aeg_run_answered(&run, 1601, 8 * SECOND + 1);
    assert_true(aeg_run_trust(&run, AEG_TRUST_OUTPUT) < 0.96);
    assert_true(aeg_run_trust(&run, AEG_TRUST_WORK) < 0.96);
    /* Not known is no disproof, not declared neither. */
    struct aeg_run before = run;
    aeg_run_answered(&run, 0, 0);
    assert_memory_equal(&run, &before, sizeof(run));
    assert_true(aeg_run_arrived(&run, STR("code"), 0));
    before = run;
    aeg_run_returned(&run, 77 * SECOND);
    assert_memory_equal(&run, &before, sizeof(run));
    aeg_spec_free(mem_heap(), spec);
}

static void small_differences__disprove_nothing(void **state)
{
    (void)state;
    static const struct aeg_spec_node_input small[] = {{{"a", 1}, 0, 3, 0, 1, 1}};
    const struct aeg_spec_input input = {small, NULL, 1, 0};
    struct aeg_spec *spec = NULL;
    struct aeg_run run;
    assert_status(aeg_spec_new(&spec, mem_heap(), &input, NULL), ST_OK);
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("a"), 32));
    aeg_run_answered(&run, 16, 100000);
    aeg_run_returned(&run, 100000);
    for (int i = AEG_TRUST_GAP; i < AEG_TRUSTS; i++) {
        assert_true(aeg_run_trust(&run, (enum aeg_trust)i) > 0.95);
    }
    aeg_run_returned(&run, 100001);
    assert_true(aeg_run_trust(&run, AEG_TRUST_GAP) < 0.95);
    aeg_spec_free(mem_heap(), spec);
}

/* --- the path --- */

static void path__as_declared__gains_trust(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    static const char *const names[] = {"plan", "code", "test", "code",
                                        "test", "code", "test", "done"};
    aeg_run_start(&run, spec);
    double trust = aeg_run_trust(&run, AEG_TRUST_PATH);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(aeg_run_arrived(&run, str_of(names[i]), 0));
        double now = aeg_run_trust(&run, AEG_TRUST_PATH);
        assert_true(i == 0 ? now == trust : now > trust || now > 0.999);
        trust = now;
    }
    assert_int_equal(run.repeats, 0);
    aeg_spec_free(mem_heap(), spec);
}

static void path__wrong_moves__lose_trust_and_go_on_from_there(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("plan"), 0));
    double trust = aeg_run_trust(&run, AEG_TRUST_PATH);
    /* A name that nobody declared. */
    assert_false(aeg_run_arrived(&run, STR("dance"), 0));
    assert_true(aeg_run_trust(&run, AEG_TRUST_PATH) < trust);
    trust = aeg_run_trust(&run, AEG_TRUST_PATH);
    /* No name: no disproof, but no place either. */
    assert_false(aeg_run_arrived(&run, STR(""), 0));
    assert_true(aeg_run_trust(&run, AEG_TRUST_PATH) == trust);
    struct aeg_forecast f = learned();
    struct aeg_forecast same = f;
    struct aeg_session session = {.is_gap_open = true};
    aeg_run_apply(&run, &session, &f);
    assert_memory_equal(&f, &same, sizeof(f));
    /* No edge leads there. */
    assert_true(aeg_run_arrived(&run, STR("done"), 0));
    assert_true(aeg_run_trust(&run, AEG_TRUST_PATH) < trust);
    trust = aeg_run_trust(&run, AEG_TRUST_PATH);
    /* A node of one visit again. */
    assert_true(aeg_run_arrived(&run, STR("done"), 0));
    assert_true(aeg_run_trust(&run, AEG_TRUST_PATH) < trust);
    aeg_spec_free(mem_heap(), spec);
}

static void path__more_visits_than_declared__lose_trust(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    aeg_run_start(&run, spec);
    for (int i = 0; i < 3; i++) {
        assert_true(aeg_run_arrived(&run, STR("code"), 0));
    }
    double trust = aeg_run_trust(&run, AEG_TRUST_PATH);
    assert_true(aeg_run_arrived(&run, STR("code"), 0));
    assert_true(aeg_run_trust(&run, AEG_TRUST_PATH) < trust);
    aeg_spec_free(mem_heap(), spec);
}

static void run__without_workflow__does_nothing(void **state)
{
    (void)state;
    struct aeg_run run = {.spec = NULL};
    const struct aeg_run zero = {.spec = NULL};
    struct aeg_forecast f = learned();
    struct aeg_forecast same = f;
    struct aeg_session session = {.is_gap_open = true};
    assert_false(aeg_run_arrived(&run, STR("plan"), 1));
    aeg_run_answered(&run, 1, 1);
    aeg_run_returned(&run, 1);
    aeg_run_apply(&run, &session, &f);
    assert_memory_equal(&f, &same, sizeof(f));
    assert_memory_equal(&run, &zero, sizeof(run));
    assert_close(aeg_run_trust(&run, AEG_TRUST_PATH), 0.0, 0.0);
}

/* --- the overlay --- */

/* All trust is 1023/1024 and more after ten confirmations. */
static void confirm_all(struct aeg_run *run)
{
    for (int i = 0; i < AEG_TRUSTS; i++) {
        run->trust[i] = 80;
    }
}

/* What a declared value weighs against one learned with this confidence. */
static double against(double weight, double confidence)
{
    return weight / (weight + (1.0 - weight) * confidence);
}

static double sizes_between(double weight, double declared, double learned)
{
    return expm1(weight * log1p(declared) + (1.0 - weight) * log1p(learned));
}

static void apply__worked_example__declared_values_override(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    struct aeg_session session = {.is_gap_open = true, .context_tokens = 3000};
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("plan"), 0));
    struct aeg_forecast f = learned();
    aeg_run_apply(&run, &session, &f);
    double w = aeg_run_trust(&run, AEG_TRUST_PATH);
    assert_close(w, 0.950, 5e-4);
    /* To go: 3 + 3 + 0.8. */
    double part = against(w, 0.4);
    assert_close(part, 0.979, 5e-4);
    assert_close(f.steps_to_go.mean, sizes_between(part, 6.8, 30.0), 1e-4);
    assert_close(f.steps_to_go.mean, 7.02, 6e-3);
    assert_close(f.steps_to_go.confidence, w + (1.0 - w) * 0.4, 1e-6);
    /* Next is code: 500 new tokens, 300 out; how sure is both the path and the size. */
    double size = against(w * w, 0.5);
    assert_close(f.new_tokens.mean, sizes_between(size, 500.0, 120.0), 1e-3);
    assert_close(f.out_tokens.median, sizes_between(size, 300.0, 50.0), 1e-3);
    /* Work: 3 * 2 s + 0.8 * 1 s said of 3.8 of 6.8 steps; 3 s a step was learned. */
    double said = against(w * 3.8 / 6.8, 0.2 / 0.4);
    double step_s = said * (6.8 / 3.8) + (1.0 - said) * 3.0;
    assert_close(f.work_s, f.steps_to_go.mean * step_s, 1e-3);
    /* It surely goes on: 0.1 * 0.03 never; S(10 s) = half by the declared gap. */
    double gap = against(w, 0.5);
    double never = (1.0 - gap) * 0.1;
    assert_close((double)f.wait.after[DIST_BINS - 1], never, 1e-5);
    double half = dist_survival(&f.wait, &dist_axis_time_us, 1e7);
    assert_close(half, never + (1.0 - never) * gap * 0.5, 1e-4);
    /* 4 of 5 of the declared part come within a factor of 2 (by bins: a little less exact). */
    double in = dist_survival(&f.wait, &dist_axis_time_us, 5e6) -
                dist_survival(&f.wait, &dist_axis_time_us, 2e7);
    assert_close(in / (1.0 - never) / gap, 0.8, 0.02);
    assert_close(f.return_ratio, 1.0 - never, 1e-4);
    double reuse = size * 3000.0 / 3500.0 + (1.0 - size) * 0.5;
    assert_close(f.reuse_ratio, f.return_ratio * reuse, 1e-4);
    expect_forecast_is_sane(&f, 0);
    aeg_spec_free(mem_heap(), spec);
}

static void apply__nothing_learned__the_declaration_is_all(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    struct aeg_session session = {.is_gap_open = true};
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("plan"), 0));
    struct aeg_forecast f = learned();
    f.steps_to_go = (struct aeg_sizes){600.0, 200000.0, 0.0};
    f.new_tokens = (struct aeg_sizes){5000.0, 200000.0, 0.0};
    f.work_s = 0.0;
    f.work_confidence = 0.0;
    aeg_run_apply(&run, &session, &f);
    assert_close(f.steps_to_go.mean, 6.8, 1e-4);
    assert_close(f.new_tokens.mean, 500.0, 1e-6);
    assert_close(f.work_s, 6.8 * 6.8 / 3.8, 1e-4);
    aeg_spec_free(mem_heap(), spec);
}

static void apply__step_in_flight__its_own_node_is_meant(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    struct aeg_session session = {.is_gap_open = false};
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("plan"), 0));
    confirm_all(&run);
    struct aeg_forecast f = learned();
    aeg_run_apply(&run, &session, &f);
    assert_close(f.out_tokens.mean, 800.0, 2.0);
    assert_close(f.new_tokens.mean, 2000.0, 5.0);
    assert_close(f.steps_to_go.mean, 7.8, 0.05);
    aeg_spec_free(mem_heap(), spec);
}

static void apply__at_the_last_node__no_return_is_expected(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    struct aeg_session session = {.is_gap_open = true};
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("done"), 0));
    confirm_all(&run);
    struct aeg_forecast f = learned();
    aeg_run_apply(&run, &session, &f);
    assert_true(f.return_ratio < 0.002 && f.steps_to_go.mean < 0.05 && f.work_s < 0.2);
    expect_forecast_is_sane(&f, 0);
    aeg_spec_free(mem_heap(), spec);
}

static void apply__disproved__the_learned_forecast_is_left(void **state)
{
    (void)state;
    struct aeg_spec *spec = the_spec();
    struct aeg_run run;
    struct aeg_session session = {.is_gap_open = true, .context_tokens = 3000};
    aeg_run_start(&run, spec);
    assert_true(aeg_run_arrived(&run, STR("plan"), 0));
    for (int i = 0; i < AEG_TRUSTS; i++) {
        run.trust[i] = -80;
    }
    struct aeg_forecast f = learned();
    const struct aeg_forecast before = f;
    aeg_run_apply(&run, &session, &f);
    assert_close(f.steps_to_go.mean, before.steps_to_go.mean, 0.2);
    assert_close(f.new_tokens.mean, before.new_tokens.mean, 0.5);
    assert_close(f.work_s, before.work_s, 0.5);
    assert_close(f.reuse_ratio, before.reuse_ratio, 0.001);
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        assert_close((double)f.wait.after[i], (double)before.wait.after[i], 0.002);
    }
    aeg_spec_free(mem_heap(), spec);
}

/* Real forecasts of a session that learns, any order of calls, any values. */
static void apply__anything_happens__forecasts_stay_in_range(void **state)
{
    (void)state;
    static const char *const names[] = {"plan", "code", "test", "done", "", "else"};
    struct aeg_spec *spec = the_spec();
    const struct aeg_limits limits = {16, 4, 256, 8, 2, 600 * SECOND};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rng rng;
        struct aeg aeg;
        struct aeg_session session;
        struct aeg_run run;
        const struct aeg_key key = {1, 2, 3};
        uint64_t now_us = 0;
        memset(&session, 0, sizeof(session));
        rng_init(&rng, seed);
        assert_status(aeg_init(&aeg, mem_heap(), &limits), ST_OK);
        assert_status(aeg_observe_start(&aeg, &session, &key, now_us), ST_OK);
        aeg_run_start(&run, spec);
        for (int i = 0; i < 60; i++) {
            now_us += rng_below(&rng, UINT64_C(1) << rng_below(&rng, 40));
            const struct aeg_step step = {
                (uint32_t)rng_below(&rng, 5000), (uint32_t)rng_below(&rng, 5000),
                (uint32_t)rng_below(&rng, 90000), rng_below(&rng, SECOND)};
            struct aeg_forecast f;
            const struct str tool = STR("bash");
            aeg_run_returned(&run, rng_u64(&rng) >> rng_below(&rng, 64));
            aeg_observe_gap_closed(&aeg, &session, now_us);
            (void)aeg_run_arrived(&run, str_of(names[rng_below(&rng, 6)]), step.new_tokens);
            aeg_forecast(&aeg, &session, now_us, &f);
            aeg_run_apply(&run, &session, &f);
            expect_forecast_is_sane(&f, seed);
            aeg_observe_step(&aeg, &session, &step, now_us);
            aeg_run_answered(&run, step.out_tokens, step.service_us);
            assert_status(aeg_observe_gap_opened(&aeg, &session, &tool, 1, now_us), ST_OK);
            now_us += rng_below(&rng, 100 * SECOND);
            aeg_forecast(&aeg, &session, now_us, &f);
            aeg_run_apply(&run, &session, &f);
            expect_forecast_is_sane(&f, seed);
        }
        aeg_fini(&aeg);
    }
    aeg_spec_free(mem_heap(), spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust__worked_example__odds_doubled_by_a_hit_and_cut_to_a_third_by_a_miss),
        cmocka_unit_test(trust__each_quantity__is_judged_by_itself),
        cmocka_unit_test(small_differences__disprove_nothing),
        cmocka_unit_test(path__as_declared__gains_trust),
        cmocka_unit_test(path__wrong_moves__lose_trust_and_go_on_from_there),
        cmocka_unit_test(path__more_visits_than_declared__lose_trust),
        cmocka_unit_test(run__without_workflow__does_nothing),
        cmocka_unit_test(apply__worked_example__declared_values_override),
        cmocka_unit_test(apply__nothing_learned__the_declaration_is_all),
        cmocka_unit_test(apply__step_in_flight__its_own_node_is_meant),
        cmocka_unit_test(apply__at_the_last_node__no_return_is_expected),
        cmocka_unit_test(apply__disproved__the_learned_forecast_is_left),
        cmocka_unit_test(apply__anything_happens__forecasts_stay_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
