/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions are paused when the KV of those on an engine is more than it holds, and resumed, where
 * there is most room, when they fit. A session reasons while a step of it waits or runs, else it
 * acts. */
#include "routing/keys.h"

#include <stdlib.h>

enum { INTERVAL_S, ACTING_WEIGHT, HAS_DECAY, BUFFER_TOKENS, FORCE_S };

static const struct route_param params[] = {
    [INTERVAL_S] = {"interval_s", 5.0, 0.1, 3600.0,
                    "time between two looks at the memory, seconds"},
    [ACTING_WEIGHT] = {"acting_weight", 1.0, 0.0, 1.0, "share that an acting session counts for"},
    [HAS_DECAY] = {"decay", 0.0, 0.0, 1.0,
                   "1: to let others in, acting sessions count 2^-t after t seconds"},
    [BUFFER_TOKENS] = {"buffer_tokens", 100.0, 0.0, 1e6, "room to grow of a session, tokens"},
    [FORCE_S] = {"force_s", 1800.0, 0.0, 1e9,
                 "wait after which a session is let in anyway, seconds"},
};

/* Notes of a session. */
enum {
    IS_PAUSED,
    IS_MARKED, /* paused when its steps are over */
    IS_KNOWN,  /* its first step has been looked at */
};
enum { PAUSED_COUNT };     /* of the gate */
enum { REMAINING_TOKENS }; /* of an engine */

static bool is_usable(const struct gate_engine *engine)
{
    return engine != NULL && !engine->is_gone;
}

/* --- what is left of an engine's memory --- */

/* 2^-t, linear between whole seconds. */
static double decay(uint64_t time_us)
{
    uint64_t whole = time_us / 1000000;
    double part = (double)(time_us % 1000000) / 1e6;
    return whole > 60 ? 0.0 : (1.0 - part / 2.0) / (double)(UINT64_C(1) << whole);
}

static double used_by(const struct gate *gate, const struct gate_session *session, bool has_decay)
{
    double tokens = (double)gate_session_tokens(gate, session);
    double buffer = gate->params[BUFFER_TOKENS];
    if (!gate_is_acting(session)) {
        return session->notes[IS_MARKED] > 0.0 ? buffer : tokens + buffer;
    }
    double share = has_decay ? decay(gate->now_us - session->gap_from_us) : 1.0;
    return gate->params[ACTING_WEIGHT] * share * tokens + buffer;
}

/* May be negative. O(sessions of the engine). */
static double remaining(const struct gate *gate, const struct gate_engine *engine, bool has_decay)
{
    if (engine->info.kv_tokens == 0) {
        return 1e18; /* not known */
    }
    double left = engine->info.kv_tokens;
    LIST_FOR_EACH(link, &engine->sessions)
    {
        left -= used_by(gate, gate_session_on(link), has_decay);
    }
    return left;
}

/* --- in and out --- */

static void pause(struct gate *gate, struct gate_session *session)
{
    gate_pause(gate, session);
    session->notes[IS_PAUSED] = 1.0;
    session->notes[IS_MARKED] = 0.0;
    gate->notes[PAUSED_COUNT] += 1.0;
}

static void resume(struct gate *gate, struct gate_session *session, uint32_t engine)
{
    gate->notes[PAUSED_COUNT] -= session->notes[IS_PAUSED];
    session->notes[IS_PAUSED] = 0.0;
    gate_let_in(gate, session, engine);
}

/* The one with the fewest sessions; GATE_NONE when there is none. */
static uint32_t fewest_sessions(const struct gate *gate)
{
    const struct gate_engine *best = NULL;
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        const struct gate_engine *engine = gate->engines[i];
        if (is_usable(engine) && (best == NULL || engine->session_count < best->session_count)) {
            best = engine;
        }
    }
    return best == NULL ? GATE_NONE : best->idx;
}

