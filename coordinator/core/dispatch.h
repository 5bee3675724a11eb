/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and effects: handing a step to an engine, taking it off, ending it.
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_DISPATCH_H
#define COORDINATOR_CORE_DISPATCH_H

#include "coordinator/core/state.h"

/* SUBMIT: the step's next attempt goes where it was placed. */
void coord_submit(struct coord_core *core,
                  struct coord_request *request,
                  const struct coord_placed *placed,
                  enum coord_branch branch,
                  uint64_t now_us);

/* REFUSE, with a Retry-After where waiting helps. */
void coord_refuse(struct coord_core *core,
                  struct request_id req,
                  enum coord_refuse why,
                  uint64_t now_us);

/* SETTLED for the step's attempt on its engine. done: its answer, NULL = none. */
void coord_settle(struct coord_core *core,
                  const struct coord_request *request,
                  const struct coord_step_done *done,
                  uint64_t now_us);

/* WITHDRAW for the step's attempt on its engine. */
void coord_withdraw(struct coord_core *core, const struct coord_request *request);

/* Takes the step off its engine; a draining engine may thereby be over. */
void coord_leave_engine(struct coord_core *core, struct coord_request *request, uint64_t now_us);

/* Writes the end into the receipt. */
void coord_close_receipt(struct coord_core *core,
                         const struct coord_request *request,
                         enum coord_result result,
                         uint64_t now_us);

/* Forgets a step that is on no engine. */
void coord_finish(struct coord_core *core, struct coord_request *request, uint64_t now_us);

/* Ends a step that is on no engine with REFUSE, and forgets it. */
void coord_finish_refused(struct coord_core *core,
                          struct coord_request *request,
                          enum coord_refuse why,
                          uint64_t now_us);

/* The session, that has nothing in flight, and all that is known of it. is_over: it would not have
 * come back. */
void coord_forget(struct coord_core *core,
                  struct coord_session *session,
                  bool is_over,
                  uint64_t now_us);

#endif
