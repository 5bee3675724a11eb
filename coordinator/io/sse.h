/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a server-sent event stream beside the relayed bytes: where events end, and what they say
 * about usage, finish reason, tool names and errors. Never changes bytes; events may be cut
 * anywhere.
 * THREAD: reactor. LIMITS: one partial event is kept up to SSE_EVENT_MAX bytes; longer ones are
 * skipped and counted. */
#ifndef COORDINATOR_IO_SSE_H
#define COORDINATOR_IO_SSE_H

#include "common/base/str.h"
#include "coordinator/core/event.h"
#include "coordinator/io/answer.h"
#include "coordinator/io/sse_event.h"
#include "coordinator/io/sse_shape.h"

enum { SSE_EVENT_MAX = 262144, SSE_HOLD_MAX = 65536 };

/* Incremental reader of one stream. Small when no event is partial. */
struct sse_reader {
    enum coord_route route;
    struct answer_facts facts;
    struct buf partial;     /* the unfinished event */
    uint64_t skipped_count; /* events over SSE_EVENT_MAX */
    struct sse_scan scan;
    struct sse_shape shape; /* of the last ordinary event */
    bool is_skipping;       /* inside an event over SSE_EVENT_MAX */
    bool is_started;        /* the first event is over: no byte order mark can come any more */
};

void sse_reader_init(struct sse_reader *reader, enum coord_route route);
void sse_reader_fini(struct sse_reader *reader);
/* Feeds bytes of the stream. ST_NOMEM only loses facts, never bytes. */
void sse_reader_feed(struct sse_reader *reader, const char *data, size_t len);
/* The stream ended: an unterminated last event is still read. */
void sse_reader_end(struct sse_reader *reader);

/* Takes the usage-only event that we asked for out of a client's stream. Bytes of an event that is
 * cut are held until it is clear that it is not that one (at most SSE_HOLD_MAX). */
struct sse_filter {
    struct buf held; /* the unfinished event */
    struct sse_scan scan;
    struct sse_shape shape; /* of the last event that passed */
    bool is_passing; /* gave up on the current event (over SSE_HOLD_MAX, or not usage): it passes as
                        it comes */
    bool is_cr_taken; /* the event taken out ended in a CR: an LF that follows goes too */
};

void sse_filter_init(struct sse_filter *filter);
void sse_filter_fini(struct sse_filter *filter);
/* Appends to out what may go to the client now. ST_NOMEM. */
MUST_CHECK enum status
sse_filter_feed(struct sse_filter *filter, const char *data, size_t len, struct buf *out);
/* End of the stream: appends what is still held. */
MUST_CHECK enum status sse_filter_end(struct sse_filter *filter, struct buf *out);

#endif
