/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/samples.h"

#include "bench/load/wire.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void samples_add(struct samples *samples, double value)
{
    if (samples->count == samples->cap) {
        samples->cap = samples->cap == 0 ? 1024 : samples->cap * 2;
        samples->values = wire_grow(samples->values, samples->cap * sizeof(double));
    }
    samples->values[samples->count++] = value;
}

void samples_fini(struct samples *samples)
{
    free(samples->values);
    *samples = (struct samples){0};
}

static int value_compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double quantile(const struct samples *samples, double q)
{
    size_t place = (size_t)ceil(q * (double)samples->count);

    return samples->values[place == 0 ? 0 : place - 1];
}

void samples_print(struct samples *samples, const char *name)
{
    double sum = 0;

    if (samples->count == 0) {
        printf("\"%s\":{\"n\":0,\"mean\":null,\"p50\":null,\"p90\":null,\"p99\":null,\"max\":null}",
               name);
        return;
    }
    qsort(samples->values, samples->count, sizeof(double), value_compare);
    for (size_t i = 0; i < samples->count; i++) {
        sum += samples->values[i];
    }
    printf("\"%s\":{\"n\":%zu,\"mean\":%.6f,\"p50\":%.6f,\"p90\":%.6f,\"p99\":%.6f,\"max\":%.6f}",
           name, samples->count, sum / (double)samples->count, quantile(samples, 0.5),
           quantile(samples, 0.9), quantile(samples, 0.99), samples->values[samples->count - 1]);
}
