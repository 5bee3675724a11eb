/* SPDX-License-Identifier: Apache-2.0 */
/* Learns on one half of the sessions and forecasts the other, for each source of a trace.
 * Sessions are halved by the hash of their id, sub-agents with their parent.
 * THREAD: one owner. LIMITS: EVAL_SOURCES_MAX. */
#ifndef BENCH_AEG_EVAL_H
#define BENCH_AEG_EVAL_H

#include "bench/aeg/score.h"
#include "bench/replay/trace.h"

enum { EVAL_SOURCES_MAX = 32, EVAL_STAGES = 5 };

/* A forecaster that knows only other sources, after it has seen some sessions of this one. */
struct eval_stage {
    uint32_t from; /* sessions, from 1 */
    uint32_t to;
    struct score score;
};

struct eval_source {
    const char *name; /* of the trace */
    uint32_t training_count;
    uint32_t session_count;                /* forecast */
    uint32_t step_count;                   /* of those */
    struct score online;                   /* learns as it goes */
    struct score frozen;                   /* knows the training halves only */
    struct score cold;                     /* learned on all other sources, then as it goes */
    struct eval_stage stages[EVAL_STAGES]; /* of `cold` */
};

struct eval {
    const struct mem *mem;
    struct eval_source sources[EVAL_SOURCES_MAX];
    uint32_t count;
};

/* Told before each pass; pass counts from 1. */
typedef void (*eval_progress_fn)(
    void *ctx, const char *source, const char *doing, uint32_t pass, uint32_t passes);

/* trace is borrowed by the result. ST_TOOBIG: too many sources. ST_NOMEM. To be ended with
 * eval_fini, also on failure. */
MUST_CHECK enum status eval_run(struct eval *ret,
                                const struct mem *mem,
                                const struct trace *trace,
                                eval_progress_fn progress,
                                void *ctx);
void eval_fini(struct eval *eval);

/* Least Brier score of the three baselines. */
double eval_best_base(const struct score *score, uint32_t horizon);

#endif
