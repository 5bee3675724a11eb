/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's side of a step: one attempt after another, and the relay of the answer. Internal to
 * coordinator/io. THREAD: reactor. */
#ifndef COORDINATOR_IO_STEP_CALL_H
#define COORDINATOR_IO_STEP_CALL_H

#include "coordinator/io/front_state.h"

/* Sends the step to an engine. Failures become COORD_EV_ATTEMPT_FAILED. */
void step_call_start(struct step *step, struct engine_id engine, uint32_t attempt);
/* No other engine is left for an attempt whose answer is held: the client gets that answer. False
 * when none is held. */
bool step_call_relay_held(struct step *step);
/* Closes the attempt's connection, if one is open. */
void step_call_cancel(struct step *step);
/* The client has room again. */
void step_call_resume(struct step *step);

#endif
