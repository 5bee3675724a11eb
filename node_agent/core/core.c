/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/core/core.h"

#include "routing/policy.h"
#include "routing/registry.h"

enum { AGENT_ENGINES_MAX = 4096, AGENT_EFFECTS_MIN = 16 };

/* Of an engine that has not said. */
enum { AGENT_CHUNK_TOKENS = 2048 };

struct agent_step {
    struct gate_step gate;
    struct list link; /* core->waiting until it is released, by arrival */
    struct request_id req;
    uint32_t attempt;
    uint32_t idx;  /* in core->step_slab */
    uint32_t next; /* another attempt of the same request, SLAB_NONE = none */
};

struct agent_core {
    const struct mem *mem;
    struct agent_limits limits;
    struct gate gate;
    struct slab step_slab;
    struct map steps;      /* request id -> first attempt's step_slab index */
    struct map engine_ids; /* engine id -> index in the gate */
    struct list waiting;
    uint32_t advice_count;        /* of effects */
    struct agent_effects effects; /* cap >= steps + advice: only SUBMIT and ENGINE_ADDED can fail */
};

enum status
agent_core_new(struct agent_core **ret, const struct mem *mem, const struct agent_limits *limits)
{
    struct agent_core *core = mem_calloc(mem, 1, sizeof(*core));
    if (core == NULL) {
        return ST_NOMEM;
    }
    core->mem = mem;
    core->limits = *limits;
    core->limits.policy = limits->policy != NULL ? limits->policy : route_policy_at(0);
    slab_init(&core->step_slab, mem, sizeof(struct agent_step), limits->max_steps);
    map_init(&core->steps, mem, limits->max_steps);
    map_init(&core->engine_ids, mem, AGENT_ENGINES_MAX);
    list_init(&core->waiting);
    const struct gate_opts opts = {
        .policy = core->limits.policy,
        .params = limits->params,
        .max_sessions = limits->max_sessions,
        .max_engines = AGENT_ENGINES_MAX,
        .seed = limits->seed,
    };
    enum status st = gate_init(&core->gate, mem, &opts);
    core->effects.items = mem_calloc(mem, AGENT_EFFECTS_MIN, sizeof(core->effects.items[0]));
    core->effects.cap = core->effects.items == NULL ? 0 : AGENT_EFFECTS_MIN;
    if (st != ST_OK || core->effects.items == NULL) {
        agent_core_free(core);
        return ST_NOMEM;
    }
    *ret = core;
    return ST_OK;
}

void agent_core_free(struct agent_core *core)
{
    if (core == NULL) {
        return;
    }
    mem_free(core->mem, core->effects.items, core->effects.cap * sizeof(core->effects.items[0]));
    gate_fini(&core->gate);
    map_fini(&core->engine_ids);
    map_fini(&core->steps);
    slab_fini(&core->step_slab);
    mem_free(core->mem, core, sizeof(*core));
}

static struct agent_step *step_at(const struct agent_core *core, uint32_t idx)
{
    return idx == SLAB_NONE ? NULL : slab_at(&core->step_slab, idx);
}

static struct agent_step *step_of(struct gate_step *step)
{
    return LIST_OWNER(step, struct agent_step, gate);
}

static bool is_running(const struct agent_step *step)
{
    return step->gate.state == GATE_STEP_RUNNING || step->gate.state == GATE_STEP_ANSWERED;
}

/* First of the known attempts of a request, NULL when there is none. */
static struct agent_step *step_first(const struct agent_core *core, struct request_id req)
{
    const uint64_t *idx = map_get(&core->steps, req.v);
    return idx == NULL ? NULL : step_at(core, (uint32_t)*idx);
}

static struct agent_step *
step_find(const struct agent_core *core, struct request_id req, uint32_t attempt)
{
    struct agent_step *step = step_first(core, req);
    while (step != NULL && step->attempt != attempt) {
        step = step_at(core, step->next);
    }
    return step;
}

/* Index in the gate, GATE_NONE when it is not known. */
static uint32_t engine_find(const struct agent_core *core, struct engine_id id)
{
    const uint64_t *idx = map_get(&core->engine_ids, id.v);
    return idx == NULL ? GATE_NONE : (uint32_t)*idx;
}

static struct engine_id id_of(const struct agent_core *core, uint32_t engine)
{
    return (struct engine_id){core->gate.engines[engine]->id};
}

/* --- effects --- */

static struct agent_effect *effect_add(struct agent_core *core, enum agent_effect_kind kind)
{
    ASSERT(core->effects.count < core->effects.cap);
    struct agent_effect *ef = &core->effects.items[core->effects.count++];
    *ef = (struct agent_effect){.kind = kind};
    return ef;
}

