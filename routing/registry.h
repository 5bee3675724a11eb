/* SPDX-License-Identifier: Apache-2.0 */
/* All placement policies by name and number.
 * PURE. THREAD: any. */
#ifndef ROUTING_REGISTRY_H
#define ROUTING_REGISTRY_H

#include "routing/policy.h"

extern const struct route_policy route_policy_saga;
extern const struct route_policy route_policy_prefix_affinity;
extern const struct route_policy route_policy_round_robin;
extern const struct route_policy route_policy_least_request;
extern const struct route_policy route_policy_power_of_two;
extern const struct route_policy route_policy_consistent_hash;

/* NULL when there is none of that name. */
const struct route_policy *route_policy_find(struct str name);
/* The idx-th, NULL past the end; 0 is saga, the default. */
const struct route_policy *route_policy_at(size_t idx);

#endif
