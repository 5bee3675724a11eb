/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay has to say: while it runs, and at its end. Text only; the caller writes it.
 * PURE. THREAD: one owner. */
#ifndef BENCH_REPLAY_REPORT_H
#define BENCH_REPLAY_REPORT_H

#include "bench/replay/options.h"
#include "bench/replay/plan.h"
#include "bench/replay/rows.h"
#include "bench/replay/stats.h"
#include "common/base/str.h"

/* All there is to say something about. */
struct report {
    const struct replay_options *opts;
    struct stats *stats;     /* its samples get sorted */
    const struct plan *plan; /* with rows */
    const struct rows *rows; /* NULL = not asked for */
    const char *model;
    const char *trace_name;
    uint32_t agent_total; /* sub-agents planned */
    uint32_t in_flight;
    uint32_t waiting;
    double tokens_per_s; /* just now, for the live forms */
    bool is_bound_complete;
    bool is_stopped_early; /* Ctrl-C */
};

/* Lines that report_live writes. */
enum { REPORT_LIVE_LINES = 4 };

/* The table to redraw: exactly REPORT_LIVE_LINES lines of at most width columns. ST_NOMEM, ST_FULL.
 */
MUST_CHECK enum status report_live(const struct report *report, uint32_t width, struct buf *out);
/* One line of the same. */
MUST_CHECK enum status report_line(const struct report *report, struct buf *out);
/* The tables at the end. */
MUST_CHECK enum status report_text(const struct report *report, struct buf *out);

#endif
