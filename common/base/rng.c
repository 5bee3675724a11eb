/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/rng.h"

#include <math.h>

static uint64_t splitmix64(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void rng_init(struct rng *rng, uint64_t seed)
{
    uint64_t state = seed;
    for (int i = 0; i < 4; i++) {
        rng->s[i] = splitmix64(&state);
    }
}

static uint64_t rotl64(uint64_t x, unsigned k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t out = rotl64(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl64(s[3], 45);
    return out;
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
    ASSERT(n >= 1);
    /* Values under 2^64 mod n would make the low residues more likely: draw again. */
    uint64_t min = (UINT64_MAX - n + 1) % n;
    uint64_t x;
    do {
        x = rng_u64(rng);
    } while (x < min);
    return x % n;
}

double rng_unit(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1.0p-53;
}

double rng_exp(struct rng *rng, double mean)
{
    /* 1 - u is in (0, 1], so the logarithm is finite. */
    return -mean * log(1.0 - rng_unit(rng));
}
