/* SPDX-License-Identifier: Apache-2.0 */
/* KV is pinned while a session's tool runs, for a time that its cost decides, or a fixed one; in an
 * engine's queue sessions that found their pin first, then those that came first. */
#include "routing/keys.h"

/* --- order --- */

static double key(const struct gate *gate, const struct gate_step *step)
{
    bool is_pinned = step->session != NULL && step->session->pinned_until_us > gate->now_us;
    double born_us = route_key_born(gate, step);
    return is_pinned ? born_us - 1e18 : born_us; /* of the pinned ones too the oldest first */
}

/* --- how long --- */

static void pin(struct gate *gate, struct gate_session *session, uint64_t time_us)
{
    if (time_us > 0 && session->last.has_tool) {
        gate_pin(gate, session, gate->now_us + time_us);
    }
}

enum { PIN_SCALE };

static const struct route_param cost_params[] = {
    [PIN_SCALE] = {"pin_scale", 10.0, 0.0, 1000.0,
                   "worth of a pin, in times the recompute of the context and the wait in the "
                   "queue that it saves"},
};

/* Notes of a session, and of an engine. */
enum { WAITED_S, GAP_FROM_US, PINNED_UNTIL_US };
enum { QUEUE_US };

#define QUEUE_ALPHA 0.1

/* Steps that came without a pin say how long one waits whose KV was given up. */
static void learn_wait(struct gate_engine *engine, struct gate_session *session)
{
    double wait_us = (session->waited_s - session->notes[WAITED_S]) * 1e6;
    double came_us = session->notes[GAP_FROM_US] + (double)session->return_us;
    if (session->done == 1 || session->notes[PINNED_UNTIL_US] < came_us) {
        engine->notes[QUEUE_US] += QUEUE_ALPHA * (wait_us - engine->notes[QUEUE_US]);
    }
    session->notes[WAITED_S] = session->waited_s;
}

static void on_gap_cost(struct gate *gate, struct gate_session *session)
{
    struct gate_engine *engine = gate->engines[session->engine];
    learn_wait(engine, session);
    double saved_us =
        gate_prefill_us(engine, session->context_tokens, 0.0) + engine->notes[QUEUE_US];
    pin(gate, session, route_pin_us(&session->last, gate->params[PIN_SCALE] * saved_us));
    session->notes[GAP_FROM_US] = (double)gate->now_us;
    session->notes[PINNED_UNTIL_US] = (double)session->pinned_until_us;
}

const struct route_policy route_policy_continuum = {
    .name = "continuum",
    .text = "prefix_affinity; in an engine's queue the session first that came first; pins KV "
            "while a tool runs, as long as the saved recompute and wait are worth it",
    .source = "Continuum (CacheTTL), arXiv 2511.02230",
    .place = route_place_prefix_affinity,
    .params = cost_params,
    .param_count = sizeof(cost_params) / sizeof(cost_params[0]),
    .wants_returns = true,
    .key = key,
    .on_gap = on_gap_cost,
};

enum { TTL_S };

static const struct route_param fixed_params[] = {
    [TTL_S] = {"ttl_s", 2.0, 0.0, 1e6, "time for which KV is pinned, seconds"},
};

static void on_gap_fixed(struct gate *gate, struct gate_session *session)
{
    pin(gate, session, (uint64_t)(gate->params[TTL_S] * 1e6));
}

const struct route_policy route_policy_continuum_2s = {
    .name = "continuum_2s",
    .text = "as continuum, KV pinned for 2 s",
    .source = "Continuum's released preview, github.com/Hanchenli/vllm-continuum",
    .place = route_place_prefix_affinity,
    .params = fixed_params,
    .param_count = sizeof(fixed_params) / sizeof(fixed_params[0]),
    .key = key,
    .on_gap = on_gap_fixed,
};
