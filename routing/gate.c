/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/gate.h"

#include "routing/gate_inside.h"

#include <string.h>

enum { ACTIONS_FIRST = 64, OUTPUT_FIRST_TOKENS = 256 };

#define OUTPUT_ALPHA 0.05 /* of the mean answer of all; a session's own takes a quarter */
#define US_PER_S     1e6

static void take_policy(struct gate *gate, const struct route_policy *policy, const double *params)
{
    gate->policy = policy;
    for (uint32_t i = 0; i < policy->param_count; i++) {
        gate->params[i] = params != NULL ? params[i] : policy->params[i].def;
    }
    gate->epoch_at_us = gate->now_us + policy->epoch_us;
}

enum status gate_init(struct gate *gate, const struct mem *mem, const struct gate_opts *opts)
{
    *gate = (struct gate){
        .mem = mem,
        .max_engines = opts->max_engines,
        .output_tokens = OUTPUT_FIRST_TOKENS,
        .action_cap = ACTIONS_FIRST,
    };
    rng_init(&gate->rng, opts->seed);
    list_init(&gate->sessions);
    list_init(&gate->waiting);
    slab_init(&gate->session_slab, mem, sizeof(struct gate_session), opts->max_sessions);
    slab_init(&gate->copy_slab, mem, sizeof(struct gate_copy), opts->max_sessions);
    slab_init(&gate->tenant_slab, mem, sizeof(struct gate_tenant), GATE_TENANTS_MAX);
    map_init(&gate->session_keys, mem, opts->max_sessions);
    map_init(&gate->tenant_keys, mem, GATE_TENANTS_MAX);
    take_policy(gate, opts->policy, opts->params);
    gate->actions = mem_calloc(mem, gate->action_cap, sizeof(gate->actions[0]));
    return gate->actions == NULL ? ST_NOMEM : ST_OK;
}

void gate_fini(struct gate *gate)
{
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        mem_free(gate->mem, gate->engines[i], sizeof(struct gate_engine));
    }
    mem_free(gate->mem, gate->engines, gate->engine_cap * sizeof(void *));
    mem_free(gate->mem, gate->dirty, gate->engine_cap * sizeof(gate->dirty[0]));
    mem_free(gate->mem, gate->actions, gate->action_cap * sizeof(gate->actions[0]));
    map_fini(&gate->session_keys);
    map_fini(&gate->tenant_keys);
    slab_fini(&gate->session_slab);
    slab_fini(&gate->copy_slab);
    slab_fini(&gate->tenant_slab);
}

/* --- actions --- */

/* Room for a START of each step, one more, and advice. */
static enum status reserve_actions(struct gate *gate)
{
    uint32_t need = gate->steps + 1 + GATE_ADVICE_MAX;
    if (need <= gate->action_cap) {
        return ST_OK;
    }
    uint32_t cap = need + need / 2;
    struct gate_action *grown = mem_resize(
        gate->mem, gate->actions, gate->action_cap * sizeof(grown[0]), cap * sizeof(grown[0]));
    if (grown == NULL) {
        return ST_NOMEM;
    }
    gate->actions = grown;
    gate->action_cap = cap;
    return ST_OK;
}

/* --- the course of an event --- */

static void begin(struct gate *gate, uint64_t now_us)
{
    gate->now_us = now_us;
    gate->action_count = 0;
    gate->advice_count = 0;
}

static void finish(struct gate *gate)
{
    if (gate->policy->admit != NULL && gate->waiting_count > 0) {
        gate->policy->admit(gate);
    }
    for (uint32_t i = 0; i < gate->dirty_count; i++) {
        struct gate_engine *engine = gate->engines[gate->dirty[i]];
        gate_fill(gate, engine); /* touches no other one */
        engine->is_dirty = false;
    }
    gate->dirty_count = 0;
}

/* --- engines --- */

