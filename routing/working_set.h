/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions by working set: one is let into an engine when its KV fits there beside what runs, waits
 * and likely comes back, and one between two steps is put out when too much has come together. For
 * policies that differ in who goes first and in what they know of returns.
 *
 *     W = run + queued tokens + sum over gaps of context * P(return within H)
 *     H = KV tokens * prefill(context) / context
 *
 * H is where holding a context through a gap costs as much memory-time as the whole engine loses by
 * computing it again. Enter while W + need <= ENTER * KV, put out while W > PAUSE * KV; the room
 * between keeps sessions from going in and out.
 *
 * Sources: working sets, Denning 1968; load control at the gate as in ThunderAgent, arXiv
 * 2602.13692.
 * PURE. THREAD: the gate's. */
#ifndef ROUTING_WORKING_SET_H
#define ROUTING_WORKING_SET_H

#include "routing/gate.h"
#include "routing/policy.h"

/* The first of a policy's params, in this order. */
enum ws_param {
    WS_ENTER_RATIO,
    WS_PAUSE_RATIO,
    WS_PARAMS,
};

#define WS_PARAM_LIST                                                                            \
    [WS_ENTER_RATIO] = {"enter", 0.85, 0.01, 10, "share of KV up to which sessions are let in"}, \
    [WS_PAUSE_RATIO] = {"pause", 0.95, 0.01, 10, "share of KV above which sessions are put out"}

/* What a policy makes of a session; all see it as it is now. */
struct ws_rule {
    /* Smallest goes in first, of equals who waits longest; largest is put out first. Changes only
     * while a step of the session runs. */
    double (*order)(const struct gate_session *session);
    /* In a gap: P(its next step comes within hold_us from now). */
    double (*return_ratio)(const struct gate *gate,
                           const struct gate_session *session,
                           uint64_t hold_us);
};

/* The hooks. O(engines + waiting) when somebody waits and some engine has room. */
void ws_admit(struct gate *gate, const struct ws_rule *rule);
/* O(1), with too much on the engine O(its sessions) for each that is put out. */
void ws_on_gap(struct gate *gate, struct gate_session *session, const struct ws_rule *rule);
/* Looks at all gaps again. O(sessions that are in). */
void ws_on_epoch(struct gate *gate, const struct ws_rule *rule);

/* H, us; without the engine's speed WS_HOLD_UNKNOWN_US. */
uint64_t ws_hold_us(const struct gate_engine *engine, uint32_t context_tokens);

#define WS_HOLD_UNKNOWN_US 100000000
#define WS_EPOCH_US        1000000

#endif
