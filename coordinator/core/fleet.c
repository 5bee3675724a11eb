/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/fleet.h"

#include "common/base/hash.h"

enum {
    PROBE_MODELS_EVERY = 12,  /* probes between two looks at the models */
    GOOD_PROBES_TO_CLOSE = 2, /* half-open without traffic */
    PROBE_LOST_US = 60000000, /* an answer that never came */
    PROBE_SOON_US = 1000000,  /* starting, or in doubt */
};

#define FAIL_RATIO_ALPHA 0.1
#define SPEED_PRIOR      16.0 /* samples that the fleet's mean is worth */

static const char *const state_texts[] = {
#define X(name, text, next) text,
#include "coordinator/core/engine_state.def"
#undef X
};

#define BIT(name) (1u << (unsigned)COORD_ENGINE_##name)
static const unsigned state_next[] = {
#define X(name, text, next) next,
#include "coordinator/core/engine_state.def"
#undef X
};
#undef BIT

const char *coord_engine_state_text(enum coord_engine_state state)
{
    return state_texts[state];
}

/* The one place where ->state changes. */
static void engine_move(struct coord_engine *engine, enum coord_engine_state next, uint64_t now_us)
{
    ASSERT((state_next[engine->state] & (1u << (unsigned)next)) != 0);
    engine->history[engine->epoch % COORD_ENGINE_HISTORY] = (uint8_t)engine->state;
    engine->epoch++;
    engine->state = next;
    engine->entered_at_us = now_us;
    engine->has_trial = false;
    engine->good_probes = 0;
}

void coord_fleet_init(struct coord_fleet *fleet,
                      const struct mem *mem,
                      struct coord_models *models,
                      uint32_t max_engines)
{
    *fleet = (struct coord_fleet){.mem = mem, .models = models, .max_engines = max_engines};
    map_init(&fleet->by_id, mem, max_engines);
}

static bool is_leaving(const struct coord_engine *engine)
{
    return engine->state == COORD_ENGINE_DRAINING || engine->state == COORD_ENGINE_OFF;
}

/* Counts the engine in (or out) of what can be had. */
static void engine_count(struct coord_fleet *fleet, const struct coord_engine *engine, bool is_in)
{
    uint32_t step = is_in ? 1 : UINT32_MAX; /* adding UINT32_MAX takes one away */
    fleet->live_count += step;
    fleet->silent_count += engine->has_models ? 0 : step;
    for (uint32_t i = 0; i < engine->model_count; i++) {
        coord_models_at(fleet->models, engine->models[i])->servers += step;
    }
}

static void ask_rehome(struct coord_fleet *fleet, struct coord_engine *engine)
{
    engine->needs_rehome = engine->queued_count > 0;
    fleet->needs_rehome = fleet->needs_rehome || engine->needs_rehome;
}

static void models_drop(struct coord_fleet *fleet, uint32_t *models, uint32_t taken, uint32_t count)
{
    for (uint32_t i = 0; i < taken; i++) {
        coord_models_unref(fleet->models, models[i]);
    }
    mem_free(fleet->mem, models, count * sizeof(models[0]));
}

static void engine_free(struct coord_fleet *fleet, struct coord_engine *engine)
{
    models_drop(fleet, engine->models, engine->model_count, engine->model_count);
    mem_free(fleet->mem, engine, sizeof(*engine));
}

void coord_fleet_fini(struct coord_fleet *fleet)
{
    if (fleet->mem == NULL) {
        return;
    }
    for (uint32_t i = 0; i < fleet->count; i++) {
        engine_free(fleet, fleet->engines[i]);
    }
    mem_free(fleet->mem, fleet->engines, fleet->cap * sizeof(void *));
    map_fini(&fleet->by_id);
}

struct coord_engine *coord_fleet_find(const struct coord_fleet *fleet, struct engine_id id)
{
    const uint64_t *ptr = map_get(&fleet->by_id, id.v);
    return ptr == NULL ? NULL : (struct coord_engine *)(uintptr_t)*ptr;
}

