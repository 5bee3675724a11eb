/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of one policy at one load over some seeds, beside those of the first policy.
 * PURE. THREAD: one owner. */
#ifndef BENCH_LAB_POOL_H
#define BENCH_LAB_POOL_H

#include "bench/lab/boot.h"
#include "bench/lab/options.h"

/* Runs of one load and seed stand together, in the order of opts->policies; then the next seed,
 * then the next load. */
struct lab_report {
    const struct lab_options *opts;
    const struct batch *batch;
};

struct pool {
    double mean_slowdown; /* of all sessions of all seeds, as the next one */
    double geomean_vs_first;
    double late_slowdown; /* mean over seeds */
    struct boot_ci slowdown_ci;
    struct boot_ci geomean_ci;
    bool has_unlimited;
    uint32_t carries; /* seeds with which it does */
};

/* The run of these; seed: place in opts->seeds. */
const struct batch_run *
pool_run(const struct lab_report *report, uint32_t load, uint32_t seed, uint32_t policy);
/* The unlimited cache's; NULL = it is not among the policies. */
const struct batch_run *
pool_unlimited(const struct lab_report *report, uint32_t load, uint32_t seed);

/* Over seeds from .. from + count - 1. ST_NOMEM. */
MUST_CHECK enum status pool_make(const struct lab_report *report,
                                 uint32_t load,
                                 uint32_t policy,
                                 uint32_t from,
                                 uint32_t count,
                                 struct pool *ret);

#endif
