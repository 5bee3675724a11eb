/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/reach.h"

enum {
    CONNECT_TIMEOUT_US = 3000000, /* the gateway's default, upstream.connect_timeout_ms */
    NOT_SLOW = 1000,
};

bool lab_reach_is_of(const struct lab_fault *fault, uint32_t engine)
{
    return engine >= fault->engine_first && engine - fault->engine_first < fault->engine_count;
}

struct lab_weather lab_reach_weather(const struct lab *lab, uint32_t engine)
{
    const struct lab_scenario *scenario = lab->plan->scenario;
    struct lab_weather weather = {.slow_per_mille = NOT_SLOW};
    for (uint32_t i = 0; scenario != NULL && i < scenario->fault_count; i++) {
        const struct lab_fault *fault = &scenario->faults[i];
        bool is_over = fault->until_us > 0 && lab->now_us >= fault->until_us;
        if (!lab_reach_is_of(fault, engine) || lab->now_us < fault->at_us || is_over) {
            continue;
        }
        switch (fault->kind) {
        case LAB_FAULT_CRASH:
            weather.is_down = true;
            break;
        case LAB_FAULT_SLOW:
            weather.slow_per_mille = fault->slow_per_mille > weather.slow_per_mille
                                         ? fault->slow_per_mille
                                         : weather.slow_per_mille;
            break;
        case LAB_FAULT_LOSE_CACHE:
            break;
        case LAB_FAULT_DRAIN:
            weather.is_removed = true;
            break;
        case LAB_FAULT_PARTITION:
            weather.cut_until_us =
                fault->until_us > weather.cut_until_us ? fault->until_us : weather.cut_until_us;
            break;
        }
    }
    return weather;
}

/* The one that this attempt of a request belongs to; NULL when nobody waits for it any more. */
struct lab_live *
lab_reach_find(const struct lab *lab, struct request_id req, uint32_t attempt, bool is_started)
{
    struct lab_live *live = lab_live_at(lab, (uint32_t)(req.v & LAB_LIVE_MAX));
    bool is_here = live->req.v == req.v && live->phase != LAB_AWAY;
    return is_here && (!is_started || live->attempt == attempt) ? live : NULL;
}

bool lab_reach_wants(struct lab *lab, const struct agent_effect *effect)
{
    if (lab_reach_find(lab, effect->req, effect->attempt, false) != NULL) {
        return true;
    }
    bool is_start = effect->kind == AGENT_EF_START;
    const struct lab_letter letter = {
        .kind = is_start ? LAB_LETTER_UNWANTED : LAB_LETTER_AGENT,
        .u.agent.ev = {.kind = is_start ? AGENT_EV_SETTLED : AGENT_EV_WITHDRAW,
                       .req = effect->req,
                       .attempt = effect->attempt,
                       .engine = effect->engine}};
    lab->machines[effect->engine.v].absent += is_start ? 1 : 0;
    lab_net_post(lab, &letter, lab->now_us);
    return false;
}

static struct lab_letter
letter_of(enum lab_letter_kind kind, const struct lab_live *live, uint32_t engine)
{
    return (struct lab_letter){
        .kind = kind, .u.answer = {.req = live->req, .attempt = live->attempt, .engine = engine}};
}

bool lab_reach_connects(struct lab *lab, uint32_t engine, const struct lab_live *live)
{
    struct lab_weather weather = lab_reach_weather(lab, engine);
    if (!weather.is_down && weather.cut_until_us == 0) {
        return true;
    }
    const struct lab_letter letter = letter_of(LAB_LETTER_CONNECT, live, engine);
    lab->machines[engine].absent++;
    lab_net_post(lab, &letter,
                 lab->now_us +
                     (weather.cut_until_us > 0 ? CONNECT_TIMEOUT_US : lab->plan->network_us));
    return false;
}

bool lab_reach_holds(struct lab *lab, uint32_t engine, const struct sim_event *ev)
{
    uint64_t until_us = lab_reach_weather(lab, engine).cut_until_us;
    if (until_us == 0 || ev->kind == SIM_EVENT_PREEMPTED) {
        return false;
    }
    bool is_end = ev->kind == SIM_EVENT_FINISHED;
    struct lab_letter letter =
        letter_of(is_end ? LAB_LETTER_END : LAB_LETTER_FIRST, ev->owner, engine);
    letter.u.answer.cached_tokens = ev->cached_tokens;
    lab->machines[engine].absent += is_end ? 1 : 0;
    lab_net_post(lab, &letter, until_us);
    return true;
}

bool lab_reach_probed(struct lab *lab,
                      struct engine_id engine,
                      bool wants_models,
                      struct coord_event *ret)
{
    const struct lab_scenario *scenario = lab->plan->scenario;
    struct lab_weather weather = lab_reach_weather(lab, engine.v);
    struct lab_letter letter = {.kind = LAB_LETTER_COORD};
    letter.u.coord.kind = COORD_EV_ENGINE_PROBED;
    letter.u.coord.u.engine_probed =
        (struct coord_engine_probed){.engine = engine,
                                     .is_up = !weather.is_down && weather.cut_until_us == 0,
                                     .kind = COORD_ENGINE_SIM};
    if (scenario != NULL && wants_models && scenario->model_count > 0) {
        uint32_t model = 0;
        uint32_t end = scenario->model_engines[0];
        while (engine.v >= end && model + 1 < scenario->model_count) {
            end += scenario->model_engines[++model];
        }
        letter.u.coord.u.engine_probed.models = &scenario->model_names[model];
        letter.u.coord.u.engine_probed.model_count = 1;
    }
    lab_net_repeat_coord(lab, &letter.u.coord);
    if (scenario != NULL && scenario->stale_us > 0) {
        lab_net_post(lab, &letter, lab->now_us + scenario->stale_us);
        return false;
    }
    *ret = letter.u.coord;
    return true;
}
