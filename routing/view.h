/* SPDX-License-Identifier: Apache-2.0 */
/* What one decision looks at: the engines that may take a step, and the step. Plain data, filled
 * by the caller for the call; engines that may not take it (other model, ill, drained, already
 * tried) are simply not in it.
 * PURE. THREAD: any. */
#ifndef ROUTING_VIEW_H
#define ROUTING_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_NONE UINT32_MAX

/* Assumed until an engine has been measured. */
#define ROUTE_STEP_US_DEFAULT     2000000.0
#define ROUTE_US_PER_BYTE_DEFAULT 20.0

struct route_engine {
    uint64_t key;           /* stable hash of its name */
    uint32_t id;            /* the caller's; smaller first where all else is equal */
    uint32_t slots;         /* steps it runs at a time, >= 1 */
    uint32_t running;       /* our steps it works on, those just placed included */
    uint32_t waiting;       /* our steps queued for it */
    uint32_t sessions;      /* live sessions whose home it is */
    uint64_t pending_bytes; /* uncached prompt bytes of our steps that it has not answered yet */
    double step_us;         /* learned time of a step in a slot; <= 0 = not measured */
    double us_per_byte;   /* learned prefill time of an uncached prompt byte; <= 0 = not measured */
    double fail_ratio;    /* recent share of its steps that failed, 0..1 */
    uint32_t reuse_bytes; /* of this step's prompt, held there for this very session */
    uint32_t hint_bytes;  /* same, held there for a relative (the session it forked from) */
};

struct route_view {
    const struct route_engine *engines; /* [count] in the order of their ids */
    uint32_t count;
};

struct route_step {
    uint64_t key; /* of the session: decides between equals */
    uint32_t prompt_bytes;
    uint32_t home; /* index in the view; ROUTE_NONE = no home, or not among the candidates */
    uint32_t margin_steps; /* the home is kept while its queue is at most this much longer than the
                              shortest */
    /* Of its prompt, [chain_count] from first to last: hashes and bytes up to each boundary (the
     * prompt chain, docs/formulas.md#F1). NULL, 0: not at hand, as when it is placed again. */
    const uint64_t *chain;
    const uint32_t *chain_bytes;
    uint32_t chain_count;
    bool is_birth; /* it brings a session that will come back: the number of sessions counts too */
};

/* Mean slots of the engines, >= 1; 1 for an empty view. */
double route_view_mean_slots(const struct route_view *view);

#endif
