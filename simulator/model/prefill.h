/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that only compute prompts, for others that decode (disaggregated prefill): a prompt goes
 * to the one that would be done with it first, and its KV over that one's link to the engine that
 * generates. As between vLLM instances the first token is generated there again, from the KV.
 *
 * PURE. THREAD: one owner, who tells the time. */
#ifndef SIMULATOR_MODEL_PREFILL_H
#define SIMULATOR_MODEL_PREFILL_H

#include "simulator/model/engine.h"

struct sim_prefill;

struct sim_prefill_opts {
    uint32_t engines; /* 0 = none */
    /* A prompt of which the decoding engine lacks fewer tokens is computed there: as Dynamo's
     * max_local_prefill_length. */
    uint32_t min_tokens;
    struct sim_link_opts link; /* of each */
};

/* A prompt whose KV has come. */
struct sim_prefill_done {
    void *owner;
    uint32_t blocks;        /* leading ones that the decoding engine can have now */
    uint32_t cached_tokens; /* that were not computed */
};

struct sim_prefill_counts {
    uint64_t prompts; /* handed over */
    uint64_t cached_tokens;
    uint64_t computed_tokens;
    uint64_t moved_bytes;
};

/* ST_INVAL (no engine, a bad link, or as sim_engine_new), ST_NOMEM. */
MUST_CHECK enum status sim_prefill_new(struct sim_prefill **ret,
                                       const struct mem *mem,
                                       const struct sim_prefill_opts *opts,
                                       const struct sim_engine_opts *engine);
void sim_prefill_free(struct sim_prefill *pool);

/* Does a prompt of which the decoding engine lacks so many tokens belong here? */
bool sim_prefill_wants(const struct sim_prefill *pool, uint32_t missing_tokens);

/* Takes the prompt of this request, of which the decoding engine has so many leading blocks: to the
 * engine with the least tokens to compute, this prompt's included; of equals the first. Borrows its
 * hashes until it is done. ST_TOOBIG, ST_INVAL, ST_NOMEM. */
MUST_CHECK enum status sim_prefill_submit(struct sim_prefill *pool,
                                          const struct sim_request_spec *spec,
                                          uint32_t there_blocks,
                                          uint64_t now_us);

/* Ends what ends by now and begins what can; after a submit and at each sim_prefill_next_at_us. */
void sim_prefill_advance(struct sim_prefill *pool, uint64_t now_us);

/* When something happens next, UINT64_MAX = never. */
uint64_t sim_prefill_next_at_us(const struct sim_prefill *pool);

/* A prompt whose KV has come by now, in the order in which they do; false when there is none. */
bool sim_prefill_pop(struct sim_prefill *pool, uint64_t now_us, struct sim_prefill_done *ret);

/* Prompts that were taken and not popped. */
uint32_t sim_prefill_held(const struct sim_prefill *pool);

struct sim_prefill_counts sim_prefill_counts(const struct sim_prefill *pool);

/* Walks everything; false when an invariant is broken. */
bool sim_prefill_check(const struct sim_prefill *pool);

#endif
