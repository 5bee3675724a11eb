/* SPDX-License-Identifier: Apache-2.0 */
/* The engine that was sent the longest prefix of the prompt, whichever session sent it there; where
 * little of it was, or the fleet is unbalanced, the one with the fewest steps. */
#include "routing/policy.h"

enum { MATCH_RATIO, BALANCE_STEPS, BALANCE_RATIO };
enum { PREFIXES = 131072 };

static bool is_unbalanced(const struct route_view *view, uint32_t least, const double *params)
{
    uint32_t most = least;
    for (uint32_t i = 0; i < view->count; i++) {
        uint32_t own = route_outstanding(&view->engines[i]);
        most = own > most ? own : most;
    }
    return (double)(most - least) > params[BALANCE_STEPS] &&
           (double)most > params[BALANCE_RATIO] * (double)least;
}

/* Of the engines that were sent the prefix the one with the fewest steps, of equals the first.
 * ROUTE_NONE: none of them may take the step. */
static uint32_t holder(const struct route_view *view, const struct prefix_entry *entry)
{
    uint32_t best = ROUTE_NONE;
    for (uint32_t i = 0; i < view->count; i++) {
        const struct route_engine *engine = &view->engines[i];
        bool is_sent = false;
        for (uint32_t k = 0; k < entry->engine_count; k++) {
            is_sent = is_sent || entry->engines[k] == engine->id;
        }
        if (is_sent && (best == ROUTE_NONE ||
                        route_outstanding(engine) < route_outstanding(&view->engines[best]))) {
            best = i;
        }
    }
    return best;
}

/* The engine of the longest prefix; ROUTE_NONE when that is too short. */
static uint32_t longest(const struct route_view *view,
                        const struct route_step *step,
                        const struct route_state *state)
{
    const struct prefix_table *table = &state->prefixes;
    double least_bytes = state->params[MATCH_RATIO] * (double)step->prompt_bytes;
    uint32_t i = prefix_table_match(table, step->chain, step->chain_count);
    while (i-- > 0 && (double)step->chain_bytes[i] > least_bytes) {
        const struct prefix_entry *entry = prefix_table_find(table, step->chain[i]);
        uint32_t best = entry != NULL ? holder(view, entry) : ROUTE_NONE;
        if (best != ROUTE_NONE) {
            return best;
        }
    }
    return ROUTE_NONE;
}

static enum status place(const struct route_view *view,
                         const struct route_step *step,
                         struct route_state *state,
                         double *costs_us,
                         struct route_choice *ret)
{
    if (view->count == 0) {
        return ST_NOTFOUND;
    }
    if (step->chain_count == 0 || state->prefixes.cap == 0) {
        return route_place_prefix_affinity(view, step, state, costs_us, ret);
    }
    uint32_t idle = route_least_outstanding(view, step->key);
    uint32_t best = ROUTE_NONE;
    if (!is_unbalanced(view, route_outstanding(&view->engines[idle]), state->params)) {
        best = longest(view, step, state);
    }
    best = best != ROUTE_NONE ? best : idle;
    prefix_table_add(&state->prefixes, step->chain, step->chain_count, view->engines[best].id);
    route_explain(view, step, best, costs_us, ret);
    return ST_OK;
}

/* The defaults are those of SGLang's launcher. */
static const struct route_param params[] = {
    [MATCH_RATIO] = {"match_ratio", 0.3, 0, 1, "part of the prompt above which a match decides"},
    [BALANCE_STEPS] =
        {"balance_steps", 64, 0, 1e6,
         "the fleet is unbalanced with a largest load so far above the smallest, steps"},
    [BALANCE_RATIO] = {"balance_ratio", 1.5, 1, 1000, "and so many times as large"},
};

const struct route_policy route_policy_prefix_tree = {
    .name = "prefix_tree",
    .text = "the engine that was sent the longest prefix of the prompt by anybody, if it is long",
    .source = "the approximate prefix tree of SGLang's and vLLM's routers (cache_aware)",
    .place = place,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .prefixes = PREFIXES,
};
