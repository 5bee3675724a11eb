/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events as bytes: where one ends in a stream that may be cut anywhere, and what its
 * lines say. Lines end in LF, CRLF or CR; an empty line ends an event (HTML standard, section 9.2).
 * PURE. THREAD: one owner. */
#ifndef COORDINATOR_IO_SSE_EVENT_H
#define COORDINATOR_IO_SSE_EVENT_H

#include "common/base/str.h"

/* Position in a stream; all zero at its start. */
struct sse_scan {
    bool is_in_line;  /* the current line has bytes */
    bool is_after_cr; /* the last byte was a CR: an LF that follows belongs to it */
};

/* Reads on until an event ends. Returns how many bytes of data[len] were read: up to and with the
 * empty line when *ret_is_end, else all. An LF of a CR that was the last byte read before is left
 * to the next call. */
size_t sse_scan_event(struct sse_scan *scan, const char *data, size_t len, bool *ret_is_end);

/* The lines of one event; strings are borrowed from it. */
struct sse_event {
    struct str name;     /* "" when there is no event line */
    struct str data;     /* of the first data line */
    uint32_t data_count; /* data lines; more than one: sse_event_join */
};

void sse_event_read(struct str event, struct sse_event *ret);
/* Appends the values of all data lines with LF between them. ST_NOMEM, ST_FULL. */
MUST_CHECK enum status sse_event_join(struct str event, struct buf *out);

#endif
