/* SPDX-License-Identifier: Apache-2.0 */
/* Which engine gets a step: its home while that is not clearly behind, else the least cost;
 * between near-equals the session's own order decides, so that births spread and replicas agree.
 * PURE. THREAD: any. */
#ifndef ROUTING_PICK_H
#define ROUTING_PICK_H

#include "common/base/status.h"
#include "routing/view.h"

/* Costs within this of the least are equal: an absolute part and a share of the least. */
#define ROUTE_EQUAL_US    1000.0
#define ROUTE_EQUAL_RATIO 0.01

struct route_choice {
    uint32_t idx; /* in the view */
    bool is_home;
    double cost_us; /* of the chosen one */
};

static inline struct route_choice
route_choice_of(const struct route_step *step, uint32_t idx, const double *costs_us)
{
    return (struct route_choice){
        .idx = idx, .is_home = idx == step->home, .cost_us = costs_us[idx]};
}

/* True when the home is kept without looking further: its own queue is within the margin, whatever
 * the others' are. */
static inline bool route_home_is_short(uint32_t home_waiting, uint32_t margin_steps)
{
    return home_waiting <= margin_steps;
}

/* Chooses. costs_us [view->count] gets every candidate's cost (for the explanation).
 * ST_OK; ST_NOTFOUND when the view is empty (nothing written). O(count). */
MUST_CHECK enum status route_pick(const struct route_view *view,
                                  const struct route_step *step,
                                  double *costs_us,
                                  struct route_choice *ret);

/* Of the engines whose cost is not above limit_us the one that the key likes best; ROUTE_NONE when
 * there is none. costs_us [view->count]. O(count). */
uint32_t route_pick_equal(const struct route_view *view,
                          uint64_t key,
                          const double *costs_us,
                          double limit_us);

#endif
