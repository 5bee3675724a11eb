/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a replay as one JSON object: parameters, counts, quantiles. Times in seconds.
 * PURE. THREAD: one owner. */
#ifndef BENCH_REPLAY_REPORT_JSON_H
#define BENCH_REPLAY_REPORT_JSON_H

#include "bench/replay/report.h"

/* Appends the object and a newline. ST_NOMEM, ST_FULL. */
MUST_CHECK enum status report_json(const struct report *report, struct buf *out);

#endif
