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

/* Whose blocks the session's are. */
uint64_t lab_machine_chain(const struct lab_live *live);
/* Before the engine is told anything but a start: ends the run of iterations under way with the one
 * being computed, or tells it the time. */
void lab_machine_wake(struct lab *lab, uint32_t idx);
/* Decode iterations that are one event end with the one that is being computed now. */
void lab_machine_cut_run(struct lab *lab, uint32_t idx);

/* The step that its engine has ends there without an answer; false when it had ended. */
bool lab_machine_abort(struct lab *lab, struct lab_live *live);

/* An iteration is over: its events, valid until lab_machines_go. */
const struct sim_event *lab_machine_end(struct lab *lab, uint32_t idx, size_t *ret_count);

/* What is known of the future of the session's blocks, for eviction policies. Told when its request
 * has ended. */
void lab_machine_hint(struct lab *lab,
                      uint32_t idx,
                      const struct lab_live *live,
                      const struct sim_chain_hint *hint);

/* Engines that got work or ended an iteration begin the next one. */
void lab_machines_go(struct lab *lab);

/* Prompt tokens that this engine computed although some engine had done so for the session. */
uint64_t lab_machine_regenerated(const struct lab_machine *machine);

/* Hands the state of all engines to the plan's on_sample. */
void lab_machines_sample(struct lab *lab);

#endif
