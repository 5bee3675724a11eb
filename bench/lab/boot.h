/* SPDX-License-Identifier: Apache-2.0 */
/* Confidence intervals by the bootstrap: seeds are drawn with replacement, then sessions within
 * each (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, percentile method).
 * PURE. THREAD: any. */
#ifndef BENCH_LAB_BOOT_H
#define BENCH_LAB_BOOT_H

#include "common/base/mem.h"

enum { BOOT_ROUNDS = 400 };

struct boot_group {
    const double *values; /* [count] */
    uint32_t count;
};

struct boot_ci {
    double low;
    double high;
};

/* 95 % interval of the mean of all values; groups that are empty are passed over; 0, 0 without any
 * value. Cost: BOOT_ROUNDS times all values. */
struct boot_ci boot_mean(const struct boot_group *groups, uint32_t group_count, uint64_t seed);

#endif
