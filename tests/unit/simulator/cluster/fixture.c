/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/simulator/cluster/fixture.h"

void fix_init(struct fix *fix, uint32_t engines, const char *policy)
{
    static const struct sim_profile profile = {
        .a_s =
            1e-3 - 1e-12, /* iterations are rounded up to a microsecond: to these numbers, then */
        .b_s_per_token = 10e-6,
        .f_s = 1e-3 - 1e-12,
        .g_s_per_request = 100e-6,
        .kv_tokens = 16000,
        .max_running = 8,
        .budget_tokens = 2048,
        .context_tokens = 16000,
    };
    *fix = (struct fix){0};
    sim_engine_opts_init(&fix->plan.engine, &profile);
    fix->plan.sessions = fix->sessions;
    fix->plan.arrivals = fix->arrivals;
    fix->plan.engines = engines;
    fix->plan.policy = str_of(policy);
    fix->plan.seed = 1;
    fix->plan.is_checked = true;
}

static uint32_t add(struct fix *fix)
{
    uint32_t idx = fix->plan.session_count++;
    struct lab_step *steps = fix->steps[idx];
    assert_true(idx < FIX_SESSIONS);
    steps[0] = (struct lab_step){.prompt_tokens = 160, .output_tokens = 2};
    steps[1] = (struct lab_step){
        .prompt_tokens = 320, .kept_tokens = 162, .output_tokens = 2, .gap_us = 10000};
    fix->sessions[idx] = (struct lab_session){
        .steps = steps, .step_count = 2, .system_id = idx, .parent = LAB_NONE, .recorded = idx};
    return idx;
}

uint32_t fix_session(struct fix *fix, uint64_t at_us)
{
    uint32_t idx = add(fix);
    fix->arrivals[fix->plan.arrival_count++] = (struct lab_arrival){.at_us = at_us, .session = idx};
    return idx;
}

uint32_t fix_child(struct fix *fix, uint32_t parent, uint32_t spawn_step)
{
    uint32_t idx = add(fix);
    fix->sessions[idx].parent = parent;
    fix->sessions[idx].spawn_step = spawn_step;
    return idx;
}

void fix_run(struct fix *fix)
{
    assert_status(lab_run(&fix->plan, mem_heap(), NULL, NULL, &fix->result), ST_OK);
}

void fix_fini(struct fix *fix)
{
    lab_result_fini(&fix->result, mem_heap());
}

void fix_expect_end(const struct fix *fix, uint32_t session, uint64_t at_us)
{
    assert_int_equal(fix->result.outcomes[session].ended_at_us, at_us);
}
