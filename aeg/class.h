/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded table of what was counted: one node for everything, one per tenant, one per class; each
 * with a cell per step kind and one for all kinds. Knows who is forgotten, not what is learned.
 * PURE. THREAD: one owner. OWNERSHIP: nodes and cells belong to the table. LIMITS: aeg_limits; the
 * class used least recently is forgotten, of the tenant itself when that is over its share. */
#ifndef AEG_CLASS_H
#define AEG_CLASS_H

#include "aeg/dist.h"
#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/slab.h"
#include "common/base/str.h"

enum { AEG_NAME_BYTES = 64, AEG_KINDS_MAX = 32 };

#define AEG_NONE UINT32_MAX

/* Kinds that are no tool's name. A tool's kind is a hash, forced above these. */
enum { AEG_KIND_ANY = 0, AEG_KIND_START = 1, AEG_KIND_ANSWER = 2, AEG_KIND_OTHER = 3 };

struct aeg_key {
    uint64_t tenant; /* hashes made by the caller */
    uint64_t model;
    uint64_t fingerprint; /* of system prompt and tools */
};

struct aeg_limits {
    uint32_t max_classes;
    uint32_t max_tenants;
    uint32_t max_cells;    /* one per kind of each node, and one for all kinds; >= 4 * max_kinds */
    uint32_t max_kinds;    /* distinct tool names per node, 1 .. AEG_KINDS_MAX; then "other" */
    uint32_t tenant_share; /* a tenant may hold 1/share of the classes and of the cells, >= 1 */
    uint64_t half_life_us; /* of all counts */
};

/* Counts of one kind in one node. Arrays are weights (dist.h), read through the clock. What a
 * forecast reads lies together; the name is at the end. */
struct aeg_cell {
    uint32_t name_len; /* first, because the slab writes its own there while the cell is free */
    uint32_t serial;   /* never the same again; 0 = free */
    struct dist_clock clock;
    float return_n;    /* all, the censored too */
    float return_bins; /* sum of weight * bin over return_ended: tells slow kinds from fast ones */
    float return_ended_n;
    float fresh_n;
    float out_n;
    float return_ended[DIST_BINS];
    float return_risk[DIST_RISKS]; /* that reached each bin, right-censored ones too */
    float out_left[DIST_BINS];     /* output tokens of the step after the gap */
    float fresh_left[DIST_BINS];   /* new tokens in the gap */
    char name[AEG_NAME_BYTES];     /* untrusted bytes, not terminated */
};

struct aeg_node {
    struct list lru;        /* of all classes; classes only */
    struct list tenant_lru; /* in the tenant: head of its classes; in a class: link */
    struct aeg_key key;
    uint32_t tenant; /* node index; AEG_NONE for the tenant's and the global node */
    uint32_t idx;
    uint32_t class_count; /* tenants only, as cell_total */
    uint32_t cell_total;  /* cells of the tenant and its classes */
    uint32_t kind_count;
    uint32_t cells[AEG_KINDS_MAX + 4];
    uint64_t kinds[AEG_KINDS_MAX + 4];
    uint32_t serial; /* what a forecast reads begins here */
    float length_n;
    struct dist_clock clock;
    float service_n;               /* steps */
    float service_sum_s;           /* of their work */
    float length_ended[DIST_BINS]; /* steps of a session */
    float length_risk[DIST_RISKS];
};

struct aeg_table {
    const struct mem *mem;
    struct aeg_limits limits;
    struct slab nodes;
    struct slab cells;
    struct map by_key;
    struct list lru; /* least recent first */
    uint32_t serial;
    uint32_t global;          /* node index */
    uint32_t class_count;     /* now */
    uint32_t tenant_count;    /* now */
    uint64_t forgotten_count; /* classes dropped to make room */
    uint64_t other_count;     /* kinds counted as "other" */
    uint64_t no_tenant_count; /* times that max_tenants left a class without a place */
    uint64_t replaced_count;  /* kinds that took the place of a faded one */
};

/* ST_INVAL (a limit out of range), ST_NOMEM. */
MUST_CHECK enum status
aeg_table_init(struct aeg_table *table, const struct mem *mem, const struct aeg_limits *limits);
void aeg_table_fini(struct aeg_table *table);

/* Kind of a tool: above the reserved ones. "" is AEG_KIND_ANSWER. O(bytes). */
uint64_t aeg_kind_of_tool(struct str name);

/* The class, or AEG_NONE. Not counted as use. O(1). */
uint32_t aeg_table_find(const struct aeg_table *table, const struct aeg_key *key);
/* The tenant's node, or AEG_NONE. O(1). */
uint32_t aeg_table_find_tenant(const struct aeg_table *table, uint64_t tenant);

/* The class, made when new, as the one used last. ST_FULL: max_tenants; ST_NOMEM; nothing changed
 * then but that classes may have been forgotten. Amortised O(1). */
MUST_CHECK enum status
aeg_table_open(struct aeg_table *table, const struct aeg_key *key, uint32_t *ret_node);

/* Cell of the kind in the node: AEG_NONE when there is none. O(kinds). */
uint32_t aeg_table_cell(const struct aeg_table *table, uint32_t node_idx, uint64_t kind);
/* The same, made when new. A tool beyond max_kinds gets the place of one whose decayed count is
 * below 1/2, else the cell "other". Classes may be forgotten to make room, never this node's (a
 * class or tenant of that class). ST_FULL: no room even so; ST_NOMEM. */
MUST_CHECK enum status aeg_table_cell_open(struct aeg_table *table,
                                           uint32_t node_idx,
                                           uint64_t kind,
                                           struct str name,
                                           uint64_t now_us,
                                           uint32_t *ret_cell);

static inline struct aeg_node *aeg_node_at(const struct aeg_table *table, uint32_t idx)
{
    return slab_at(&table->nodes, idx);
}

static inline struct aeg_cell *aeg_cell_at(const struct aeg_table *table, uint32_t idx)
{
    return slab_at(&table->cells, idx);
}

/* Bytes that the table holds now. */
size_t aeg_table_bytes(const struct aeg_table *table);

#endif
