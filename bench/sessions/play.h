/* SPDX-License-Identifier: Apache-2.0 */
/* Many recorded tasks at once in virtual time, through the coordinator's core, without ids.
 * THREAD: one owner. */
#ifndef BENCH_SESSIONS_PLAY_H
#define BENCH_SESSIONS_PLAY_H

#include "bench/replay/trace.h"
#include "bench/sessions/score.h"

struct play_options {
    uint32_t sessions; /* tasks of a round, sub-agents not counted */
    const char *skip;  /* a source to leave out, NULL = none */
    uint64_t seed;
    uint64_t start_us;  /* mean time between two starts */
    uint64_t idle_us;   /* sessions.idle_ms */
    double same_share;  /* of tasks: begin exactly as the one before */
    double near_share;  /* of tasks: begin as the one before but for the last NEAR_BLOCKS */
    double retry_share; /* of requests: sent again after the client left or the engine failed */
    double again_share; /* of requests: sent again after a complete answer */
    double aux_share;   /* of steps: a short call with another system prompt beside it */
};

/* One round; blocks may be empty. Any failure with err. */
MUST_CHECK enum status play_round(const struct trace *trace,
                                  const struct blocks *blocks,
                                  const struct play_options *opts,
                                  struct score *score,
                                  struct err *err);

#endif
