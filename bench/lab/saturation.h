/* SPDX-License-Identifier: Apache-2.0 */
/* Searches L*: the highest rate of sessions that an unlimited, free cache carries, that is with a
 * mean slowdown over the late part of the run (metrics.h) of at most twice its value at low load,
 * and not rising.
 * THREAD: one owner; runs go to as many threads as batch->jobs. */
#ifndef BENCH_LAB_SATURATION_H
#define BENCH_LAB_SATURATION_H

#include "bench/lab/batch.h"

#include <stdio.h>

/* The search stops when the bounds are this close. */
#define SATURATION_WITHIN 1.03

struct saturation {
    double rate_per_s;
    double low_slowdown; /* at low load */
};

/* batch: without runs. Each try is a line on log (NULL = quiet). opts->rate_per_s: where the search
 * begins. As batch_run_all; ST_TOOBIG: no end was found. */
MUST_CHECK enum status saturation_find(struct batch *batch,
                                       const struct draw_opts *opts,
                                       FILE *log,
                                       struct saturation *ret,
                                       struct err *err);

#endif