/* Room for a MOVE and an end of its wait of each step that would be known after one more came in,
 * and for advice. */
static enum status effects_reserve(struct agent_core *core)
{
    uint32_t need = 2 * (core->step_slab.used_nodes + 2) + GATE_ADVICE_MAX;
    uint32_t cap = core->effects.cap;
    if (need <= cap) {
        return ST_OK;
    }
    uint32_t new_cap = cap * 2 > need ? cap * 2 : need;
    struct agent_effect *items = mem_resize(core->mem, core->effects.items, cap * sizeof(items[0]),
                                            new_cap * sizeof(items[0]));
    if (items == NULL) {
        return ST_NOMEM;
    }
    core->effects.items = items;
    core->effects.cap = new_cap;
    return ST_OK;
}

static void effect_refuse(struct agent_core *core, const struct agent_event *ev)
{
    struct agent_effect *ef = effect_add(core, AGENT_EF_REFUSE);
    ef->req = ev->req;
    ef->attempt = ev->attempt;
    ef->engine = ev->engine;
}

static struct agent_effect *
effect_of(struct agent_core *core, const struct gate_action *action, enum agent_effect_kind kind)
{
    struct agent_effect *ef = effect_add(core, kind);
    ef->engine = id_of(core, action->engine);
    ef->session = action->session;
    ef->until_us = action->until_us;
    if (action->step != NULL) {
        ef->req = step_of(action->step)->req;
        ef->attempt = step_of(action->step)->attempt;
    }
    return ef;
}

/* Advice, of which there is room for so much in one event; more is left out. */
static void
advise(struct agent_core *core, const struct gate_action *action, enum agent_effect_kind kind)
{
    if (core->advice_count == GATE_ADVICE_MAX) {
        core->gate.counters.left_out++;
        return;
    }
    core->advice_count++;
    struct agent_effect *ef = effect_of(core, action, kind);
    ef->reuse_ratio = action->reuse_ratio;
    ef->next_at_us = action->next_at_us;
}

/* What the gate wants done. */
static void take_actions(struct agent_core *core)
{
    for (uint32_t i = 0; i < core->gate.action_count; i++) {
        const struct gate_action *action = &core->gate.actions[i];
        switch (action->kind) {
        case GATE_START: {
            struct agent_step *step = step_of(action->step);
            list_remove(&step->link);
            struct agent_effect *ef = effect_of(core, action, AGENT_EF_START);
            ef->waited_us = core->gate.now_us - step->gate.came_at_us;
            break;
        }
        case GATE_RETAIN:
            advise(core, action, AGENT_EF_RETAIN);
            break;
        case GATE_MOVE:
            effect_of(core, action, AGENT_EF_MOVE)->from = id_of(core, action->from);
            break;
        case GATE_PREFETCH:
            advise(core, action, AGENT_EF_PREFETCH);
            break;
        case GATE_VALUE:
            advise(core, action, AGENT_EF_VALUE);
            break;
        }
    }
    core->gate.action_count = 0;
}

/* --- steps --- */

/* Forgets a step that the gate does not know any more. */
static void step_forget(struct agent_core *core, struct agent_step *step)
{
    if (list_is_linked(&step->link)) {
        list_remove(&step->link);
    }
    struct agent_step *first = step_first(core, step->req);
    if (first == step) {
        if (step->next == SLAB_NONE) {
            (void)map_remove(&core->steps, step->req.v);
        } else {
            *map_get(&core->steps, step->req.v) = step->next;
        }
    } else {
        while (first->next != step->idx) {
            first = step_at(core, first->next);
        }
        first->next = step->next;
    }
    slab_free(&core->step_slab, step->idx);
}

/* Takes back one that waits. */
static void step_drop(struct agent_core *core, struct agent_step *step, uint64_t now_us)
{
    list_remove(&step->link);
    gate_withdraw(&core->gate, &step->gate, now_us);
    step_forget(core, step);
    take_actions(core);
}

static void
step_refuse(struct agent_core *core, struct agent_step *step, bool is_timeout, uint64_t now_us)
{
    struct agent_effect *ef = effect_add(core, AGENT_EF_REFUSE);
    ef->req = step->req;
    ef->attempt = step->attempt;
    ef->engine = id_of(core, step->gate.engine);
    ef->is_timeout = is_timeout;
    step_drop(core, step, now_us);
}

static void engine_forget_if_over(struct agent_core *core, uint32_t idx)
{
    const struct gate_engine *engine = core->gate.engines[idx];
    if (engine->is_gone && engine->running + engine->queued == 0) {
        (void)map_remove(&core->engine_ids, engine->id);
        gate_forget_engine(&core->gate, idx);
    }
}

