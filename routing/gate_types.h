/* SPDX-License-Identifier: Apache-2.0 */
/* The books that a gate keeps (gate.h), as plain data for policies to decide by. Only the gate
 * writes them; notes are the policy's own. PURE. THREAD: one owner. */
#ifndef ROUTING_GATE_TYPES_H
#define ROUTING_GATE_TYPES_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/rng.h"
#include "common/base/slab.h"

#define GATE_NONE UINT32_MAX /* no engine */

enum {
    GATE_HORIZONS = 12,
    GATE_PARAMS_MAX = 12,
    GATE_NOTES = 8,         /* of a session, of a tenant, of the gate */
    GATE_ENGINE_NOTES = 16, /* of an engine */
    GATE_TENANTS_MAX = 4096,
    GATE_ADVICE_MAX = 256, /* actions of one event that are not STARTs; more are left out */
};

/* Where forecasts of a return are sampled, us, ascending. */
extern const uint64_t gate_horizons_us[GATE_HORIZONS];

/* What is known of a step when it is handed over. */
struct gate_need {
    uint64_t session; /* key; 0 = of none */
    uint64_t tenant;  /* key */
    uint64_t pool;    /* key of the model: only engines that serve it will do; 0 = all do */
    uint32_t prompt_tokens;
    uint32_t kept_tokens;   /* of them, prompt or answer of the step before */
    uint32_t output_tokens; /* expected; 0 = not known: the session's own mean is taken */
    bool is_final;          /* its client says that no other follows */
    double remaining_s;     /* work that the session still asks for, this step included; < 0 = not
                               known */
};

/* What is known when it is over. */
struct gate_usage {
    uint32_t prompt_tokens; /* 0 = not known */
    uint32_t cached_tokens;
    uint32_t output_tokens;
    bool is_ok;    /* it was answered in full */
    bool is_final; /* no other follows */
    bool has_tool; /* the answer calls one */
    bool has_return;
    float return_ratio[GATE_HORIZONS]; /* P(next step within the horizon, from now) */
    uint64_t
        next_at_us; /* when its next step comes, for those who know the future; 0 = not known */
};

struct gate_tenant {
    uint64_t key;
    double weight;
    double served_s; /* engine time of its steps */
    double notes[GATE_NOTES];
    uint32_t sessions; /* known */
    uint32_t steps;    /* that wait or run */
    uint32_t running;  /* of them, released */
    uint64_t done;     /* steps, those of no use too */
    uint32_t idx;
};

enum { GATE_POOLS = 8 }; /* that an engine is remembered to serve, the newest */

enum gate_state { GATE_OUT, GATE_IN };

/* What an engine likely holds of a session that has nothing running there. */
struct gate_copy {
    struct list link; /* engine->copies, used least recently first; unlinked while it is in use */
    struct gate_session *session;
    uint32_t engine;
    uint32_t tokens;
    uint32_t idx;
    uint32_t next; /* of the session, SLAB_NONE = last */
};

struct gate_session {
    struct list link;        /* gate->sessions, used least recently first */
    struct list engine_link; /* engine->sessions while IN */
    struct list wait_link;   /* gate->waiting while a step of it waits there, by arrival of that */
    struct list steps;       /* gate_step.link, those that wait at the gate */
    struct gate_tenant *tenant;
    uint64_t key;
    uint64_t pool; /* of its steps */
    enum gate_state state;
    uint32_t engine; /* while IN, and the last one after; GATE_NONE before */
    uint32_t idx;    /* in the slab */
    uint64_t born_at_us;
    uint64_t in_at_us;      /* last let in */
    uint64_t waits_from_us; /* while in gate->waiting */
    uint64_t gap_from_us;   /* while nothing of it runs or waits */
    uint64_t paused_at_us;  /* 0 = never */
    uint64_t pinned_until_us;
    uint64_t return_us;      /* the time that its last gap took; 0 = none yet */
    uint32_t context_tokens; /* that its next step would begin with */
    uint32_t output_tokens;  /* of a step, on average */
    uint32_t done;           /* steps */
    uint32_t gap_tokens;     /* kept free on its engine while it is in a gap */
    uint32_t queued;         /* its steps in an engine's queue */
    uint32_t running;        /* released and not over */
    uint32_t copies;         /* first in the slab, SLAB_NONE = none */
    uint64_t step_tokens;    /* prompts and expected answers of all its steps, waiting or running */
    double served_s;         /* time that its steps spent in engines */
    double served_token_s;   /* the same times the KV tokens that they held */
    double waited_s;         /* at the gate and in queues */
    double remaining_s;      /* as its last step said */
    struct gate_usage last;  /* of its last step */
    double notes[GATE_NOTES]; /* the policy's own */
};

enum gate_step_state {
    GATE_STEP_AT_GATE,
    GATE_STEP_MOVING, /* its KV travels to the engine that it will run on */
    GATE_STEP_QUEUED,
    GATE_STEP_RUNNING,  /* released into the engine, no token yet */
    GATE_STEP_ANSWERED, /* its prompt is computed */
};

