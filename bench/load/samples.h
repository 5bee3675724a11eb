/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of measured values and its quantiles. OWNERSHIP: values are the list's own.
 * THREAD: any. */
#ifndef BENCH_LOAD_SAMPLES_H
#define BENCH_LOAD_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct samples {
    double *values; /* [count] */
    size_t count;
    size_t cap;
};

void samples_add(struct samples *samples, double value);

void samples_fini(struct samples *samples);

/* Writes "NAME":{"n":..,"mean":..,"p50":..,"p90":..,"p99":..,"max":..} as a JSON member without a
 * comma; all null when there are no values. Sorts the list. Quantile = the value at place ceil(q
 * n). */
void samples_print(struct samples *samples, const char *name);

#endif
