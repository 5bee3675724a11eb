/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/score_wait.h"

static double us_per_byte(const struct route_engine *engine)
{
    return engine->us_per_byte > 0.0 ? engine->us_per_byte : ROUTE_US_PER_BYTE_DEFAULT;
}

/* A slot as a share of the engine. */
static double slot_ratio(const struct route_engine *engine)
{
    return engine->slots > 0 ? 1.0 / (double)engine->slots : 1.0;
}

static double wait_us(const struct route_engine *engine, double slot)
{
    double step_us = engine->step_us > 0.0 ? engine->step_us : ROUTE_STEP_US_DEFAULT;
    double steps = (double)engine->running + (double)engine->waiting;
    return (double)engine->pending_bytes * us_per_byte(engine) + steps * step_us * slot +
           engine->fail_ratio * ROUTE_FAIL_PENALTY_US;
}

double route_wait_us(const struct route_engine *engine)
{
    return wait_us(engine, slot_ratio(engine));
}

double
route_cost_us(const struct route_engine *engine, const struct route_step *step, double mean_slots)
{
    uint32_t reuse =
        engine->reuse_bytes < step->prompt_bytes ? engine->reuse_bytes : step->prompt_bytes;
    uint32_t missed = step->prompt_bytes - reuse;
    uint32_t hint = engine->hint_bytes < missed ? engine->hint_bytes : missed;
    double session_us = ROUTE_SESSION_US + ROUTE_SESSION_BYTE_US * (double)step->prompt_bytes;
    double hint_us = (double)hint * us_per_byte(engine);
    double hint_max_us = ROUTE_HINT_MAX_SESSIONS * session_us;
    double slot = slot_ratio(engine);
    double cost = wait_us(engine, slot) + (double)missed * us_per_byte(engine);
    cost -= hint_us < hint_max_us ? hint_us : hint_max_us;
    if (step->is_birth) {
        cost += session_us * (double)engine->sessions * mean_slots * slot;
    }
    return cost;
}

double
route_costs_us(const struct route_view *view, const struct route_step *step, double *costs_us)
{
    double mean_slots = route_view_mean_slots(view);
    double least_us = 0.0;
    for (uint32_t i = 0; i < view->count; i++) {
        costs_us[i] = route_cost_us(&view->engines[i], step, mean_slots);
        least_us = i == 0 || costs_us[i] < least_us ? costs_us[i] : least_us;
    }
    return least_us;
}
