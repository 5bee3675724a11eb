/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs when: the root sessions drawn from a trace with their arrival times and tenants, and all
 * their sub-agents, as one table of runs. Same trace, options and seed: same plan. PURE. THREAD:
 * one owner. */
#ifndef BENCH_REPLAY_PLAN_H
#define BENCH_REPLAY_PLAN_H

#include "bench/replay/options.h"
#include "bench/replay/prompt.h"
#include "bench/replay/trace.h"

struct plan_run {
    uint32_t session;     /* of the trace */
    uint32_t parent;      /* run, TRACE_NONE = a root */
    uint32_t child_first; /* run, TRACE_NONE = end */
    uint32_t sibling_next;
    uint32_t step_count; /* steps to do (after --max-steps) */
    uint32_t tenant;     /* 0.. */
    uint64_t arrival_us; /* roots: since the start */
    uint64_t seed;       /* of its text */
    uint64_t sys_seed;   /* the same for all runs with this system prompt */
};

struct plan {
    const struct mem *mem;
    const struct trace *trace;
    const struct replay_options *opts;
    struct plan_run *runs; /* [count]; roots first, in order of arrival */
    uint32_t count;
    uint32_t cap;
    uint32_t root_count;
    uint64_t step_total; /* of all runs */
};

/* ST_NOMEM; ST_TOOBIG: more runs than can be. trace and opts are borrowed. */
MUST_CHECK enum status plan_make(struct plan *ret,
                                 const struct mem *mem,
                                 const struct trace *trace,
                                 const struct replay_options *opts);
void plan_fini(struct plan *plan);

/* What prompt_advance needs for this step of the run. */
struct prompt_step plan_prompt_step(const struct plan *plan, uint32_t run, uint32_t step);
/* Recorded answer length, scaled; >= 1. */
uint32_t plan_output_tokens(const struct plan *plan, uint32_t run, uint32_t step);
/* The wait after this step, cut and scaled. */
uint64_t plan_gap_us(const struct plan *plan, uint32_t run, uint32_t step);

#endif
