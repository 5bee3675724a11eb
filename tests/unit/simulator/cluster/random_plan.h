/* SPDX-License-Identifier: Apache-2.0 */
/* Plans drawn at random: sessions, sub-agents, shared system prompts, few engines, little memory,
 * any policy. THREAD: one. */
#ifndef TESTS_UNIT_SIMULATOR_CLUSTER_RANDOM_PLAN_H
#define TESTS_UNIT_SIMULATOR_CLUSTER_RANDOM_PLAN_H

#include "common/base/rng.h"
#include "tests/unit/simulator/cluster/fixture.h"

/* The same seed gives the same plan. */
void random_plan(struct fix *fix, uint64_t seed);

#endif
