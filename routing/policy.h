/* SPDX-License-Identifier: Apache-2.0 */
/* The placement policies, one entry each: ours and those of others to compare with
 * (docs/baselines.md). A new one is one file and one line in registry.c.
 * PURE. THREAD: the owner of the state. */
#ifndef ROUTING_POLICY_H
#define ROUTING_POLICY_H

#include "common/base/rng.h"
#include "common/base/str.h"
#include "routing/pick.h"

/* What a policy remembers from one decision to the next. */
struct route_state {
    uint64_t turn; /* decisions so far */
    struct rng rng;
};

struct route_policy {
    const char *name;
    const char *text;   /* one line for --help */
    const char *source; /* who published it */
    bool keeps_home;    /* a home whose queue is short is taken without a look at the others */
    /* As route_pick; state may be changed. costs_us [view->count] is only for the explanation. */
    enum status (*place)(const struct route_view *view,
                         const struct route_step *step,
                         struct route_state *state,
                         double *costs_us,
                         struct route_choice *ret);
};

/* --- for the entries --- */

/* Steps of ours that the engine has. */
static inline uint32_t route_outstanding(const struct route_engine *engine)
{
    return engine->running + engine->waiting;
}

/* The engine with the fewest outstanding steps; between equals the key's own order decides. The
 * view is not empty. O(count). */
uint32_t route_least_outstanding(const struct route_view *view, uint64_t key);

/* Fills costs_us and *ret for a choice that was made in another way. */
void route_explain(const struct route_view *view,
                   const struct route_step *step,
                   uint32_t idx,
                   double *costs_us,
                   struct route_choice *ret);

#endif
