/* SPDX-License-Identifier: Apache-2.0 */
/* One modelled inference engine in virtual time: a waiting queue in arrival order, continuous
 * batching with chunked prefill, paged KV memory with a prefix cache, preemption by recompute. It
 * knows no text: a request is two lengths and a chain of block hashes. PURE. THREAD: one owner.
 * LIMITS: max_running, queue_max, KV blocks.
 *
 * Use: submit and abort at any time; when idle or after an end, begin starts an iteration and says
 * how long it takes; that much later end says what came out. Each request that was accepted ends
 * exactly once: by SIM_EVENT_FINISHED or by a sim_engine_abort that returns true. */
#ifndef SIMULATOR_MODEL_ENGINE_H
#define SIMULATOR_MODEL_ENGINE_H

#include "simulator/model/kv.h"
#include "simulator/model/profile.h"

struct sim_engine;

enum { SIM_QUEUE_MAX = 1 << 28 };

/* A request of one engine; never reused by it. 0 = none. */
struct sim_request_id {
    uint64_t v;
};

struct sim_engine_opts {
    struct sim_profile profile; /* kv_tokens, max_running and budget_tokens are taken from here */
    const struct sim_evict *evict; /* NULL = lru */
    uint32_t block_tokens;         /* 16 in vLLM */
    uint32_t queue_max;            /* waiting requests; preempted ones may exceed it */
    uint32_t watermark_blocks;     /* kept free when a request is admitted beside others */
    bool has_prefix_cache;
};

/* 16-token blocks, 4096 waiting, no watermark, prefix cache on, the given profile. */
void sim_engine_opts_init(struct sim_engine_opts *opts, const struct sim_profile *profile);

struct sim_request_spec {
    void *owner;                  /* handed back in events; never looked at */
    const uint64_t *block_hashes; /* [block_hash_count] chain over prompt and output, none 0;
                                     borrowed until the request has ended */
    uint32_t block_hash_count;    /* full blocks the hashes cover; later ones are never cached */
    uint32_t prompt_tokens;       /* >= 1 */
    uint32_t output_tokens;       /* >= 1, the number that will be generated */
};

enum sim_event_kind {
    SIM_EVENT_PREEMPTED, /* lost its blocks; will be recomputed */
    SIM_EVENT_TOKEN,     /* output token token_idx (0 = the first) */
    SIM_EVENT_FINISHED,  /* follows the last token in the same iteration; the request is gone */
};

struct sim_event {
    enum sim_event_kind kind;
    struct sim_request_id id;
    void *owner;
    uint32_t token_idx;     /* TOKEN only */
    uint32_t cached_tokens; /* of the prompt, found in the prefix cache at first admission */
};

struct sim_engine_counters {
    uint64_t submitted_count;
    uint64_t finished_count;
    uint64_t aborted_count;
    uint64_t refused_count; /* submits that said ST_FULL or ST_TOOBIG */
    uint64_t preempted_count;
    uint64_t query_tokens;  /* looked up in the prefix cache, at first admission */
    uint64_t hit_tokens;    /* found there */
    uint64_t prompt_tokens; /* of requests whose prefill is done, cached ones included */
    uint64_t generated_tokens;
    uint64_t computed_tokens;   /* of prefill chunks, recomputation included */
    uint64_t recomputed_tokens; /* of those, computed before and lost by preemption */
    uint64_t iteration_count;
    uint64_t busy_us; /* sum of durations */
};

/* ST_INVAL (a limit is 0, over SIM_QUEUE_MAX, or budget_tokens < max_running), ST_NOMEM. */
MUST_CHECK enum status
sim_engine_new(struct sim_engine **ret, const struct mem *mem, const struct sim_engine_opts *opts);
void sim_engine_free(struct sim_engine *engine);

/* Queues a request. ST_TOOBIG: it could never fit into the KV memory. ST_FULL: queue_max waiting.
 * ST_INVAL: a length is 0. ST_NOMEM. */
MUST_CHECK enum status sim_engine_submit(struct sim_engine *engine,
                                         const struct sim_request_spec *spec,
                                         struct sim_request_id *ret);

/* Ends a request, its blocks are free at once; false when it has ended before. */
bool sim_engine_abort(struct sim_engine *engine, struct sim_request_id id);

/* Plans an iteration and says how long it takes (>= 1). ST_AGAIN: nothing to do. Not between begin
 * and end. O(running + admitted blocks). */
MUST_CHECK enum status sim_engine_begin(struct sim_engine *engine, uint64_t *ret_duration_us);

/* Completes the iteration that begin planned; *ret_count events, valid until the next begin. */
const struct sim_event *sim_engine_end(struct sim_engine *engine, size_t *ret_count);

bool sim_engine_is_iterating(const struct sim_engine *engine);
uint32_t sim_engine_running(const struct sim_engine *engine);
uint32_t sim_engine_waiting(const struct sim_engine *engine);
struct sim_kv_counts sim_engine_kv(const struct sim_engine *engine);
const struct sim_engine_counters *sim_engine_counters(const struct sim_engine *engine);
/* What the last begin planned. */
const struct sim_batch *sim_engine_batch(const struct sim_engine *engine);

/* Forgets cached blocks; false (and nothing done) while requests hold blocks. */
bool sim_engine_reset_cache(struct sim_engine *engine);

/* Walks everything; false when an invariant is broken. For tests and debug builds. */
bool sim_engine_check(const struct sim_engine *engine);

#endif
