/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/limits.h"

#include "common/base/config.h"
#include "routing/params.h"
#include "routing/registry.h"

struct coord_limits coord_limits_of(const struct config *cfg)
{
    struct coord_limits limits = {
        .max_sessions = (uint32_t)cfg->sessions_max,
        .max_requests = (uint32_t)cfg->limits_requests + 1,
        .max_engines = CONFIG_ENGINES_MAX,
        .max_receipts = (uint32_t)cfg->receipts_max,
        .max_classes = (uint32_t)cfg->sessions_classes,
        .max_workflows = (uint32_t)cfg->limits_workflows,
        .max_workflow_bytes = cfg->limits_workflow_bytes,
        .max_graph_bytes = cfg->sessions_graph_bytes,
        .half_life_us = cfg->sessions_half_life_ms * 1000,
        .session_idle_us = cfg->sessions_idle_ms * 1000,
        /* The key's values are in the registry's order. */
        .policy = route_policy_at((size_t)cfg->routing_policy),
        .margin_steps = (uint32_t)cfg->routing_margin,
        .retry_executed = cfg->retry_executed,
        .retry_budget_ratio = cfg->retry_budget_ratio,
        .health_interval_us = cfg->health_interval_ms * 1000,
        .health_fail_count = (uint32_t)cfg->health_fail_count,
        .health_open_us = cfg->health_open_ms * 1000,
    };
    limits.has_params =
        route_params_read(limits.policy, str_of(cfg->routing_params), limits.params, NULL) == ST_OK;
    return limits;
}
