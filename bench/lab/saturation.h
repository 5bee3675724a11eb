/* SPDX-License-Identifier: Apache-2.0 */
/* Searches L*: the highest rate of sessions that an unlimited, free cache carries, that is with a
 * mean slowdown over the late part of the run (metrics.h) of at most twice its value at low load,
 * and not rising with any seed.
 * THREAD: one owner; runs go to as many threads as there are jobs. */
#ifndef BENCH_LAB_SATURATION_H
#define BENCH_LAB_SATURATION_H

#include "bench/lab/setup.h"

#include <stdio.h>

/* The search stops when the bounds are this close. */
#define SATURATION_WITHIN 1.03

struct saturation {
    double rate_per_s;
    double low_slowdown; /* at low load */
};

/* setup is loaded, its first entry is what carries. The search begins at from_per_s. Each try is a
 * line on log (NULL = quiet). As batch_run_all; ST_TOOBIG: no end was found. */
MUST_CHECK enum status saturation_find(
    struct lab_setup *setup, double from_per_s, FILE *log, struct saturation *ret, struct err *err);

#endif
