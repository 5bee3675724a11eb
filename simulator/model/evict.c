/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/evict.h"

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : (double)part / (double)whole;
}

/* 0.3 R + 0.5 (1 - P_reuse) + 0.2 S: R the idle time and S the size, each as a share of the largest
 * among the residents. */
static double score_wa_lru(const struct sim_evict_chain *chain,
                           const struct sim_evict_memory *memory)
{
    double idle = ratio(chain->idle_us, memory->idle_us);
    double size = ratio(chain->idle_blocks, memory->idle_blocks);
    return 0.3 * idle + 0.5 * (1.0 - chain->hint.reuse_ratio) + 0.2 * size;
}

/* Least expected loss: the time to compute the tail again, if it is asked for again. */
static double score_cost(const struct sim_evict_chain *chain, const struct sim_evict_memory *memory)
{
    double again_s = memory->block_s + memory->depth_s * ((double)chain->tail_depth + 0.5);
    return -chain->hint.reuse_ratio * again_s;
}

/* Latest next use; needs the future. */
static double score_belady(const struct sim_evict_chain *chain,
                           const struct sim_evict_memory *memory)
{
    (void)memory;
    return (double)chain->hint.next_use_at_us;
}

static const struct sim_evict policies[] = {
    {.name = "lru", .source = "vLLM: blocks in the order in which they were freed, tails first"},
    {.name = "wa_lru",
     .source = "SAGA, equations 1 to 5: alpha 0.3, beta 0.5, gamma 0.2",
     .score = score_wa_lru},
    {.name = "cost_based",
     .source = "recompute time of the tail times the probability of its reuse",
     .score = score_cost},
    {.name = "belady",
     .source = "Belady 1966: the farthest next use; a bound",
     .score = score_belady},
};

const struct sim_evict *sim_evict_find(struct str name)
{
    for (size_t i = 0; sim_evict_at(i) != NULL; i++) {
        if (str_eq(name, str_of(policies[i].name))) {
            return &policies[i];
        }
    }
    return NULL;
}

const struct sim_evict *sim_evict_at(size_t idx)
{
    return idx < sizeof(policies) / sizeof(policies[0]) ? &policies[idx] : NULL;
}

const struct sim_evict *sim_evict_default(void)
{
    return &policies[0];
}
