/* SPDX-License-Identifier: Apache-2.0 */
/* What a session's prompts hold, without text: a hash per block of tokens for the engines, and the
 * ends of its prompts for the coordinator. Sessions of one system prompt share its blocks; beyond,
 * a block is the session's own, and the same in two steps only as far as the later one kept it.
 * PURE. THREAD: one owner. LIMITS: LAB_BOUNDS ends are told, the newest. */
#ifndef SIMULATOR_CLUSTER_CHAIN_H
#define SIMULATOR_CLUSTER_CHAIN_H

#include "simulator/cluster/cluster.h"

enum { LAB_BOUNDS = 16, LAB_TOKEN_BYTES = 4 };

struct lab_chain {
    uint64_t *hashes; /* [count] of the full blocks of prompt and answer, each over all before it */
    uint32_t count;
    uint32_t cap;
    uint32_t tokens;     /* of prompt and answer */
    uint32_t generation; /* how often something was cut off */
    uint32_t bound_count;
    uint64_t bounds[LAB_BOUNDS]; /* end of the system prompt, of earlier prompts, of this one */
    uint32_t bound_bytes[LAB_BOUNDS]; /* up to there; ascending */
};

/* Goes on to this step of the session. ST_NOMEM: nothing changed. O(blocks that are new). */
MUST_CHECK enum status lab_chain_step(struct lab_chain *chain,
                                      const struct mem *mem,
                                      const struct lab_plan *plan,
                                      uint32_t session,
                                      uint32_t step);
void lab_chain_fini(struct lab_chain *chain, const struct mem *mem);

#endif
