/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/core/core.h"

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/slab.h"

enum { AGENT_ENGINES_MAX = 4096, AGENT_EFFECTS_MIN = 16 };

struct agent_engine {
    struct list link;  /* core->engines, in the order of adding */
    struct list queue; /* agent_step.link of waiting steps, first come first served */
    struct engine_id id;
    uint32_t idx;         /* in core->engine_slab */
    uint32_t max_running; /* >= 1 */
    uint32_t running;
    uint32_t waiting; /* length of queue */
    bool is_removed;  /* kept until its running steps are settled */
};

struct agent_step {
    struct list link; /* engine->queue while it waits, else unlinked */
    struct request_id req;
    struct agent_engine *engine;
    uint64_t queued_at_us;
    uint32_t attempt;
    uint32_t idx;  /* in core->step_slab */
    uint32_t next; /* another attempt of the same request, SLAB_NONE = none */
    bool is_running;
};

struct agent_core {
    const struct mem *mem;
    struct agent_limits limits;
    struct slab step_slab;
    struct slab engine_slab;
    struct map steps;      /* request id -> first attempt's step_slab index */
    struct map engine_ids; /* engine id -> engine_slab index */
    struct list engines;
    struct agent_effects effects; /* cap >= steps + 1: only SUBMIT and ENGINE_ADDED can fail */
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
    slab_init(&core->step_slab, mem, sizeof(struct agent_step), limits->max_steps);
    slab_init(&core->engine_slab, mem, sizeof(struct agent_engine), AGENT_ENGINES_MAX);
    map_init(&core->steps, mem, limits->max_steps);
    map_init(&core->engine_ids, mem, AGENT_ENGINES_MAX);
    list_init(&core->engines);
    core->effects.items = mem_calloc(mem, AGENT_EFFECTS_MIN, sizeof(core->effects.items[0]));
    if (core->effects.items == NULL) {
        agent_core_free(core);
        return ST_NOMEM;
    }
    core->effects.cap = AGENT_EFFECTS_MIN;
    *ret = core;
    return ST_OK;
}

void agent_core_free(struct agent_core *core)
{
    if (core == NULL) {
        return;
    }
    mem_free(core->mem, core->effects.items, core->effects.cap * sizeof(core->effects.items[0]));
    map_fini(&core->engine_ids);
    map_fini(&core->steps);
    slab_fini(&core->engine_slab);
    slab_fini(&core->step_slab);
    mem_free(core->mem, core, sizeof(*core));
}

void agent_core_set_limits(struct agent_core *core, const struct agent_limits *limits)
{
    uint32_t max_steps = core->limits.max_steps;
    core->limits = *limits;
    core->limits.max_steps = max_steps; /* the tables keep their size */
}

static struct agent_engine *engine_find(const struct agent_core *core, struct engine_id id)
{
    const uint64_t *idx = map_get(&core->engine_ids, id.v);
    return idx == NULL ? NULL : slab_at(&core->engine_slab, (uint32_t)*idx);
}

