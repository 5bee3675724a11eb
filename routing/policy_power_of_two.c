/* SPDX-License-Identifier: Apache-2.0 */
/* Of two engines drawn at random the one with fewer steps. */
#include "routing/policy.h"

static enum status place(const struct route_view *view,
                         const struct route_step *step,
                         struct route_state *state,
                         double *costs_us,
                         struct route_choice *ret)
{
    if (view->count == 0) {
        return ST_NOTFOUND;
    }
    uint32_t first = (uint32_t)rng_below(&state->rng, view->count);
    uint32_t second = first;
    if (view->count > 1) { /* another one */
        second = (uint32_t)rng_below(&state->rng, view->count - 1);
        second += second >= first ? 1 : 0;
    }
    bool is_second =
        route_outstanding(&view->engines[second]) < route_outstanding(&view->engines[first]);
    route_explain(view, step, is_second ? second : first, costs_us, ret);
    return ST_OK;
}

const struct route_policy route_policy_power_of_two = {
    .name = "power_of_two",
    .text = "of two engines drawn at random the one with fewer steps",
    .source = "Mitzenmacher 2001, The power of two choices in randomized load balancing",
    .place = place,
};
