/* SPDX-License-Identifier: Apache-2.0 */
/* The KV memory of one engine outside of its GPU, and the way there: host DRAM of its own, a store
 * shared with others, each behind a link with a bandwidth and a latency. Transfers on a link go one
 * after the other; what is written counts as there at once.
 *
 * PURE. THREAD: one owner. */
#ifndef SIMULATOR_MODEL_TIERS_H
#define SIMULATOR_MODEL_TIERS_H

#include "simulator/model/link.h"
#include "simulator/model/store.h"

struct sim_tiers;

enum sim_tier_mode {
    SIM_TIER_WRITE_BACK,    /* a block goes to the host when it is evicted from the GPU; when it is
                               back there, the host forgets it */
    SIM_TIER_WRITE_THROUGH, /* a block goes to the host when it is in the GPU */
};

struct sim_tiers_opts {
    uint64_t host_tokens; /* 0 = no host tier */
    enum sim_tier_mode host_mode;
    struct sim_link_opts host_link;
    struct sim_store *store; /* borrowed, NULL = none; gets each block that is computed */
    struct sim_link_opts store_link;
};

struct sim_tiers_counts {
    uint64_t host_hit_blocks; /* loaded from there */
    uint64_t store_hit_blocks;
    uint64_t host_written_blocks;
    uint64_t store_written_blocks; /* by this engine */
    uint64_t host_hit_tokens;      /* the same in tokens and bytes */
    uint64_t store_hit_tokens;
    uint64_t host_loaded_bytes;
    uint64_t store_loaded_bytes;
    uint64_t host_written_bytes;
    uint64_t store_written_bytes;
};

/* No host tier, no store; a host behind 25e9 byte/s (PCIe 4.0 x16) and 20 us, a store behind as
 * much (200 Gbit/s) and 500 us, full duplex. */
void sim_tiers_opts_init(struct sim_tiers_opts *opts);

/* ST_INVAL (no block fits into host_tokens, a bandwidth is 0 or too large), ST_NOMEM. */
MUST_CHECK enum status sim_tiers_new(struct sim_tiers **ret,
                                     const struct mem *mem,
                                     const struct sim_tiers_opts *opts,
                                     uint32_t block_tokens,
                                     uint64_t bytes_per_token);
void sim_tiers_free(struct sim_tiers *tiers);

void sim_tiers_set_now(struct sim_tiers *tiers, uint64_t now_us);

/* How many leading hashes of hashes[n] are in one tier or another. O(n). */
uint32_t sim_tiers_match(const struct sim_tiers *tiers, const uint64_t *hashes, uint32_t n);

/* Loads the blocks of hashes[n], all of which must match, each from the host if that has it; gives
 * when the last one is there, later than now. */
uint64_t sim_tiers_load(struct sim_tiers *tiers, const uint64_t *hashes, uint32_t n);

/* The block came into GPU memory from elsewhere: loaded, or received from another engine. */
void sim_tiers_arrived(struct sim_tiers *tiers, uint64_t hash);

/* The block was computed. */
void sim_tiers_computed(struct sim_tiers *tiers, uint64_t hash);

/* The block is not in GPU memory any more: room was needed. */
void sim_tiers_evicted(struct sim_tiers *tiers, uint64_t hash);

/* A request with these blocks has ended: where they are, they go last, a prefix after what depends
 * on it. */
void sim_tiers_used(struct sim_tiers *tiers, const uint64_t *hashes, uint32_t n);

/* Empties the host tier. */
void sim_tiers_reset(struct sim_tiers *tiers);

struct sim_tiers_counts sim_tiers_counts(const struct sim_tiers *tiers);

/* Blocks in the host tier. */
struct sim_store_counts sim_tiers_host(const struct sim_tiers *tiers);

/* Walks everything; false when an invariant is broken. */
bool sim_tiers_check(const struct sim_tiers *tiers);

#endif