/* Whoever has waited for too long, where it was. */
static void force(struct gate *gate)
{
    uint64_t limit_us = (uint64_t)(gate->params[FORCE_S] * 1e6);
    while (gate->waiting_count > 0) {
        struct gate_session *session = gate_session_at_gate(list_first(&gate->waiting));
        uint32_t to = session->engine;
        if (gate->now_us - session->waits_from_us < limit_us) {
            return;
        }
        to = to == GATE_NONE || !is_usable(gate->engines[to]) ? fewest_sessions(gate) : to;
        if (to == GATE_NONE) {
            return;
        }
        resume(gate, session, to);
    }
}

/* Of those where it fits, the engine with the least KV in use. */
static void place_new(struct gate *gate, struct gate_session *session)
{
    double need = (double)gate_session_tokens(gate, session) + gate->params[BUFFER_TOKENS];
    double least = 0.0;
    uint32_t best = GATE_NONE;
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        const struct gate_engine *engine = gate->engines[i];
        if (!is_usable(engine) || !gate_serves(gate, session, i)) {
            continue;
        }
        double left = remaining(gate, engine, false);
        double used = engine->info.kv_tokens - left;
        if (left >= need && (best == GATE_NONE || used < least)) {
            best = i;
            least = used;
        }
    }
    if (best != GATE_NONE) {
        resume(gate, session, best);
    }
}

static void admit(struct gate *gate)
{
    force(gate);
    if (gate->waiting_count == 0) {
        return;
    }
    struct gate_session *last = gate_session_at_gate(gate->waiting.prev);
    if (last->done == 0 && last->notes[IS_KNOWN] == 0.0) {
        last->notes[IS_KNOWN] = 1.0;
        if (gate->waiting_count == 1 && gate->notes[PAUSED_COUNT] == 0.0) {
            place_new(gate, last);
        }
    }
}

static void on_gap(struct gate *gate, struct gate_session *session)
{
    if (session->state == GATE_IN && session->notes[IS_MARKED] > 0.0) {
        pause(gate, session);
    }
}

/* --- every few seconds: who comes back --- */

enum group { REASONS, IS_NEW, ACTS };

struct candidate {
    struct gate_session *session;
    double need_tokens;
    enum group group;
};

static int by_tokens(const struct candidate *a, const struct candidate *b)
{
    if (a->need_tokens != b->need_tokens) {
        return a->need_tokens < b->need_tokens ? -1 : 1;
    }
    return a->session->key < b->session->key ? -1 : a->session->key > b->session->key;
}

static int first_chosen(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    return a->group != b->group ? (a->group < b->group ? -1 : 1) : by_tokens(a, b);
}

static int largest(const void *left, const void *right)
{
    return by_tokens(right, left);
}

static bool is_out(const struct gate_session *session)
{
    return session->state == GATE_OUT &&
           (session->notes[IS_PAUSED] > 0.0 || !list_is_empty(&session->steps));
}

/* Counts the paused ones anew: some may have been forgotten. */
static uint32_t count_out(struct gate *gate)
{
    uint32_t count = 0;
    gate->notes[PAUSED_COUNT] = 0.0;
    LIST_FOR_EACH(link, &gate->sessions)
    {
        const struct gate_session *session = gate_session_of(link);
        gate->notes[PAUSED_COUNT] += session->notes[IS_PAUSED];
        count += is_out(session) ? 1 : 0;
    }
    return count;
}

static void collect(struct gate *gate, struct candidate *list)
{
    uint32_t count = 0;
    LIST_FOR_EACH(link, &gate->sessions)
    {
        struct gate_session *session = gate_session_of(link);
        if (is_out(session)) {
            enum group group = gate_is_acting(session) ? ACTS : REASONS;
            list[count++] = (struct candidate){
                .session = session,
                .need_tokens =
                    (double)gate_session_tokens(gate, session) + gate->params[BUFFER_TOKENS],
                .group = session->done == 0 ? IS_NEW : group,
            };
        }
    }
}

