/* SPDX-License-Identifier: Apache-2.0 */
/* Many equal nodes addressed by a 32-bit index that stays valid while others come and go. Nodes
 * live in blocks that never move, so pointers are stable too. PURE. THREAD: one owner. LIMITS:
 * max_nodes. */
#ifndef COMMON_BASE_SLAB_H
#define COMMON_BASE_SLAB_H

#include "common/base/mem.h"

#define SLAB_NONE UINT32_MAX

struct slab {
    const struct mem *mem;
    unsigned char **blocks; /* [block_count] */
    uint32_t block_count;
    uint32_t node_bytes; /* as asked for, rounded up to 16 */
    uint32_t max_nodes;
    uint32_t used_nodes; /* exported as a metric */
    uint32_t fresh_idx;  /* first index never handed out */
    uint32_t free_head;  /* free list, SLAB_NONE = empty */
    uint64_t full_count; /* how often slab_alloc said no */
};

void slab_init(struct slab *slab, const struct mem *mem, size_t node_bytes, uint32_t max_nodes);
void slab_fini(struct slab *slab);

/* A zeroed node; its index goes to *ret_idx (may be NULL). NULL when full or out of memory. */
MUST_CHECK void *slab_alloc(struct slab *slab, uint32_t *ret_idx);

/* Gives the node with this index back. idx must be in use. */
void slab_free(struct slab *slab, uint32_t idx);

/* The node with this index; idx must be < fresh_idx (whether it is in use is the caller's
 * business). */
void *slab_at(const struct slab *slab, uint32_t idx);

#endif
