/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded pseudo-random numbers: xoshiro256** seeded by splitmix64 (Blackman and Vigna, 2018,
 * "Scrambled linear pseudorandom number generators"). Not for secrets.
 * PURE. THREAD: one owner. Same seed, same sequence, on every machine. */
#ifndef COMMON_BASE_RNG_H
#define COMMON_BASE_RNG_H

#include "common/base/status.h"

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *rng, uint64_t seed);
uint64_t rng_u64(struct rng *rng);
/* Uniform in [0, n); n >= 1; unbiased. */
uint64_t rng_below(struct rng *rng, uint64_t n);
/* Uniform in [0, 1). */
double rng_unit(struct rng *rng);
/* Exponential with this mean (> 0). */
double rng_exp(struct rng *rng, double mean);

#endif
