/* SPDX-License-Identifier: Apache-2.0 */
/* What the runs came to, as a table, as JSON, and as the data of bench/lab/plot.py.
 * PURE. THREAD: one owner. */
#ifndef BENCH_LAB_REPORT_H
#define BENCH_LAB_REPORT_H

#include "bench/lab/pool.h"

/* Each adds to out; as buf_add. */
MUST_CHECK enum status lab_report_table(const struct lab_report *report, struct buf *out);
MUST_CHECK enum status lab_report_json(const struct lab_report *report, struct buf *out);
/* policy,load,kv_scale,tier_tokens,seed,at_s,tct_s,slowdown,state of each session, with a heading.
 */
MUST_CHECK enum status lab_report_sessions(const struct lab_report *report, struct buf *out);
/* policy,load,kv_scale,tier_tokens,seed,at_s,engine,running,waiting,paused,kv_used,
 * regenerated_tokens of each engine at each moment of the timelines, with a heading. */
MUST_CHECK enum status lab_report_engines(const struct lab_report *report, struct buf *out);

#endif
