/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate's files share; nobody else includes it.
 * PURE. */
#ifndef ROUTING_GATE_INSIDE_H
#define ROUTING_GATE_INSIDE_H

#include "routing/gate_types.h"
#include "routing/policy.h"

/* Something about the engine changed: before the event is over its queue is looked at. */
void gate_mark(struct gate *gate, struct gate_engine *engine);

/* There is always room for a START; NULL when there is none for advice. */
struct gate_action *gate_act(struct gate *gate, enum gate_action_kind kind);

/* The session of this key, made when it is new. NULL: no memory, or nobody can be forgotten. */
struct gate_session *gate_session_get(struct gate *gate, const struct gate_need *need);
/* One of which nothing runs or waits. */
void gate_session_forget(struct gate *gate, struct gate_session *session);
/* Takes it off its engine. */
void gate_session_leave(struct gate *gate, struct gate_session *session);
void gate_session_enter(struct gate *gate, struct gate_session *session, uint32_t engine);

/* The step, in no list, joins the queue of that engine, or what waits at the gate. */
void gate_queue(struct gate *gate, struct gate_step *step, uint32_t engine);
void gate_hold(struct gate *gate, struct gate_step *step);
/* And leaves it. */
void gate_unqueue(struct gate *gate, struct gate_step *step);
void gate_unhold(struct gate *gate, struct gate_step *step);

/* Releases what the engine is to have now. */
void gate_fill(struct gate *gate, struct gate_engine *engine);

/* The engine is there and takes new steps. GATE_NONE: no. */
static inline bool gate_is_usable(const struct gate *gate, uint32_t engine)
{
    return engine != GATE_NONE && gate->engines[engine] != NULL && !gate->engines[engine]->is_gone;
}

/* The session's copy there; NULL = none. */
struct gate_copy *
gate_copy_of(const struct gate *gate, const struct gate_session *session, uint32_t engine);
/* Its copy is in use until gate_copy_keep. */
void gate_copy_use(struct gate *gate, struct gate_session *session, uint32_t engine);
/* The engine holds so much of it now, used last of all. */
void gate_copy_keep(struct gate *gate,
                    struct gate_session *session,
                    uint32_t engine,
                    uint32_t tokens);
void gate_copy_drop(struct gate *gate, struct gate_copy *copy);
/* Copies give way until all that is there fits. */
void gate_copies_trim(struct gate *gate, struct gate_engine *engine);

#endif
