/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/retry.h"

enum { US_PER_MS = 1000, US_PER_S = 1000000 };

static const struct lab_retry retries[LAB_CLIENT_KINDS] = {
#define X(id, kind_name, kind_tries, first_ms, max_ms, jitter, after, cut) \
    [LAB_CLIENT_##id] = {.name = (kind_name),                              \
                         .tries = (kind_tries),                            \
                         .first_us = UINT64_C(first_ms) * US_PER_MS,       \
                         .max_us = UINT64_C(max_ms) * US_PER_MS,           \
                         .jitter_pct = (jitter),                           \
                         .after_max_s = (after),                           \
                         .retries_cut = (cut)},
#include "simulator/cluster/retry.def"
#undef X
};

const struct lab_retry *lab_retry_of(enum lab_client_kind kind)
{
    return &retries[kind];
}

uint64_t
lab_retry_wait_us(const struct lab_retry *retry, uint32_t tries, uint32_t after_s, struct rng *rng)
{
    if (after_s > 0 && after_s <= retry->after_max_s) {
        return (uint64_t)after_s * US_PER_S;
    }
    uint64_t wait_us = retry->first_us;
    for (uint32_t i = 1; i < tries && wait_us < retry->max_us; i++) {
        wait_us *= 2;
    }
    wait_us = wait_us < retry->max_us ? wait_us : retry->max_us;
    return wait_us - rng_below(rng, wait_us * retry->jitter_pct / 100 + 1);
}
