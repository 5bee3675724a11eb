/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the laboratory, several at a time: one for each load, seed and policy.
 * THREAD: one owner; the runs themselves are spread over threads. */
#ifndef BENCH_LAB_BATCH_H
#define BENCH_LAB_BATCH_H

#include "bench/lab/entry.h"
#include "bench/lab/metrics.h"
#include "bench/lab/tenants.h"
#include "bench/lab/timeline.h"

/* One way from client to engine. */
#define BATCH_NETWORK_US 1000

/* What the runs of one load and seed have in common. */
struct batch_case {
    double load; /* share of L*, 0 = not known */
    double rate_per_s;
    uint64_t seed;
    struct draw draw;
};

struct batch_run {
    const struct batch_case *of;
    const struct lab_entry *entry;
    struct lab_engine_spec spec;
    struct sim_engine_opts engine; /* what the spec makes */
    struct timeline timeline;      /* of its engines, see batch.keeps_timeline */
    struct metrics metrics;
    struct tenants tenants;
    struct metrics_session *sessions; /* [of->draw.arrival_count] */
    uint64_t event_hash;
    enum status status;
};

struct batch {
    const struct workload *workload;
    const uint64_t *alone_us;        /* by lab_session.recorded, see batch_alone */
    struct sim_engine_opts alone;    /* the engine that sessions are alone on */
    const struct scenario *scenario; /* NULL = none */
    uint32_t engines;
    uint32_t jobs;
    double hours;           /* 0 = to the end of the last session */
    uint64_t network_us;    /* one way from client to engine */
    struct batch_run *runs; /* [run_count] */
    uint32_t run_count;
    bool shows_progress;
    bool keeps_timeline; /* the whole of it, not only what metrics need */
};

/* TCT alone of each recorded root [workload->session_count], freed by the caller. Roots that do not
 * fit fail. As lab_alone_us. */
MUST_CHECK enum status batch_alone(const struct batch *batch, uint64_t *ret, struct err *err);

/* Runs all; each has its status, and the first bad one comes back with err. */
MUST_CHECK enum status batch_run_all(struct batch *batch, struct err *err);
/* Gives back the runs' sessions and timelines. */
void batch_release(struct batch *batch);

#endif
