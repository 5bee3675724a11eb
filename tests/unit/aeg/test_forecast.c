/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/forecast.h"

#include "common/base/rng.h"
#include "tests/kit/kit.h"

#include <math.h>

#define SECOND UINT64_C(1000000)

static const struct aeg_limits roomy = {.max_classes = 100,
                                        .max_tenants = 10,
                                        .max_cells = 2000,
                                        .max_kinds = 16,
                                        .tenant_share = 1,
                                        .half_life_us = 86400 * SECOND};

static const struct aeg_key key = {1, 2, 3};

static void begin(struct aeg *aeg, struct aeg_session *session, uint64_t now_us)
{
    assert_status(aeg_observe_start(aeg, session, &key, now_us), ST_OK);
}

static void step(struct aeg *aeg, struct aeg_session *session, const char *tool, uint64_t now_us)
{
    const struct aeg_step ended = {
        .new_tokens = 1000, .out_tokens = 100, .context_tokens = 3000, .service_us = 2 * SECOND};
    struct str name = str_of(tool);
    aeg_observe_step(aeg, session, &ended, now_us);
    assert_status(aeg_observe_gap_opened(aeg, session, &name, name.len > 0, now_us), ST_OK);
}

/* Sessions of n steps that call the tool and come back after wait_us; the last answers. */
static void
teach(struct aeg *aeg, const char *tool, uint64_t wait_us, uint32_t n, uint32_t sessions)
{
    for (uint32_t s = 0; s < sessions; s++) {
        struct aeg_session session;
        uint64_t now_us = 1000 * SECOND;
        begin(aeg, &session, now_us);
        for (uint32_t i = 0; i + 1 < n; i++) {
            step(aeg, &session, tool, now_us);
            now_us += wait_us;
            aeg_observe_gap_closed(aeg, &session, now_us);
        }
        step(aeg, &session, "", now_us);
        aeg_observe_end(aeg, &session, true, now_us + 3600 * SECOND);
    }
}

static void forecast__nothing_known__in_range_without_confidence(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    struct aeg_forecast f;
    assert_status(aeg_init(&aeg, mem_heap(), &roomy), ST_OK);
    begin(&aeg, &session, 5);
    aeg_forecast(&aeg, &session, 5, &f);
    double p = aeg_forecast_return(&f, SECOND);
    assert_true(p > 0.0 && p < 1.0);
    assert_true(f.return_confidence == 0.0 && f.out_tokens.confidence == 0.0);
    assert_true(f.out_tokens.median > 0.0 && isfinite(f.out_tokens.mean));
    assert_true(f.work_s == 0.0 && f.reuse_ratio == 0.0);
    aeg_fini(&aeg);
}

static void forecast__tool_differs__its_own_waits_decide(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    struct aeg_forecast f;
    assert_status(aeg_init(&aeg, mem_heap(), &roomy), ST_OK);
    teach(&aeg, "Read", SECOND / 20, 30, 10);
    teach(&aeg, "Task", 100 * SECOND, 30, 10);
    begin(&aeg, &session, 2000 * SECOND);
    step(&aeg, &session, "Read", 2000 * SECOND);
    aeg_forecast(&aeg, &session, 2000 * SECOND, &f);
    assert_true(aeg_forecast_return(&f, SECOND) > 0.9);
    assert_true(f.return_confidence > 0.9);
    step(&aeg, &session, "Task", 2001 * SECOND);
    aeg_forecast(&aeg, &session, 2001 * SECOND, &f);
    assert_true(aeg_forecast_return(&f, SECOND) < 0.1);
    assert_true(aeg_forecast_return(&f, 200 * SECOND) > 0.9);
    /* 90 s later the return is near. */
    aeg_forecast(&aeg, &session, 2091 * SECOND, &f);
    assert_int_equal(f.elapsed_us, 90 * SECOND);
    assert_true(aeg_forecast_return(&f, 60 * SECOND) > 0.9 && f.hazard_per_s > 0.0);
    aeg_fini(&aeg);
}

static void forecast__several_tools__the_slowest_decides(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    const struct str tools[] = {STR("Read"), STR("Task"), STR("unknown")};
    assert_status(aeg_init(&aeg, mem_heap(), &roomy), ST_OK);
    teach(&aeg, "Read", SECOND / 20, 30, 3);
    teach(&aeg, "Task", 100 * SECOND, 30, 3);
    begin(&aeg, &session, 2000 * SECOND);
    assert_status(aeg_observe_gap_opened(&aeg, &session, tools, 3, 2000 * SECOND), ST_OK);
    assert_true(session.kind == aeg_kind_of_tool(STR("Task")));
    aeg_fini(&aeg);
}

