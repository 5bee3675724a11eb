/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a modelled engine and what comes out, as plain data.
 * PURE.
 *
 * THREAD: any. */
#ifndef SIMULATOR_MODEL_ENGINE_TYPES_H
#define SIMULATOR_MODEL_ENGINE_TYPES_H

#include "simulator/model/pins.h"
#include "simulator/model/profile.h"

enum { SIM_QUEUE_MAX = 1 << 28 };

/* A request of one engine; never reused by it. 0 = none. */
struct sim_request_id {
    uint64_t v;
};

/* Which computed blocks can be hit later. */
enum sim_admission {
    SIM_ADMIT_ALL,    /* all that are full: vLLM */
    SIM_ADMIT_SECOND, /* those whose hash was computed before, as far as their prefix can be hit:
                         what is used once takes no room from others */
    SIM_ADMIT_STATES, /* as in models whose other layers keep one state instead of a KV cache
                         (Marconi, arXiv 2411.19379): all blocks, but a hit ends where a state was
                         kept. That is where a request ended, and where one met the end of what
                         others had in common with it. Not with tiers. */
};

struct sim_engine_opts {
    struct sim_profile profile; /* kv_tokens, max_running and budget_tokens are taken from here */
    const struct sim_evict *evict; /* NULL = lru */
    uint32_t block_tokens;         /* 16 in vLLM */
    uint32_t queue_max;        /* waiting requests; with preempted ones up to max_running more */
    uint32_t watermark_blocks; /* kept free when a request is admitted beside others */
    bool has_prefix_cache;
    enum sim_admission admission;
    struct sim_tiers_opts tiers; /* not with keeps_all, nor without a prefix cache */
    bool has_pins;  /* sim_engine_pin may be called; block by block eviction costs a bit more */
    bool keeps_all; /* a bound: a request's given_tokens, and after a preemption all that it had
                       computed, are there for free; they take their blocks as ever */
};

struct sim_request_spec {
    void *owner;                  /* handed back in events; never looked at */
    uint64_t chain;               /* whose blocks they are when it has ended (evict.h), e.g. a
                                     session; 0 = all that say 0 together */
    const uint64_t *block_hashes; /* [block_hash_count] chain over prompt and output, none 0;
                                     borrowed until the request has ended */
    uint32_t block_hash_count;    /* full blocks the hashes cover; later ones are never cached */
    uint32_t prompt_tokens;       /* >= 1 */
    uint32_t output_tokens;       /* >= 1, the number that will be generated */
    uint32_t given_tokens;        /* of the prompt, with opts.keeps_all */
    int64_t priority; /* smaller first, of equals the earlier arrival; as vLLM's priority policy */
};

enum sim_event_kind {
    SIM_EVENT_PREEMPTED, /* lost its blocks; will be recomputed */
    SIM_EVENT_TOKEN,     /* output token token_idx (0 = the first); in runs only 0 */
    SIM_EVENT_FINISHED,  /* follows the last token in the same iteration; the request is gone */
};

struct sim_event {
    enum sim_event_kind kind;
    struct sim_request_id id;
    void *owner;
    uint32_t token_idx;     /* TOKEN only */
    uint32_t cached_tokens; /* of the prompt, found in the prefix cache or a tier at first admission
                             */
};

struct sim_engine_counters {
    uint64_t submitted_count;
    uint64_t finished_count;
    uint64_t aborted_count;
    uint64_t refused_count; /* submits that said ST_FULL or ST_TOOBIG */
    uint64_t preempted_count;
    uint64_t query_tokens;  /* looked up in the prefix cache, at first admission */
    uint64_t hit_tokens;    /* found there or in a tier */
    uint64_t prompt_tokens; /* of requests whose prefill is done, cached ones included */
    uint64_t generated_tokens;
    uint64_t computed_tokens;   /* of prefill chunks, recomputation included */
    uint64_t recomputed_tokens; /* of those, computed before and lost by preemption */
    uint64_t iteration_count;
    uint64_t busy_us;              /* sum of durations */
    uint64_t load_count;           /* requests that waited for blocks from a tier */
    uint64_t load_wait_us;         /* with nothing to compute meanwhile */
    uint64_t prefetch_blocks;      /* that sim_engine_prefetch began to load */
    uint64_t prefetch_lost_blocks; /* of those, given up before they came */
    uint64_t received_blocks;      /* placed by sim_engine_receive */
    uint64_t unadmitted_blocks;    /* full ones that opts.admission kept out */
};

#endif
