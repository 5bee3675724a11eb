/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the metrics and of their label values, from the .def files.
 * THREAD: any (constant). */
#ifndef COMMON_RT_METRIC_ID_H
#define COMMON_RT_METRIC_ID_H

/* Values of the labels: METRIC_ROUTE_CHAT, METRIC_OUTCOME_OK, ... numbered from 0 per label. */
#define METRIC_VALUE_ENUM(label, value, text) METRIC_##label##_##value,
#define METRIC_VALUE_ONE(label, value, text)  +1
#define LABEL(id, text, list)         \
    enum { list(METRIC_VALUE_ENUM) }; \
    enum { METRIC_##id##_COUNT = 0 list(METRIC_VALUE_ONE) };
#include "common/rt/metric_label.def"
#undef LABEL

/* Ids: METRIC_REQUESTS, METRIC_TTFT, ... */
enum metric {
#define COUNTER(id, name, label1, label2, unit, help, action)            METRIC_##id,
#define GAUGE(id, name, label1, label2, unit, help, action)              METRIC_##id,
#define HISTOGRAM(id, name, label1, label2, buckets, unit, help, action) METRIC_##id,
#include "common/rt/metrics.def"
#undef COUNTER
#undef GAUGE
#undef HISTOGRAM
};

#endif
