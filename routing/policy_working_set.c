/* SPDX-License-Identifier: Apache-2.0 */
/* Working sets, the session that was served least first. */
#include "routing/working_set.h"

/* How long a session is waited for when nothing is known of its returns. */
#define UNKNOWN_HOLD_US 60000000

static double order(const struct gate_session *session)
{
    return session->served_token_s;
}

static double
return_ratio(const struct gate *gate, const struct gate_session *session, uint64_t hold_us)
{
    uint64_t gone_us = gate->now_us - session->gap_from_us;
    if (!session->last.has_return) {
        return gone_us < UNKNOWN_HOLD_US ? 1.0 : 0.0;
    }
    double before = gate_return_within(&session->last, gone_us);
    double within = gate_return_within(&session->last, gone_us + hold_us);
    return before < 1.0 ? (within - before) / (1.0 - before) : 0.0;
}

static const struct ws_rule rule = {.order = order, .return_ratio = return_ratio};

static void admit(struct gate *gate)
{
    ws_admit(gate, &rule);
}

static void on_gap(struct gate *gate, struct gate_session *session)
{
    ws_on_gap(gate, session, &rule);
}

static void on_epoch(struct gate *gate)
{
    ws_on_epoch(gate, &rule);
}

static const struct route_param params[] = {WS_PARAM_LIST};

const struct route_policy route_policy_working_set = {
    .name = "working_set",
    .text = "sessions are let in while their KV fits, the least served first, and paused when too "
            "many come back at once",
    .source = "Denning 1968; ThunderAgent, arXiv 2602.13692; order: least attained service",
    .place = route_place_prefix_affinity,
    .params = params,
    .param_count = WS_PARAMS,
    .hears_end = true,
    .wants_returns = true,
    .admit = admit,
    .on_gap = on_gap,
    .on_epoch = on_epoch,
    .epoch_us = WS_EPOCH_US,
};