/* Room for one more. */
static bool grow_engines(struct gate *gate)
{
    enum { FIRST = 8 };
    if (gate->engine_count < gate->engine_cap) {
        return true;
    }
    uint32_t cap = gate->engine_cap == 0 ? FIRST : gate->engine_cap * 2;
    struct gate_engine **engines = mem_calloc(gate->mem, cap, sizeof(void *));
    uint32_t *dirty = mem_calloc(gate->mem, cap, sizeof(dirty[0]));
    if (engines == NULL || dirty == NULL) {
        mem_free(gate->mem, engines, cap * sizeof(void *));
        mem_free(gate->mem, dirty, cap * sizeof(dirty[0]));
        return false;
    }
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        engines[i] = gate->engines[i];
    }
    mem_free(gate->mem, gate->engines, gate->engine_cap * sizeof(void *));
    mem_free(gate->mem, gate->dirty, gate->engine_cap * sizeof(dirty[0]));
    gate->engines = engines;
    gate->dirty = dirty; /* empty between events */
    gate->engine_cap = cap;
    return true;
}

enum status gate_add_engine(struct gate *gate,
                            uint32_t id,
                            const struct gate_engine_info *info,
                            uint64_t now_us,
                            uint32_t *ret_idx)
{
    uint32_t idx = 0;
    while (idx < gate->engine_count && gate->engines[idx] != NULL) {
        idx++;
    }
    if (idx == gate->max_engines) {
        return ST_FULL;
    }
    struct gate_engine *engine = mem_calloc(gate->mem, 1, sizeof(*engine));
    if (engine == NULL) {
        return ST_NOMEM;
    }
    if (idx == gate->engine_count && !grow_engines(gate)) {
        mem_free(gate->mem, engine, sizeof(*engine));
        return ST_NOMEM;
    }
    engine->id = id;
    engine->idx = idx;
    engine->idle_from_us = now_us;
    list_init(&engine->queue);
    list_init(&engine->sessions);
    list_init(&engine->copies);
    gate->engines[idx] = engine;
    gate->engine_count += idx == gate->engine_count ? 1 : 0;
    gate_tell_engine(gate, idx, info, now_us);
    *ret_idx = idx;
    return ST_OK;
}

void gate_tell_engine(struct gate *gate,
                      uint32_t idx,
                      const struct gate_engine_info *info,
                      uint64_t now_us)
{
    struct gate_engine *engine = gate->engines[idx];
    begin(gate, now_us);
    engine->info = *info;
    engine->is_gone = false;
    gate_copies_trim(gate, engine);
    gate_mark(gate, engine);
    finish(gate);
}

void gate_remove_engine(struct gate *gate, uint32_t idx, uint64_t now_us)
{
    struct gate_engine *engine = gate->engines[idx];
    begin(gate, now_us);
    engine->is_gone = true;
    while (!list_is_empty(&engine->sessions)) {
        gate_session_leave(gate, gate_session_on(list_first(&engine->sessions)));
    }
    while (!list_is_empty(&engine->copies)) {
        gate_copy_drop(gate, LIST_OWNER(list_first(&engine->copies), struct gate_copy, link));
    }
    finish(gate);
}

void gate_forget_engine(struct gate *gate, uint32_t idx)
{
    struct gate_engine *engine = gate->engines[idx];
    ASSERT(engine->is_gone && engine->running + engine->queued == 0);
    LIST_FOR_EACH(link, &gate->sessions)
    {
        struct gate_session *session = gate_session_of(link);
        struct gate_copy *copy = gate_copy_of(gate, session, idx);
        if (copy != NULL) {
            gate_copy_drop(gate, copy);
        }
        session->engine = session->engine == idx ? GATE_NONE : session->engine;
    }
    mem_free(gate->mem, engine, sizeof(*engine));
    gate->engines[idx] = NULL;
}

/* --- steps --- */

static bool has_hooks(const struct route_policy *policy)
{
    return policy->key != NULL || policy->admit != NULL || policy->on_gap != NULL ||
           policy->on_epoch != NULL;
}

/* A session that comes back: its gap is over. */
static void note_return(struct gate *gate, struct gate_session *session)
{
    if (session->state == GATE_IN) {
        gate_reserve(gate, session, 0);
    }
    if (!gate_is_acting(session) || session->done == 0) {
        return;
    }
    session->return_us = gate->now_us - session->gap_from_us;
    if (gate->policy->on_return != NULL) {
        gate->policy->on_return(gate, session);
    }
}

/* A step of the pool was placed there. */
static void note_pool(struct gate_engine *engine, uint64_t pool)
{
    uint32_t at = 0;
    while (at < GATE_POOLS - 1 && engine->pools[at] != pool) {
        at++;
    }
    for (; at > 0; at--) {
        engine->pools[at] = engine->pools[at - 1];
    }
    engine->pools[0] = pool;
}

