/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/core.h"

#include "coordinator/core/arrive.h"
#include "coordinator/core/dispatch.h"
#include "coordinator/core/homes.h"
#include "coordinator/core/state.h"
#include "coordinator/core/steps.h"
#include "routing/registry.h"

#define HALF_LIFE_US UINT64_C(604800000000)

static void parts_fini(struct coord_core *core)
{
    mem_free(core->mem, core->effects.items, COORD_EFFECTS_CAP * sizeof(core->effects.items[0]));
    coord_placer_fini(&core->placer);
    coord_receipts_fini(&core->receipts);
    coord_requests_fini(&core->requests);
    coord_stories_fini(&core->stories);
    coord_workflows_fini(&core->workflows);
    coord_sessions_fini(&core->sessions);
    coord_fleet_fini(&core->fleet);
    coord_models_fini(&core->models);
}

enum {
    CELLS_PER_CLASS = 8,
    CLASSES_MIN = 16,
    TENANTS_MAX = 1024,
    KINDS_MAX = 24,
    TENANT_SHARE = 4
};

/* What may be remembered of sessions and classes. */
static struct coord_story_limits story_limits(const struct coord_limits *limits)
{
    uint32_t classes = limits->max_classes > CLASSES_MIN ? limits->max_classes : CLASSES_MIN;
    uint64_t blocks = limits->max_graph_bytes / AEG_GRAPH_BLOCK_BYTES;
    return (struct coord_story_limits){
        .max_sessions = limits->max_sessions,
        .max_blocks = blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX,
        .aeg = {.max_classes = classes,
                .max_tenants = TENANTS_MAX,
                .max_cells = classes * CELLS_PER_CLASS,
                .max_kinds = KINDS_MAX,
                .tenant_share = TENANT_SHARE,
                .half_life_us = limits->half_life_us > 0 ? limits->half_life_us : HALF_LIFE_US},
    };
}

/* ST_NOMEM: it has to do without what it remembers. */
static enum status choose_policy(struct coord_core *core)
{
    core->limits.policy = core->limits.policy != NULL ? core->limits.policy : &route_policy_saga;
    return coord_placer_set_policy(&core->placer, core->limits.policy,
                                   core->limits.has_params ? core->limits.params : NULL);
}

enum status coord_core_new(struct coord_core **ret,
                           const struct mem *mem,
                           const struct coord_limits *limits,
                           uint64_t seed)
{
    struct coord_core *core = mem_calloc(mem, 1, sizeof(*core));
    if (core == NULL) {
        return ST_NOMEM;
    }
    core->mem = mem;
    core->limits = *limits;
    coord_models_init(&core->models, mem);
    coord_fleet_init(&core->fleet, mem, &core->models, limits->max_engines);
    coord_sessions_init(&core->sessions, mem, limits->max_sessions, seed);
    coord_requests_init(&core->requests, mem, limits->max_requests);
    coord_receipts_init(&core->receipts, mem, limits->max_receipts);
    coord_placer_init(&core->placer, mem, seed);
    coord_workflows_init(&core->workflows, mem, limits->max_workflows, limits->max_workflow_bytes);
    struct coord_story_limits story = story_limits(limits);
    enum status st = coord_stories_init(&core->stories, mem, &story, &core->workflows);
    st = st == ST_OK ? choose_policy(core) : st;
    core->effects.items = mem_calloc(mem, COORD_EFFECTS_CAP, sizeof(core->effects.items[0]));
    if (st != ST_OK || core->effects.items == NULL) {
        coord_core_free(core);
        return ST_NOMEM;
    }
    core->effects.cap = COORD_EFFECTS_CAP;
    *ret = core;
    return ST_OK;
}

void coord_core_free(struct coord_core *core)
{
    if (core == NULL) {
        return;
    }
    parts_fini(core);
    mem_free(core->mem, core, sizeof(*core));
}

void coord_core_set_limits(struct coord_core *core, const struct coord_limits *limits)
{
    struct coord_limits old = core->limits;
    core->limits = *limits;
    status_ignore(choose_policy(core), "places without it, as if nothing had been sent");
    core->limits.max_sessions = old.max_sessions;
    core->limits.max_requests = old.max_requests;
    core->limits.max_engines = old.max_engines;
    core->limits.max_receipts = old.max_receipts;
    core->limits.max_classes = old.max_classes;
    core->limits.max_graph_bytes = old.max_graph_bytes;
    core->limits.max_workflows = old.max_workflows;
    core->limits.max_workflow_bytes = old.max_workflow_bytes;
    core->limits.half_life_us = old.half_life_us;
}

