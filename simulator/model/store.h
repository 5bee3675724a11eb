/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks a KV store outside of GPU memory holds, each known by its hash; the one used longest
 * ago goes first. It knows no time: who moves blocks in and out counts that (tiers.h). One object
 * may serve a whole fleet, as Mooncake Store or a shared LMCache server do.
 *
 * PURE. THREAD: one owner. LIMITS: its capacity. */
#ifndef SIMULATOR_MODEL_STORE_H
#define SIMULATOR_MODEL_STORE_H

#include "common/base/mem.h"

struct sim_store;

struct sim_store_counts {
    uint32_t total_blocks; /* room for so many */
    uint32_t blocks;
    uint64_t put_count;     /* blocks that were not there before */
    uint64_t evicted_count; /* made room */
    uint64_t dropped_count; /* taken out */
    uint64_t refused_count; /* not stored for want of memory */
};

/* ST_INVAL (no whole block fits, or over SIM_STORE_BLOCKS_MAX of them), ST_NOMEM. */
MUST_CHECK enum status sim_store_new(struct sim_store **ret,
                                     const struct mem *mem,
                                     uint64_t capacity_tokens,
                                     uint32_t block_tokens);
void sim_store_free(struct sim_store *store);

enum { SIM_STORE_BLOCKS_MAX = 1 << 28 };

bool sim_store_has(const struct sim_store *store, uint64_t hash);

/* It is the last to go now; it is there already, or put. True when it had to be written. */
bool sim_store_put(struct sim_store *store, uint64_t hash);

/* If it is there, it is the last to go now. */
void sim_store_touch(struct sim_store *store, uint64_t hash);

/* Takes it out if it is there. */
void sim_store_drop(struct sim_store *store, uint64_t hash);

void sim_store_clear(struct sim_store *store);

struct sim_store_counts sim_store_counts(const struct sim_store *store);

/* Walks everything; false when an invariant is broken. */
bool sim_store_check(const struct sim_store *store);

#endif