static enum status fleet_grow(struct coord_fleet *fleet)
{
    if (fleet->count < fleet->cap) {
        return ST_OK;
    }
    uint32_t cap = fleet->cap == 0 ? 8 : fleet->cap * 2;
    struct coord_engine **engines =
        mem_resize(fleet->mem, fleet->engines, fleet->cap * sizeof(void *), cap * sizeof(void *));
    if (engines == NULL) {
        return ST_NOMEM;
    }
    fleet->engines = engines;
    fleet->cap = cap;
    return ST_OK;
}

static enum status
engine_new(struct coord_fleet *fleet, struct engine_id id, struct coord_engine **ret)
{
    if (fleet->count >= fleet->max_engines) {
        return ST_FULL;
    }
    enum status st = fleet_grow(fleet);
    if (st != ST_OK) {
        return st;
    }
    struct coord_engine *engine = mem_calloc(fleet->mem, 1, sizeof(*engine));
    if (engine == NULL) {
        return ST_NOMEM;
    }
    st = map_put(&fleet->by_id, id.v, (uint64_t)(uintptr_t)engine);
    if (st != ST_OK) {
        mem_free(fleet->mem, engine, sizeof(*engine));
        return st;
    }
    engine->id = id;
    engine->first_model = COORD_MODEL_NONE;
    engine->state = COORD_ENGINE_STARTING;
    list_init(&engine->queued);
    list_init(&engine->running);
    fleet->engines[fleet->count++] = engine;
    engine_count(fleet, engine, true);
    *ret = engine;
    return ST_OK;
}

enum status
coord_fleet_add(struct coord_fleet *fleet, const struct coord_engine_added *added, uint64_t now_us)
{
    struct coord_engine *engine = coord_fleet_find(fleet, added->engine);
    if (engine == NULL) {
        enum status st = engine_new(fleet, added->engine, &engine);
        if (st != ST_OK) {
            return st;
        }
        engine->entered_at_us = now_us;
        engine->next_probe_at_us = now_us;
    } else if (is_leaving(engine)) {
        engine_move(engine, COORD_ENGINE_STARTING, now_us);
        engine_count(fleet, engine, true);
        engine->next_probe_at_us = now_us;
        engine->was_probed = false;
    }
    (void)str_copy(engine->name, sizeof(engine->name), added->name);
    engine->key = hash_str(str_of(engine->name), 0);
    engine->max_running = added->max_running > 0 ? added->max_running : 1;
    return ST_OK;
}

bool coord_fleet_reap(struct coord_fleet *fleet, struct coord_engine *engine, uint64_t now_us)
{
    if (engine->state != COORD_ENGINE_DRAINING ||
        engine->queued_count + engine->running_count > 0) {
        return false;
    }
    engine_move(engine, COORD_ENGINE_OFF, now_us);
    uint32_t at = 0;
    while (fleet->engines[at] != engine) {
        at++;
    }
    memmove(&fleet->engines[at], &fleet->engines[at + 1], (fleet->count - at - 1) * sizeof(void *));
    fleet->count--;
    (void)map_remove(&fleet->by_id, engine->id.v);
    engine_free(fleet, engine);
    return true;
}

void coord_fleet_remove(struct coord_fleet *fleet, struct coord_engine *engine, uint64_t now_us)
{
    if (is_leaving(engine)) {
        return;
    }
    engine_count(fleet, engine, false);
    engine_move(engine, COORD_ENGINE_DRAINING, now_us);
    ask_rehome(fleet, engine);
}

bool coord_engine_has_further_model(const struct coord_engine *engine, uint32_t model)
{
    for (uint32_t i = 1; i < engine->model_count; i++) {
        if (engine->models[i] == model) {
            return true;
        }
    }
    return false;
}

