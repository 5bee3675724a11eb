/* SPDX-License-Identifier: Apache-2.0 */
/* What a node knows of the sessions on its engines, and which of their steps goes into an engine
 * when. It keeps the books; a policy's hooks (policy.h) decide: in which order (key), who is let in
 * where (admit), what becomes of a session between two steps (on_gap), and now and then everything
 * (on_epoch).
 *
 * A session is OUT, with its steps waiting at the gate, or IN, with an engine to which its steps
 * go. Without an admit hook every session is IN, on the engine that its step was placed on. Steps
 * for an engine wait in its queue: without a key hook they are released into the engine as long as
 * there are slots, with one only when the engine would begin with them soon, smallest key first, so
 * that the order stays the policy's.
 *
 * PURE. THREAD: one owner. OWNERSHIP: steps are the caller's and must not move. LIMITS:
 * max_sessions, max_engines, GATE_TENANTS_MAX. */
#ifndef ROUTING_GATE_H
#define ROUTING_GATE_H

#include "routing/gate_types.h"

/* ST_NOMEM. */
MUST_CHECK enum status
gate_init(struct gate *gate, const struct mem *mem, const struct gate_opts *opts);
void gate_fini(struct gate *gate);

/* Another policy from now on, or other params [policy->param_count], NULL = its defaults. All notes
 * are 0 for a new one. Steps that wait at the gate go to where they were placed when it lets
 * everybody in. */
void gate_set_policy(struct gate *gate,
                     const struct route_policy *policy,
                     const double *params,
                     uint64_t now_us);

/* --- happenings; each fills gate->actions --- */

/* A new engine; *ret_idx is its index until gate_forget_engine. ST_FULL, ST_NOMEM. */
MUST_CHECK enum status gate_add_engine(struct gate *gate,
                                       uint32_t id,
                                       const struct gate_engine_info *info,
                                       uint64_t now_us,
                                       uint32_t *ret_idx);
/* Tells anew about one that is known; also takes it back after gate_remove_engine. */
void gate_tell_engine(struct gate *gate,
                      uint32_t idx,
                      const struct gate_engine_info *info,
                      uint64_t now_us);
/* It takes nothing new; its sessions are OUT. What is queued for it is for the caller to withdraw.
 */
void gate_remove_engine(struct gate *gate, uint32_t idx, uint64_t now_us);
/* One that is removed, with no step left. */
void gate_forget_engine(struct gate *gate, uint32_t idx);

/* A step for this engine. ST_NOMEM: nothing changed. */
MUST_CHECK enum status gate_submit(struct gate *gate,
                                   struct gate_step *step,
                                   const struct gate_need *need,
                                   uint32_t engine,
                                   uint64_t now_us);
/* One that has not been released is taken back. */
void gate_withdraw(struct gate *gate, struct gate_step *step, uint64_t now_us);
/* Its KV has arrived at the engine (is_moved), or could not. */
void gate_moved(struct gate *gate, struct gate_step *step, bool is_moved, uint64_t now_us);
/* First token. */
void gate_answered(struct gate *gate, struct gate_step *step, uint64_t now_us);
/* A released one is over. */
void gate_settled(struct gate *gate,
                  struct gate_step *step,
                  const struct gate_usage *usage,
                  uint64_t now_us);
void gate_tick(struct gate *gate, uint64_t now_us);

/* --- for hooks --- */

/* Does the engine serve the session's pool? The coordinator only places steps on engines that do,
 * so it is known of those that had one. */
bool gate_serves(const struct gate *gate, const struct gate_session *session, uint32_t engine);
/* The session is IN on that engine; what waits of it at the gate is queued there. An engine of
 * another pool is not for it: then it is the one that its step was placed on, or without a step
 * the one where it was, or it stays OUT. */
void gate_let_in(struct gate *gate, struct gate_session *session, uint32_t engine);
/* The session, nothing of which runs, is OUT; what it has queued waits at the gate. */
void gate_pause(struct gate *gate, struct gate_session *session);
/* The session, in a gap, is OUT, without this being a pause: where its next step goes is decided
 * when it comes. */
void gate_let_out(struct gate *gate, struct gate_session *session);
/* For the books only: the session, IN and in a gap, counts for so many tokens in its engine's
 * gap_tokens from now on; 0 by itself when it comes back or is OUT. */
void gate_reserve(struct gate *gate, struct gate_session *session, uint32_t tokens);
/* Asks the session's engine to keep its KV. until_us 0 = no longer. */
void gate_pin(struct gate *gate, struct gate_session *session, uint64_t until_us);
/* Gives a queued step and its session to another engine, the KV moved (has_kv) or left behind; not
 * to one of another pool. */
void gate_steal(struct gate *gate, struct gate_step *step, uint32_t engine, bool has_kv);
/* Asks the session's engine to load its KV from slower memory. */
void gate_prefetch(struct gate *gate, struct gate_session *session);
/* Tells the session's engine, for its eviction, how likely the session's KV is used again, and when
 * (UINT64_MAX = not known). */
void gate_value(struct gate *gate,
                struct gate_session *session,
                double reuse_ratio,
                uint64_t next_at_us);

/* Tokens of the session that the engine likely holds. O(copies of the session). */
uint32_t
gate_resident(const struct gate *gate, const struct gate_session *session, uint32_t engine);
/* Prompt tokens of the step that the engine would have to compute. */
uint32_t gate_uncached(const struct gate *gate, const struct gate_step *step, uint32_t engine);
/* Prompt and expected answer, or what the policy's reserve says. */
uint32_t gate_need_tokens(const struct gate *gate, const struct gate_step *step);
/* KV that the session needs for its next step, or holds: the tokens of its steps that run or wait,
 * at least its context. */
uint64_t gate_session_tokens(const struct gate *gate, const struct gate_session *session);
/* b u + d u (c + u / 2), docs/formulas.md#F2; 0 when the engine's speed is not known. */
double gate_prefill_us(const struct gate_engine *engine, double u, double c);
/* P(its next step comes within this time from the begin of its gap), by linear interpolation
 * between horizons; < 0 = not known. */
double gate_return_within(const struct gate_usage *usage, uint64_t within_us);

/* Walks everything; false when the books are wrong. For tests. */
bool gate_check(const struct gate *gate);

#endif