static struct agent_step *step_at(const struct agent_core *core, uint32_t idx)
{
    return idx == SLAB_NONE ? NULL : slab_at(&core->step_slab, idx);
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

static struct agent_effect *effect_add(struct agent_core *core, enum agent_effect_kind kind)
{
    ASSERT(core->effects.count < core->effects.cap);
    struct agent_effect *ef = &core->effects.items[core->effects.count++];
    *ef = (struct agent_effect){.kind = kind};
    return ef;
}

/* Room for an effect of each step that would be known after one more came in. */
static enum status effects_reserve(struct agent_core *core)
{
    uint32_t need = core->step_slab.used_nodes + 2;
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

/* Forgets a step; its engine's counts are corrected, nothing else is started. */
static void step_drop(struct agent_core *core, struct agent_step *step)
{
    struct agent_engine *engine = step->engine;
    if (step->is_running) {
        engine->running--;
    } else {
        list_remove(&step->link);
        engine->waiting--;
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

static void step_start(struct agent_core *core, struct agent_step *step, uint64_t now_us)
{
    step->is_running = true;
    step->engine->running++;
    struct agent_effect *ef = effect_add(core, AGENT_EF_START);
    ef->req = step->req;
    ef->attempt = step->attempt;
    ef->engine = step->engine->id;
    ef->waited_us = now_us - step->queued_at_us;
}

/* Starts waiting steps while there are slots. */
static void engine_fill(struct agent_core *core, struct agent_engine *engine, uint64_t now_us)
{
    while (engine->running < engine->max_running && !list_is_empty(&engine->queue)) {
        struct agent_step *step = LIST_OWNER(list_first(&engine->queue), struct agent_step, link);
        list_remove(&step->link);
        engine->waiting--;
        step_start(core, step, now_us);
    }
}

static void engine_forget_if_over(struct agent_core *core, struct agent_engine *engine)
{
    if (engine->is_removed && engine->running == 0 && engine->waiting == 0) {
        (void)map_remove(&core->engine_ids, engine->id.v);
        list_remove(&engine->link);
        slab_free(&core->engine_slab, engine->idx);
    }
}

/* Refuses the waiting step at the head. */
static void
engine_refuse_head(struct agent_core *core, struct agent_engine *engine, bool is_timeout)
{
    struct agent_step *step = LIST_OWNER(list_first(&engine->queue), struct agent_step, link);
    struct agent_effect *ef = effect_add(core, AGENT_EF_REFUSE);
    ef->req = step->req;
    ef->attempt = step->attempt;
    ef->engine = engine->id;
    ef->is_timeout = is_timeout;
    step_drop(core, step);
}

static void on_settled(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    struct agent_step *step = step_find(core, ev->req, ev->attempt);
    if (step == NULL) {
        return; /* an old attempt */
    }
    struct agent_engine *engine = step->engine;
    step_drop(core, step);
    engine_fill(core, engine, now_us);
    engine_forget_if_over(core, engine);
}

static void on_withdraw(struct agent_core *core, const struct agent_event *ev)
{
    struct agent_step *step = step_find(core, ev->req, ev->attempt);
    if (step != NULL && !step->is_running) {
        step_drop(core, step);
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
static void drop_older(struct agent_core *core, const struct agent_step *newest)
{
    struct agent_step *step = step_at(core, newest->next);
    while (step != NULL) {
        struct agent_step *next = step_at(core, step->next);
        if (!step->is_running) {
            step_drop(core, step);
        }
        step = next;
    }
}

static enum status on_submit(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    enum status st = effects_reserve(core);
    if (st != ST_OK) {
        return st;
    }
    struct agent_engine *engine = engine_find(core, ev->engine);
    if (engine == NULL || engine->is_removed) {
        effect_refuse(core, ev);
        return ST_OK;
    }
    bool has_slot = engine->running < engine->max_running && engine->waiting == 0;
    if (core->step_slab.used_nodes >= core->step_slab.max_nodes ||
        (!has_slot && engine->waiting >= core->limits.queue_max)) {
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
    /* Nothing fails from here on. */
    *step = (struct agent_step){.req = ev->req,
                                .attempt = ev->attempt,
                                .engine = engine,
                                .queued_at_us = now_us,
                                .idx = idx,
                                .next = other_idx};
    *map_get(&core->steps, ev->req.v) = idx;
    drop_older(core, step);
    list_push_back(&engine->queue, &step->link);
    engine->waiting++;
    engine_fill(core, engine, now_us);
    return ST_OK;
}

static enum status
on_engine_added(struct agent_core *core, const struct agent_event *ev, uint64_t now_us)
{
    struct agent_engine *engine = engine_find(core, ev->engine);
    if (engine == NULL) {
        uint32_t idx = SLAB_NONE;
        engine = slab_alloc(&core->engine_slab, &idx);
        if (engine == NULL) {
            return ST_NOMEM;
        }
        if (map_put(&core->engine_ids, ev->engine.v, idx) != ST_OK) {
            slab_free(&core->engine_slab, idx);
            return ST_NOMEM;
        }
        engine->id = ev->engine;
        engine->idx = idx;
        list_init(&engine->queue);
        list_push_back(&core->engines, &engine->link);
    }
    engine->is_removed = false;
    engine->max_running = ev->max_running > 0 ? ev->max_running : 1;
    engine_fill(core, engine, now_us);
    return ST_OK;
}

static void on_engine_removed(struct agent_core *core, const struct agent_event *ev)
{
    struct agent_engine *engine = engine_find(core, ev->engine);
    if (engine == NULL) {
        return;
    }
    engine->is_removed = true;
    while (!list_is_empty(&engine->queue)) {
        engine_refuse_head(core, engine, false);
    }
    engine_forget_if_over(core, engine);
}

static void on_tick(struct agent_core *core, uint64_t now_us)
{
    LIST_FOR_EACH(link, &core->engines)
    {
        struct agent_engine *engine = LIST_OWNER(link, struct agent_engine, link);
        while (!list_is_empty(&engine->queue)) {
            const struct agent_step *head =
                LIST_OWNER(list_first(&engine->queue), struct agent_step, link);
            if (now_us < head->queued_at_us + core->limits.queue_timeout_us) {
                break;
            }
            engine_refuse_head(core, engine, true);
        }
    }
}

enum status agent_core_step(struct agent_core *core,
                            const struct agent_event *ev,
                            uint64_t now_us,
                            const struct agent_effects **ret_effects)
{
    enum status st = ST_OK;
    core->effects.count = 0;
    switch (ev->kind) {
    case AGENT_EV_SUBMIT:
        st = submit_is_old(core, ev) ? ST_OK : on_submit(core, ev, now_us);
        break;
    case AGENT_EV_WITHDRAW:
        on_withdraw(core, ev);
        break;
    case AGENT_EV_SETTLED:
        on_settled(core, ev, now_us);
        break;
    case AGENT_EV_ENGINE_ADDED:
        st = on_engine_added(core, ev, now_us);
        break;
    case AGENT_EV_ENGINE_REMOVED:
        on_engine_removed(core, ev);
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

bool agent_core_queue(const struct agent_core *core,
                      struct engine_id engine,
                      struct agent_queue_view *ret)
{
    const struct agent_engine *found = engine_find(core, engine);
    if (found == NULL) {
        return false;
    }
    *ret = (struct agent_queue_view){.engine = engine,
                                     .running = found->running,
                                     .waiting = found->waiting,
                                     .max_running = found->max_running};
    return true;
}
