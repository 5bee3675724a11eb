/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/core/core.h"

#include "common/base/config.h"
#include "routing/registry.h"

struct agent_limits agent_limits_of(const struct config *cfg)
{
    return (struct agent_limits){.max_steps = (uint32_t)cfg->limits_requests + 1,
                                 .max_sessions = (uint32_t)cfg->sessions_max,
                                 .queue_max = (uint32_t)cfg->routing_queue_max,
                                 .queue_timeout_us = cfg->routing_queue_timeout_ms * 1000,
                                 /* The key's values are in the registry's order. */
                                 .policy = route_policy_at((size_t)cfg->routing_policy)};
}
