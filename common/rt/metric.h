/* SPDX-License-Identifier: Apache-2.0 */
/* Counters, gauges and histograms of this process, declared in metrics.def, shown as Prometheus
 * text. A new metric is one line there. Updates are relaxed atomic adds on a shard of the calling
 * thread.
 *
 * THREAD: any.
 * LIMITS: fixed storage, no allocation but by the render functions. */
#ifndef COMMON_RT_METRIC_H
#define COMMON_RT_METRIC_H

#include "common/base/str.h"
#include "common/rt/metric_id.h"

/* Adds n to a counter. a, b: values of its labels, 0 for NONE. */
void metric_add(enum metric id, unsigned a, unsigned b, uint64_t n);

static inline void metric_inc(enum metric id, unsigned a, unsigned b)
{
    metric_add(id, a, b, 1);
}

/* Moves a gauge up or down. A gauge is either moved or set, never both. */
void metric_move(enum metric id, unsigned a, unsigned b, int64_t delta);

/* Sets a gauge, or a counter that mirrors a count kept elsewhere. */
void metric_set(enum metric id, unsigned a, unsigned b, uint64_t value);

/* Adds one observation to a histogram, in its unit (us or bytes). O(buckets). */
void metric_observe(enum metric id, unsigned a, unsigned b, uint64_t value);

/* Present value of a counter or gauge (as int64_t for gauges); number of observations of a
 * histogram. */
uint64_t metric_read(enum metric id, unsigned a, unsigned b);

/* Sum of one cell over the threads; for rendering (cells: metric_table.h). */
uint64_t metric_cell(unsigned cell);

/* Appends all metrics in the Prometheus text format 0.0.4. ST_OK, ST_FULL, ST_NOMEM. */
MUST_CHECK enum status metric_render(struct buf *out);

/* Appends docs/metrics.md. Same statuses. */
MUST_CHECK enum status metric_docs(struct buf *out);

#endif
