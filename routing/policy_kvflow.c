/* SPDX-License-Identifier: Apache-2.0 */
/* Engines give up first the KV of the session whose next step is farthest, and load it from slower
 * memory before that step. The time of the next step is the forecast's median. */
#include "routing/keys.h"

enum { AHEAD_S };

static const struct route_param params[] = {
    [AHEAD_S] = {"ahead_s", 2.0, 0.0, 1e6,
                 "KV is loaded from slower memory so long before the step is expected, seconds"},
};

/* Notes of a session. */
enum { NEXT_AT_US, IS_PREFETCHED };

/* Time from the begin of the gap within which half of those return that have not yet at elapsed_us;
 * UINT64_MAX = fewer do. */
static uint64_t median_us(const struct gate_usage *usage, uint64_t elapsed_us)
{
    double gone = gate_return_within(usage, elapsed_us);
    double want = gone + 0.5 * (1.0 - gone);
    uint64_t from_us = 0;
    double from = 0.0;
    for (uint32_t i = 0; usage->has_return && i < GATE_HORIZONS; i++) {
        double to = (double)usage->return_ratio[i];
        if (to >= want && to > gone) {
            double part = (want - from) / (to - from);
            return from_us + (uint64_t)(part * (double)(gate_horizons_us[i] - from_us) + 0.5);
        }
        from_us = gate_horizons_us[i];
        from = to;
    }
    return UINT64_MAX;
}

/* Tells the engine when the session's KV is used next. */
static void tell(struct gate *gate, struct gate_session *session)
{
    uint64_t wait_us = median_us(&session->last, gate->now_us - session->gap_from_us);
    uint64_t next_at_us = wait_us == UINT64_MAX ? UINT64_MAX : session->gap_from_us + wait_us;
    session->notes[NEXT_AT_US] = (double)next_at_us;
    gate_value(gate, session, wait_us == UINT64_MAX ? 0.0 : 1.0, next_at_us);
}

static void on_gap(struct gate *gate, struct gate_session *session)
{
    session->notes[IS_PREFETCHED] = 0.0;
    tell(gate, session);
}

/* It is used as soon as there is room. */
static void on_return(struct gate *gate, struct gate_session *session)
{
    session->notes[NEXT_AT_US] = (double)gate->now_us;
    gate_value(gate, session, 1.0, gate->now_us);
}

/* Loads what is due; what is late is expected anew. */
static void look_at(struct gate *gate, struct gate_session *session)
{
    double ahead_us = gate->params[AHEAD_S] * 1e6;
    bool is_due = session->notes[NEXT_AT_US] <= (double)gate->now_us + ahead_us;
    bool has_tier = gate->engines[session->engine]->info.tier_tokens > 0;
    if (is_due && has_tier && session->notes[IS_PREFETCHED] <= 0.0) {
        session->notes[IS_PREFETCHED] = 1.0;
        gate_prefetch(gate, session);
    }
    if (session->notes[NEXT_AT_US] <= (double)gate->now_us) {
        tell(gate, session);
    }
}

/* From the session that came last back to one that has been away for longer than forecasts reach.
 */
static void on_epoch(struct gate *gate)
{
    uint64_t reach_us = gate_horizons_us[GATE_HORIZONS - 1];
    for (struct list *link = gate->sessions.prev; link != &gate->sessions; link = link->prev) {
        struct gate_session *session = gate_session_of(link);
        if (!gate_is_acting(session) || session->state != GATE_IN) {
            continue;
        }
        if (gate->now_us - session->gap_from_us > reach_us) {
            break;
        }
        look_at(gate, session);
    }
}

const struct route_policy route_policy_kvflow = {
    .name = "kvflow",
    .text = "prefix_affinity; engines give up KV whose next use is expected last, and load it "
            "before it is",
    .source = "KVFlow, arXiv 2507.07400",
    .place = route_place_prefix_affinity,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .wants_returns = true,
    .evict = "belady",
    .on_gap = on_gap,
    .on_return = on_return,
    .on_epoch = on_epoch,
    .epoch_us = 1000000,
};
