/* SPDX-License-Identifier: Apache-2.0 */
/* Which kind of agent a session is, by its opening (tools and system prompt): openings that read
 * alike are one class (docs/formulas.md#F11). Knows names of classes, not what is learnt of them.
 * PURE. THREAD: one owner. LIMITS: max_classes; a tenant holds at most 1/COORD_CLASSES_SHARE of
 * them and a (tenant, model) COORD_CLASSES_SCAN, the one used least recently goes. Openings are
 * remembered in a cache of fixed size: one that was lost finds its class again by its sketch. */
#ifndef COORDINATOR_CORE_CLASSES_H
#define COORDINATOR_CORE_CLASSES_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/slab.h"

enum {
    COORD_CLASSES_SCAN = 256, /* most that are compared with a new opening */
    COORD_CLASSES_SHARE = 4,
    COORD_CLASSES_BITS = 12, /* sketches that differ in no more are of one class */
    COORD_CLASSES_WAYS = 4,  /* places of the cache where an opening may lie */
};

/* An opening and the class it was found to be of. */
struct coord_class_hint {
    uint64_t key; /* opening, tenant and model; 0 = free */
    uint32_t class_idx;
    uint32_t serial; /* of the class: another one when the place has been used anew */
};

struct coord_classes {
    const struct mem *mem;
    uint32_t max_classes;
    struct slab slab;               /* struct coord_class */
    struct slab groups;             /* struct coord_class_group: tenants, and (tenant, model)s */
    struct map by_key;              /* of a group -> index in groups */
    struct list all;                /* classes, used least recently first */
    struct coord_class_hint *hints; /* [hint_sets * COORD_CLASSES_WAYS], newest first in a set */
    uint32_t hint_sets;             /* a power of two, or 0 */
    uint32_t serial;                /* of the newest class */
    uint64_t founded_count;
    uint64_t joined_count; /* new openings that a class took in */
    uint64_t forgotten_count;
};

/* max_classes >= 1. No memory: every opening is a class of its own. */
void coord_classes_init(struct coord_classes *classes, const struct mem *mem, uint32_t max_classes);
void coord_classes_fini(struct coord_classes *classes);

/* The class of an opening: the opening that founded it. A known opening keeps its class while that
 * is not forgotten; else the nearest sketch of the same tenant and model within COORD_CLASSES_BITS
 * decides (the older class of two), or it founds one. 0 for opening 0: nothing to tell by. No
 * memory: the opening itself. O(COORD_CLASSES_SCAN) for an opening that is not known, else O(1). */
uint64_t coord_classes_resolve(struct coord_classes *classes,
                               uint64_t tenant,
                               uint64_t model,
                               uint64_t opening,
                               uint64_t sketch);

#endif
