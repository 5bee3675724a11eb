/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a file or of memory, gzip (one or more members) or plain, read as a stream.
 * THREAD: one owner. LIMITS: line length, total bytes after inflating. */
#ifndef BENCH_REPLAY_LINES_H
#define BENCH_REPLAY_LINES_H

#include "common/base/err.h"
#include "common/base/str.h"

enum { LINES_LINE_MAX = 65536 };

/* Bytes after inflating that one source may give. */
#define LINES_TOTAL_MAX (UINT64_C(1) << 33)

struct lines;

/* ST_IO (cannot open; err), ST_NOMEM. */
MUST_CHECK enum status lines_open(struct lines **ret, const char *path, struct err *err);
/* data [len] is borrowed until lines_close. ST_NOMEM. */
MUST_CHECK enum status lines_open_mem(struct lines **ret, struct str data, struct err *err);
void lines_close(struct lines *lines);

/* The next line without its end (LF or CRLF), borrowed until the next call. ST_CLOSED: there is
 * none. ST_TOOBIG: longer than LINES_LINE_MAX, or LINES_TOTAL_MAX exceeded. ST_PROTO: broken gzip
 * data. ST_IO. All with err. */
MUST_CHECK enum status lines_next(struct lines *lines, struct str *ret, struct err *err);

/* Number of the line returned last, from 1. */
uint64_t lines_number(const struct lines *lines);

#endif
