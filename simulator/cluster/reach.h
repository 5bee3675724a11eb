/* SPDX-License-Identifier: Apache-2.0 */
/* How the engines are just now by the scenario, and so what gets through between the gateway and
 * them. Nothing is told to anybody here, letters are posted.
 * PURE. */
#ifndef SIMULATOR_CLUSTER_REACH_H
#define SIMULATOR_CLUSTER_REACH_H

#include "simulator/cluster/net.h"

struct lab_weather {
    bool is_down;
    bool is_removed;
    uint32_t slow_per_mille;
    uint64_t cut_until_us; /* 0 = gateway and engine can talk */
};

/* O(faults). */
struct lab_weather lab_reach_weather(const struct lab *lab, uint32_t engine);
/* Is the engine one of the fault's? */
bool lab_reach_is_of(const struct lab_fault *fault, uint32_t engine);

/* Whose request it is, NULL when nobody waits for it any more; is_started: this attempt. */
struct lab_live *
lab_reach_find(const struct lab *lab, struct request_id req, uint32_t attempt, bool is_started);

/* The node lets an attempt go to its engine, or has its KV moved there: does anybody wait for it?
 * If not, it is taken back a moment later. */
bool lab_reach_wants(struct lab *lab, const struct agent_effect *effect);

/* Can it connect to the engine? If not, the attempt fails when the gateway notices. */
bool lab_reach_connects(struct lab *lab, uint32_t engine, const struct lab_live *live);

/* An engine's event cannot reach the gateway now: it is held back. */
bool lab_reach_holds(struct lab *lab, uint32_t engine, const struct sim_event *ev);

/* The answer to the coordinator's probe; false: it comes later. */
bool lab_reach_probed(struct lab *lab,
                      struct engine_id engine,
                      bool wants_models,
                      struct coord_event *ret);

#endif
