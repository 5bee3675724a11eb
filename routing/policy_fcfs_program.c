/* SPDX-License-Identifier: Apache-2.0 */
/* In an engine's queue the step first whose session came first. */
#include "routing/keys.h"

const struct route_policy route_policy_fcfs_program = {
    .name = "fcfs_program",
    .text = "prefix_affinity; in an engine's queue the session first that came first",
    .source = "program-level first come first served, as in Continuum",
    .place = route_place_prefix_affinity,
    .key = route_key_born,
};