enum status gate_submit(struct gate *gate,
                        struct gate_step *step,
                        const struct gate_need *need,
                        uint32_t engine,
                        uint64_t now_us)
{
    begin(gate, now_us);
    if (reserve_actions(gate) != ST_OK) {
        return ST_NOMEM;
    }
    *step = (struct gate_step){.need = *need, .engine = engine, .came_at_us = now_us};
    gate->steps++;
    struct gate_session *session = has_hooks(gate->policy) ? gate_session_get(gate, need) : NULL;
    step->session = session;
    if (session == NULL) {
        gate_queue(gate, step, engine);
        finish(gate);
        return ST_OK;
    }
    session->tenant->steps++;
    session->pool = need->pool;
    note_pool(gate->engines[engine], need->pool);
    note_return(gate, session);
    session->remaining_s = need->remaining_s;
    bool is_in = session->state == GATE_IN && gate_is_usable(gate, session->engine);
    if (gate->policy->admit == NULL) {
        gate_session_enter(gate, session, engine);
        gate_queue(gate, step, engine);
    } else if (is_in) {
        gate_queue(gate, step, session->engine);
    } else {
        gate_hold(gate, step);
    }
    finish(gate);
    return ST_OK;
}

/* Nothing of it runs or waits any more. */
static void begin_gap(struct gate *gate, struct gate_session *session, bool is_final)
{
    if (!gate_is_acting(session)) {
        return;
    }
    session->gap_from_us = gate->now_us;
    if (is_final) {
        if (gate->policy->on_end != NULL) {
            gate->policy->on_end(gate, session);
        }
        gate_session_forget(gate, session);
    } else if (gate->policy->on_gap != NULL && session->engine != GATE_NONE) {
        gate->policy->on_gap(gate, session);
    }
}

/* Its KV is not on the way any more. */
static void end_move(struct gate_step *step)
{
    step->session->queued--;
    step->session->step_tokens -= step->held_tokens;
}

void gate_withdraw(struct gate *gate, struct gate_step *step, uint64_t now_us)
{
    ASSERT(step->state != GATE_STEP_RUNNING && step->state != GATE_STEP_ANSWERED);
    begin(gate, now_us);
    if (step->state == GATE_STEP_AT_GATE) {
        gate_unhold(gate, step);
    } else if (step->state == GATE_STEP_QUEUED) {
        gate_unqueue(gate, step);
    } else {
        end_move(step);
    }
    gate->steps--;
    if (step->session != NULL) {
        step->session->tenant->steps--;
        begin_gap(gate, step->session, false);
    }
    finish(gate);
}

void gate_moved(struct gate *gate, struct gate_step *step, bool is_moved, uint64_t now_us)
{
    begin(gate, now_us);
    if (step->state == GATE_STEP_MOVING) {
        end_move(step); /* it counts in the queue from here */
        if (is_moved) {
            gate_copy_keep(gate, step->session, step->engine, step->session->context_tokens);
        }
        if (step->session->state == GATE_OUT && gate->policy->admit != NULL) {
            gate_hold(gate, step); /* its session was paused meanwhile */
        } else {
            gate_queue(gate, step, step->engine);
        }
    }
    finish(gate);
}

static void note_answered(const struct gate *gate, struct gate_step *step)
{
    struct gate_engine *engine = gate->engines[step->engine];
    if (step->state == GATE_STEP_RUNNING) {
        step->state = GATE_STEP_ANSWERED;
        engine->unanswered--;
        engine->unanswered_tokens -= step->uncached_tokens;
    }
}

void gate_answered(struct gate *gate, struct gate_step *step, uint64_t now_us)
{
    begin(gate, now_us);
    note_answered(gate, step);
    gate_mark(gate, gate->engines[step->engine]);
    finish(gate);
}

