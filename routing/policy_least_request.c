/* SPDX-License-Identifier: Apache-2.0 */
/* The engine with the fewest steps. */
#include "routing/policy.h"

static enum status place(const struct route_view *view,
                         const struct route_step *step,
                         struct route_state *state,
                         double *costs_us,
                         struct route_choice *ret)
{
    (void)state;
    if (view->count == 0) {
        return ST_NOTFOUND;
    }
    route_explain(view, step, route_least_outstanding(view, step->key), costs_us, ret);
    return ST_OK;
}

const struct route_policy route_policy_least_request = {
    .name = "least_request",
    .text = "the engine with the fewest steps",
    .source = "least outstanding requests of Envoy, nginx, HAProxy",
    .place = place,
};
