/* SPDX-License-Identifier: Apache-2.0 */
/* Which engines were sent which prompt prefixes, by the hashes of their ends (the prompt chain,
 * docs/formulas.md#F1): what an approximate prefix tree over the routed prompts knows. A hash falls
 * to one set of PREFIX_WAYS entries; in a full set the one used least recently goes, of one prompt
 * the longest prefix first. Allocated once.
 * PURE. THREAD: the owner. LIMITS: entries; PREFIX_ENGINES per prefix, the latest. */
#ifndef ROUTING_PREFIX_TABLE_H
#define ROUTING_PREFIX_TABLE_H

#include "common/base/mem.h"

enum {
    PREFIX_WAYS = 8,
    PREFIX_ENGINES = 8,
    PREFIX_CHAIN_MAX = 4096, /* boundaries of a prompt; the others are not remembered */
};

struct prefix_entry {
    uint64_t hash;
    uint64_t used;                    /* larger is later; 0 = the entry is free */
    uint32_t engines[PREFIX_ENGINES]; /* ids, the latest first */
    uint32_t engine_count;
};

struct prefix_table {
    const struct mem *mem;
    struct prefix_entry *entries; /* [cap] */
    uint32_t cap;                 /* 0 = there is no table */
    uint64_t turn;                /* prompts added so far */
};

/* entries: a power of two >= PREFIX_WAYS. ST_OK or ST_NOMEM (then cap is 0). */
MUST_CHECK enum status
prefix_table_init(struct prefix_table *table, const struct mem *mem, uint32_t entries);
/* A zeroed one will do. */
void prefix_table_fini(struct prefix_table *table);

/* NULL when that prefix is not remembered, or there is no table. O(1). */
const struct prefix_entry *prefix_table_find(const struct prefix_table *table, uint64_t hash);

/* How many prefixes are remembered without a gap from the first on. O(that). */
uint32_t
prefix_table_match(const struct prefix_table *table, const uint64_t *chain, uint32_t count);

/* The engine is sent this prompt: chain [count], from the first boundary to the last. O(count). */
void prefix_table_add(struct prefix_table *table,
                      const uint64_t *chain,
                      uint32_t count,
                      uint32_t engine);

/* The engine is gone, and what it held. O(cap). */
void prefix_table_forget(struct prefix_table *table, uint32_t engine);

#endif
