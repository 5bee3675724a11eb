/* SPDX-License-Identifier: Apache-2.0 */
/* The eviction policies, one entry each. A policy chooses a chain (a session's blocks that nobody
 * references); room is made from its tail. Blocks that others depend on never go before those.
 *
 * PURE. THREAD: any. */
#ifndef SIMULATOR_MODEL_EVICT_H
#define SIMULATOR_MODEL_EVICT_H

#include "common/base/str.h"

/* Where a block's index is expected. */
#define SIM_BLOCK_NONE UINT32_MAX

/* What the owner of a chain knows about it. */
struct sim_chain_hint {
    double reuse_ratio;      /* probability that it is used again, 0 to 1 */
    uint64_t next_use_at_us; /* UINT64_MAX = never, or not known */
};

/* Of a chain without a hint. */
#define SIM_CHAIN_UNKNOWN \
    ((struct sim_chain_hint){.reuse_ratio = 0.5, .next_use_at_us = UINT64_MAX})

/* Facts about one chain. */
struct sim_evict_chain {
    struct sim_chain_hint hint;
    uint64_t idle_us;     /* since the last of its blocks was used */
    uint32_t idle_blocks; /* that it would give */
    uint32_t tail_depth;  /* blocks before the one that would go first */
};

/* Facts about the whole memory. */
struct sim_evict_memory {
    uint64_t idle_us;     /* largest of all chains */
    uint32_t idle_blocks; /* largest of all chains */
    double block_s;       /* seconds to compute a block on nothing */
    double depth_s;       /* what each block before it adds */
};

struct sim_evict {
    const char *name;
    const char *source;
    /* The chain with the highest score gives way; of equals the one idle longest. NULL = block by
     * block, in the order in which their last reference went. */
    double (*score)(const struct sim_evict_chain *chain, const struct sim_evict_memory *memory);
};

/* The entry with this name; NULL when there is none. */
const struct sim_evict *sim_evict_find(struct str name);

/* The idx-th entry, NULL past the end; 0 is the default, "lru". */
const struct sim_evict *sim_evict_at(size_t idx);

/* What vLLM does. */
const struct sim_evict *sim_evict_default(void);

#endif
