/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a step: answers, errors before and inside a stream, keep-alive comments.
 * Internal to coordinator/io. THREAD: reactor. */
#ifndef COORDINATOR_IO_STEP_REPLY_H
#define COORDINATOR_IO_STEP_REPLY_H

#include "coordinator/io/front_state.h"

struct step_error {
    int status;
    const char *code;
    const char *message;
    uint32_t retry_after_s; /* 0 = no such field */
};

/* The one place that changes step->state; asserts step_state.def. */
void step_move(struct step *step, enum step_state next);

/* Gives the client its error and ends the step: as an answer of its own, as an event in a stream
 * that is open, or by breaking off an answer that has begun otherwise. */
void step_reply_error(struct step *step, const struct step_error *error);
/* An answer that broke off after bytes of it were sent: an error event in a stream, else an
 * improper end. */
void step_reply_cut(struct step *step, const char *message);
/* Gives step->fields as the head of the answer. content_length -1 = unknown. */
void step_reply_begin(struct step *step, int status, int64_t content_length);
/* Body bytes of the answer. */
void step_reply_data(struct step *step, const struct iovec *iov, int n, bool is_last);
/* Tells the core that the step is over (once; nothing when it does not know the step). */
void step_post_done(struct step *step, enum coord_outcome outcome);
/* Starts the comments' clock for a stream, as the configuration has it. */
void step_keepalive_start(struct step *step);
/* Names and marks for header lines. */
struct forward_marks step_marks(const struct step *step, bool is_sse);

#endif
