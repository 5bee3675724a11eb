/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/registry.h"

static const struct route_policy *const policies[] = {
    &route_policy_saga,          &route_policy_prefix_affinity, &route_policy_round_robin,
    &route_policy_least_request, &route_policy_power_of_two,    &route_policy_consistent_hash,
};

enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

const struct route_policy *route_policy_at(size_t idx)
{
    return idx < POLICIES ? policies[idx] : NULL;
}

const struct route_policy *route_policy_find(struct str name)
{
    for (size_t i = 0; i < POLICIES; i++) {
        if (str_eq(name, str_of(policies[i]->name))) {
            return policies[i];
        }
    }
    return NULL;
}
