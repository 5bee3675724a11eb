/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler of a modelled engine. Part of engine.c; nobody else includes it.
 * PURE. */
#ifndef SIMULATOR_MODEL_PLAN_H
#define SIMULATOR_MODEL_PLAN_H

#include <stdint.h>

struct sim_engine;

/* Chooses what the next iteration computes and takes the blocks for it; fills engine->batch. */
void sim_engine_plan(struct sim_engine *engine);

/* When time alone changes what could be planned next: a load ends, a pin expires. UINT64_MAX =
 * never. */
uint64_t sim_engine_next_at_us(const struct sim_engine *engine);

#endif
