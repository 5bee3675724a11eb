/* SPDX-License-Identifier: Apache-2.0 */
/* The engine that holds most of the prompt, new prompts to the one with the fewest steps; an
 * overloaded engine is left. */
#include "routing/policy.h"

/* An engine is overloaded with more than ESCAPE_STEPS above the least loaded and more than
 * ESCAPE_RATIO times as many (docs/baselines.md). */
enum { ESCAPE_STEPS = 16 };
#define ESCAPE_RATIO 1.5

static uint32_t held(const struct route_engine *engine)
{
    return engine->reuse_bytes > engine->hint_bytes ? engine->reuse_bytes : engine->hint_bytes;
}

static bool is_overloaded(const struct route_engine *engine, uint32_t least)
{
    uint32_t own = route_outstanding(engine);
    return own > least + ESCAPE_STEPS && (double)own > ESCAPE_RATIO * (double)least;
}

enum status route_place_prefix_affinity(const struct route_view *view,
                                        const struct route_step *step,
                                        struct route_state *state,
                                        double *costs_us,
                                        struct route_choice *ret)
{
    (void)state;
    if (view->count == 0) {
        return ST_NOTFOUND;
    }
    uint32_t idle = route_least_outstanding(view, step->key);
    uint32_t best = idle;
    for (uint32_t i = 0; i < view->count; i++) {
        best = held(&view->engines[i]) > held(&view->engines[best]) ? i : best;
    }
    if (is_overloaded(&view->engines[best], route_outstanding(&view->engines[idle]))) {
        best = idle;
    }
    route_explain(view, step, best, costs_us, ret);
    return ST_OK;
}

const struct route_policy route_policy_prefix_affinity = {
    .name = "prefix_affinity",
    .text = "the engine that holds most of the prompt, unless it is overloaded",
    .source = "cache-aware routing of SGLang's and vLLM's routers",
    .place = route_place_prefix_affinity,
};
