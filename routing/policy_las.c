/* SPDX-License-Identifier: Apache-2.0 */
/* In an engine's queue the step first whose session has had the least of engines' time; a step that
 * has waited too long before all others. */
#include "routing/keys.h"

enum { LEVEL_S, AGE_S };

static const struct route_param params[] = {
    [LEVEL_S] = {"level_s", 0.0, 0.0, 1e6,
                 "service is told apart in levels floor(log2(1 + service / this)), seconds; 0 = "
                 "exactly"},
    [AGE_S] = {"age_s", 60.0, 0.0, 1e9, "wait after which the oldest goes first, seconds"},
};

static double key(const struct gate *gate, const struct gate_step *step)
{
    double waited_s = (double)(gate->now_us - step->came_at_us) / 1e6;
    if (waited_s > gate->params[AGE_S]) {
        return -1.0; /* equals go by arrival: the oldest */
    }
    double served_s = step->session == NULL ? 0.0 : step->session->served_s;
    double level_s = gate->params[LEVEL_S];
    return level_s > 0.0 ? route_service_level(served_s, level_s) : served_s;
}

const struct route_policy route_policy_las = {
    .name = "las",
    .text =
        "prefix_affinity; in an engine's queue the session first that engines have served least",
    .source = "foreground-background, Kleinrock 1976",
    .place = route_place_prefix_affinity,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .key = key,
};
