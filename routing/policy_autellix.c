/* SPDX-License-Identifier: Apache-2.0 */
/* Short calls go to the engine with the fewest steps, long ones to their program's; in an engine's
 * queue the program in the lowest level of attained service first, one that has waited for too long
 * in proportion in the lowest of all. */
#include "routing/keys.h"

enum { QUANTUM_S, PROMOTE_RATIO };

static const struct route_param params[] = {
    [QUANTUM_S] = {"quantum_s", 8.0, 1e-3, 1e6,
                   "service of the first queue, each next one's is twice as long, seconds"},
    [PROMOTE_RATIO] = {"promote_ratio", 3.0, 0.0, 1e9,
                       "wait over service of a program from which its calls are in the first "
                       "queue"},
};

/* Longer calls keep to their program's engine; 4 bytes a token. */
enum { SHORT_TOKENS = 2048, BYTES_PER_TOKEN = 4 };

static enum status place(const struct route_view *view,
                         const struct route_step *step,
                         struct route_state *state,
                         double *costs_us,
                         struct route_choice *ret)
{
    (void)state;
    if (view->count == 0) {
        return ST_NOTFOUND;
    }
    bool is_short = step->prompt_bytes <= SHORT_TOKENS * BYTES_PER_TOKEN;
    uint32_t idx = is_short || step->home == ROUTE_NONE ? route_least_outstanding(view, step->key)
                                                        : step->home;
    route_explain(view, step, idx, costs_us, ret);
    return ST_OK;
}

static double key(const struct gate *gate, const struct gate_step *step)
{
    const struct gate_session *program = step->session;
    if (program == NULL) {
        return 0.0;
    }
    double waited_s = program->waited_s + (double)(gate->now_us - step->came_at_us) / 1e6;
    bool is_promoted = waited_s > gate->params[PROMOTE_RATIO] * program->served_s;
    return is_promoted ? 0.0 : route_service_level(program->served_s, gate->params[QUANTUM_S]);
}

const struct route_policy route_policy_autellix = {
    .name = "autellix",
    .text = "short calls to the engine with the fewest steps, long ones to the program's; in an "
            "engine's queue levels of least attained service of the program",
    .source = "Autellix (PLAS), arXiv 2502.13965",
    .place = place,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .key = key,
};
