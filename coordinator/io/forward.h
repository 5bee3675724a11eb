/* SPDX-License-Identifier: Apache-2.0 */
/* Which header fields cross the gateway, and which are ours.
 * THREAD: any. */
#ifndef COORDINATOR_IO_FORWARD_H
#define COORDINATOR_IO_FORWARD_H

#include "common/io/reactor/http_head.h"
#include "coordinator/io/fleet_io.h"

/* What is added to every answer. */
struct forward_marks {
    const char *request; /* x-request-id */
    const char *engine;  /* x-saga-engine, NULL = hidden */
    const char *session; /* x-saga-session, NULL or "" = none */
    const char *receipt; /* x-saga-receipt, NULL = not asked for */
    bool is_sse;         /* add the hints that keep proxies from buffering */
};

/* What is added to a request. */
struct forward_own {
    const char *request; /* x-request-id */
    const char *session; /* x-session-id, "" = none */
    uint64_t content_length;
};

/* Writes request line and header lines for the engine, empty line included. Dropped: connection
 * fields, credentials of the client, x-saga-*, Expect, Accept-Encoding (answers are read), Host,
 * and what is meant for routers (identity.def). Added: the engine's Host and key, and own.
 * ST_NOMEM. */
MUST_CHECK enum status forward_request(const struct http_head *head,
                                       const struct fleet_engine *engine,
                                       const struct forward_own *own,
                                       struct buf *out);

/* Writes the answer's header lines for the client, without framing fields: the engine's own but for
 * connection fields and those in marks. ST_NOMEM. */
MUST_CHECK enum status
forward_response(const struct http_head *head, const struct forward_marks *marks, struct buf *out);
/* Only the lines of marks. */
MUST_CHECK enum status forward_marks(const struct forward_marks *marks, struct buf *out);

#endif
