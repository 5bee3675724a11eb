/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.def as data: what each metric is and which cells hold it. Only metric*.c includes this.
 * THREAD: any (constant). */
#ifndef COMMON_RT_METRIC_TABLE_H
#define COMMON_RT_METRIC_TABLE_H

#include "common/rt/metric_id.h"

#include <stdint.h>

enum metric_kind { METRIC_KIND_COUNTER, METRIC_KIND_GAUGE, METRIC_KIND_HISTOGRAM };

struct metric_label {
    const char *text;          /* "" = no label */
    const char *const *values; /* [count] */
    unsigned count;
};

struct metric_buckets {
    const uint64_t *bounds; /* [count] upper bounds, ascending, in the metric's unit */
    unsigned count;
};

struct metric_info {
    enum metric_kind kind;
    const char *name; /* without saga_ */
    const struct metric_label *label1;
    const struct metric_label *label2;
    const struct metric_buckets *buckets; /* histograms only */
    const char *unit;
    const char *help;
    const char *action;
    unsigned first_cell; /* of this metric's label combinations */
    unsigned cells_each; /* per combination: 1, or buckets + 2 (beyond, sum) */
};

enum {
    METRIC_COUNT = 0
#define COUNTER(id, name, label1, label2, unit, help, action)            +1
#define GAUGE(id, name, label1, label2, unit, help, action)              +1
#define HISTOGRAM(id, name, label1, label2, buckets, unit, help, action) +1
#include "common/rt/metrics.def"
#undef COUNTER
#undef GAUGE
#undef HISTOGRAM
};

/* Bounds of each kind of histogram. */
enum { METRIC_BOUNDS_TIME = 20, METRIC_BOUNDS_BYTES = 10 };

/* Cells of all metrics in a row: each FIRST follows the LAST of the metric before it. */
#define METRIC_CELLS_OF(id, label1, label2, each) \
    METRIC_FIRST_##id,                            \
        METRIC_LAST_##id =                        \
            METRIC_FIRST_##id + METRIC_##label1##_COUNT * METRIC_##label2##_COUNT * (each)-1,

enum {
#define COUNTER(id, name, label1, label2, unit, help, action) METRIC_CELLS_OF(id, label1, label2, 1)
#define GAUGE(id, name, label1, label2, unit, help, action)   METRIC_CELLS_OF(id, label1, label2, 1)
#define HISTOGRAM(id, name, label1, label2, buckets, unit, help, action) \
    METRIC_CELLS_OF(id, label1, label2, METRIC_BOUNDS_##buckets + 2)
#include "common/rt/metrics.def"
#undef COUNTER
#undef GAUGE
#undef HISTOGRAM
    METRIC_CELL_COUNT
};

extern const struct metric_info metric_infos[METRIC_COUNT];

#endif
