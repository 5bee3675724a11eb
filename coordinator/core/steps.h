/* SPDX-License-Identifier: Apache-2.0 */
/* What the core does about steps: one function per event after its arrival. An accepted step ends
 * exactly once, by DONE, by GONE or by a REFUSE effect. Events of an old attempt, or of an unknown
 * step, are ignored.
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_STEPS_H
#define COORDINATOR_CORE_STEPS_H

#include "coordinator/core/state.h"

void coord_on_started(struct coord_core *core,
                      struct request_id req,
                      uint32_t attempt,
                      struct engine_id engine,
                      uint64_t now_us);
void coord_on_answered(struct coord_core *core,
                       struct request_id req,
                       uint32_t attempt,
                       uint64_t now_us);
void coord_on_done(struct coord_core *core, const struct coord_step_done *done, uint64_t now_us);
void coord_on_gone(struct coord_core *core, struct request_id req, uint64_t now_us);
void coord_on_failed(struct coord_core *core,
                     const struct coord_attempt_failed *failed,
                     uint64_t now_us);
void coord_on_node_refused(struct coord_core *core,
                           struct request_id req,
                           uint32_t attempt,
                           bool is_timeout,
                           uint64_t now_us);

/* Moves steps that wait for an engine which went down or away to others, as far as there are any
 * and effects have room. */
void coord_rehome(struct coord_core *core, uint64_t now_us);

#endif
