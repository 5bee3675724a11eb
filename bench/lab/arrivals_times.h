/* SPDX-License-Identifier: Apache-2.0 */
/* When requests really came, from a file with a time stamp per line: the waits between them, to be
 * played at any mean rate with the same burstiness.
 * THREAD: one owner while it is read, any after. LIMITS: ARRIVALS_TIMES_MAX. */
#ifndef BENCH_LAB_ARRIVALS_TIMES_H
#define BENCH_LAB_ARRIVALS_TIMES_H

#include "bench/replay/lines.h"

enum { ARRIVALS_TIMES_MAX = 1 << 24 };

struct arrivals_times {
    float *waits; /* [count] over their mean, in the file's order */
    uint32_t count;
    uint32_t cap;
};

/* CSV, plain or gzip: the first column is "2023-11-16 18:15:46.68" (as in the Azure LLM inference
 * traces of 2023) or a number of seconds, ascending; a first line that is neither is a heading.
 * ST_INVAL with err ("FILE:LINE: .."), ST_NOMEM, as lines_next. */
MUST_CHECK enum status
arrivals_times_load(struct arrivals_times *ret, const char *path, struct err *err);
MUST_CHECK enum status arrivals_times_read(struct arrivals_times *ret,
                                           const char *name,
                                           struct lines *lines,
                                           struct err *err);
void arrivals_times_fini(struct arrivals_times *times);

#endif