static void on_settled(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    static const struct gate_usage nothing = {0};
    struct agent_step *step = step_find(core, ev->req, ev->attempt);
    if (step == NULL) {
        return; /* an old attempt */
    }
    if (!is_running(step)) { /* over before it began */
        step_drop(core, step, now_us);
        return;
    }
    uint32_t engine = step->gate.engine;
    gate_settled(&core->gate, &step->gate, ev->usage != NULL ? ev->usage : &nothing, now_us);
    step_forget(core, step);
    take_actions(core);
    engine_forget_if_over(core, engine);
}

static void on_answered(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    struct agent_step *step = step_find(core, ev->req, ev->attempt);
    if (step != NULL && is_running(step)) {
        gate_answered(&core->gate, &step->gate, now_us);
        take_actions(core);
    }
}

static void on_moved(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    struct agent_step *step = step_find(core, ev->req, ev->attempt);
    if (step != NULL) {
        gate_moved(&core->gate, &step->gate, ev->is_moved, now_us);
        take_actions(core);
    }
}

static void on_withdraw(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    struct agent_step *step = step_find(core, ev->req, ev->attempt);
    if (step != NULL && !is_running(step)) {
        step_drop(core, step, now_us);
    }
}

/* True when an attempt as new as this one is known: the event is a late or doubled one. */
static bool submit_is_old(const struct agent_core *core, const struct agent_event *ev)
{
    const struct agent_step *step = step_first(core, ev->req);
    while (step != NULL && step->attempt < ev->attempt) {
        step = step_at(core, step->next);
    }
    return step != NULL;
}

/* A new attempt means that nobody waits for the older ones. */
static void drop_older(struct agent_core *core, const struct agent_step *newest, uint64_t now_us)
{
    struct agent_step *step = step_at(core, newest->next);
    while (step != NULL) {
        struct agent_step *next = step_at(core, step->next);
        if (!is_running(step)) {
            step_drop(core, step, now_us);
        }
        step = next;
    }
}

/* No room to wait. */
static bool is_full(const struct agent_core *core, uint32_t idx)
{
    const struct gate *gate = &core->gate;
    const struct gate_engine *engine = gate->engines[idx];
    bool has_slot = engine->running < engine->info.max_running && engine->queued == 0;
    return core->step_slab.used_nodes >= core->step_slab.max_nodes ||
           (!has_slot && engine->queued >= core->limits.queue_max) ||
           gate->waiting_count > (uint64_t)core->limits.queue_max * core->engine_ids.count;
}

static enum status on_submit(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    static const struct gate_need nothing = {.remaining_s = -1.0};
    enum status st = effects_reserve(core);
    if (st != ST_OK) {
        return st;
    }
    uint32_t engine = engine_find(core, ev->engine);
    if (engine == GATE_NONE || core->gate.engines[engine]->is_gone || is_full(core, engine)) {
        effect_refuse(core, ev);
        return ST_OK;
    }
    uint32_t idx = SLAB_NONE;
    struct agent_step *step = slab_alloc(&core->step_slab, &idx);
    if (step == NULL) {
        return ST_NOMEM;
    }
    const struct agent_step *other = step_first(core, ev->req);
    uint32_t other_idx = other == NULL ? SLAB_NONE : other->idx;
    st = other == NULL ? map_put(&core->steps, ev->req.v, idx) : ST_OK;
    if (st != ST_OK) {
        slab_free(&core->step_slab, idx);
        return ST_NOMEM;
    }
    *step =
        (struct agent_step){.req = ev->req, .attempt = ev->attempt, .idx = idx, .next = other_idx};
    *map_get(&core->steps, ev->req.v) = idx;
    list_push_back(&core->waiting, &step->link);
    st = gate_submit(&core->gate, &step->gate, ev->need != NULL ? ev->need : &nothing, engine,
                     now_us);
    if (st != ST_OK) {
        step_forget(core, step);
        return st;
    }
    take_actions(core);
    drop_older(core, step, now_us);
    return ST_OK;
}

/* --- engines --- */

