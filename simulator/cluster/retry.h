/* SPDX-License-Identifier: Apache-2.0 */
/* How kinds of clients try again (retry.def): how often, how long they wait.
 * PURE. THREAD: any. */
#ifndef SIMULATOR_CLUSTER_RETRY_H
#define SIMULATOR_CLUSTER_RETRY_H

#include "common/base/rng.h"

enum lab_client_kind {
#define X(id, name, tries, first_ms, max_ms, jitter_pct, after_max_s, retries_cut) LAB_CLIENT_##id,
#include "simulator/cluster/retry.def"
#undef X
};

enum {
    LAB_CLIENT_KINDS = 0
#define X(id, name, tries, first_ms, max_ms, jitter_pct, after_max_s, retries_cut) +1
#include "simulator/cluster/retry.def"
#undef X
};

struct lab_retry {
    const char *name;
    uint32_t tries; /* the first one too */
    uint64_t first_us;
    uint64_t max_us;      /* the wait doubles up to here */
    uint32_t jitter_pct;  /* up to this much less, percent */
    uint32_t after_max_s; /* a longer Retry-After is not obeyed */
    bool retries_cut;     /* also when an answer broke off in the middle */
};

const struct lab_retry *lab_retry_of(enum lab_client_kind kind);

/* Wait before the next try, us; tries: made so far, >= 1. after_s: Retry-After, 0 = not said. */
uint64_t
lab_retry_wait_us(const struct lab_retry *retry, uint32_t tries, uint32_t after_s, struct rng *rng);

#endif
