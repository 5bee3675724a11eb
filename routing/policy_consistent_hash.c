/* SPDX-License-Identifier: Apache-2.0 */
/* The engine that the session's key likes best, whatever its load. */
#include "routing/policy.h"
#include "routing/score_wait.h"

#include <math.h>

enum status route_place_consistent_hash(const struct route_view *view,
                                        const struct route_step *step,
                                        struct route_state *state,
                                        double *costs_us,
                                        struct route_choice *ret)
{
    (void)state;
    if (view->count == 0) {
        return ST_NOTFOUND;
    }
    (void)route_costs_us(view, step, costs_us);
    uint32_t best = route_pick_equal(view, step->key, costs_us, INFINITY);
    *ret = route_choice_of(step, best, costs_us);
    return ST_OK;
}

const struct route_policy route_policy_consistent_hash = {
    .name = "consistent_hash",
    .text = "the engine that the session's key hashes to, whatever its load",
    .source = "Karger et al. 1997; here as rendezvous hashing, Thaler and Ravishankar 1998",
    .place = route_place_consistent_hash,
};
