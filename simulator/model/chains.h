/* SPDX-License-Identifier: Apache-2.0 */
/* Unreferenced blocks of a KV memory by the chain that used them last, for eviction policies that
 * judge chains: who they are, how long they are idle, what their owner knows about them.
 *
 * PURE. THREAD: one owner. LIMITS: block_count blocks, at most that many chains. */
#ifndef SIMULATOR_MODEL_CHAINS_H
#define SIMULATOR_MODEL_CHAINS_H

#include "simulator/model/evict.h"

struct sim_chains;

/* ST_NOMEM. */
MUST_CHECK enum status
sim_chains_new(struct sim_chains **ret, const struct mem *mem, uint32_t block_count);
void sim_chains_free(struct sim_chains *chains);

/* The block, in no chain, becomes the last to go of this one. A chain that was not there starts
 * with SIM_CHAIN_UNKNOWN. */
void sim_chains_add(struct sim_chains *chains, uint32_t block, uint64_t key, uint64_t now_us);

/* Takes the block out of its chain; a chain without blocks is forgotten. */
void sim_chains_remove(struct sim_chains *chains, uint32_t block);

/* Nothing when the chain is not there. */
void sim_chains_hint(struct sim_chains *chains, uint64_t key, const struct sim_chain_hint *hint);

/* The first block to go of this one, or SIM_BLOCK_NONE. */
uint32_t sim_chains_find(const struct sim_chains *chains, uint64_t key);

/* The chains in no order that matters: the first block to go of the first one, or SIM_BLOCK_NONE.
 */
uint32_t sim_chains_first(const struct sim_chains *chains);
/* The same of the chain after that of this block. */
uint32_t sim_chains_next(const struct sim_chains *chains, uint32_t block);

/* The facts about a block's chain, but for tail_depth; *ret_key its name. */
struct sim_evict_chain sim_chains_facts(const struct sim_chains *chains,
                                        uint32_t block,
                                        uint64_t now_us,
                                        uint64_t *ret_key);

/* The block that goes after this one of its chain, or SIM_BLOCK_NONE. */
uint32_t sim_chains_after(const struct sim_chains *chains, uint32_t block);

/* Walks everything; false when an invariant is broken or the blocks are not as many. */
bool sim_chains_check(const struct sim_chains *chains, uint32_t blocks);

#endif
