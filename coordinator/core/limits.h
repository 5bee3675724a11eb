/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds and tunes the core, and what it counts. Plain data.
 * PURE. */
#ifndef COORDINATOR_CORE_LIMITS_H
#define COORDINATOR_CORE_LIMITS_H

#include "routing/gate_types.h"

#include <stdbool.h>
#include <stdint.h>

struct route_policy;

struct coord_limits {
    uint32_t max_sessions;
    uint32_t max_requests;
    uint32_t max_engines;
    uint32_t max_receipts;
    uint32_t max_classes; /* of sessions that behave alike */
    uint32_t max_workflows;
    uint64_t max_workflow_bytes;
    uint64_t max_graph_bytes; /* of all sessions' steps */
    uint64_t half_life_us;    /* of what was learnt of classes; 0 = a week */
    uint64_t session_idle_us;
    uint32_t margin_steps;             /* routing.margin */
    const struct route_policy *policy; /* of placement; NULL = saga */
    bool has_params;                   /* of the policy, below; else its defaults */
    double params[GATE_PARAMS_MAX];
    bool retry_executed;
    double retry_budget_ratio;
    uint64_t health_interval_us;
    uint32_t health_fail_count;
    uint64_t health_open_us;
};

struct config;

/* What the configuration says. */
struct coord_limits coord_limits_of(const struct config *cfg);

struct coord_counters {
    uint64_t steps_arrived, steps_done, steps_gone, steps_refused;
    uint64_t retries, retries_denied_budget;
    uint64_t sessions_born, sessions_forgotten, sessions_forked;
    uint64_t home_hits, home_moves; /* steps sent to / away from their session's engine */
    uint64_t session_by_id, session_by_chain, session_new;
    uint64_t breaker_opened;
    uint64_t prompt_tokens, cached_tokens, output_tokens; /* from engines' usage */
    uint64_t sessions_full, requests_full;
};

/* What the core has learnt and keeps. */
struct coord_gauges {
    uint64_t graph_bytes;
    uint64_t classes;
    uint64_t steps_lost, classes_forgotten, gaps; /* ever */
};

#endif
