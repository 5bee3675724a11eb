/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rt/metric_table.h"

#include <stddef.h>

#define METRIC_VALUE_TEXT(label, value, text) text,
#define LABEL(id, text, list)                                           \
    static const char *const values_##id[] = {list(METRIC_VALUE_TEXT)}; \
    static const struct metric_label label_##id = {text, values_##id, METRIC_##id##_COUNT};
#include "common/rt/metric_label.def"
#undef LABEL

/* 1, 2.5, 5 steps from half a millisecond to an hour: first tokens and whole answers both fit. */
static const uint64_t time_bounds[] = {500,      1000,      2500,      5000,       10000,
                                       25000,    50000,     100000,    250000,     500000,
                                       1000000,  2500000,   5000000,   10000000,   30000000,
                                       60000000, 120000000, 300000000, 1800000000, 3600000000};
static const uint64_t byte_bounds[] = {256,    1024,    4096,    16384,    65536,
                                       262144, 1048576, 4194304, 16777216, 67108864};

_Static_assert(sizeof(time_bounds) / sizeof(time_bounds[0]) == METRIC_BOUNDS_TIME,
               "metric_table.h");
_Static_assert(sizeof(byte_bounds) / sizeof(byte_bounds[0]) == METRIC_BOUNDS_BYTES,
               "metric_table.h");

enum { BUCKETS_TIME, BUCKETS_BYTES };

static const struct metric_buckets buckets_of[] = {
    [BUCKETS_TIME] = {time_bounds, METRIC_BOUNDS_TIME},
    [BUCKETS_BYTES] = {byte_bounds, METRIC_BOUNDS_BYTES},
};

const struct metric_info metric_infos[METRIC_COUNT] = {
#define PLAIN(kind, id, name, label1, label2, unit, help, action)          \
    [METRIC_##id] = {kind, name, &label_##label1, &label_##label2,   NULL, \
                     unit, help, action,          METRIC_FIRST_##id, 1},
#define COUNTER(id, name, label1, label2, unit, help, action) \
    PLAIN(METRIC_KIND_COUNTER, id, name, label1, label2, unit, help, action)
#define GAUGE(id, name, label1, label2, unit, help, action) \
    PLAIN(METRIC_KIND_GAUGE, id, name, label1, label2, unit, help, action)
#define HISTOGRAM(id, name, label1, label2, buckets, unit, help, action) \
    [METRIC_##id] = {METRIC_KIND_HISTOGRAM,                              \
                     name,                                               \
                     &label_##label1,                                    \
                     &label_##label2,                                    \
                     &buckets_of[BUCKETS_##buckets],                     \
                     unit,                                               \
                     help,                                               \
                     action,                                             \
                     METRIC_FIRST_##id,                                  \
                     METRIC_BOUNDS_##buckets + 2},
#include "common/rt/metrics.def"
#undef COUNTER
#undef GAUGE
#undef HISTOGRAM
#undef PLAIN
};
