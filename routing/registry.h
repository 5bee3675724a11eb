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
extern const struct route_policy route_policy_lpm;
extern const struct route_policy route_policy_las;
extern const struct route_policy route_policy_fcfs_program;
extern const struct route_policy route_policy_continuum;
extern const struct route_policy route_policy_continuum_2s;
extern const struct route_policy route_policy_autellix;
extern const struct route_policy route_policy_kvflow;
extern const struct route_policy route_policy_thunderagent;
extern const struct route_policy route_policy_vllm_program;
extern const struct route_policy route_policy_regime;
extern const struct route_policy route_policy_saga_paper;
extern const struct route_policy route_policy_sfq;
extern const struct route_policy route_policy_working_set;
extern const struct route_policy route_policy_prefix_tree;

/* NULL when there is none of that name. */
const struct route_policy *route_policy_find(struct str name);
/* The idx-th, NULL past the end; 0 is saga, the default. */
const struct route_policy *route_policy_at(size_t idx);

#endif
