/* SPDX-License-Identifier: Apache-2.0 */
/* Binary min-heap of intrusive nodes, ordered by (key, tie): timers, deadlines, order keys. Each
 * node knows its place, so removing or moving any of them is O(log n). Equal (key, tie) pairs come
 * out in no promised order: give ties unique values.
 *
 * PURE. THREAD: one owner.
 * LIMITS: max_count.
 * OWNERSHIP: nodes are the caller's and must not move while they are in the heap. */
#ifndef COMMON_BASE_HEAP_H
#define COMMON_BASE_HEAP_H

#include "common/base/mem.h"

/* A zeroed node is in no heap; heap_remove leaves it so. */
struct heap_node {
    uint64_t key;   /* set by heap_insert and heap_update */
    uint64_t tie;   /* smaller first among equal keys */
    uint32_t place; /* slot + 1; 0 = in no heap */
};

#define HEAP_OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

struct heap_slot;

struct heap {
    const struct mem *mem;
    struct heap_slot *slots; /* [cap] */
    uint32_t count;
    uint32_t cap;
    uint32_t max_count;
    uint64_t full_count; /* how often heap_insert said ST_FULL */
};

void heap_init(struct heap *heap, const struct mem *mem, uint32_t max_count);

/* Frees the table; nodes still inside keep a stale place and must not be used with another heap
 * before they are zeroed. NULL is fine. */
void heap_fini(struct heap *heap);

/* Puts a node that is in no heap. ST_OK, ST_FULL (max_count reached), ST_NOMEM. O(log n). */
MUST_CHECK enum status
heap_insert(struct heap *heap, struct heap_node *node, uint64_t key, uint64_t tie);

/* Takes the node out; it must be in this heap. O(log n). */
void heap_remove(struct heap *heap, struct heap_node *node);

/* Gives the node, which must be in this heap, a new key and tie. Never fails. O(log n). */
void heap_update(struct heap *heap, struct heap_node *node, uint64_t key, uint64_t tie);

/* The node with the least (key, tie), still inside; NULL when empty. O(1). */
struct heap_node *heap_min(const struct heap *heap);

static inline bool heap_node_is_linked(const struct heap_node *node)
{
    return node->place != 0;
}

#endif