/* Replaces the engine's list of models. */
static enum status engine_set_models(struct coord_fleet *fleet,
                                     struct coord_engine *engine,
                                     const struct coord_engine_probed *probed)
{
    uint32_t count = 0;
    uint32_t *models = NULL;
    if (probed->model_count > 0) {
        models = mem_calloc(fleet->mem, probed->model_count, sizeof(models[0]));
        if (models == NULL) {
            return ST_NOMEM;
        }
    }
    for (; count < probed->model_count; count++) {
        enum status st = coord_models_take(fleet->models, probed->models[count], &models[count]);
        if (st != ST_OK) {
            models_drop(fleet, models, count, probed->model_count);
            return st;
        }
    }
    bool counts = !is_leaving(engine);
    if (counts) {
        engine_count(fleet, engine, false);
    }
    models_drop(fleet, engine->models, engine->model_count, engine->model_count);
    engine->models = models;
    engine->model_count = count;
    engine->first_model = count > 0 ? models[0] : COORD_MODEL_NONE;
    engine->has_models = true;
    if (counts) {
        engine_count(fleet, engine, true);
    }
    return ST_OK;
}

/* Breaker opens, each time in a row for twice as long, up to a limit. docs/formulas.md#F5 */
static void engine_open(struct coord_fleet *fleet,
                        struct coord_engine *engine,
                        const struct coord_limits *limits,
                        uint64_t now_us)
{
    bool was_well = engine->state == COORD_ENGINE_UP &&
                    now_us - engine->entered_at_us > COORD_BACKOFF_MAX * limits->health_open_us;
    uint32_t backoff = engine->backoff == 0 || was_well ? 1 : engine->backoff * 2;
    engine->backoff = backoff > COORD_BACKOFF_MAX ? COORD_BACKOFF_MAX : backoff;
    engine_move(engine, COORD_ENGINE_OPEN, now_us);
    engine->open_until_us = now_us + engine->backoff * limits->health_open_us;
    ask_rehome(fleet, engine);
    fleet->opened_count++;
}

static void engine_close(struct coord_engine *engine, uint64_t now_us)
{
    engine_move(engine, COORD_ENGINE_UP, now_us);
    engine->needs_rehome = false;
}

static void
probe_good(struct coord_engine *engine, const struct coord_limits *limits, uint64_t now_us)
{
    engine->probe_fail_streak = 0;
    /* Old failures are forgotten, or an engine without traffic would never be tried again. */
    engine->fail_ratio = engine->state == COORD_ENGINE_UP ? engine->fail_ratio / 2.0 : 0.0;
    if (engine->state == COORD_ENGINE_STARTING) {
        engine_close(engine, now_us);
        engine->fail_streak = 0;
    } else if (engine->state == COORD_ENGINE_HALF_OPEN &&
               ++engine->good_probes >= GOOD_PROBES_TO_CLOSE) {
        /* A probe is no step: the next failed step opens the breaker again, for longer. */
        engine_close(engine, now_us);
        engine->fail_streak = limits->health_fail_count > 0 ? limits->health_fail_count - 1 : 0;
    }
}

static void probe_bad(struct coord_fleet *fleet,
                      struct coord_engine *engine,
                      const struct coord_limits *limits,
                      uint64_t now_us)
{
    engine->probe_fail_streak++;
    bool is_enough = engine->probe_fail_streak >= limits->health_fail_count;
    if (engine->state == COORD_ENGINE_HALF_OPEN ||
        (engine->state == COORD_ENGINE_UP && is_enough)) {
        engine_open(fleet, engine, limits, now_us);
    }
}

