/* SPDX-License-Identifier: Apache-2.0 */
/* What the JSON of an answer says: one event of a stream (called by the reader of sse.h) or a whole
 * body.
 * THREAD: any. */
#ifndef COORDINATOR_IO_ANSWER_H
#define COORDINATOR_IO_ANSWER_H

#include "common/base/str.h"
#include "coordinator/core/event.h"
#include "coordinator/io/answer_facts.h"

/* Adds what one event says. name: of its event line, may be ""; data: its joined data, neither
 * empty nor [DONE]. An ordinary piece of text is recognised by its bytes; only what matters is
 * parsed. True when it was an ordinary piece. */
bool answer_read_event(enum coord_route route,
                       struct str name,
                       struct str data,
                       struct answer_facts *facts);
/* An event that was too long to be kept: only its name is known. */
void answer_skip_event(struct str name, struct answer_facts *facts);
/* The stream is over: usage that was only given at its start counts now. */
void answer_end_stream(struct answer_facts *facts);

/* Reads usage, finish reason, tools and errors from a complete JSON answer into fresh facts.
 * Anything odd just leaves them unset. */
void answer_read_body(enum coord_route route,
                      const char *body,
                      size_t len,
                      struct answer_facts *facts);

#endif
