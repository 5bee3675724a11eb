/* SPDX-License-Identifier: Apache-2.0 */
/* From the fleet to routing's view and back: who may take this step, and who does.
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_PLACE_H
#define COORDINATOR_CORE_PLACE_H

#include "coordinator/core/event.h"
#include "coordinator/core/limits.h"
#include "coordinator/core/receipts.h"
#include "coordinator/core/request.h"
#include "routing/policy.h"

/* Room for one decision, kept from one to the next. */
struct coord_placer {
    const struct mem *mem;
    struct coord_engine **engines; /* [cap] behind the view */
    struct route_engine *view;     /* [cap] */
    double *costs_us;              /* [cap] */
    uint32_t cap;
    struct route_state state; /* the policy's */
};

struct coord_ask {
    const struct coord_request *request;
    const struct coord_step_arrived *arrived; /* with its chain; NULL = it is placed again */
    const struct coord_session *session;      /* whose home counts; NULL = none */
    const struct coord_session *parent;       /* NULL, or the session it forked from */
    bool may_settle; /* the session will stay where this goes, unless its home could take it */
};

struct coord_placed {
    struct coord_engine *engine;
    bool is_home;
    bool home_can;        /* the home was among the candidates */
    uint32_t reuse_bytes; /* of the prompt, likely held there */
    double cost_us;       /* 0 when the home was taken without a look at the others */
    uint32_t total;       /* candidates; 0 in that case */
};

void coord_placer_init(struct coord_placer *placer, const struct mem *mem, uint64_t seed);
void coord_placer_fini(struct coord_placer *placer);
/* What that policy remembers, in place of another's, and its numbers ([param_count], NULL = its
 * defaults). ST_OK, or ST_NOMEM: it does without. */
MUST_CHECK enum status coord_placer_set_policy(struct coord_placer *placer,
                                               const struct route_policy *policy,
                                               const double *params);
/* The engine is gone. */
void coord_placer_forget(struct coord_placer *placer, struct engine_id engine);
/* Room for that many engines. ST_OK or ST_NOMEM (nothing changed). */
MUST_CHECK enum status coord_placer_reserve(struct coord_placer *placer, uint32_t engines);

/* Decides. False when nobody can take the step now. O(1) when the home is well and its queue short,
 * else O(engines). */
bool coord_place(struct coord_placer *placer,
                 const struct coord_fleet *fleet,
                 const struct coord_ask *ask,
                 const struct coord_limits *limits,
                 struct coord_placed *ret);

/* Writes the decision just made, with its cheapest candidates, into a receipt. */
void coord_placer_explain(const struct coord_placer *placer,
                          const struct coord_placed *placed,
                          struct coord_receipt *receipt);

#endif