/* Keeps of the candidates those that fit together; how many. */
static uint32_t choose(struct candidate *list, uint32_t count, double room_tokens)
{
    uint32_t chosen = 0;
    qsort(list, count, sizeof(list[0]), first_chosen);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].need_tokens <= room_tokens) {
            room_tokens -= list[i].need_tokens;
            list[chosen++] = list[i];
        }
    }
    return chosen;
}

static struct gate_engine *roomiest(const struct gate *gate)
{
    struct gate_engine *best = NULL;
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        if (is_usable(engine) &&
            (best == NULL || engine->notes[REMAINING_TOKENS] > best->notes[REMAINING_TOKENS])) {
            best = engine;
        }
    }
    return best;
}

/* The largest first, each where there is most room. */
static void resume_all(struct gate *gate, struct candidate *list, uint32_t count)
{
    qsort(list, count, sizeof(list[0]), largest);
    for (uint32_t i = 0; i < count; i++) {
        struct gate_engine *engine = roomiest(gate);
        if (engine->notes[REMAINING_TOKENS] >= list[i].need_tokens) {
            engine->notes[REMAINING_TOKENS] -= list[i].need_tokens;
            resume(gate, list[i].session, engine->idx);
        }
    }
}

static void resume_some(struct gate *gate)
{
    double room_tokens = 0.0;
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        if (is_usable(engine)) {
            double left = remaining(gate, engine, gate->params[HAS_DECAY] > 0.0);
            engine->notes[REMAINING_TOKENS] = left;
            room_tokens += left > gate->params[BUFFER_TOKENS] ? left : 0.0;
        }
    }
    uint32_t count = count_out(gate);
    struct candidate *list = count == 0 ? NULL : mem_calloc(gate->mem, count, sizeof(list[0]));
    if (list != NULL) { /* no memory: they wait for the next look */
        collect(gate, list);
        resume_all(gate, list, choose(list, count, room_tokens));
        mem_free(gate->mem, list, count * sizeof(list[0]));
    }
}

/* --- and who goes --- */

/* The smallest one that acts, else the smallest that reasons and is not marked; NULL = none. */
static struct gate_session *next_to_go(const struct gate *gate, const struct gate_engine *engine)
{
    struct candidate best = {0};
    LIST_FOR_EACH(link, &engine->sessions)
    {
        struct gate_session *session = gate_session_on(link);
        const struct candidate at = {
            .session = session,
            .need_tokens = (double)gate_session_tokens(gate, session),
            .group = gate_is_acting(session) ? REASONS : ACTS, /* those that act first */
        };
        bool is_marked = at.group == ACTS && session->notes[IS_MARKED] > 0.0;
        if (!is_marked && (best.session == NULL || first_chosen(&at, &best) < 0)) {
            best = at;
        }
    }
    return best.session;
}

static void pause_some(struct gate *gate, struct gate_engine *engine)
{
    double left = remaining(gate, engine, false);
    while (left < 0.0) {
        struct gate_session *session = next_to_go(gate, engine);
        if (session == NULL) {
            return;
        }
        double used = used_by(gate, session, false);
        if (gate_is_acting(session)) {
            pause(gate, session);
            left += used;
        } else {
            session->notes[IS_MARKED] = 1.0;
            left += used - used_by(gate, session, false);
        }
    }
}

static void on_epoch(struct gate *gate)
{
    gate->epoch_at_us = gate->now_us + (uint64_t)(gate->params[INTERVAL_S] * 1e6);
    resume_some(gate);
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        if (is_usable(gate->engines[i])) {
            pause_some(gate, gate->engines[i]);
        }
    }
}

const struct route_policy route_policy_thunderagent = {
    .name = "thunderagent",
    .text = "sessions are paused, those first whose tools run and the shortest, when an engine's "
            "memory does not hold all, and resumed where there is most room",
    .source = "ThunderAgent, arXiv 2602.13692, github.com/ThunderAgent-org/ThunderAgent",
    .place = route_place_prefix_affinity,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .hears_end = true,
    .admit = admit,
    .on_gap = on_gap,
    .on_epoch = on_epoch,
    .epoch_us = 5000000,
};
