/* SPDX-License-Identifier: Apache-2.0 */
/* What engine.c, run.c and plan.c share; nobody else includes it.
 * PURE. */
#ifndef SIMULATOR_MODEL_ENGINE_STATE_H
#define SIMULATOR_MODEL_ENGINE_STATE_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "simulator/model/engine_types.h"

/* In engine->waiting (no blocks) or engine->running (has blocks). */
struct request {
    struct list link;
    struct sim_request_id id;
    struct sim_request_spec spec;
    uint32_t generated_tokens;
    uint32_t computed_tokens; /* their KV is in blocks */
    uint32_t lost_tokens;     /* most tokens computed before a preemption */
    uint32_t planned_tokens;  /* in the iteration under way */
    uint32_t cached_tokens;   /* hit at first admission */
    uint32_t stored_blocks;   /* leading blocks that are hit, stored or kept out */
    uint32_t branch_blocks;   /* leading ones that matched when it was admitted */
    uint64_t loaded_at_us;    /* while is_loading: when its other computed blocks are there */
    uint32_t block_count;
    uint32_t block_cap;
    bool is_running;
    bool is_loading; /* and computes nothing */
    bool was_admitted;
    uint32_t blocks[]; /* [block_cap] */
};

/* Why the head of the queue was not admitted: unless blocks have come back or its next block can be
 * hit, it would not be admitted now. */
struct refusal {
    struct sim_request_id id;
    uint64_t unused_count; /* of the KV memory */
    uint64_t missing_hash; /* 0 = all that can be hit was */
};

struct sim_engine {
    const struct mem *mem;
    struct sim_engine_opts opts;
    struct sim_kv *kv;
    struct sim_pins *pins;   /* NULL = none can be */
    struct sim_tiers *tiers; /* NULL = none */
    struct sim_store *seen;  /* hashes computed so far, NULL without SIM_ADMIT_SECOND */
    struct list waiting;     /* by priority, then arrival */
    struct list running;     /* as admitted: of one priority, by arrival */
    struct list fetches;     /* as begun */
    uint32_t waiting_count;
    uint32_t running_count;
    uint32_t loading_count; /* of the running ones */
    struct refusal refusal; /* the last one */
    struct map by_id;
    uint64_t last_id;
    struct sim_event *events; /* [event_cap] */
    size_t event_count;
    size_t event_cap;
    struct sim_batch batch;
    bool is_iterating;
    bool is_pause;        /* loads are under way, there is nothing to compute */
    bool is_merging;      /* of the tokens only first ones are reported */
    uint64_t iterations;  /* from batch on, that the next end completes */
    uint64_t now_us;      /* of eviction policies */
    uint64_t begun_at_us; /* on that clock */
    uint64_t duration_us; /* from begin to end */
    uint64_t counted_us;  /* of it, in counters.busy_us */
    struct sim_engine_counters counters;
};

static inline struct request *request_of(struct list *link)
{
    return LIST_OWNER(link, struct request, link);
}

/* Does it come before the other in the queue, and stay when one has to go? */
static inline bool request_is_before(const struct request *req, const struct request *other)
{
    return req->spec.priority != other->spec.priority ? req->spec.priority < other->spec.priority
                                                      : req->id.v < other->id.v;
}

/* Tokens whose KV is needed before the next one can be sampled. */
static inline uint32_t request_known(const struct request *req)
{
    return req->spec.prompt_tokens + req->generated_tokens;
}

/* Most blocks that can be hit by a request that knows so many tokens. The last one is always
 * computed: its output is what the next one is sampled from. */
static inline uint32_t spec_most_hits(const struct sim_engine *engine,
                                      const struct sim_request_spec *spec,
                                      uint32_t known_tokens)
{
    uint32_t most = (known_tokens - 1) / engine->opts.block_tokens;
    most = most < spec->block_hash_count ? most : spec->block_hash_count;
    return engine->opts.has_prefix_cache ? most : 0;
}

/* Leading blocks whose tokens are all computed and that can be hit. */
static inline uint32_t request_full_blocks(const struct sim_engine *engine,
                                           const struct request *req)
{
    uint32_t full = req->computed_tokens / engine->opts.block_tokens;
    full = full < req->spec.block_hash_count ? full : req->spec.block_hash_count;
    return engine->opts.has_prefix_cache ? full : 0;
}

/* Leading blocks of hashes[n] in GPU memory that can be hit; *ret_match, how many are there. */
uint32_t sim_engine_hit(const struct sim_engine *engine,
                        const uint64_t *hashes,
                        uint32_t n,
                        uint32_t *ret_match);

/* How long one iteration with this batch takes, >= 1. */
uint64_t sim_engine_iteration_us(const struct sim_engine *engine, const struct sim_batch *batch);

/* Adds an event; there is always room (sim_engine_new sizes the array for it). */
void sim_engine_emit(struct sim_engine *engine,
                     enum sim_event_kind kind,
                     const struct request *req);

/* The i-th of these blocks holds what the i-th hash stands for, but was not computed here. */
void sim_engine_place(struct sim_engine *engine,
                      const uint64_t *hashes,
                      const uint32_t *blocks,
                      uint32_t i);

/* Does all iterations of a run but the last, which is under way from then on. */
void sim_engine_settle_run(struct sim_engine *engine);

/* Gives all blocks back. The next request of their chain may run at once (preemption), so no pin
 * holds them. */
void sim_engine_drop_blocks(struct sim_engine *engine, struct request *req);

#endif
