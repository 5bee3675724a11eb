/* SPDX-License-Identifier: Apache-2.0 */
/* One engine after the other. */
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
    uint32_t idx = (uint32_t)(state->turn++ % view->count);
    route_explain(view, step, idx, costs_us, ret);
    return ST_OK;
}

const struct route_policy route_policy_round_robin = {
    .name = "round_robin",
    .text = "one engine after the other",
    .source = "every load balancer",
    .place = place,
};
