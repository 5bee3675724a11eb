/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of one policy at one load over some seeds, beside those of the first policy.
 * PURE. THREAD: one owner. */
#ifndef BENCH_LAB_POOL_H
#define BENCH_LAB_POOL_H

#include "bench/lab/batch.h"
#include "bench/lab/boot.h"

/* Runs of one point and seed stand together, in the order of opts->policies; then the next seed,
 * then the next point. A point is a place of the sweep over memory with a load: those of one place
 * stand together. */
struct lab_report {
    const struct lab_options *opts;
    const struct batch *batch;
};

/* TCT up to this times what is expected counts as in time: the time alone, times the mean slowdown
 * of the first policy at the lowest load, with this memory and all seeds. */
#define POOL_EXPECTED_RATIO 1.5

struct pool {
    double mean_slowdown; /* of all sessions of all seeds, as the next one */
    double geomean_vs_first;
    double late_slowdown;  /* mean over seeds, as the next one */
    double hits_vs_belady; /* cached_share over that of the entry that has the same policy and
                              evicts as Belady; 0 = there is none */
    double share_within_expected; /* of all sessions, see POOL_EXPECTED_RATIO */
    double collapse_s;            /* mean over the seeds that collapse, see collapse.h */
    struct boot_ci slowdown_ci;
    struct boot_ci geomean_ci;
    double recovery_s; /* mean over the seeds that recover, see collapse.h */
    bool has_unlimited;
    uint32_t carries;   /* seeds with which it does */
    uint32_t collapsed; /* likewise, as the next one */
    uint32_t recovered;
};

static inline uint32_t pool_points(const struct lab_report *report)
{
    return lab_options_memories(report->opts) * report->opts->load_count;
}

static inline double pool_load(const struct lab_report *report, uint32_t point)
{
    return report->opts->loads[point % report->opts->load_count];
}

/* The run of these; seed: place in opts->seeds. */
const struct batch_run *
pool_run(const struct lab_report *report, uint32_t point, uint32_t seed, uint32_t policy);
/* The unlimited cache's; NULL = it is not among the policies. */
const struct batch_run *
pool_unlimited(const struct lab_report *report, uint32_t point, uint32_t seed);

/* Over seeds from .. from + count - 1. ST_NOMEM. */
MUST_CHECK enum status pool_make(const struct lab_report *report,
                                 uint32_t point,
                                 uint32_t policy,
                                 uint32_t from,
                                 uint32_t count,
                                 struct pool *ret);

#endif
