/* SPDX-License-Identifier: Apache-2.0 */
/* What the engines of a run held and did every TIMELINE_EVERY_US: how full KV memory was, and on
 * request each sample.
 * PURE. THREAD: one owner. */
#ifndef BENCH_LAB_TIMELINE_H
#define BENCH_LAB_TIMELINE_H

#include "simulator/cluster/cluster.h"

#define TIMELINE_EVERY_US UINT64_C(10000000)

struct timeline {
    uint32_t engines;
    uint64_t until_us;        /* later samples do not count for the next three */
    double kv_sum;            /* of the engines' kv_used_ratio */
    double kv_max;            /* of all */
    uint64_t kv_count;        /* samples of one engine */
    struct lab_sample *items; /* [count * engines], the engines of a moment side by side,
                                 one every TIMELINE_EVERY_US from 0 on */
    uint32_t count;
    uint32_t cap;
    bool keeps_all;
    bool is_short; /* memory ran out: some are missing */
};

/* A lab_sample_fn; ctx is a timeline with engines, until_us and keeps_all set. */
void timeline_add(void *ctx, uint64_t at_us, const struct lab_sample *engines);
void timeline_fini(struct timeline *timeline);

static inline double timeline_kv_mean(const struct timeline *timeline)
{
    return timeline->kv_count > 0 ? timeline->kv_sum / (double)timeline->kv_count : 0;
}

#endif