static enum status
on_engine_added(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    struct gate_engine_info info = *ev->info;
    info.max_running = info.max_running > 0 ? info.max_running : 1;
    info.chunk_tokens = info.chunk_tokens > 0 ? info.chunk_tokens : AGENT_CHUNK_TOKENS;
    enum status st = effects_reserve(core);
    if (st != ST_OK) {
        return st;
    }
    uint32_t idx = engine_find(core, ev->engine);
    if (idx != GATE_NONE) {
        gate_tell_engine(&core->gate, idx, &info, now_us);
        take_actions(core);
        return ST_OK;
    }
    st = map_put(&core->engine_ids, ev->engine.v, 0);
    if (st == ST_OK) {
        st = gate_add_engine(&core->gate, ev->engine.v, &info, now_us, &idx);
    }
    if (st != ST_OK) {
        (void)map_remove(&core->engine_ids, ev->engine.v);
        return ST_NOMEM;
    }
    *map_get(&core->engine_ids, ev->engine.v) = idx;
    take_actions(core);
    return ST_OK;
}

static void
on_engine_removed(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    uint32_t idx = engine_find(core, ev->engine);
    if (idx == GATE_NONE) {
        return;
    }
    gate_remove_engine(&core->gate, idx, now_us);
    take_actions(core);
    struct list leaving; /* refusing one may let others start */
    list_init(&leaving);
    struct list *link = core->waiting.next;
    while (link != &core->waiting) {
        struct agent_step *step = LIST_OWNER(link, struct agent_step, link);
        link = link->next;
        if (step->gate.engine == idx) {
            list_remove(&step->link);
            list_push_back(&leaving, &step->link);
        }
    }
    while (!list_is_empty(&leaving)) {
        step_refuse(core, LIST_OWNER(list_first(&leaving), struct agent_step, link), false, now_us);
    }
    engine_forget_if_over(core, idx);
}

static void on_tick(struct agent_core *core, uint64_t now_us)
{
    while (!list_is_empty(&core->waiting)) {
        struct agent_step *oldest = LIST_OWNER(list_first(&core->waiting), struct agent_step, link);
        if (now_us < oldest->gate.came_at_us + core->limits.queue_timeout_us) {
            break;
        }
        step_refuse(core, oldest, true, now_us);
    }
    gate_tick(&core->gate, now_us);
    take_actions(core);
}

static void on_policy(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    core->limits.policy = ev->policy;
    gate_set_policy(&core->gate, ev->policy, ev->params, now_us);
    take_actions(core);
}

void agent_core_set_limits(struct agent_core *core, const struct agent_limits *limits)
{
    const struct route_policy *policy = core->limits.policy;
    uint32_t max_steps = core->limits.max_steps;
    core->limits = *limits;
    core->limits.max_steps = max_steps; /* the tables keep their size */
    core->limits.policy = policy;       /* AGENT_EV_POLICY changes it */
}

enum status agent_core_step(struct agent_core *core,
                            const struct agent_event *ev,
                            uint64_t now_us,
                            const struct agent_effects **ret_effects)
{
    enum status st = ST_OK;
    core->effects.count = 0;
    core->advice_count = 0;
    switch (ev->kind) {
    case AGENT_EV_SUBMIT:
        st = submit_is_old(core, ev) ? ST_OK : on_submit(core, ev, now_us);
        break;
    case AGENT_EV_WITHDRAW:
        on_withdraw(core, ev, now_us);
        break;
    case AGENT_EV_ANSWERED:
        on_answered(core, ev, now_us);
        break;
    case AGENT_EV_SETTLED:
        on_settled(core, ev, now_us);
        break;
    case AGENT_EV_MOVED:
        on_moved(core, ev, now_us);
        break;
    case AGENT_EV_ENGINE_ADDED:
        st = on_engine_added(core, ev, now_us);
        break;
    case AGENT_EV_ENGINE_REMOVED:
        on_engine_removed(core, ev, now_us);
        break;
    case AGENT_EV_POLICY:
        on_policy(core, ev, now_us);
        break;
    case AGENT_EV_TICK:
        on_tick(core, now_us);
        break;
    }
    if (st == ST_OK) {
        *ret_effects = &core->effects;
    }
    return st;
}

uint32_t agent_core_at_gate(const struct agent_core *core)
{
    uint32_t steps = 0;
    LIST_FOR_EACH(link, &core->waiting)
    {
        const struct agent_step *step = LIST_OWNER(link, struct agent_step, link);
        steps += step->gate.state == GATE_STEP_QUEUED ? 0 : 1;
    }
    return steps;
}

const struct gate *agent_core_gate(const struct agent_core *core)
{
    return &core->gate;
}

bool agent_core_queue(const struct agent_core *core,
                      struct engine_id engine,
                      struct agent_queue_view *ret)
{
    uint32_t idx = engine_find(core, engine);
    if (idx == GATE_NONE) {
        return false;
    }
    const struct gate_engine *found = core->gate.engines[idx];
    *ret = (struct agent_queue_view){.engine = engine,
                                     .running = found->running,
                                     .waiting = found->queued,
                                     .max_running = found->info.max_running};
    return true;
}