static void forecast__answers_never_return__return_ratio_falls(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    struct aeg_forecast f;
    assert_status(aeg_init(&aeg, mem_heap(), &roomy), ST_OK);
    teach(&aeg, "Read", SECOND, 10, 40);
    begin(&aeg, &session, 2000 * SECOND);
    step(&aeg, &session, "", 2000 * SECOND);
    aeg_forecast(&aeg, &session, 2000 * SECOND, &f);
    assert_true(aeg_forecast_return(&f, 300 * SECOND) < 0.2);
    assert_true(f.steps_to_go.median == 0.0 || f.return_ratio > 0.5);
    aeg_fini(&aeg);
}

/* F9, F10: ten steps a session, 2 s of work each, 1,000 new tokens upon 3,000 held. */
static void forecast__worked_example__steps_work_and_reuse(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    struct aeg_forecast f;
    assert_status(aeg_init(&aeg, mem_heap(), &roomy), ST_OK);
    teach(&aeg, "Read", SECOND, 10, 1000);
    begin(&aeg, &session, 2000 * SECOND);
    for (uint32_t i = 0; i < 4; i++) {
        step(&aeg, &session, "Read", 2000 * SECOND);
    }
    aeg_forecast(&aeg, &session, 2000 * SECOND, &f);
    /* Sessions end in the bin (8, 10], of middle 9.49: 5.49 steps follow the fourth. */
    assert_close(f.steps_to_go.mean, 5.49, 0.2);
    assert_close(f.work_s, 2.0 * f.steps_to_go.mean, 1e-3);
    assert_close(f.new_tokens.median, 1000.0, 130.0);
    assert_close(f.out_tokens.median, 100.0, 13.0);
    /* 3,000 / (3,000 + 896), the middle of (794, 1,000]. */
    assert_close(f.reuse_ratio, 0.77, 0.01);
    aeg_fini(&aeg);
}

static void forecast_wait__same_session__the_wait_of_the_forecast(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    struct aeg_forecast all;
    struct aeg_forecast wait;
    assert_status(aeg_init(&aeg, mem_heap(), &roomy), ST_OK);
    teach(&aeg, "Read", SECOND, 10, 20);
    begin(&aeg, &session, 2000 * SECOND);
    step(&aeg, &session, "Read", 2000 * SECOND);
    aeg_forecast(&aeg, &session, 2001 * SECOND, &all);
    aeg_forecast_wait(&aeg, &session, 2001 * SECOND, &wait);
    assert_memory_equal(&wait.wait, &all.wait, sizeof(all.wait));
    assert_int_equal(wait.elapsed_us, SECOND);
    assert_true(wait.survival_ratio == all.survival_ratio);
    assert_true(wait.hazard_per_s == all.hazard_per_s);
    assert_true(wait.return_ratio == all.return_ratio);
    assert_true(wait.return_confidence == all.return_confidence);
    assert_true(wait.out_tokens.mean == 0.0 && wait.work_s == 0.0 && all.work_s > 0.0);
    aeg_fini(&aeg);
}

static void session__differs_from_its_class__its_own_waits_count(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    struct aeg_forecast f;
    assert_status(aeg_init(&aeg, mem_heap(), &roomy), ST_OK);
    teach(&aeg, "Bash", SECOND / 10, 30, 30);
    begin(&aeg, &session, 2000 * SECOND);
    uint64_t now_us = 2000 * SECOND;
    step(&aeg, &session, "Bash", now_us);
    aeg_forecast(&aeg, &session, now_us, &f);
    double before = aeg_forecast_return(&f, SECOND);
    for (uint32_t i = 0; i < 12; i++) {
        now_us += 20 * SECOND;
        aeg_observe_gap_closed(&aeg, &session, now_us);
        step(&aeg, &session, "Bash", now_us);
    }
    aeg_forecast(&aeg, &session, now_us, &f);
    assert_true(before > 0.95 && aeg_forecast_return(&f, SECOND) < 0.6);
    aeg_fini(&aeg);
}

