/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy's hooks can do. */
#include "routing/gate.h"
#include "routing/gate_inside.h"

bool gate_serves(const struct gate *gate, const struct gate_session *session, uint32_t engine)
{
    const struct gate_engine *at = gate->engines[engine];
    bool is_known = session->pool == 0;
    for (uint32_t i = 0; i < GATE_POOLS && !is_known; i++) {
        is_known = at->pools[i] == session->pool;
    }
    return is_known;
}

/* Where the session belongs when a policy chose an engine of another pool. */
static uint32_t own_engine(const struct gate_session *session)
{
    return list_is_empty(&session->steps) ? session->engine
                                          : gate_step_of(list_first(&session->steps))->engine;
}

void gate_let_in(struct gate *gate, struct gate_session *session, uint32_t engine)
{
    if (!gate_serves(gate, session, engine)) {
        engine = own_engine(session);
    }
    if (!gate_is_usable(gate, engine)) {
        return;
    }
    gate_session_enter(gate, session, engine);
    while (!list_is_empty(&session->steps)) {
        struct gate_step *step = gate_step_of(list_first(&session->steps));
        gate_unhold(gate, step);
        gate_queue(gate, step, engine);
    }
}

void gate_pause(struct gate *gate, struct gate_session *session)
{
    ASSERT(session->state == GATE_IN && session->running == 0);
    struct gate_engine *engine = gate->engines[session->engine];
    struct list *link = engine->queue.next;
    while (session->queued > 0 && link != &engine->queue) {
        struct gate_step *step = gate_step_of(link);
        link = link->next;
        if (step->session == session) {
            gate_unqueue(gate, step);
            gate_hold(gate, step);
        }
    }
    gate_session_leave(gate, session);
    session->paused_at_us = gate->now_us;
    gate->counters.pauses++;
}

void gate_let_out(struct gate *gate, struct gate_session *session)
{
    ASSERT(gate_is_acting(session));
    if (session->state == GATE_IN) {
        gate_session_leave(gate, session);
    }
}

void gate_pin(struct gate *gate, struct gate_session *session, uint64_t until_us)
{
    struct gate_action *action =
        gate_is_usable(gate, session->engine) ? gate_act(gate, GATE_RETAIN) : NULL;
    if (action == NULL) {
        return;
    }
    action->session = session->key;
    action->engine = session->engine;
    action->until_us = until_us;
    session->pinned_until_us = until_us;
    struct gate_engine *engine = gate->engines[session->engine];
    engine->pins_until_us = until_us > engine->pins_until_us ? until_us : engine->pins_until_us;
    gate->counters.pins += until_us > 0 ? 1 : 0;
}

void gate_steal(struct gate *gate, struct gate_step *step, uint32_t engine, bool has_kv)
{
    struct gate_session *session = step->session;
    ASSERT(step->state == GATE_STEP_QUEUED && session != NULL);
    if (!gate_serves(gate, session, engine)) {
        return;
    }
    uint32_t from = step->engine;
    struct gate_action *action =
        has_kv && gate_resident(gate, session, from) > 0 ? gate_act(gate, GATE_MOVE) : NULL;
    gate_unqueue(gate, step);
    if (session->running == 0 && session->queued == 0) {
        gate_let_in(gate, session, engine);
    }
    gate->counters.steals++;
    if (action == NULL) {
        gate_queue(gate, step, engine);
        return;
    }
    action->step = step;
    action->session = session->key;
    action->engine = engine;
    action->from = from;
    step->state = GATE_STEP_MOVING;
    step->engine = engine;
    session->queued++;
    session->step_tokens += step->held_tokens;
}

void gate_prefetch(struct gate *gate, struct gate_session *session)
{
    struct gate_action *action =
        gate_is_usable(gate, session->engine) ? gate_act(gate, GATE_PREFETCH) : NULL;
    if (action != NULL) {
        action->session = session->key;
        action->engine = session->engine;
        gate->counters.prefetches++;
    }
}

void gate_value(struct gate *gate,
                struct gate_session *session,
                double reuse_ratio,
                uint64_t next_at_us)
{
    struct gate_action *action =
        gate_is_usable(gate, session->engine) ? gate_act(gate, GATE_VALUE) : NULL;
    if (action != NULL) {
        action->session = session->key;
        action->engine = session->engine;
        action->reuse_ratio = reuse_ratio;
        action->next_at_us = next_at_us;
    }
}
