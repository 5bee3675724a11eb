/* SPDX-License-Identifier: Apache-2.0 */
/* One modelled inference engine in virtual time: a waiting queue by priority and arrival,
 * continuous batching with chunked prefill, paged KV memory with a prefix cache, preemption by
 * recompute. It knows no text: a request is two lengths and a chain of block hashes.
 *
 * PURE. THREAD: one owner. LIMITS: max_running, queue_max, KV blocks.
 *
 * Use: submit and abort at any time; when idle or after an end, begin (or begin_run) starts an
 * iteration and says how long it takes; that much later end says what came out. Each request that
 * was accepted ends exactly once: by SIM_EVENT_FINISHED or by a sim_engine_abort that returns true.
 */
#ifndef SIMULATOR_MODEL_ENGINE_H
#define SIMULATOR_MODEL_ENGINE_H

#include "simulator/model/engine_types.h"

struct sim_engine;

/* 16-token blocks, 4096 waiting, no watermark, prefix cache on, the given profile. */
void sim_engine_opts_init(struct sim_engine_opts *opts, const struct sim_profile *profile);

/* ST_INVAL (a limit is 0, over SIM_QUEUE_MAX, or budget_tokens < max_running), ST_NOMEM. */
MUST_CHECK enum status
sim_engine_new(struct sim_engine **ret, const struct mem *mem, const struct sim_engine_opts *opts);
void sim_engine_free(struct sim_engine *engine);

/* Queues a request, outside of runs (cut_run). ST_TOOBIG: it could never fit into the KV memory.
 * ST_FULL: queue_max waiting. ST_INVAL: a length is 0. ST_NOMEM. */
MUST_CHECK enum status sim_engine_submit(struct sim_engine *engine,
                                         const struct sim_request_spec *spec,
                                         struct sim_request_id *ret);

/* Ends a request outside of runs (cut_run), its blocks are free at once; false when it has ended
 * before. */
bool sim_engine_abort(struct sim_engine *engine, struct sim_request_id id);

/* Plans an iteration and says how long it takes (>= 1). While all that runs waits for blocks from a
 * tier, that is the time until the first of them goes on: an iteration that computes nothing.
 * ST_AGAIN: nothing to do. Not between begin and end. O(running + admitted blocks). */
MUST_CHECK enum status sim_engine_begin(struct sim_engine *engine, uint64_t *ret_duration_us);

/* Like begin, for owners who do not need every token: when the iteration only decodes, it goes on
 * into the next ones while those would do the same in the same blocks, until one in which a request
 * ends or fills a block, or whose end reaches max_us (UINT64_MAX = no limit). Then one end follows
 * for all of them: state and times are those of single iterations, but of the tokens only first
 * ones are reported. Counters and requests lag behind meanwhile, KV blocks do not. ST_AGAIN:
 * nothing to do. O(running + iterations), the latter with a small constant. */
MUST_CHECK enum status
sim_engine_begin_run(struct sim_engine *engine, uint64_t max_us, uint64_t *ret_duration_us);

/* Must precede a submit or an abort while a run is under way: ends it with the iteration that is
 * being computed elapsed_us after its begin. Where nothing is computed but blocks are loaded, it
 * ends at once; without the cut what is submitted waits for the end. Gives the duration of what is
 * left, counted from the begin too; never less than elapsed_us unless that is past the end. */
uint64_t sim_engine_cut_run(struct sim_engine *engine, uint64_t elapsed_us);

/* Completes what begin planned; *ret_count events, valid until the next begin. */
const struct sim_event *sim_engine_end(struct sim_engine *engine, size_t *ret_count);

/* Tells the time (it never goes back); what the engine does moves it by the duration of iterations.
 * Eviction policies and pins look at it. */
void sim_engine_set_now(struct sim_engine *engine, uint64_t now_us);

/* What its owner knows about a chain whose requests have ended; forgotten when the chain runs again
 * or has lost its last block. */
void sim_engine_hint(struct sim_engine *engine, uint64_t chain, const struct sim_chain_hint *hint);

/* Keeps the unreferenced blocks of a chain (not 0), and those that its requests will leave, from
 * eviction until then; UINT64_MAX = for good, 0 = unpin. Forgotten when a request of the chain is
 * admitted. Where nothing runs and the first in the queue fits only without pins, those that expire
 * first are broken; so they are when the only running request needs a block. Only with
 * opts.has_pins and outside of runs (cut_run). ST_FULL: as many pins as blocks. ST_NOMEM. */
MUST_CHECK enum status sim_engine_pin(struct sim_engine *engine, uint64_t chain, uint64_t until_us);

/* How many leading blocks of the prompt are in GPU memory, of those that a request could hit now;
 * *ret_tier_blocks are those behind them that the tiers have. Changes nothing. */
uint32_t sim_engine_match(const struct sim_engine *engine,
                          const struct sim_request_spec *spec,
                          uint32_t *ret_tier_blocks);

/* Loads those of hashes[n], a chain, that follow what is in GPU memory and that the tiers have,
 * into room that nobody references; gives how many blocks are on their way. They become cached
 * blocks of the chain; a request of it that is admitted meanwhile waits for them. Given up when a
 * running request, or the only one that waits, needs the room. Outside of runs (cut_run). O(n). */
uint32_t
sim_engine_prefetch(struct sim_engine *engine, const uint64_t *hashes, uint32_t n, uint64_t chain);

/* The KV of hashes[n], a chain, has come from another engine: what is not there becomes cached
 * blocks of the chain, in room that nobody references; gives how many. Outside of runs (cut_run).
 * O(n). */
uint32_t
sim_engine_receive(struct sim_engine *engine, const uint64_t *hashes, uint32_t n, uint64_t chain);

/* What the tiers gave and got; zero without any. */
struct sim_tiers_counts sim_engine_tiers(const struct sim_engine *engine);
/* The host tier's blocks. */
struct sim_store_counts sim_engine_host(const struct sim_engine *engine);

/* Zero without opts.has_pins. Pinned blocks count as used in sim_engine_kv. */
struct sim_pin_counts sim_engine_pins(const struct sim_engine *engine);

bool sim_engine_is_iterating(const struct sim_engine *engine);
uint32_t sim_engine_running(const struct sim_engine *engine);
uint32_t sim_engine_waiting(const struct sim_engine *engine);
struct sim_kv_counts sim_engine_kv(const struct sim_engine *engine);
const struct sim_engine_counters *sim_engine_counters(const struct sim_engine *engine);
/* What the last begin planned. */
const struct sim_batch *sim_engine_batch(const struct sim_engine *engine);

/* Forgets cached and pinned blocks and the host tier's; false (and nothing done) while requests
 * hold blocks. */
bool sim_engine_reset_cache(struct sim_engine *engine);

/* Forgets what no request holds; requests go on with what they have. */
void sim_engine_lose_cache(struct sim_engine *engine);

/* Walks everything; false when an invariant is broken. For tests and debug builds. */
bool sim_engine_check(const struct sim_engine *engine);

#endif
