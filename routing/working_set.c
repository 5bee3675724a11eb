/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/working_set.h"

#include <math.h>

/* Nobody is looked at for less room than this share of the memory. */
#define ROOM_RATIO 0.005
/* What a full memory and each session there cost a newcomer, beside prefill and wait. */
#define FULL_US    20e6
#define SESSION_US 1e6

static bool is_usable(const struct gate_engine *engine)
{
    return engine != NULL && !engine->is_gone;
}

static double working_set(const struct gate_engine *engine)
{
    return (double)(engine->run_tokens + engine->queued_tokens + engine->gap_tokens);
}

/* Without a known size of its memory an engine has room for everybody. */
static double room(const struct gate *gate, const struct gate_engine *engine)
{
    return engine->info.kv_tokens == 0
               ? INFINITY
               : gate->params[WS_ENTER_RATIO] * engine->info.kv_tokens - working_set(engine);
}

uint64_t ws_hold_us(const struct gate_engine *engine, uint32_t context_tokens)
{
    double context = context_tokens;
    double prefill_us = gate_prefill_us(engine, context, 0.0);
    return prefill_us > 0.0 && engine->info.kv_tokens > 0
               ? (uint64_t)(engine->info.kv_tokens * prefill_us / context)
               : WS_HOLD_UNKNOWN_US;
}

/* --- in --- */

static bool has_room_somewhere(const struct gate *gate)
{
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        const struct gate_engine *engine = gate->engines[i];
        if (is_usable(engine) && (engine->session_count == 0 ||
                                  room(gate, engine) >= ROOM_RATIO * engine->info.kv_tokens)) {
            return true;
        }
    }
    return false;
}

static struct gate_session *first_of(const struct gate *gate, const struct ws_rule *rule)
{
    struct gate_session *best = gate_session_at_gate(list_first(&gate->waiting));
    double best_order = rule->order(best);
    LIST_FOR_EACH(link, &gate->waiting)
    {
        struct gate_session *session = gate_session_at_gate(link);
        double order = rule->order(session);
        if (order < best_order) {
            best = session;
            best_order = order;
        }
    }
    return best;
}

/* What going there costs the session, us. */
static double
cost_us(const struct gate *gate, const struct gate_session *session, const struct gate_engine *at)
{
    const struct gate_step *step = gate_step_of(list_first(&session->steps));
    double uncached = gate_uncached(gate, step, at->idx);
    double cached = step->need.prompt_tokens - uncached;
    double full = at->info.kv_tokens == 0 ? 0.0 : working_set(at) / at->info.kv_tokens;
    return gate_prefill_us(at, uncached, cached) +
           gate_prefill_us(at, (double)at->unanswered_tokens, 0.0) + FULL_US * full +
           SESSION_US * at->session_count;
}

/* The cheapest engine with room for it, or with nobody there; GATE_NONE = none. */
static uint32_t engine_for(const struct gate *gate, const struct gate_session *session)
{
    double need = (double)gate_session_tokens(gate, session);
    uint32_t best = GATE_NONE;
    double best_us = 0.0;
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        const struct gate_engine *engine = gate->engines[i];
        if (!is_usable(engine) || !gate_serves(gate, session, i) ||
            (engine->session_count > 0 && need > room(gate, engine))) {
            continue;
        }
        double own_us = cost_us(gate, session, engine);
        if (best == GATE_NONE || own_us < best_us) {
            best = i;
            best_us = own_us;
        }
    }
    return best;
}

void ws_admit(struct gate *gate, const struct ws_rule *rule)
{
    while (gate->waiting_count > 0 && has_room_somewhere(gate)) {
        struct gate_session *session = first_of(gate, rule);
        uint32_t engine = engine_for(gate, session);
        if (engine == GATE_NONE) {
            return; /* nobody overtakes the first */
        }
        gate_let_in(gate, session, engine);
    }
}

/* --- out --- */

/* The last of those in a gap there; NULL = none. */
static struct gate_session *last_of(const struct gate_engine *engine, const struct ws_rule *rule)
{
    struct gate_session *worst = NULL;
    double worst_order = 0.0;
    LIST_FOR_EACH(link, &engine->sessions)
    {
        struct gate_session *session = gate_session_on(link);
        if (session->gap_tokens == 0) {
            continue;
        }
        double order = rule->order(session);
        if (worst == NULL || order > worst_order) {
            worst = session;
            worst_order = order;
        }
    }
    return worst;
}

static void relieve(struct gate *gate, struct gate_engine *engine, const struct ws_rule *rule)
{
    double most = gate->params[WS_PAUSE_RATIO] * engine->info.kv_tokens;
    while (engine->info.kv_tokens > 0 && working_set(engine) > most) {
        struct gate_session *session = last_of(engine, rule);
        if (session == NULL) {
            return;
        }
        gate_pause(gate, session);
    }
}

/* The session in a gap counts by its chance to come back in time. */
static void weigh(struct gate *gate, struct gate_session *session, const struct ws_rule *rule)
{
    const struct gate_engine *engine = gate->engines[session->engine];
    uint64_t hold_us = ws_hold_us(engine, session->context_tokens);
    double ratio = rule->return_ratio(gate, session, hold_us);
    gate_reserve(gate, session, ratio > 0.0 ? (uint32_t)(ratio * session->context_tokens) : 0);
}

void ws_on_gap(struct gate *gate, struct gate_session *session, const struct ws_rule *rule)
{
    if (session->state == GATE_IN) {
        weigh(gate, session, rule);
        relieve(gate, gate->engines[session->engine], rule);
    }
}

void ws_on_epoch(struct gate *gate, const struct ws_rule *rule)
{
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        if (!is_usable(engine)) {
            continue;
        }
        struct list *link = engine->sessions.next;
        while (link != &engine->sessions) {
            struct gate_session *session = gate_session_on(link);
            link = link->next;
            if (!gate_is_acting(session)) {
                continue;
            }
            weigh(gate, session, rule);
            if (session->gap_tokens == 0) { /* not waited for any longer */
                gate_let_out(gate, session);
            }
        }
        relieve(gate, engine, rule);
    }
}