static void frozen__sessions_go_on__nothing_is_counted(void **state)
{
    (void)state;
    struct aeg aeg;
    assert_status(aeg_init(&aeg, mem_heap(), &roomy), ST_OK);
    teach(&aeg, "Read", SECOND, 10, 5);
    uint32_t idx = aeg_table_cell(&aeg.table, aeg.table.global, AEG_KIND_ANY);
    float before = aeg_cell_at(&aeg.table, idx)->return_n;
    uint32_t cells = aeg.table.cells.used_nodes;
    aeg.is_frozen = true;
    teach(&aeg, "Edit", SECOND, 10, 5);
    assert_true(aeg_cell_at(&aeg.table, idx)->return_n == before);
    assert_int_equal(aeg.table.cells.used_nodes, cells);
    aeg_fini(&aeg);
}

static void in_unit(double x, const char *what, unsigned seed)
{
    if (!(x >= 0.0 && x <= 1.0)) {
        fail_msg("seed %u: %s is %g", seed, what, x);
    }
}

static void check(const struct aeg_forecast *f, unsigned seed)
{
    double before = 0.0;
    for (uint64_t t = 1; t < UINT64_C(1) << 60; t *= 7) {
        double p = aeg_forecast_return(f, t);
        in_unit(p, "P(return)", seed);
        if (p < before - 1e-9) {
            fail_msg("seed %u: P(return) falls from %g to %g", seed, before, p);
        }
        before = p;
    }
    in_unit(f->survival_ratio, "survival", seed);
    in_unit(f->return_ratio, "return ratio", seed);
    in_unit(f->return_confidence, "confidence", seed);
    in_unit(f->reuse_ratio, "reuse", seed);
    in_unit(f->reuse_confidence, "reuse confidence", seed);
    in_unit(f->work_confidence, "work confidence", seed);
    in_unit(f->new_tokens.confidence, "new confidence", seed);
    in_unit(f->out_tokens.confidence, "out confidence", seed);
    in_unit(f->steps_to_go.confidence, "length confidence", seed);
    const double sizes[] = {
        f->hazard_per_s,    f->new_tokens.median,  f->new_tokens.mean,  f->out_tokens.median,
        f->out_tokens.mean, f->steps_to_go.median, f->steps_to_go.mean, f->work_s};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (!(sizes[i] >= 0.0 && isfinite(sizes[i]))) {
            fail_msg("seed %u: size %zu is %g", seed, i, sizes[i]);
        }
    }
}

/* One thing of any kind happens to a session, in no sensible order. */
static void happen(struct aeg *aeg, struct aeg_session *session, struct rng *rng, uint64_t now_us)
{
    const struct aeg_step any = {.new_tokens = (uint32_t)rng_u64(rng),
                                 .out_tokens = (uint32_t)rng_u64(rng) >> rng_below(rng, 32),
                                 .context_tokens = (uint32_t)rng_u64(rng),
                                 .service_us = rng_u64(rng) >> rng_below(rng, 64)};
    const struct aeg_key any_key = {rng_below(rng, 20), 0, rng_below(rng, 300)};
    uint8_t text[4] = {(uint8_t)rng_below(rng, 50)};
    const struct str tools[] = {{(const char *)text, sizeof(text)}, STR("Read"), STR("")};
    switch (rng_below(rng, 8)) {
    case 0:
        status_ignore(aeg_observe_start(aeg, session, &any_key, now_us), "may be full");
        break;
    case 1:
        aeg_observe_step(aeg, session, &any, now_us);
        break;
    case 2:
        status_ignore(aeg_observe_gap_opened(aeg, session, tools, rng_below(rng, 4), now_us),
                      "may be full");
        break;
    case 3:
        aeg_observe_gap_closed(aeg, session, now_us);
        break;
    case 4:
        aeg_observe_gap_censored(aeg, session, now_us);
        break;
    case 5:
        status_ignore(aeg_observe_gap_named(aeg, session, tools, rng_below(rng, 4), now_us),
                      "may be full");
        break;
    case 6:
        aeg_observe_gap_dropped(aeg, session);
        break;
    default:
        aeg_observe_end(aeg, session, rng_below(rng, 2) == 0, now_us);
        break;
    }
}

