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

#include "simulator/model/evict.h"
#include "simulator/model/tiers.h"

struct sim_kv;

struct sim_kv_opts {
    const struct sim_evict *evict;
    uint32_t block_count;
    double block_s; /* as in struct sim_evict_memory */
    double depth_s;
    struct sim_tiers *tiers; /* are told what is evicted; NULL = none */
    bool has_chains;         /* finds blocks by chain (sim_kv_hold), even if the policy does not */
};

enum { SIM_KV_BLOCKS_MAX = 1 << 28 };

struct sim_kv_counts {
    uint32_t total_blocks;
    uint32_t used_blocks;
    uint32_t cached_blocks;
    uint32_t free_blocks;
    uint64_t unused_count;   /* blocks whose last reference went */
    uint64_t evicted_count;  /* cached blocks that lost their content to make room */
    uint64_t unstored_count; /* full blocks that stayed without hash for want of memory */
};

/* An empty KV memory. ST_INVAL (block_count 0 or over SIM_KV_BLOCKS_MAX), ST_NOMEM. */
MUST_CHECK enum status
sim_kv_new(struct sim_kv **ret, const struct mem *mem, const struct sim_kv_opts *opts);
void sim_kv_free(struct sim_kv *kv);

/* How many leading hashes of hashes[n], a chain, are in the index; *ret_idle (may be NULL) is how
 * many of those blocks nobody references, i.e. what a take would remove from the room left. Changes
 * nothing. O(n), without ret_idle O(log n). */
uint32_t
sim_kv_match(const struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *ret_idle);

/* References the blocks of hashes[n], all of which must match; ret_blocks [n]. O(n). */
void sim_kv_take(struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *ret_blocks);

/* Hands out n blocks with one reference and no hash, evicting cached ones when no free one is left.
 * ST_FULL: fewer than n are unreferenced; nothing changed. ret_blocks [n]. O(n), and with a policy
 * that has scores O(chains) for each chain that gives way. */
MUST_CHECK enum status sim_kv_alloc(struct sim_kv *kv, uint32_t n, uint32_t *ret_blocks);

/* The used block is full and computed: it can be hit under this hash (not 0) from now on. Several
 * blocks may carry one hash (two requests that computed the same prefix side by side). parent is
 * the block before it of the same request, SIM_BLOCK_NONE for the first one: where that has no
 * hash, this one gets none either. */
void sim_kv_store(struct sim_kv *kv, uint32_t block, uint64_t hash, uint32_t parent);

/* The used block has a hash: a state is kept of what ends with it. */
void sim_kv_keep_state(struct sim_kv *kv, uint32_t block);

/* Of hashes[n], all of which must match: how many lead up to the last one with a state. O(n). */
uint32_t sim_kv_match_state(const struct sim_kv *kv, const uint64_t *hashes, uint32_t n);

/* Drops one reference of each of blocks[n], the last one first, so that room is made from the tail
 * of a chain and a prefix outlives what depends on it. Those that nobody references any more belong
 * to this chain until they are taken again. Blocks without hash are handed out before any other. */
void sim_kv_release(struct sim_kv *kv, const uint32_t *blocks, uint32_t n, uint64_t chain);

/* References the blocks of a chain that nobody does and those that they depend on, for
 * sim_kv_release with the same ret_blocks [total_blocks]; gives how many. Only with has_chains. */
uint32_t sim_kv_hold(struct sim_kv *kv, uint64_t chain, uint32_t *ret_blocks);

/* For idle times; it never goes back. */
void sim_kv_set_now(struct sim_kv *kv, uint64_t now_us);

/* As sim_engine_hint. */
void sim_kv_hint(struct sim_kv *kv, uint64_t chain, const struct sim_chain_hint *hint);

/* The last hint, SIM_CHAIN_UNKNOWN when there is none. Only with has_chains. */
struct sim_chain_hint sim_kv_chain_hint(const struct sim_kv *kv, uint64_t chain);

/* Is the block referenced, and can it be hit? */
bool sim_kv_is_held(const struct sim_kv *kv, uint32_t block);

/* Forgets the content of every cached block; used ones keep theirs. */
void sim_kv_reset(struct sim_kv *kv);

struct sim_kv_counts sim_kv_counts(const struct sim_kv *kv);

/* All references together. O(block_count). For tests and debug builds. */
uint64_t sim_kv_refs(const struct sim_kv *kv);

/* Walks everything; false when an invariant is broken, also when a block that depends on another
 * has outlived it. O(block_count). For tests and debug builds. */
bool sim_kv_check(const struct sim_kv *kv);

#endif
