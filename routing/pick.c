/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/pick.h"

#include "routing/rendezvous.h"
#include "routing/score_wait.h"

static uint32_t least_waiting(const struct route_view *view)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < view->count; i++) {
        least = view->engines[i].waiting < least ? view->engines[i].waiting : least;
    }
    return least;
}

/* The home's queue is at most the margin longer than the shortest one. */
static bool home_is_kept(const struct route_view *view, const struct route_step *step)
{
    if (step->home == ROUTE_NONE) {
        return false;
    }
    uint32_t waiting = view->engines[step->home].waiting;
    return route_home_is_short(waiting, step->margin_steps) ||
           waiting - step->margin_steps <= least_waiting(view);
}

uint32_t route_pick_equal(const struct route_view *view,
                          uint64_t key,
                          const double *costs_us,
                          double limit_us)
{
    uint32_t best = ROUTE_NONE;
    uint64_t best_weight = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        if (costs_us[i] > limit_us) {
            continue;
        }
        uint64_t weight = route_rendezvous_weight(key, view->engines[i].key);
        if (best == ROUTE_NONE || weight > best_weight) {
            best = i;
            best_weight = weight;
        }
    }
    return best;
}

enum status route_pick(const struct route_view *view,
                       const struct route_step *step,
                       double *costs_us,
                       struct route_choice *ret)
{
    if (view->count == 0) {
        return ST_NOTFOUND;
    }
    double least_us = route_costs_us(view, step, costs_us);
    uint32_t idx = step->home;
    if (!home_is_kept(view, step)) {
        double above = least_us > 0.0 ? least_us * ROUTE_EQUAL_RATIO : 0.0;
        idx = route_pick_equal(view, step->key, costs_us, least_us + ROUTE_EQUAL_US + above);
    }
    *ret = route_choice_of(step, idx, costs_us);
    return ST_OK;
}