static void check_counts(const struct aeg *aeg, unsigned seed)
{
    for (uint32_t i = 0; i < aeg->table.cells.fresh_idx; i++) {
        const struct aeg_cell *cell = aeg_cell_at(&aeg->table, i);
        for (uint32_t b = 0; cell->serial != 0 && b < DIST_BINS; b++) {
            if (!(cell->return_risk[b] >= 0.0f && cell->return_ended[b] >= 0.0f &&
                  cell->fresh_left[b] >= 0.0f && cell->out_left[b] >= 0.0f)) {
                fail_msg("seed %u: cell %u bin %u is negative or no number", seed, i, b);
            }
            if (cell->return_risk[b] < cell->return_risk[b + 1]) {
                fail_msg("seed %u: cell %u: more reach bin %u than the one before", seed, i, b + 1);
            }
        }
    }
}

static void observations__any_order_and_time__forecasts_stay_in_range(void **state)
{
    (void)state;
    const struct aeg_limits tight = {.max_classes = 12,
                                     .max_tenants = 5,
                                     .max_cells = 60,
                                     .max_kinds = 4,
                                     .tenant_share = 3,
                                     .half_life_us = 10 * SECOND};
    for (unsigned seed = 1; seed <= 60; seed++) {
        struct aeg aeg;
        struct aeg_session sessions[8];
        struct rng rng;
        rng_init(&rng, seed);
        assert_status(aeg_init(&aeg, mem_heap(), &tight), ST_OK);
        for (uint32_t i = 0; i < 8; i++) {
            status_ignore(aeg_observe_start(&aeg, &sessions[i], &key, i), "may be full");
        }
        uint64_t now_us = 0;
        for (uint32_t i = 0; i < 2000; i++) {
            struct aeg_session *session = &sessions[rng_below(&rng, 8)];
            struct aeg_forecast f;
            now_us = rng_below(&rng, 50) == 0
                         ? rng_u64(&rng) >> rng_below(&rng, 64)
                         : now_us + (rng_u64(&rng) >> (34 + rng_below(&rng, 30)));
            happen(&aeg, session, &rng, now_us);
            aeg_forecast(&aeg, session, now_us, &f);
            check(&f, seed);
            aeg_forecast_wait(&aeg, session, now_us, &f);
            check(&f, seed);
        }
        check_counts(&aeg, seed);
        assert_true(aeg.table.class_count <= tight.max_classes);
        assert_true(aeg.table.cells.used_nodes <= tight.max_cells);
        aeg_fini(&aeg);
    }
}

static bool scenario(void *ctx, const struct mem *mem)
{
    struct aeg aeg;
    bool is_fine = true;
    (void)ctx;
    if (aeg_init(&aeg, mem, &roomy) != ST_OK) {
        return false;
    }
    for (uint64_t i = 0; i < 30; i++) {
        const struct aeg_key own = {i % 3, 1, i};
        const struct str tool = STR("Read");
        const struct aeg_step ended = {.out_tokens = 5, .context_tokens = 100};
        struct aeg_session session;
        struct aeg_forecast f;
        is_fine = aeg_observe_start(&aeg, &session, &own, i) == ST_OK && is_fine;
        aeg_observe_step(&aeg, &session, &ended, i);
        is_fine = aeg_observe_gap_opened(&aeg, &session, &tool, 1, i) == ST_OK && is_fine;
        aeg_forecast(&aeg, &session, i, &f);
        check(&f, (unsigned)i);
        aeg_observe_gap_closed(&aeg, &session, i + SECOND);
        aeg_observe_end(&aeg, &session, true, i + 2 * SECOND);
    }
    aeg_fini(&aeg);
    return is_fine;
}

static void observations__each_allocation_fails__sessions_go_on(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forecast__nothing_known__in_range_without_confidence),
        cmocka_unit_test(forecast__tool_differs__its_own_waits_decide),
        cmocka_unit_test(forecast__several_tools__the_slowest_decides),
        cmocka_unit_test(forecast__answers_never_return__return_ratio_falls),
        cmocka_unit_test(forecast__worked_example__steps_work_and_reuse),
        cmocka_unit_test(forecast_wait__same_session__the_wait_of_the_forecast),
        cmocka_unit_test(session__differs_from_its_class__its_own_waits_count),
        cmocka_unit_test(frozen__sessions_go_on__nothing_is_counted),
        cmocka_unit_test(observations__any_order_and_time__forecasts_stay_in_range),
        cmocka_unit_test(observations__each_allocation_fails__sessions_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
