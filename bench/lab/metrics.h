/* SPDX-License-Identifier: Apache-2.0 */
/* What a run comes to. docs/results.md says what each number means.
 * PURE. THREAD: one owner. */
#ifndef BENCH_LAB_METRICS_H
#define BENCH_LAB_METRICS_H

#include "simulator/cluster/cluster.h"

/* TCT <= this times the TCT alone counts as in time. */
#define METRICS_SLO_RATIO 2.5
/* The late part of a run starts here, of the time in which sessions arrive. */
#define METRICS_LATE_FROM 0.4
/* Rising: the mean slowdown of the last 30 % of arrivals is above that of the 30 % before by more
 * than this. */
#define METRICS_RISE_RATIO 1.25
/* Carries: the late slowdown is within this of the unlimited cache's. */
#define METRICS_CARRY_RATIO 2.0

/* One root session, by arrival. */
struct metrics_session {
    double at_s;
    double tct_s;   /* of an unfinished one: so far */
    double alone_s; /* TCT alone on one engine */
    bool is_finished;
    bool is_given_up; /* refused for good: has no TCT */
};

struct metrics {
    uint32_t sessions;
    uint32_t finished;
    double mean_slowdown; /* of all that were not given up, as the next ones */
    double geomean_slowdown;
    double p50_slowdown;
    double p99_slowdown;
    double mean_tct_s;
    double p50_tct_s;
    double p99_tct_s;
    double mean_ttft_s;
    double p99_ttft_s;
    double p999_ttft_s;
    double max_wait_s;
    double tokens_per_s;
    double cached_share;      /* of prompt tokens */
    double regenerated_share; /* of tokens prefilled */
    double share_within_2p5x;
    double refused_share;
    double goodput_share;
    double mean_kv_used; /* of KV blocks, held by running requests while sessions arrive; see
                            timeline.h */
    double max_kv_used;  /* of one engine */
    double late_slowdown;
    bool is_rising;
    uint64_t steps;
    uint64_t moves;
    uint64_t preempted;
    uint64_t steals;
    double pauses_per_session;
    uint64_t attempts_failed; /* of steps, before the first byte of an answer */
    uint64_t cut;             /* answers that broke off */
};

/* alone_us by lab_session.recorded. sessions [plan->arrival_count] is filled. KV use is left 0.
 * ST_NOMEM. */
MUST_CHECK enum status metrics_make(const struct lab_plan *plan,
                                    const struct lab_result *result,
                                    const uint64_t *alone_us,
                                    struct metrics_session *sessions,
                                    struct metrics *ret);

static inline double metrics_slowdown(const struct metrics_session *session)
{
    return session->tct_s / session->alone_s;
}

/* Sessions that finished within so many times their time alone. */
uint32_t metrics_within(const struct metrics_session *sessions, uint32_t count, double slowdown);

bool metrics_carries(const struct metrics *metrics, const struct metrics *unlimited);

#endif
