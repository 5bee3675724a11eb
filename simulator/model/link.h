/* SPDX-License-Identifier: Apache-2.0 */
/* A way for KV blocks between two memories: a bandwidth and a latency, one transfer after the
 * other.
 *
 * PURE. THREAD: any. */
#ifndef SIMULATOR_MODEL_LINK_H
#define SIMULATOR_MODEL_LINK_H

#include "common/base/mem.h"

#define SIM_LINK_BYTES_PER_S_MAX UINT64_C(10000000000000)

struct sim_link_opts {
    uint64_t bytes_per_s; /* 1 to SIM_LINK_BYTES_PER_S_MAX */
    uint64_t latency_us;  /* of each load, before its bytes */
    bool has_write_time;  /* writes hold the link up too; else there is a way of its own for them */
};

struct sim_link {
    struct sim_link_opts opts;
    uint64_t free_at_us; /* what was asked of it is done */
};

bool sim_link_is_sound(const struct sim_link_opts *opts);

/* Asks for so many bytes now; when they are there: after what was asked before, the latency and
 * bytes / bytes_per_s, rounded up to a microsecond. bytes < 2^64 / 10^6 times the bandwidth. */
uint64_t sim_link_load(struct sim_link *link, uint64_t bytes, uint64_t now_us);

/* Sends so many bytes now, which nobody waits for; takes time with has_write_time only. */
void sim_link_write(struct sim_link *link, uint64_t bytes, uint64_t now_us);

#endif
