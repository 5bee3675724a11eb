/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/registry.h"

static const struct route_policy *const policies[] = {
    &route_policy_saga,         &route_policy_prefix_affinity,
    &route_policy_round_robin,  &route_policy_least_request,
    &route_policy_power_of_two, &route_policy_consistent_hash,
    &route_policy_lpm,          &route_policy_las,
    &route_policy_fcfs_program, &route_policy_continuum,
    &route_policy_continuum_2s, &route_policy_autellix,
    &route_policy_kvflow,       &route_policy_thunderagent,
    &route_policy_vllm_program, &route_policy_regime,
    &route_policy_saga_paper,   &route_policy_sfq,
    &route_policy_working_set,  &route_policy_prefix_tree,
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
