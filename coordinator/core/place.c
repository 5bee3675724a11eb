/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/place.h"

void coord_placer_init(struct coord_placer *placer, const struct mem *mem, uint64_t seed)
{
    *placer = (struct coord_placer){.mem = mem};
    rng_init(&placer->state.rng, seed);
}

enum status coord_placer_set_policy(struct coord_placer *placer,
                                    const struct route_policy *policy,
                                    const double *params)
{
    for (uint32_t i = 0; i < policy->param_count; i++) {
        placer->state.params[i] = params != NULL ? params[i] : policy->params[i].def;
    }
    struct prefix_table *prefixes = &placer->state.prefixes;
    if (prefixes->cap == policy->prefixes) {
        return ST_OK;
    }
    prefix_table_fini(prefixes);
    return policy->prefixes == 0 ? ST_OK
                                 : prefix_table_init(prefixes, placer->mem, policy->prefixes);
}

void coord_placer_forget(struct coord_placer *placer, struct engine_id engine)
{
    prefix_table_forget(&placer->state.prefixes, engine.v);
}

static void room_fini(struct coord_placer *placer)
{
    mem_free(placer->mem, placer->engines, placer->cap * sizeof(void *));
    mem_free(placer->mem, placer->view, placer->cap * sizeof(placer->view[0]));
    mem_free(placer->mem, placer->costs_us, placer->cap * sizeof(placer->costs_us[0]));
    placer->cap = 0;
}

void coord_placer_fini(struct coord_placer *placer)
{
    if (placer->mem != NULL) {
        prefix_table_fini(&placer->state.prefixes);
        room_fini(placer);
    }
}

enum status coord_placer_reserve(struct coord_placer *placer, uint32_t engines)
{
    if (engines <= placer->cap) {
        return ST_OK;
    }
    struct coord_placer grown = *placer;
    grown.cap = engines < 8 ? 8 : engines + engines / 2;
    grown.engines = mem_calloc(placer->mem, grown.cap, sizeof(void *));
    grown.view = mem_calloc(placer->mem, grown.cap, sizeof(grown.view[0]));
    grown.costs_us = mem_calloc(placer->mem, grown.cap, sizeof(grown.costs_us[0]));
    if (grown.engines == NULL || grown.view == NULL || grown.costs_us == NULL) {
        room_fini(&grown);
        return ST_NOMEM;
    }
    room_fini(placer);
    *placer = grown;
    return ST_OK;
}

/* How far the search for somebody who may take the step has to go. */
enum reach {
    REACH_SURE,    /* engines known to serve the model */
    REACH_SILENT,  /* engines that have not told their models */
    REACH_IN_NEED, /* also half-open ones that are being tried already */
};

static bool
may_take(const struct coord_engine *engine, const struct coord_request *request, enum reach reach)
{
    if (!coord_engine_is_open_for(engine, reach == REACH_IN_NEED) ||
        coord_request_has_tried(request, engine->id)) {
        return false;
    }
    if (request->model == COORD_MODEL_NONE) {
        return true;
    }
    return engine->has_models ? coord_engine_has_model(engine, request->model)
                              : reach != REACH_SURE;
}

/* Prompt bytes that this engine has likely computed for the session before. */
static uint32_t reuse_of(const struct coord_ask *ask, struct engine_id engine)
{
    const struct coord_session *session = ask->session;
    uint32_t bytes = 0;
    if (session != NULL && session->home.v == engine.v) {
        bytes = session->home_bytes;
    } else if (session != NULL && session->alt.v == engine.v) {
        bytes = session->alt_bytes;
    }
    return bytes < ask->request->match_bytes ? bytes : ask->request->match_bytes;
}

static uint32_t hint_of(const struct coord_ask *ask, struct engine_id engine)
{
    if (ask->parent == NULL || ask->parent->home.v != engine.v) {
        return 0;
    }
    uint32_t bytes = ask->parent->home_bytes;
    return bytes < ask->request->match_bytes ? bytes : ask->request->match_bytes;
}

static void view_add(struct coord_placer *placer,
                     uint32_t i,
                     const struct coord_fleet *fleet,
                     struct coord_engine *engine,
                     const struct coord_ask *ask)
{
    placer->engines[i] = engine;
    placer->view[i] = (struct route_engine){
        .key = engine->key,
        .id = engine->id.v,
        .slots = engine->max_running,
        .running = engine->running_count,
        .waiting = engine->queued_count,
        .sessions = engine->sessions,
        .pending_bytes = engine->pending_bytes,
        .step_us = coord_speed_of(&engine->step_us, &fleet->step_us),
        .us_per_byte = coord_speed_of(&engine->us_per_byte, &fleet->us_per_byte),
        .fail_ratio = engine->fail_ratio,
        .reuse_bytes = reuse_of(ask, engine->id),
        .hint_bytes = hint_of(ask, engine->id),
    };
}

/* Fills the view with those who may take the step; returns how many. *ret_home is the home's place
 * in it. */
