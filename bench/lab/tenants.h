/* SPDX-License-Identifier: Apache-2.0 */
/* What a run comes to for each tenant.
 * PURE. THREAD: one owner. */
#ifndef BENCH_LAB_TENANTS_H
#define BENCH_LAB_TENANTS_H

#include "bench/lab/metrics.h"
#include "bench/lab/scenario.h"

struct tenant_metrics {
    uint32_t sessions;
    double mean_slowdown; /* of those that were not given up, as the next one */
    double p99_slowdown;
    double share_within_2p5x; /* of all */
    double refused_share;     /* given up, of all */
};

struct tenants {
    struct tenant_metrics of[SCENARIO_TENANTS_MAX]; /* [count] */
    uint32_t count;
    double worst_slowdown; /* highest mean_slowdown */
};

/* sessions [plan->arrival_count] as metrics_make filled them. Tenants are those of the plan's
 * scenario, else all sessions are one's. ST_NOMEM. */
MUST_CHECK enum status tenants_make(const struct lab_plan *plan,
                                    const struct metrics_session *sessions,
                                    struct tenants *ret);

/* ,"worst_tenant_slowdown":..,"tenants":[..]; scenario NULL or without tenants = one, "all". */
MUST_CHECK enum status
tenants_json(const struct tenants *tenants, const struct scenario *scenario, struct buf *out);
/* A line each, indented; nothing when there is only one. */
MUST_CHECK enum status
tenants_table(const struct tenants *tenants, const struct scenario *scenario, struct buf *out);

#endif
