/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/samples.h"

#include <math.h>
#include <stdlib.h>

void samples_init(struct samples *samples, const struct mem *mem, uint64_t seed)
{
    *samples = (struct samples){.mem = mem};
    rng_init(&samples->rng, seed);
}

void samples_fini(struct samples *samples)
{
    if (samples != NULL) {
        mem_free(samples->mem, samples->values, samples->cap * sizeof(double));
        samples->values = NULL;
        samples->count = 0;
        samples->cap = 0;
    }
}

static bool grow(struct samples *samples)
{
    if (samples->count < samples->cap) {
        return true;
    }
    uint32_t cap = samples->cap == 0 ? 256 : samples->cap * 2;
    cap = cap > SAMPLES_MAX ? SAMPLES_MAX : cap;
    double *p = mem_resize(samples->mem, samples->values, samples->cap * sizeof(double),
                           cap * sizeof(double));
    if (p == NULL) {
        return false;
    }
    samples->values = p;
    samples->cap = cap;
    return true;
}

void samples_add(struct samples *samples, double value)
{
    samples->seen_count++;
    samples->sum += value;
    samples->max = samples->seen_count == 1 || value > samples->max ? value : samples->max;
    if (samples->count < SAMPLES_MAX) {
        if (!grow(samples)) {
            samples->lost_count++;
            return;
        }
        samples->values[samples->count++] = value;
        samples->is_sorted = false;
        return;
    }
    /* Any slot may be replaced, so that sorting in between does no harm. */
    uint64_t at = rng_below(&samples->rng, samples->seen_count);
    if (at < SAMPLES_MAX) {
        samples->values[at] = value;
        samples->is_sorted = false;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double samples_quantile(struct samples *samples, double p)
{
    if (samples->count == 0) {
        return 0;
    }
    if (!samples->is_sorted) {
        qsort(samples->values, samples->count, sizeof(double), by_value);
        samples->is_sorted = true;
    }
    double rank = ceil(p * samples->count);
    uint32_t at = rank < 1 ? 0 : (uint32_t)rank - 1;
    return samples->values[at < samples->count ? at : samples->count - 1];
}

double samples_mean(const struct samples *samples)
{
    return samples->seen_count == 0 ? 0 : samples->sum / (double)samples->seen_count;
}
