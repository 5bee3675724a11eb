/* SPDX-License-Identifier: Apache-2.0 */
/* Whose sessions are drawn, and when they come. */
#include "bench/lab/scenario.h"
#include "bench/replay/sample.h"
#include "tests/kit/kit.h"

static struct scenario scenario;

static void load(struct trace *trace, struct workload *ret)
{
    const struct workload_opts opts = {.kind = WORKLOAD_MIX,
                                       .kv_tokens = 420000,
                                       .profile = sim_profile_find(STR("a100x4-llama3-70b"))};
    struct lines *lines = NULL;
    struct err err = {0};
    assert_status(lines_open_mem(&lines, sample_data(), &err), ST_OK);
    assert_status(trace_load(trace, mem_heap(), lines, &err), ST_OK);
    lines_close(lines);
    assert_status(workload_make(ret, mem_heap(), trace, &opts, &err), ST_OK);
}

static void draw__tenants__bring_their_rates_workloads_and_models(void **state)
{
    (void)state;
    struct trace trace;
    struct workload w;
    struct draw draw;
    load(&trace, &w);
    const struct scenario_part parts[] = {
        {.rate_per_s = 0.1, .workload = WORKLOAD_SWE},
        {.rate_per_s = 0.3, .workload = WORKLOAD_CLAUDE_CODE, .model = 1}};
    scenario = (struct scenario){.tenant_count = 2};
    const struct draw_opts opts = {.rate_per_s = 0.4,
                                   .burst_cv = 1,
                                   .hours = 10,
                                   .seed = 4,
                                   .scenario = &scenario,
                                   .parts = parts};
    assert_status(draw_make(&draw, mem_heap(), &w, &opts), ST_OK);
    double count[2] = {0};
    for (uint32_t i = 0; i < draw.arrival_count; i++) {
        const struct lab_session *root = &draw.sessions[draw.arrivals[i].session];
        bool is_claude = root->client == LAB_CLIENT_CLAUDE_CODE;
        assert_true(root->tenant < 2 && is_claude == (root->tenant == 1));
        assert_int_equal(root->model, root->tenant);
        count[root->tenant]++;
    }
    assert_close(count[0] / (0.1 * 36000), 1, 0.06);
    assert_close(count[1] / (0.3 * 36000), 1, 0.04);
    for (uint32_t i = 0; i < draw.session_count; i++) { /* sub-agents are their root's */
        const struct lab_session *session = &draw.sessions[i];
        if (session->parent != LAB_NONE) {
            assert_int_equal(session->tenant, draw.sessions[session->parent].tenant);
            assert_int_equal(session->client, draw.sessions[session->parent].client);
        }
    }
    draw_fini(&draw);
    workload_fini(&w);
    trace_fini(&trace);
}

static void draw__load_over_time__comes_when_it_says(void **state)
{
    (void)state;
    struct trace trace;
    struct workload w;
    struct draw draw;
    struct err err = {0};
    load(&trace, &w);
    assert_status(scenario_load(&scenario, "pulse", &err), ST_OK);
    const struct draw_opts opts = {
        .rate_per_s = 1, .burst_cv = 1, .hours = 1, .seed = 4, .scenario = &scenario};
    assert_status(draw_make(&draw, mem_heap(), &w, &opts), ST_OK);
    double early = 0;
    for (uint32_t i = 0; i < draw.arrival_count; i++) {
        early += draw.arrivals[i].at_us < UINT64_C(1800000000) ? 1 : 0;
        assert_true(i == 0 || draw.arrivals[i].at_us >= draw.arrivals[i - 1].at_us);
    }
    assert_close(draw.arrival_count / 3600.0, 1, 0.05);
    assert_close(early / draw.arrival_count, 1.5 / 2.1, 0.02);
    draw_fini(&draw);
    workload_fini(&w);
    trace_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draw__tenants__bring_their_rates_workloads_and_models),
        cmocka_unit_test(draw__load_over_time__comes_when_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