enum status coord_fleet_probed(struct coord_fleet *fleet,
                               struct coord_engine *engine,
                               const struct coord_engine_probed *probed,
                               const struct coord_limits *limits,
                               uint64_t now_us)
{
    if (probed->is_up && probed->models != NULL) {
        enum status st = engine_set_models(fleet, engine, probed);
        if (st == ST_NOMEM) {
            return st; /* ST_FULL: too many names in the fleet; the old list stays */
        }
    }
    engine->is_probing = false;
    engine->was_probed = true;
    if (probed->is_up && probed->kind != COORD_ENGINE_UNKNOWN) {
        engine->kind = probed->kind;
    }
    if (probed->is_up) {
        probe_good(engine, limits, now_us);
    } else {
        probe_bad(fleet, engine, limits, now_us);
    }
    uint64_t interval = limits->health_interval_us;
    bool in_doubt = engine->state == COORD_ENGINE_STARTING || engine->probe_fail_streak > 0;
    if (in_doubt && interval > PROBE_SOON_US) {
        interval = PROBE_SOON_US;
    }
    engine->next_probe_at_us = now_us + interval;
    return ST_OK;
}

bool coord_fleet_probe_due(struct coord_engine *engine,
                           const struct coord_limits *limits,
                           uint64_t now_us,
                           bool *ret_wants_models)
{
    if (is_leaving(engine) ||
        (engine->is_probing && now_us < engine->probe_sent_at_us + PROBE_LOST_US)) {
        return false;
    }
    if (engine->state == COORD_ENGINE_OPEN) {
        if (now_us < engine->open_until_us) {
            return false;
        }
        engine_move(engine, COORD_ENGINE_HALF_OPEN, now_us);
    } else if (now_us < engine->next_probe_at_us) {
        return false;
    }
    engine->is_probing = true;
    engine->probe_sent_at_us = now_us;
    engine->next_probe_at_us = now_us + limits->health_interval_us;
    *ret_wants_models = engine->state != COORD_ENGINE_UP || !engine->has_models ||
                        engine->probes_sent % PROBE_MODELS_EVERY == 0;
    engine->probes_sent++;
    return true;
}

static void note_end(struct coord_engine *engine, bool is_failure)
{
    double sample = is_failure ? 1.0 : 0.0;
    engine->fail_ratio += FAIL_RATIO_ALPHA * (sample - engine->fail_ratio);
}

void coord_fleet_success(struct coord_engine *engine, uint64_t submitted_at_us, uint64_t now_us)
{
    engine->served++;
    note_end(engine, false);
    if (submitted_at_us < engine->entered_at_us) {
        return;
    }
    engine->fail_streak = 0;
    engine->probe_fail_streak = 0;
    engine->backoff = 0;
    if (engine->state == COORD_ENGINE_HALF_OPEN) {
        engine_close(engine, now_us);
    }
}

void coord_fleet_failure(struct coord_fleet *fleet,
                         struct coord_engine *engine,
                         const struct coord_limits *limits,
                         uint64_t submitted_at_us,
                         uint64_t now_us)
{
    engine->failed++;
    note_end(engine, true);
    if (submitted_at_us < engine->entered_at_us) {
        return;
    }
    engine->fail_streak++;
    bool is_enough = engine->fail_streak >= limits->health_fail_count;
    if (engine->state == COORD_ENGINE_HALF_OPEN ||
        (engine->state == COORD_ENGINE_UP && is_enough)) {
        engine_open(fleet, engine, limits, now_us);
    } else if (engine->state == COORD_ENGINE_UP &&
               engine->next_probe_at_us > now_us + PROBE_SOON_US / 4) {
        engine->next_probe_at_us = now_us; /* find out soon whether it is there at all */
    }
}

void coord_speed_learn(struct coord_speed *speed, double sample, double alpha)
{
    /* The first few count in full, so that one odd sample is not believed for long. */
    double weight = 1.0 / ((double)speed->samples + 1.0);
    speed->mean += (weight > alpha ? weight : alpha) * (sample - speed->mean);
    speed->samples += speed->samples < UINT32_MAX ? 1 : 0;
    speed->trust = (double)speed->samples / ((double)speed->samples + SPEED_PRIOR);
}

double coord_speed_of(const struct coord_speed *own, const struct coord_speed *fleet)
{
    return fleet->mean + own->trust * (own->mean - fleet->mean);
}
