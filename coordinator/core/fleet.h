/* SPDX-License-Identifier: Apache-2.0 */
/* The engines: what they serve, how they are, what they have of ours. Health is a small state
 * machine (engine_state.def) fed by the ends of steps (passive) and by probes (active).
 * PURE. THREAD: core. LIMITS: max_engines. */
#ifndef COORDINATOR_CORE_FLEET_H
#define COORDINATOR_CORE_FLEET_H

#include "common/base/list.h"
#include "coordinator/core/event.h"
#include "coordinator/core/limits.h"
#include "coordinator/core/models.h"

enum coord_engine_state {
#define X(name, text, next) COORD_ENGINE_##name,
#include "coordinator/core/engine_state.def"
#undef X
};

enum { COORD_ENGINE_NAME_BYTES = 64, COORD_ENGINE_HISTORY = 8, COORD_BACKOFF_MAX = 12 };

/* A learned time: moving average and number of samples. */
struct coord_speed {
    double mean;  /* 0 = not measured */
    double trust; /* in the mean, 0..1: grows with the samples */
    uint32_t samples;
};

struct coord_engine {
    /* What a decision reads of every engine comes first, close together. */
    struct engine_id id;
    enum coord_engine_state state;
    uint32_t good_probes; /* in a row, since half-open */
    bool has_trial;       /* half-open: a real step is out */
    bool has_models;      /* it told them */
    uint32_t first_model; /* models[0], or COORD_MODEL_NONE */
    uint32_t model_count;
    uint32_t *models;       /* [model_count] indices into coord_models */
    uint64_t key;           /* hash of the name: the same after a restart */
    uint64_t pending_bytes; /* see struct route_engine */
    uint32_t max_running;
    uint32_t queued_count;
    uint32_t running_count;
    uint32_t sessions;              /* live sessions whose home it is */
    double fail_ratio;              /* recent */
    struct coord_speed step_us;     /* of a step in a slot */
    struct coord_speed us_per_byte; /* of prefill */

    char name[COORD_ENGINE_NAME_BYTES];
    enum coord_engine_kind kind;
    uint64_t entered_at_us;                /* the state */
    uint32_t epoch;                        /* number of state changes */
    uint8_t history[COORD_ENGINE_HISTORY]; /* former states; epoch % it comes next */
    struct list queued;                    /* requests handed to its node, not started */
    struct list running;                   /* requests it works on */

    uint32_t fail_streak;       /* steps failed in a row */
    uint32_t probe_fail_streak; /* probes failed in a row */
    uint32_t backoff;           /* open time in units of health_open_us */
    uint64_t open_until_us;
    uint64_t next_probe_at_us;
    uint64_t probe_sent_at_us;
    bool is_probing;
    bool was_probed; /* at least one answer, good or bad */
    uint32_t probes_sent;
    uint32_t died_credit; /* retries left for steps that died with it (budget.h) */
    uint64_t died_until_us;
    bool needs_rehome; /* its queued steps should go elsewhere */

    uint64_t served; /* steps that ended well */
    uint64_t failed; /* attempts that failed */
};

struct coord_fleet {
    const struct mem *mem;
    struct coord_models *models;
    struct coord_engine **engines; /* [count] in the order of adding */
    uint32_t count;
    uint32_t cap;
    uint32_t max_engines;
    struct map by_id;           /* engine id -> pointer */
    uint32_t live_count;        /* not draining */
    uint32_t silent_count;      /* not draining, models not told yet */
    uint64_t opened_count;      /* breakers opened */
    bool needs_rehome;          /* some engine does */
    struct coord_speed step_us; /* over all engines: what is assumed of one that is little known */
    struct coord_speed us_per_byte;
};

void coord_fleet_init(struct coord_fleet *fleet,
                      const struct mem *mem,
                      struct coord_models *models,
                      uint32_t max_engines);
void coord_fleet_fini(struct coord_fleet *fleet);

/* The engine with this id, NULL when there is none (any more). */
struct coord_engine *coord_fleet_find(const struct coord_fleet *fleet, struct engine_id id);

const char *coord_engine_state_text(enum coord_engine_state state);

/* Adds it, or updates a known one (a draining one comes back). ST_OK, ST_NOMEM, ST_FULL. */
MUST_CHECK enum status
coord_fleet_add(struct coord_fleet *fleet, const struct coord_engine_added *added, uint64_t now_us);

/* Nothing new goes there; coord_fleet_reap forgets it once nothing is there. */
void coord_fleet_remove(struct coord_fleet *fleet, struct coord_engine *engine, uint64_t now_us);

/* Forgets a draining engine that has nothing left; true when it did (the pointer is dead then). */
bool coord_fleet_reap(struct coord_fleet *fleet, struct coord_engine *engine, uint64_t now_us);

/* Takes a probe's answer. ST_OK or ST_NOMEM (nothing changed). */
MUST_CHECK enum status coord_fleet_probed(struct coord_fleet *fleet,
                                          struct coord_engine *engine,
                                          const struct coord_engine_probed *probed,
                                          const struct coord_limits *limits,
                                          uint64_t now_us);

/* When it is time to ask this engine something: marks it asked and true. Moves an open breaker to
 * half-open. */
bool coord_fleet_probe_due(struct coord_engine *engine,
                           const struct coord_limits *limits,
                           uint64_t now_us,
                           bool *ret_wants_models);

/* A step submitted at submitted_at_us ended well / failed there. Ends of steps older than the
 * engine's current state say nothing about it. */
void coord_fleet_success(struct coord_engine *engine, uint64_t submitted_at_us, uint64_t now_us);
void coord_fleet_failure(struct coord_fleet *fleet,
                         struct coord_engine *engine,
                         const struct coord_limits *limits,
                         uint64_t submitted_at_us,
                         uint64_t now_us);

void coord_speed_learn(struct coord_speed *speed, double sample, double alpha);

/* What to assume of an engine: its own mean, drawn towards the fleet's while samples are few.
 * docs/formulas.md#F2 */
double coord_speed_of(const struct coord_speed *own, const struct coord_speed *fleet);

/* Its list of models has this one, not counting the first. */
bool coord_engine_has_further_model(const struct coord_engine *engine, uint32_t model);

/* Its list of models has this one. An engine that told none yet has none. */
static inline bool coord_engine_has_model(const struct coord_engine *engine, uint32_t model)
{
    return engine->first_model == model ||
           (engine->model_count > 1 && coord_engine_has_further_model(engine, model));
}

/* It may get a step now: up, or half-open with a good probe and no other step out. */
static inline bool coord_engine_is_open_for(const struct coord_engine *engine, bool in_need)
{
    return engine->state == COORD_ENGINE_UP ||
           (engine->state == COORD_ENGINE_HALF_OPEN && engine->good_probes > 0 &&
            (in_need || !engine->has_trial));
}

#endif
