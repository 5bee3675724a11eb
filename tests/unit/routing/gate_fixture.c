/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_fixture.h"

void gate_fix_init(struct gate_fix *fix, const char *policy, const double *params, uint32_t engines)
{
    const struct gate_opts opts = {
        .policy = route_policy_find(str_of(policy)),
        .params = params,
        .max_sessions = 64,
        .max_engines = 8,
        .seed = 1,
    };
    const struct gate_engine_info info = {
        .max_running = 1,
        .kv_tokens = 10000,
        .chunk_tokens = 512,
        .prefill_us_per_token = 1000,
    };
    assert_non_null(opts.policy);
    *fix = (struct gate_fix){0};
    assert_status(gate_init(&fix->gate, mem_heap(), &opts), ST_OK);
    for (uint32_t i = 0; i < engines; i++) {
        uint32_t idx = GATE_NONE;
        assert_status(gate_add_engine(&fix->gate, i, &info, 0, &idx), ST_OK);
        assert_int_equal(idx, i);
    }
}

void gate_fix_fini(struct gate_fix *fix)
{
    assert_true(gate_check(&fix->gate));
    gate_fini(&fix->gate);
}

struct gate_step *gate_fix_submit(struct gate_fix *fix,
                                  uint64_t session,
                                  uint32_t engine,
                                  uint32_t prompt_tokens,
                                  uint32_t kept_tokens,
                                  uint64_t now_us)
{
    const struct gate_need need = {
        .session = session,
        .prompt_tokens = prompt_tokens,
        .kept_tokens = kept_tokens,
        .output_tokens = 10,
        .remaining_s = -1.0,
    };
    assert_true(fix->count < GATE_FIX_STEPS);
    struct gate_step *step = &fix->steps[fix->count++];
    assert_status(gate_submit(&fix->gate, step, &need, engine, now_us), ST_OK);
    return step;
}

void gate_fix_end(struct gate_fix *fix, struct gate_step *step, uint64_t return_us, uint64_t now_us)
{
    struct gate_usage usage = {
        .prompt_tokens = step->need.prompt_tokens,
        .output_tokens = 10,
        .is_ok = true,
        .has_tool = true,
        .has_return = return_us > 0,
    };
    for (uint32_t i = 0; i < GATE_HORIZONS && return_us > 0; i++) {
        double ratio = (double)gate_horizons_us[i] / (double)return_us;
        usage.return_ratio[i] = ratio < 1.0 ? (float)ratio : 1.0f;
    }
    gate_settled(&fix->gate, step, &usage, now_us);
}

void gate_fix_play(struct gate_fix *fix,
                   uint64_t session,
                   uint32_t engine,
                   uint32_t prompt_tokens,
                   uint64_t from_us,
                   uint64_t to_us)
{
    struct gate_step *step = gate_fix_submit(fix, session, engine, prompt_tokens, 0, from_us);
    gate_fix_end(fix, step, 0, to_us);
}

const struct gate_action *gate_fix_action(const struct gate_fix *fix, enum gate_action_kind kind)
{
    for (uint32_t i = 0; i < fix->gate.action_count; i++) {
        if (fix->gate.actions[i].kind == kind) {
            return &fix->gate.actions[i];
        }
    }
    return NULL;
}

void gate_fix_expect_order(struct gate_fix *fix,
                           struct gate_step *running,
                           const uint64_t *sessions,
                           uint32_t count,
                           uint64_t now_us)
{
    for (uint32_t i = 0; i < count; i++) {
        gate_fix_end(fix, running, 0, now_us);
        const struct gate_action *action = gate_fix_action(fix, GATE_START);
        assert_non_null(action);
        assert_int_equal(action->session, sessions[i]);
        running = action->step;
    }
}