static uint32_t view_fill(struct coord_placer *placer,
                          const struct coord_fleet *fleet,
                          const struct coord_ask *ask,
                          uint32_t *ret_home)
{
    uint32_t count = 0;
    *ret_home = ROUTE_NONE;
    for (enum reach reach = REACH_SURE; count == 0 && reach <= REACH_IN_NEED; reach++) {
        for (uint32_t i = 0; i < fleet->count; i++) {
            struct coord_engine *engine = fleet->engines[i];
            if (!may_take(engine, ask->request, reach)) {
                continue;
            }
            if (ask->session != NULL && ask->session->home.v == engine->id.v) {
                *ret_home = count;
            }
            view_add(placer, count++, fleet, engine, ask);
        }
    }
    return count;
}

/* The home may take it, and its queue is short whatever the others' are. */
static struct coord_engine *
short_home(const struct coord_fleet *fleet, const struct coord_ask *ask, uint32_t margin_steps)
{
    if (ask->session == NULL) {
        return NULL;
    }
    struct coord_engine *home = coord_fleet_find(fleet, ask->session->home);
    bool is_taken = home != NULL && may_take(home, ask->request, REACH_SURE) &&
                    route_home_is_short(home->queued_count, margin_steps);
    return is_taken ? home : NULL;
}

bool coord_place(struct coord_placer *placer,
                 const struct coord_fleet *fleet,
                 const struct coord_ask *ask,
                 const struct coord_limits *limits,
                 struct coord_placed *ret)
{
    const struct route_policy *policy = limits->policy;
    struct coord_engine *home =
        policy->keeps_home ? short_home(fleet, ask, limits->margin_steps) : NULL;
    if (home != NULL) {
        *ret = (struct coord_placed){.engine = home,
                                     .is_home = true,
                                     .home_can = true,
                                     .reuse_bytes = reuse_of(ask, home->id)};
        return true;
    }
    struct route_step step = {
        .key = ask->request->key,
        .prompt_bytes = ask->request->prompt_bytes,
        .margin_steps = limits->margin_steps,
    };
    if (ask->arrived != NULL) {
        step.chain = ask->arrived->chain;
        step.chain_bytes = ask->arrived->chain_bytes;
        step.chain_count = ask->arrived->chain_count;
    }
    struct route_view view = {.engines = placer->view,
                              .count = view_fill(placer, fleet, ask, &step.home)};
    step.is_birth = ask->may_settle && step.home == ROUTE_NONE;
    struct route_choice choice;
    if (policy->place(&view, &step, &placer->state, placer->costs_us, &choice) != ST_OK) {
        return false;
    }
    const struct route_engine *chosen = &placer->view[choice.idx];
    *ret = (struct coord_placed){
        .engine = placer->engines[choice.idx],
        .is_home = choice.is_home,
        .home_can = step.home != ROUTE_NONE,
        .reuse_bytes =
            chosen->reuse_bytes > chosen->hint_bytes ? chosen->reuse_bytes : chosen->hint_bytes,
        .cost_us = choice.cost_us,
        .total = view.count,
    };
    return true;
}

static void candidate_set(struct coord_candidate *out,
                          const struct coord_engine *engine,
                          double cost_us,
                          uint32_t reuse)
{
    *out = (struct coord_candidate){.cost_us = cost_us,
                                    .reuse_bytes = reuse,
                                    .queued = engine->queued_count,
                                    .running = engine->running_count};
    (void)str_copy(out->engine, sizeof(out->engine), str_of(engine->name));
}

void coord_placer_explain(const struct coord_placer *placer,
                          const struct coord_placed *placed,
                          struct coord_receipt *receipt)
{
    (void)str_copy(receipt->engine, sizeof(receipt->engine), str_of(placed->engine->name));
    receipt->reuse_bytes = placed->reuse_bytes;
    receipt->wait_us = placed->cost_us;
    receipt->total = placed->total;
    receipt->count = 0;
    if (placed->total == 0) {
        candidate_set(&receipt->candidates[0], placed->engine, 0.0, placed->reuse_bytes);
        receipt->count = 1;
        return;
    }
    /* The cheapest few, sorted by insertion. */
    uint32_t best[COORD_RECEIPT_CANDIDATES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < placed->total; i++) {
        if (count == COORD_RECEIPT_CANDIDATES &&
            placer->costs_us[i] >= placer->costs_us[best[count - 1]]) {
            continue;
        }
        uint32_t at = count < COORD_RECEIPT_CANDIDATES ? count++ : count - 1;
        for (; at > 0 && placer->costs_us[best[at - 1]] > placer->costs_us[i]; at--) {
            best[at] = best[at - 1];
        }
        best[at] = i;
    }
    for (uint32_t k = 0; k < count; k++) {
        const struct route_engine *seen = &placer->view[best[k]];
        candidate_set(&receipt->candidates[k], placer->engines[best[k]], placer->costs_us[best[k]],
                      seen->reuse_bytes > seen->hint_bytes ? seen->reuse_bytes : seen->hint_bytes);
    }
    receipt->count = count;
}
