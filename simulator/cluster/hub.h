/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator's and the node agent's cores, joined as the gateway joins them: what one wants is
 * told the other, until nothing is left. Requests that end without an answer are left in
 * lab->refusals. PURE. */
#ifndef SIMULATOR_CLUSTER_HUB_H
#define SIMULATOR_CLUSTER_HUB_H

#include "simulator/cluster/state.h"

/* ST_INVAL (unknown policy), ST_NOMEM. */
MUST_CHECK enum status lab_hub_init(struct lab *lab);
void lab_hub_fini(struct lab *lab);

/* The step that this session is at reaches the gateway. */
void lab_hub_arrive(struct lab *lab, struct lab_live *live);
/* The engine has its first token. */
void lab_hub_answered(struct lab *lab, const struct lab_live *live);
/* Its KV has arrived at the engine that it was given to. */
void lab_hub_moved(struct lab *lab, struct lab_live *live);
/* The engine has answered it in full. */
void lab_hub_done(struct lab *lab, struct lab_live *live, uint32_t cached_tokens);
void lab_hub_tick(struct lab *lab);

/* --- for faults --- */

/* Tells the coordinator and does what it wants. */
void lab_hub_tell(struct lab *lab, const struct coord_event *ev);
void lab_hub_tell_agent(struct lab *lab, const struct agent_event *ev);
/* The engine went away in the middle of this answer. */
void lab_hub_cut(struct lab *lab, struct lab_live *live);
void lab_hub_add_engine(struct lab *lab, uint32_t idx);
/* An operator takes it out. */
void lab_hub_remove_engine(struct lab *lab, uint32_t idx);

#endif