static void probe_if_due(struct coord_core *core, struct coord_engine *engine, uint64_t now_us)
{
    bool wants_models = false;
    if (coord_effects_has_room(core) &&
        coord_fleet_probe_due(engine, &core->limits, now_us, &wants_models)) {
        struct coord_effect *ef = coord_effect_add(core, COORD_EF_PROBE);
        ef->u.probe.engine = engine->id;
        ef->u.probe.wants_models = wants_models;
    }
}

static enum status
on_engine_added(struct coord_core *core, const struct coord_engine_added *added, uint64_t now_us)
{
    enum status st = coord_placer_reserve(&core->placer, core->fleet.count + 1);
    if (st != ST_OK) {
        return st;
    }
    bool is_new = coord_fleet_find(&core->fleet, added->engine) == NULL;
    st = coord_fleet_add(&core->fleet, added, now_us);
    if (st != ST_OK) {
        return st;
    }
    struct coord_engine *engine = coord_fleet_find(&core->fleet, added->engine);
    if (is_new) {
        coord_home_recount(&core->sessions, engine);
    }
    probe_if_due(core, engine, now_us);
    return ST_OK;
}

static void on_engine_removed(struct coord_core *core, struct engine_id id, uint64_t now_us)
{
    struct coord_engine *engine = coord_fleet_find(&core->fleet, id);
    if (engine != NULL) {
        coord_placer_forget(&core->placer, id);
        coord_fleet_remove(&core->fleet, engine, now_us);
        (void)coord_fleet_reap(&core->fleet, engine, now_us);
    }
}

static enum status
on_engine_probed(struct coord_core *core, const struct coord_engine_probed *probed, uint64_t now_us)
{
    struct coord_engine *engine = coord_fleet_find(&core->fleet, probed->engine);
    return engine == NULL ? ST_OK
                          : coord_fleet_probed(&core->fleet, engine, probed, &core->limits, now_us);
}

/* Sessions of these states that have been silent for long stop counting, or are forgotten. */
static void sweep_state(struct coord_core *core,
                        enum coord_session_state state,
                        uint64_t silent_us,
                        uint64_t now_us)
{
    struct coord_sessions *sessions = &core->sessions;
    for (uint32_t i = 0; i < COORD_SWEEP_MAX; i++) {
        struct coord_session *session = coord_sessions_first(sessions, state);
        if (session == NULL || now_us - session->used_at_us < silent_us) {
            break;
        }
        if (coord_session_is_cold(session)) {
            coord_forget(core, session, true, now_us);
        } else {
            coord_home_cold(&core->fleet, sessions, session, now_us);
        }
    }
}

static void sweep_sessions(struct coord_core *core, uint64_t now_us)
{
    uint64_t idle_us = core->limits.session_idle_us;
    uint64_t warm_us = idle_us < COORD_WARM_US ? idle_us : COORD_WARM_US;
    sweep_state(core, COORD_SESSION_WARM, warm_us, now_us);
    sweep_state(core, COORD_SESSION_ONCE, warm_us, now_us);
    sweep_state(core, COORD_SESSION_COLD, idle_us, now_us);
    sweep_state(core, COORD_SESSION_ONCE_COLD, idle_us, now_us);
}

static void on_tick(struct coord_core *core, uint64_t now_us)
{
    for (uint32_t i = 0; i < core->fleet.count; i++) {
        probe_if_due(core, core->fleet.engines[i], now_us);
    }
    sweep_sessions(core, now_us);
    coord_story_sweep(&core->stories, now_us);
}

static void on_released(struct coord_core *core, struct str label, uint64_t now_us)
{
    struct coord_story *found[COORD_STORY_TWINS];
    uint32_t count = coord_stories_find(&core->stories, label, found, COORD_STORY_TWINS);
    for (uint32_t i = 0; i < count; i++) {
        if (found[i]->session->in_flight == 0) {
            coord_forget(core, found[i]->session, true, now_us);
        } else {
            found[i]->is_released = true;
        }
    }
}

