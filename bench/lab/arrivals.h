/* SPDX-License-Identifier: Apache-2.0 */
/* Times between arrivals: exponential (Poisson), Gamma with a chosen coefficient of variation, or
 * recorded ones, played round and round from a place that is drawn.
 * PURE. THREAD: one owner. */
#ifndef BENCH_LAB_ARRIVALS_H
#define BENCH_LAB_ARRIVALS_H

#include "bench/lab/arrivals_times.h"
#include "common/base/rng.h"

struct arrivals {
    struct rng rng;
    double mean_s;
    double cv;                          /* 1 = Poisson */
    const struct arrivals_times *times; /* NULL = drawn */
    uint32_t next;                      /* of times */
};

/* mean_s, cv > 0. */
void arrivals_init(struct arrivals *arrivals, double mean_s, double cv, uint64_t seed);

/* Recorded waits instead of drawn ones; outlives arrivals. */
void arrivals_use(struct arrivals *arrivals, const struct arrivals_times *times);

/* Seconds to the next one. Gamma with shape 1 / cv^2: Marsaglia and Tsang, "A simple method for
 * generating gamma variables" (2000); below shape 1 by their remark (one shape higher, times
 * U^(1/shape)). */
double arrivals_next_s(struct arrivals *arrivals);

#endif
