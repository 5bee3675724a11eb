/* SPDX-License-Identifier: Apache-2.0 */
/* The node agent's decisions in front of its engines: one queue per engine, a slot limit, waits
 * bounded. Events in, effects out. (Gate, order by fair share and stealing build on this.)
 * PURE. THREAD: core. LIMITS: struct agent_limits. */
#ifndef NODE_AGENT_CORE_CORE_H
#define NODE_AGENT_CORE_CORE_H

#include "common/base/ids.h"
#include "common/base/mem.h"
#include "common/base/str.h"

struct agent_core;

struct agent_limits {
    uint32_t max_steps; /* waiting and running over all engines */
    uint32_t queue_max; /* waiting per engine */
    uint64_t queue_timeout_us;
};

struct config;

/* What the configuration says. */
struct agent_limits agent_limits_of(const struct config *cfg);

enum agent_event_kind {
    AGENT_EV_SUBMIT,   /* a step for one of our engines */
    AGENT_EV_WITHDRAW, /* forget it if it still waits; when it runs, AGENT_EV_SETTLED follows */
    AGENT_EV_SETTLED,  /* a running step (attempt) is over */
    AGENT_EV_ENGINE_ADDED,
    AGENT_EV_ENGINE_REMOVED, /* waiting steps are refused, running ones end by SETTLED */
    AGENT_EV_TICK,
};

struct agent_event {
    enum agent_event_kind kind;
    struct request_id req; /* SUBMIT, WITHDRAW, SETTLED */
    uint32_t attempt;      /* with req */
    struct engine_id engine;
    uint32_t max_running; /* ENGINE_ADDED (again for a known engine: changes its slots) */
};

enum agent_effect_kind {
    AGENT_EF_START,  /* send it to the engine now */
    AGENT_EF_REFUSE, /* queue full, engine unknown or removed, or waited too long */
};

struct agent_effect {
    enum agent_effect_kind kind;
    struct request_id req;
    uint32_t attempt;
    struct engine_id engine;
    bool is_timeout;    /* REFUSE */
    uint64_t waited_us; /* START */
};

struct agent_effects {
    struct agent_effect *items; /* [count] */
    uint32_t count;
    uint32_t cap;
};

struct agent_queue_view {
    struct engine_id engine;
    uint32_t running;
    uint32_t waiting;
    uint32_t max_running;
};

MUST_CHECK enum status
agent_core_new(struct agent_core **ret, const struct mem *mem, const struct agent_limits *limits);
void agent_core_free(struct agent_core *core);
void agent_core_set_limits(struct agent_core *core, const struct agent_limits *limits);

/* ST_OK or ST_NOMEM (nothing changed). Effects are owned by the core, valid until the next call. */
MUST_CHECK enum status agent_core_step(struct agent_core *core,
                                       const struct agent_event *ev,
                                       uint64_t now_us,
                                       const struct agent_effects **ret_effects);

/* Queue of an engine; false when unknown. */
bool agent_core_queue(const struct agent_core *core,
                      struct engine_id engine,
                      struct agent_queue_view *ret);

#endif
