/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/arrivals.h"

#include <math.h>

void arrivals_init(struct arrivals *arrivals, double mean_s, double cv, uint64_t seed)
{
    *arrivals = (struct arrivals){.mean_s = mean_s, .cv = cv};
    rng_init(&arrivals->rng, seed);
}

void arrivals_use(struct arrivals *arrivals, const struct arrivals_times *times)
{
    arrivals->times = times;
    arrivals->next = (uint32_t)rng_below(&arrivals->rng, times->count);
}

/* Standard normal: Marsaglia's polar method, one of the pair. */
static double normal(struct rng *rng)
{
    for (;;) {
        double x = 2 * rng_unit(rng) - 1;
        double y = 2 * rng_unit(rng) - 1;
        double s = x * x + y * y;
        if (s > 0 && s < 1) {
            return x * sqrt(-2 * log(s) / s);
        }
    }
}

/* Gamma of shape >= 1 and scale 1. */
static double gamma_above_one(struct rng *rng, double shape)
{
    double d = shape - 1.0 / 3;
    double c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(rng);
        double v = 1 + c * x;
        double u = 1 - rng_unit(rng);
        v = v * v * v;
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v)) {
            return d * v;
        }
    }
}

double arrivals_next_s(struct arrivals *arrivals)
{
    struct rng *rng = &arrivals->rng;
    double cv = arrivals->cv;
    if (arrivals->times != NULL) {
        arrivals->next = (arrivals->next + 1) % arrivals->times->count;
        return arrivals->times->waits[arrivals->next] * arrivals->mean_s;
    }
    if (fabs(cv - 1) < 1e-9) {
        return rng_exp(rng, arrivals->mean_s);
    }
    double shape = 1 / (cv * cv);
    double x = shape >= 1 ? gamma_above_one(rng, shape)
                          : gamma_above_one(rng, shape + 1) * pow(1 - rng_unit(rng), 1 / shape);
    return x * arrivals->mean_s / shape;
}
