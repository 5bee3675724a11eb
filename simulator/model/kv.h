/* SPDX-License-Identifier: Apache-2.0 */
/* The KV memory of one modelled engine: equal blocks with reference counts, a prefix index from
 * chain hash to block, and a queue of unreferenced blocks from which room is made. Holds no tensors
 * and no tokens: a block is its hash.
 *
 * PURE. THREAD: one owner. LIMITS: block_count blocks, at most that many hashes.
 *
 * A block is in exactly one of three states: used (refs > 0), cached (refs 0, has a hash, can be
 * hit) or free (refs 0, no hash). used + cached + free == block_count at all times. */
#ifndef SIMULATOR_MODEL_KV_H
#define SIMULATOR_MODEL_KV_H

#include "common/base/str.h"

struct sim_kv;

/* Which unreferenced block gives way when room is needed; the policies are in evict.h. */
struct sim_evict {
    const char *name;
    /* The unreferenced block to hand out next; there is at least one. */
    uint32_t (*pick)(const struct sim_kv *kv);
};

#define SIM_BLOCK_NONE UINT32_MAX

enum { SIM_KV_BLOCKS_MAX = 1 << 28 };

struct sim_kv_counts {
    uint32_t total_blocks;
    uint32_t used_blocks;
    uint32_t cached_blocks;
    uint32_t free_blocks;
    uint64_t evicted_count;  /* cached blocks that lost their content to make room */
    uint64_t unstored_count; /* full blocks that stayed without hash for want of memory */
};

/* An empty KV memory. ST_INVAL (block_count 0 or over SIM_KV_BLOCKS_MAX), ST_NOMEM. */
MUST_CHECK enum status sim_kv_new(struct sim_kv **ret,
                                  const struct mem *mem,
                                  uint32_t block_count,
                                  const struct sim_evict *evict);
void sim_kv_free(struct sim_kv *kv);

/* How many leading hashes of hashes[n] are in the index; *ret_idle (may be NULL) is how many of
 * those blocks nobody references, i.e. what a take would remove from the room left. Changes
 * nothing. O(n). */
uint32_t
sim_kv_match(const struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *ret_idle);

/* References the blocks of hashes[n], all of which must match; ret_blocks [n]. O(n). */
void sim_kv_take(struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *ret_blocks);

/* Hands out n blocks with one reference and no hash, evicting cached ones when no free one is left.
 * ST_FULL: fewer than n are unreferenced; nothing changed. ret_blocks [n]. */
MUST_CHECK enum status sim_kv_alloc(struct sim_kv *kv, uint32_t n, uint32_t *ret_blocks);

/* The used block is full and computed: it can be hit under this hash (not 0) from now on. Several
 * blocks may carry one hash (two requests that computed the same prefix side by side). */
void sim_kv_store(struct sim_kv *kv, uint32_t block, uint64_t hash);

/* Drops one reference of each of blocks[n], the last one first, so that room is made from the tail
 * of a chain and a prefix outlives what depends on it. Blocks without hash are handed out before
 * any other. */
void sim_kv_release(struct sim_kv *kv, const uint32_t *blocks, uint32_t n);

/* Forgets the content of every cached block; used ones keep theirs. */
void sim_kv_reset(struct sim_kv *kv);

struct sim_kv_counts sim_kv_counts(const struct sim_kv *kv);

/* Unreferenced blocks in the order in which their last reference went, those without hash first:
 * SIM_BLOCK_NONE after the last one. For eviction policies. */
uint32_t sim_kv_idle_first(const struct sim_kv *kv);
uint32_t sim_kv_idle_next(const struct sim_kv *kv, uint32_t block);
/* 0 = no content. */
uint64_t sim_kv_block_hash(const struct sim_kv *kv, uint32_t block);

/* Walks everything; false when an invariant is broken. O(block_count). For tests and debug builds.
 */
bool sim_kv_check(const struct sim_kv *kv);

#endif