struct gate_step {
    struct list link;
    struct gate_need need;
    struct gate_session *session; /* NULL = of none, or no room to remember it */
    enum gate_step_state state;
    uint32_t engine; /* it is queued or runs on; AT_GATE: where it was placed */
    uint64_t came_at_us;
    uint64_t released_at_us;
    uint32_t uncached_tokens; /* when it was released */
    uint32_t held_tokens;     /* that it counts for in engine->run_tokens */
};

/* What an operator or an adapter says about an engine; 0 = not known. */
struct gate_engine_info {
    uint32_t max_running;
    uint32_t kv_tokens;
    uint32_t tier_tokens; /* of slower memory behind */
    bool is_write_back;
    uint32_t chunk_tokens; /* of an iteration */
    double prefill_us_per_token;
    double prefill_us_per_pair; /* per new token and token before it */
    double decode_us;           /* of an iteration that only decodes */
};

struct gate_engine {
    struct gate_engine_info info;
    uint32_t id; /* the caller's */
    uint32_t idx;
    bool is_gone; /* takes nothing new */
    bool is_dirty;
    struct list queue;    /* gate_step.link by arrival */
    struct list sessions; /* gate_session.engine_link */
    struct list copies;   /* gate_copy.link */
    uint32_t queued;
    uint32_t running;
    uint32_t unanswered; /* of running */
    uint32_t session_count;
    uint64_t run_tokens;        /* prompts and expected answers of running steps */
    uint64_t queued_tokens;     /* the same of queued ones */
    uint64_t unanswered_tokens; /* uncached, of unanswered steps */
    uint64_t copy_tokens;       /* of copies that are not in use */
    uint64_t gap_tokens;        /* of its sessions in gaps, see gate_reserve */
    uint64_t idle_from_us;      /* since when nothing runs or waits; UINT64_MAX = busy */
    uint64_t pins_until_us;     /* latest time up to which a pin was asked for */
    uint64_t pools[GATE_POOLS]; /* of steps that were placed on it, 0 = none */
    double notes[GATE_ENGINE_NOTES];
};

enum gate_action_kind {
    GATE_START,    /* send the step to the engine */
    GATE_RETAIN,   /* keep the session's KV on the engine until then; 0 = no longer */
    GATE_MOVE,     /* bring the session's KV from one engine to another, then gate_moved */
    GATE_PREFETCH, /* bring the session's KV from slower memory into the engine */
    GATE_VALUE,    /* tell the engine what the session's KV is worth */
};

struct gate_action {
    enum gate_action_kind kind;
    struct gate_step *step; /* START, MOVE */
    uint64_t session;
    uint32_t engine;     /* index */
    uint32_t from;       /* MOVE */
    uint64_t until_us;   /* RETAIN */
    double reuse_ratio;  /* VALUE: P(it is used again) */
    uint64_t next_at_us; /* VALUE: when, UINT64_MAX = never, or not known */
};

struct gate_counters {
    uint64_t pauses;
    uint64_t steals; /* steps that another engine than theirs got */
    uint64_t pins;
    uint64_t prefetches;
    uint64_t forgotten;       /* sessions, for room */
    uint64_t left_out;        /* actions, for room */
    uint64_t uncached_tokens; /* as believed at the release of steps */
    uint64_t missed_tokens;   /* as engines told of the same ones */
};

struct route_policy;

struct gate {
    const struct mem *mem;
    const struct route_policy *policy;
    double params[GATE_PARAMS_MAX];
    uint64_t now_us;
    uint64_t epoch_at_us; /* next on_epoch */
    struct rng rng;

    struct gate_engine **engines; /* [engine_count], entries NULL when forgotten */
    uint32_t engine_count;
    uint32_t engine_cap;
    uint32_t max_engines;
    uint32_t *dirty; /* [dirty_count] engines to look at before the event is over */
    uint32_t dirty_count;

    struct slab session_slab;
    struct slab copy_slab;
    struct slab tenant_slab;
    struct map session_keys;
    struct map tenant_keys;
    struct list sessions; /* gate_session.link */
    struct list waiting;  /* gate_session.wait_link */
    uint32_t waiting_count;
    uint64_t waiting_tokens; /* prompts and expected answers of the steps there */
    uint32_t steps;          /* known */
    double output_tokens;    /* of an answer, on average over all */
    double notes[GATE_NOTES];

    struct gate_action *actions; /* [action_count], of the last call */
    uint32_t action_count;
    uint32_t action_cap;
    uint32_t advice_count;
    struct gate_counters counters;
};

struct gate_opts {
    const struct route_policy *policy;
    const double *params; /* [policy->param_count], NULL = defaults */
    uint32_t max_sessions;
    uint32_t max_engines;
    uint64_t seed;
};

static inline bool gate_is_acting(const struct gate_session *session)
{
    return session->running == 0 && session->queued == 0 && list_is_empty(&session->steps);
}

static inline struct gate_session *gate_session_of(struct list *link)
{
    return LIST_OWNER(link, struct gate_session, link);
}

static inline struct gate_session *gate_session_on(struct list *engine_link)
{
    return LIST_OWNER(engine_link, struct gate_session, engine_link);
}

static inline struct gate_session *gate_session_at_gate(struct list *wait_link)
{
    return LIST_OWNER(wait_link, struct gate_session, wait_link);
}

static inline struct gate_step *gate_step_of(struct list *link)
{
    return LIST_OWNER(link, struct gate_step, link);
}

#endif
