/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that come into GPU memory without being computed, and that no request waits for yet. Part
 * of engine.c; nobody else includes it.
 * PURE. */
#ifndef SIMULATOR_MODEL_FETCH_H
#define SIMULATOR_MODEL_FETCH_H

#include "simulator/model/engine_state.h"

/* As sim_engine_prefetch and sim_engine_receive. */
uint32_t
sim_fetch_begin(struct sim_engine *engine, const uint64_t *hashes, uint32_t n, uint64_t chain);
uint32_t
sim_fetch_receive(struct sim_engine *engine, const uint64_t *hashes, uint32_t n, uint64_t chain);

/* Those that have arrived by now become cached blocks. */
void sim_fetch_end_due(struct sim_engine *engine);

/* Gives up the one that was begun last; false when there is none. */
bool sim_fetch_cancel(struct sim_engine *engine);
void sim_fetch_cancel_all(struct sim_engine *engine);

/* How many blocks, most at most, are on their way for a request with so many hits. */
uint32_t sim_fetch_coming(const struct sim_engine *engine,
                          const struct request *req,
                          uint32_t hit,
                          uint32_t most);

/* The request, which holds its hits, takes over what is on its way for its chain and follows them,
 * most blocks at most: how many, and when they are there. */
uint32_t sim_fetch_take_over(struct sim_engine *engine,
                             struct request *req,
                             uint32_t most,
                             uint64_t *ret_at_us);

/* When the next one arrives, UINT64_MAX = none is on its way. */
uint64_t sim_fetch_next_at_us(const struct sim_engine *engine);

/* Sound, and how many references they hold. */
bool sim_fetch_check(const struct sim_engine *engine, uint64_t *ret_refs);

#endif