/* What the end says about the session. */
static void learn(struct gate *gate, struct gate_step *step, const struct gate_usage *usage)
{
    struct gate_session *session = step->session;
    double ran_s = (double)(gate->now_us - step->released_at_us) / US_PER_S;
    session->done++;
    session->served_s += ran_s;
    session->tenant->steps--;
    session->tenant->running--;
    session->tenant->done++;
    session->tenant->served_s += ran_s;
    session->last = *usage;
    if (usage->prompt_tokens == 0) {
        return;
    }
    double held = usage->prompt_tokens + usage->output_tokens / 2.0;
    session->served_token_s += ran_s * held;
    session->context_tokens = usage->prompt_tokens + usage->output_tokens;
    double mean = session->output_tokens == 0
                      ? usage->output_tokens
                      : session->output_tokens * 0.75 + usage->output_tokens * 0.25;
    session->output_tokens = (uint32_t)mean;
    gate->output_tokens += OUTPUT_ALPHA * (usage->output_tokens - gate->output_tokens);
    gate->counters.uncached_tokens += step->uncached_tokens;
    gate->counters.missed_tokens += usage->prompt_tokens > usage->cached_tokens
                                        ? usage->prompt_tokens - usage->cached_tokens
                                        : 0;
}

/* A step that failed leaves what was there. */
static void put_copy_back(struct gate *gate,
                          struct gate_session *session,
                          const struct gate_engine *engine,
                          bool is_ok)
{
    struct gate_copy *copy = gate_copy_of(gate, session, engine->idx);
    if (engine->is_gone && copy != NULL) {
        gate_copy_drop(gate, copy);
    } else if (!engine->is_gone && (is_ok || copy != NULL)) {
        uint32_t tokens = is_ok ? session->context_tokens : copy->tokens;
        gate_copy_keep(gate, session, engine->idx, tokens);
    }
}

void gate_settled(struct gate *gate,
                  struct gate_step *step,
                  const struct gate_usage *usage,
                  uint64_t now_us)
{
    struct gate_engine *engine = gate->engines[step->engine];
    struct gate_session *session = step->session;
    ASSERT(step->state == GATE_STEP_RUNNING || step->state == GATE_STEP_ANSWERED);
    begin(gate, now_us);
    note_answered(gate, step);
    engine->running--;
    engine->run_tokens -= step->held_tokens;
    if (engine->running + engine->queued == 0) {
        engine->idle_from_us = now_us;
    }
    gate_mark(gate, engine);
    gate->steps--;
    if (session != NULL) {
        session->running--;
        session->step_tokens -= step->held_tokens;
        learn(gate, step, usage);
        put_copy_back(gate, session, engine, usage->is_ok);
        begin_gap(gate, session, usage->is_final || step->need.is_final);
    }
    finish(gate);
}

void gate_tick(struct gate *gate, uint64_t now_us)
{
    begin(gate, now_us);
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        if (engine != NULL && engine->queued > 0 && engine->pins_until_us > 0) {
            gate_mark(gate, engine); /* pins may have run out */
        }
    }
    if (gate->policy->on_epoch != NULL && now_us >= gate->epoch_at_us) {
        gate->epoch_at_us = now_us + gate->policy->epoch_us;
        gate->policy->on_epoch(gate);
    }
    finish(gate);
}

/* --- another policy --- */

/* What the policy before wrote down means nothing to the next one. */
static void forget_notes(struct gate *gate)
{
    memset(gate->notes, 0, sizeof(gate->notes));
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        if (gate->engines[i] != NULL) {
            memset(gate->engines[i]->notes, 0, sizeof(gate->engines[i]->notes));
        }
    }
    LIST_FOR_EACH(link, &gate->sessions)
    {
        struct gate_session *session = gate_session_of(link);
        memset(session->notes, 0, sizeof(session->notes));
    }
    uint32_t it = 0;
    uint64_t key = 0;
    uint64_t idx = 0;
    while (map_next(&gate->tenant_keys, &it, &key, &idx)) {
        struct gate_tenant *tenant = slab_at(&gate->tenant_slab, (uint32_t)idx);
        memset(tenant->notes, 0, sizeof(tenant->notes));
    }
}

void gate_set_policy(struct gate *gate,
                     const struct route_policy *policy,
                     const double *params,
                     uint64_t now_us)
{
    begin(gate, now_us);
    if (policy != gate->policy) {
        forget_notes(gate);
    }
    take_policy(gate, policy, params);
    while (policy->admit == NULL && gate->waiting_count > 0) {
        struct gate_session *session = gate_session_at_gate(list_first(&gate->waiting));
        uint32_t engine = gate_step_of(list_first(&session->steps))->engine;
        gate_let_in(gate, session, engine);
    }
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        if (gate->engines[i] != NULL) {
            gate_mark(gate, gate->engines[i]);
        }
    }
    finish(gate);
}
