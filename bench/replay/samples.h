/* SPDX-License-Identifier: Apache-2.0 */
/* Measured values of one kind: exact quantiles up to SAMPLES_MAX values, beyond that of a uniform
 * random sample of that size (Vitter, "Random sampling with a reservoir", algorithm R). PURE.
 * THREAD: one owner. LIMITS: SAMPLES_MAX. */
#ifndef BENCH_REPLAY_SAMPLES_H
#define BENCH_REPLAY_SAMPLES_H

#include "common/base/mem.h"
#include "common/base/rng.h"

enum { SAMPLES_MAX = 1000000 };

struct samples {
    const struct mem *mem;
    double *values; /* [count], in no order */
    uint32_t count;
    uint32_t cap;
    uint64_t seen_count; /* values added, kept or not */
    uint64_t lost_count; /* not kept for want of memory */
    double sum;
    double max;
    bool is_sorted;
    struct rng rng;
};

void samples_init(struct samples *samples, const struct mem *mem, uint64_t seed);
void samples_fini(struct samples *samples);
void samples_add(struct samples *samples, double value);
/* Nearest rank: the least value that at least p (0..1] of the values do not exceed; 0 without
 * values. Sorts when values were added since. */
double samples_quantile(struct samples *samples, double p);
/* 0 without values. */
double samples_mean(const struct samples *samples);

#endif
