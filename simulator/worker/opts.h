/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulated engine can be told.
 * THREAD: any. */
#ifndef SIMULATOR_WORKER_OPTS_H
#define SIMULATOR_WORKER_OPTS_H

#include "simulator/model/engine.h"

/* Strings are borrowed; sim_worker_new copies them. */
struct sim_worker_opts {
    struct sim_engine_opts engine;
    const char *model;    /* name that is served, at most 255 bytes */
    const char *api_key;  /* NULL = none; else /v1/... needs it as a bearer token or x-api-key */
    const char *fault;    /* what goes wrong (fault.h), NULL = nothing */
    double fault_ratio;   /* share of requests that it hits, 0..1 */
    double speed;         /* modelled seconds per real second; 0 = as fast as possible */
    uint64_t seed;        /* of replies and of fault_ratio */
    uint32_t mean_tokens; /* of replies that nothing limits */
    uint32_t tool_every; /* every N-th request that brings tools is answered by a call; 0 = never */
    uint32_t requests_max; /* in progress, waiting and still arriving ones included */
    uint64_t body_bytes;   /* of one request */
};

/* Model "sim", profile "default", speed 1, seed 1, replies of about 64 tokens, no faults. */
static inline void sim_worker_opts_init(struct sim_worker_opts *opts)
{
    *opts = (struct sim_worker_opts){
        .model = "sim",
        .speed = 1.0,
        .seed = 1,
        .mean_tokens = 64,
        .requests_max = 16384,
        .body_bytes = 64 << 20,
    };
    sim_engine_opts_init(&opts->engine, sim_profile_at(0));
}

#endif
