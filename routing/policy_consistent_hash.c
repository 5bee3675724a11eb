/* SPDX-License-Identifier: Apache-2.0 */
/* The engine that the session's key likes best, whatever its load. */
#include "routing/policy.h"
#include "routing/rendezvous.h"

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
    uint32_t best = 0;
    uint64_t best_weight = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        uint64_t weight = route_rendezvous_weight(step->key, view->engines[i].key);
        if (i == 0 || weight > best_weight) {
            best = i;
            best_weight = weight;
        }
    }
    route_explain(view, step, best, costs_us, ret);
    return ST_OK;
}

const struct route_policy route_policy_consistent_hash = {
    .name = "consistent_hash",
    .text = "the engine that the session's key hashes to, whatever its load",
    .source = "Karger et al. 1997; here as rendezvous hashing, Thaler and Ravishankar 1998",
    .place = place,
};