static enum status dispatch(struct coord_core *core, const struct coord_event *ev, uint64_t now_us)
{
    switch (ev->kind) {
    case COORD_EV_STEP_ARRIVED:
        return coord_on_arrived(core, &ev->u.arrived, now_us);
    case COORD_EV_STEP_STARTED:
        coord_on_started(core, ev->u.started.req, ev->u.started.attempt, ev->u.started.engine,
                         now_us);
        return ST_OK;
    case COORD_EV_STEP_ANSWERED:
        coord_on_answered(core, ev->u.answered.req, ev->u.answered.attempt, now_us);
        return ST_OK;
    case COORD_EV_STEP_DONE:
        coord_on_done(core, &ev->u.done, now_us);
        return ST_OK;
    case COORD_EV_STEP_GONE:
        coord_on_gone(core, ev->u.gone.req, now_us);
        return ST_OK;
    case COORD_EV_ATTEMPT_FAILED:
        coord_on_failed(core, &ev->u.failed, now_us);
        return ST_OK;
    case COORD_EV_NODE_REFUSED:
        coord_on_node_refused(core, ev->u.node_refused.req, ev->u.node_refused.attempt,
                              ev->u.node_refused.is_timeout, now_us);
        return ST_OK;
    case COORD_EV_ENGINE_ADDED:
        return on_engine_added(core, &ev->u.engine_added, now_us);
    case COORD_EV_ENGINE_REMOVED:
        on_engine_removed(core, ev->u.engine_removed.engine, now_us);
        return ST_OK;
    case COORD_EV_ENGINE_PROBED:
        return on_engine_probed(core, &ev->u.engine_probed, now_us);
    case COORD_EV_SESSION_RELEASED:
        on_released(core, ev->u.released.label, now_us);
        return ST_OK;
    case COORD_EV_WORKFLOW_DECLARED:
        return coord_workflows_declare(&core->workflows, ev->u.workflow.tenant, ev->u.workflow.id,
                                       &ev->u.workflow.spec);
    case COORD_EV_WORKFLOW_DROPPED:
        (void)coord_workflows_drop(&core->workflows, ev->u.workflow_dropped.tenant,
                                   ev->u.workflow_dropped.id);
        return ST_OK;
    case COORD_EV_TICK:
        on_tick(core, now_us);
        return ST_OK;
    }
    return ST_OK;
}

/* Moves waiting steps away from engines that went down or away. Their effects come before the
 * event's own: a SETTLED would otherwise make the node start one of those very steps where it must
 * not run any more. */
static void rehome_first(struct coord_core *core, uint64_t now_us)
{
    struct coord_effect own[COORD_EFFECTS_PER_EVENT];
    uint32_t own_count = core->effects.count;
    coord_rehome(core, now_us);
    uint32_t moved = core->effects.count - own_count;
    if (moved > 0 && own_count > 0 && own_count <= COORD_EFFECTS_PER_EVENT) {
        struct coord_effect *items = core->effects.items;
        memcpy(own, items, own_count * sizeof(own[0]));
        memmove(items, items + own_count, moved * sizeof(own[0]));
        memcpy(items + moved, own, own_count * sizeof(own[0]));
    }
}

enum status coord_core_step(struct coord_core *core,
                            const struct coord_event *ev,
                            uint64_t now_us,
                            const struct coord_effects **ret_effects)
{
    core->effects.count = 0;
    enum status st = dispatch(core, ev, now_us);
    if (st != ST_OK) {
        core->effects.count = 0;
        return st;
    }
    rehome_first(core, now_us);
    core->counters.breaker_opened = core->fleet.opened_count;
    *ret_effects = &core->effects;
    return ST_OK;
}

const struct coord_counters *coord_core_counters(const struct coord_core *core)
{
    return &core->counters;
}

void coord_core_gauges(const struct coord_core *core, struct coord_gauges *ret)
{
    const struct coord_stories *stories = &core->stories;
    *ret = (struct coord_gauges){
        .graph_bytes = (uint64_t)stories->graphs.blocks.used_nodes * AEG_GRAPH_BLOCK_BYTES,
        .classes = stories->aeg.table.class_count,
        .steps_lost = stories->graphs.lost_count,
        .classes_forgotten = stories->aeg.table.forgotten_count,
        .gaps = stories->aeg.gap_count,
    };
}

uint32_t coord_core_session_count(const struct coord_core *core)
{
    return core->sessions.slab.used_nodes;
}

bool coord_core_has_session(const struct coord_core *core, struct str label)
{
    struct coord_story *found = NULL;
    return coord_stories_find(&core->stories, label, &found, 1) > 0;
}

uint32_t coord_core_in_flight(const struct coord_core *core)
{
    return core->requests.slab.used_nodes;
}

bool coord_core_is_ready(const struct coord_core *core)
{
    for (uint32_t i = 0; i < core->fleet.count; i++) {
        if (coord_engine_is_open_for(core->fleet.engines[i], true)) {
            return true;
        }
    }
    return false;
}
