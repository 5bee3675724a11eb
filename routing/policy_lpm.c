/* SPDX-License-Identifier: Apache-2.0 */
/* In an engine's queue the step with the fewest uncached tokens first; KV of sessions in a gap is
 * pinned as long as that pays. */
#include "routing/keys.h"

enum { PIN_SCALE, FCFS_ABOVE };

static const struct route_param params[] = {
    [PIN_SCALE] = {"pin_scale", 3.0, 0.0, 1000.0,
                   "worth of a pin, in times the recompute of the context; 0 = no pins"},
    [FCFS_ABOVE] = {"fcfs_above", 128.0, 0.0, 1e9,
                    "steps in the queue beyond which it is first come, first served"},
};

static double key(const struct gate *gate, const struct gate_step *step)
{
    bool is_long = gate->engines[step->engine]->queued > gate->params[FCFS_ABOVE];
    return is_long ? 0.0 : (double)gate_uncached(gate, step, step->engine);
}

static void on_gap(struct gate *gate, struct gate_session *session)
{
    const struct gate_engine *engine = gate->engines[session->engine];
    double again_us = gate_prefill_us(engine, session->context_tokens, 0.0);
    uint64_t pin_us = route_pin_us(&session->last, gate->params[PIN_SCALE] * again_us);
    if (pin_us > 0) {
        gate_pin(gate, session, gate->now_us + pin_us);
    }
}

const struct route_policy route_policy_lpm = {
    .name = "lpm",
    .text = "prefix_affinity; in an engine's queue fewest uncached tokens first; pins KV between "
            "steps while that pays",
    .source = "SGLang's longest prefix match order; pins: our reading of Continuum",
    .place = route_place_prefix_affinity,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .wants_returns = true,
    .key = key,
    .on_gap = on_gap,
};
