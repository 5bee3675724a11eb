/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions and rows of a replay as members of its JSON report.
 * PURE. THREAD: any. */
#ifndef BENCH_REPLAY_REPORT_ROWS_H
#define BENCH_REPLAY_REPORT_ROWS_H

#include "bench/replay/plan.h"
#include "bench/replay/rows.h"

/* Appends `"sessions": [...], "rows": [...]`, without a comma around. ST_FULL, ST_NOMEM. */
MUST_CHECK enum status
report_rows(const struct plan *plan, const struct rows *rows, struct buf *out);

#endif
