/* SPDX-License-Identifier: Apache-2.0 */
/* Ours: routing/pick.h behind the table. */
#include "routing/policy.h"

static enum status place(const struct route_view *view,
                         const struct route_step *step,
                         struct route_state *state,
                         double *costs_us,
                         struct route_choice *ret)
{
    (void)state;
    return route_pick(view, step, costs_us, ret);
}

const struct route_policy route_policy_saga = {
    .name = "saga",
    .text = "a session's engine while its queue is short, else the least cost",
    .source = "ours: routing/pick.h",
    .keeps_home = true,
    .place = place,
};
