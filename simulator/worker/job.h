/* SPDX-License-Identifier: Apache-2.0 */
/* One POST to a simulated engine, from its head to the end of its answer.
 *
 * reading the body -> (delayed) -> waiting and running in the engine -> answered, or aborted at any
 * point
 *
 * THREAD: reactor. OWNERSHIP: a job frees itself when its exchange closes. */
#ifndef SIMULATOR_WORKER_JOB_H
#define SIMULATOR_WORKER_JOB_H

#include "common/base/rng.h"
#include "common/io/reactor/http_server.h"
#include "simulator/worker/engine_clock.h"
#include "simulator/worker/fault.h"
#include "simulator/worker/metrics.h"
#include "simulator/worker/opts.h"
#include "simulator/worker/prompt.h"

enum { SIM_MODEL_BYTES = 256 };

/* What all jobs of an engine share. */
struct sim_jobs {
    struct loop *loop;
    struct sim_worker_opts opts; /* its strings are not valid; these are: */
    char model_text[SIM_MODEL_BYTES];
    struct str model;
    struct sim_fault fault;
    uint64_t wall_offset_us; /* wall clock minus the loop's */
    struct sim_engine *engine;
    struct sim_clock clock;
    struct sim_metrics metrics;
    struct rng rng;
    struct sim_out scratch; /* what is being rendered; never across calls */
    uint32_t count;         /* jobs alive */
    uint64_t taken_count;
    uint64_t gone_count;
    uint64_t tool_seq;
};

/* Takes the exchange over. api: of its path. */
void sim_job_start(struct sim_jobs *jobs, struct http_exchange *ex, enum sim_api api);

/* What the engine tells about a job (event->owner), and that it has planned an iteration: for the
 * clock. */
void sim_job_event(void *jobs, const struct sim_event *event);
void sim_job_iteration(void *jobs);

/* Answers an exchange that is no job. is_anthropic: shape of the body. */
void sim_respond_refusal(struct sim_jobs *jobs,
                         struct http_exchange *ex,
                         const struct sim_refusal *refusal,
                         bool is_anthropic);

#endif
