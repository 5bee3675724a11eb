/* SPDX-License-Identifier: Apache-2.0 */
/* What engine.c and plan.c share; nobody else includes it.
 * PURE. */
#ifndef SIMULATOR_MODEL_ENGINE_STATE_H
#define SIMULATOR_MODEL_ENGINE_STATE_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "simulator/model/engine_types.h"

/* In engine->waiting (no blocks) or engine->running (may have blocks). */
struct request {
    struct list link;
    struct sim_request_id id;
    struct sim_request_spec spec;
    uint32_t generated_tokens;
    uint32_t computed_tokens; /* their KV is in blocks */
    uint32_t lost_tokens;     /* most tokens computed before a preemption */
    uint32_t planned_tokens;  /* in the iteration under way */
    uint32_t cached_tokens;   /* hit at first admission */
    uint32_t stored_blocks;   /* leading blocks that are hit or stored */
    uint32_t block_count;
    uint32_t block_cap;
    bool is_running;
    bool was_admitted;
    uint32_t blocks[]; /* [block_cap] */
};

struct sim_engine {
    const struct mem *mem;
    struct sim_engine_opts opts;
    struct sim_kv *kv;
    struct list waiting; /* by arrival */
    struct list running; /* by arrival */
    uint32_t waiting_count;
    uint32_t running_count;
    struct map by_id;
    uint64_t last_id;
    struct sim_event *events; /* [event_cap] */
    size_t event_count;
    size_t event_cap;
    struct sim_batch batch;
    bool is_iterating;
    struct sim_engine_counters counters;
};

static inline struct request *request_of(struct list *link)
{
    return LIST_OWNER(link, struct request, link);
}

/* Tokens whose KV is needed before the next one can be sampled. */
static inline uint32_t request_known(const struct request *req)
{
    return req->spec.prompt_tokens + req->generated_tokens;
}

/* Adds an event; there is always room (sim_engine_new sizes the array for it). */
void sim_engine_emit(struct sim_engine *engine,
                     enum sim_event_kind kind,
                     const struct request *req);

/* Gives all blocks back. */
void sim_engine_drop_blocks(struct sim_engine *engine, struct request *req);

#endif
