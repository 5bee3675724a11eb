/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a step: from the request's head to the end of its exchange. Internal to
 * coordinator/io. THREAD: reactor. */
#ifndef COORDINATOR_IO_STEP_H
#define COORDINATOR_IO_STEP_H

#include "coordinator/io/front_state.h"

/* Takes an exchange on a step route; answers with an error when it cannot. */
void step_take(struct front *front,
               struct http_exchange *ex,
               enum coord_route route,
               const char *name);
void step_placed(struct step *step, const char *session, const char *receipt);
void step_run(struct step *step, struct engine_id engine, uint32_t attempt);
void step_refuse(struct step *step, const struct front_refusal *refusal);
/* Ends a step whose front goes away. */
void step_drop(struct step *step);

#endif
