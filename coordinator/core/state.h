/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the core, for the files of this folder that act on several of them.
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_STATE_H
#define COORDINATOR_CORE_STATE_H

#include "coordinator/core/budget.h"
#include "coordinator/core/fleet.h"
#include "coordinator/core/limits.h"
#include "coordinator/core/place.h"
#include "coordinator/core/receipts.h"
#include "coordinator/core/request.h"
#include "coordinator/core/session.h"
#include "coordinator/core/story.h"
#include "coordinator/core/workflows.h"

enum {
    COORD_EFFECTS_CAP = 512, /* effects of one event */
    COORD_EFFECTS_PER_EVENT =
        8,                    /* of them left for the event itself when bulk work fills the rest */
    COORD_WARM_US = 30000000, /* silence after which a session no longer counts as live
                                 (docs/results.md) */
    COORD_SWEEP_MAX = 1024,   /* sessions looked at per tick */
};

struct coord_core {
    const struct mem *mem;
    struct coord_limits limits;
    struct coord_models models;
    struct coord_fleet fleet;
    struct coord_sessions sessions;
    struct coord_stories stories;
    struct coord_workflows workflows;
    struct coord_requests requests;
    struct coord_receipts receipts;
    struct coord_placer placer;
    struct coord_budget budget;
    struct coord_effects effects; /* never grows */
    struct coord_counters counters;
};

/* The next effect of this event, zeroed but for its kind. */
static inline struct coord_effect *coord_effect_add(struct coord_core *core,
                                                    enum coord_effect_kind kind)
{
    ASSERT(core->effects.count < core->effects.cap);
    struct coord_effect *ef = &core->effects.items[core->effects.count++];
    memset(ef, 0, sizeof(*ef));
    ef->kind = kind;
    return ef;
}

/* Room for bulk work (probes, re-homing) in this event. */
static inline bool coord_effects_has_room(const struct coord_core *core)
{
    return core->effects.count + COORD_EFFECTS_PER_EVENT <= core->effects.cap;
}

#endif
