/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine counts, as Prometheus text under vLLM's names.
 * THREAD: one owner. */
#ifndef SIMULATOR_WORKER_METRICS_H
#define SIMULATOR_WORKER_METRICS_H

#include "simulator/model/engine.h"
#include "simulator/worker/out.h"

enum { SIM_HIST_BOUNDS_MAX = 24 };

/* Counts of values up to each bound; the bounds are those of vLLM. */
struct sim_hist {
    uint64_t
        counts[SIM_HIST_BOUNDS_MAX]; /* not cumulative; beyond the last bound only in total_count */
    uint64_t total_count;
    double sum;
};

enum sim_hist_kind {
    SIM_HIST_PROMPT_TOKENS,
    SIM_HIST_OUTPUT_TOKENS,
    SIM_HIST_ITERATION_TOKENS,
    SIM_HIST_TTFT_S,
    SIM_HIST_INTER_TOKEN_S,
    SIM_HIST_E2E_S,
    SIM_HIST_PREFILL_COMPUTED_TOKENS,
};

enum { SIM_HIST_COUNT = SIM_HIST_PREFILL_COMPUTED_TOKENS + 1 };

struct sim_metrics {
    struct sim_hist hists[SIM_HIST_COUNT];
    uint64_t stopped_count;
    uint64_t cut_count; /* finished by length */
    uint64_t aborted_count;
    uint64_t error_count;
    uint64_t queue_refused_count;
};

void sim_metrics_observe(struct sim_metrics *metrics, enum sim_hist_kind kind, double value);

/* The whole page. */
void sim_metrics_write(const struct sim_metrics *metrics,
                       const struct sim_engine *engine,
                       uint32_t block_tokens,
                       struct str model,
                       struct sim_out *out);

#endif
