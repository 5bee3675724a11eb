/* SPDX-License-Identifier: Apache-2.0 */
/* The node agent's decisions in front of its engines: attempts, bounded waits, and the gate
 * (routing/gate.h), by whose policy steps wait, in which order they go, and where. Events in,
 * effects out.
 * PURE. THREAD: core. LIMITS: struct agent_limits. */
#ifndef NODE_AGENT_CORE_CORE_H
#define NODE_AGENT_CORE_CORE_H

#include "common/base/ids.h"
#include "common/base/mem.h"
#include "common/base/str.h"
#include "routing/gate.h"

struct agent_core;

struct agent_limits {
    uint32_t max_steps;    /* waiting and running over all engines */
    uint32_t max_sessions; /* that a policy with a memory knows */
    uint32_t queue_max;    /* waiting per engine */
    uint64_t queue_timeout_us;
    const struct route_policy *policy; /* NULL = saga */
    const double *params;              /* of the policy, NULL = defaults; borrowed for the call */
    uint64_t seed;
};

struct config;

/* What the configuration says. */
struct agent_limits agent_limits_of(const struct config *cfg);

enum agent_event_kind {
    AGENT_EV_SUBMIT,   /* a step for one of our engines */
    AGENT_EV_WITHDRAW, /* forget it if it still waits; when it runs, AGENT_EV_SETTLED follows */
    AGENT_EV_ANSWERED, /* its first token has come */
    AGENT_EV_SETTLED,  /* a running step (attempt) is over */
    AGENT_EV_MOVED,    /* after AGENT_EF_MOVE: the KV is there, or cannot be brought */
    AGENT_EV_ENGINE_ADDED,
    AGENT_EV_ENGINE_REMOVED, /* waiting steps are refused, running ones end by SETTLED */
    AGENT_EV_POLICY,         /* another one, or with other numbers, from now on */
    AGENT_EV_TICK,
};

struct agent_event {
    enum agent_event_kind kind;
    struct request_id req;               /* all but ENGINE_ and TICK */
    uint32_t attempt;                    /* with req */
    struct engine_id engine;             /* SUBMIT, ENGINE_ */
    const struct gate_need *need;        /* SUBMIT; NULL = nothing is known of it */
    const struct gate_usage *usage;      /* SETTLED; NULL = it failed */
    const struct gate_engine_info *info; /* ENGINE_ADDED (again for a known engine: tells anew) */
    const struct route_policy *policy;   /* POLICY */
    const double *params;                /* POLICY, as in struct agent_limits */
    bool is_moved;                       /* MOVED */
};

enum agent_effect_kind {
    AGENT_EF_START,  /* send it to the engine now, which may not be the one it was placed on */
    AGENT_EF_REFUSE, /* queue full, engine unknown or removed, or waited too long */
    /* Requests of policies. An engine that cannot carry them out is no failure. */
    AGENT_EF_RETAIN,   /* keep the session's KV until then (0: no longer) */
    AGENT_EF_MOVE,     /* bring the session's KV from an engine; answered by AGENT_EV_MOVED */
    AGENT_EF_PREFETCH, /* load the session's KV from slower memory */
    AGENT_EF_VALUE,    /* for its eviction: what the session's KV is worth */
};

struct agent_effect {
    enum agent_effect_kind kind;
    struct request_id req; /* START, REFUSE, MOVE */
    uint32_t attempt;      /* with req */
    struct engine_id engine;
    bool is_timeout;       /* REFUSE */
    uint64_t waited_us;    /* START */
    uint64_t session;      /* RETAIN, MOVE, PREFETCH, VALUE: its key */
    struct engine_id from; /* MOVE */
    uint64_t until_us;     /* RETAIN */
    double reuse_ratio;    /* VALUE, as the next one; see gate_value */
    uint64_t next_at_us;
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

/* Steps that wait at the gate, for no engine yet. */
uint32_t agent_core_at_gate(const struct agent_core *core);
const struct gate *agent_core_gate(const struct agent_core *core);

/* Queue of an engine; false when unknown. */
bool agent_core_queue(const struct agent_core *core,
                      struct engine_id engine,
                      struct agent_queue_view *ret);

#endif
