/* SPDX-License-Identifier: Apache-2.0 */
/* What policies ask of engines beside running steps, and what only those who know the future can be
 * told.
 * PURE. */
#ifndef SIMULATOR_CLUSTER_ADVICE_H
#define SIMULATOR_CLUSTER_ADVICE_H

#include "simulator/cluster/state.h"

/* Session KV between engines: the median of the SAGA paper, 230 ms, for a session of 43,000 tokens
 * of Llama-3-70B (14.1 GB). */
#define LAB_MOVE_BYTES_PER_S 61e9

/* The engine keeps the session's KV until then; 0 = no longer. */
void lab_advise_pin(struct lab *lab, uint32_t engine, struct lab_live *live, uint64_t until_us);
/* The engine loads the session's KV from slower memory. */
void lab_advise_prefetch(struct lab *lab, uint32_t engine, struct lab_live *live);

/* Time that the KV of the session's last step takes to another engine, us. */
uint64_t lab_move_us(const struct lab *lab, const struct lab_live *live);
/* It arrives. False when there is no room for any of it. */
bool lab_move_end(struct lab *lab, uint32_t engine, const struct lab_live *live);

/* Seconds of an engine's work that the session's steps from this one on would take alone with all
 * their context in its cache. */
double lab_remaining_s(const struct lab *lab, const struct lab_live *live);
/* When the request after this one reaches the gateway, sub-agents not waited for; UINT64_MAX =
 * never. */
uint64_t lab_next_at_us(const struct lab *lab, const struct lab_live *live);

#endif
