/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of a cluster: what they are given, and their iterations on the timeline: those in
 * which nobody comes or goes are one event. PURE. */
#ifndef SIMULATOR_CLUSTER_MACHINE_H
#define SIMULATOR_CLUSTER_MACHINE_H

#include "simulator/cluster/state.h"

/* As sim_engine_new. */
MUST_CHECK enum status lab_machines_init(struct lab *lab);
void lab_machines_fini(struct lab *lab);

/* The node lets a step go to its engine. ST_TOOBIG: it can never hold it. ST_FULL, ST_NOMEM. */
MUST_CHECK enum status lab_machine_start(struct lab *lab, uint32_t idx, struct lab_live *live);

/* An iteration is over: its events, valid until lab_machines_go. */
const struct sim_event *lab_machine_end(struct lab *lab, uint32_t idx, size_t *ret_count);

/* What will become of the session's blocks, for eviction policies that can do more than real ones:
 * when its next request is due, UINT64_MAX = never. Told when its request has ended. */
void lab_machine_hint(struct lab *lab, const struct lab_live *live, uint64_t next_use_at_us);

/* Engines that got work or ended an iteration begin the next one. */
void lab_machines_go(struct lab *lab);

#endif
