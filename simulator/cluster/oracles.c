/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that know what no gateway can know: bounds, in the laboratory only. */
#include "routing/registry.h"
#include "routing/working_set.h"
#include "simulator/cluster/cluster.h"

/* Smallest remaining work of the session first. */
static double srpt_key(const struct gate *gate, const struct gate_step *step)
{
    (void)gate;
    return step->need.remaining_s;
}

static const struct route_policy srpt = {
    .name = "srpt_oracle",
    .text =
        "prefix_affinity; in an engine's queue least remaining work of the session first, which "
        "it is told",
    .source = "Schrage 1968; a bound",
    .place = route_place_prefix_affinity,
    .key = srpt_key,
    .knows_future = true,
};

/* Engines are told when each session comes back. */
static void belady_on_gap(struct gate *gate, struct gate_session *session)
{
    uint64_t next_at_us = session->last.next_at_us;
    gate_value(gate, session, next_at_us == UINT64_MAX ? 0.0 : 1.0, next_at_us);
}

static const struct route_policy belady = {
    .name = "belady",
    .text = "prefix_affinity; engines give up the KV whose next use is farthest, which they are "
            "told",
    .source = "Belady 1966; a bound",
    .place = route_place_prefix_affinity,
    .knows_future = true,
    .evict = "belady",
    .on_gap = belady_on_gap,
};

/* --- working sets with all known --- */

static double perfect_order(const struct gate_session *session)
{
    return session->remaining_s;
}

/* One that is late waits for its sub-agents, nobody can say how long. */
static double
perfect_return(const struct gate *gate, const struct gate_session *session, uint64_t hold_us)
{
    uint64_t next_at_us = session->last.next_at_us;
    return next_at_us >= gate->now_us && next_at_us - gate->now_us <= hold_us ? 1.0 : 0.0;
}

static const struct ws_rule perfect_rule = {.order = perfect_order, .return_ratio = perfect_return};

static void perfect_admit(struct gate *gate)
{
    ws_admit(gate, &perfect_rule);
}

static void perfect_on_gap(struct gate *gate, struct gate_session *session)
{
    ws_on_gap(gate, session, &perfect_rule);
}

static void perfect_on_epoch(struct gate *gate)
{
    ws_on_epoch(gate, &perfect_rule);
}

static const struct route_param perfect_params[] = {WS_PARAM_LIST};

static const struct route_policy perfect = {
    .name = "perfect",
    .text = "working_set that knows returns, answers' lengths and remaining work: least remaining "
            "work first",
    .source = "routing/working_set.h; Schrage 1968; a bound",
    .place = route_place_prefix_affinity,
    .params = perfect_params,
    .param_count = WS_PARAMS,
    .hears_end = true,
    .knows_future = true,
    .admit = perfect_admit,
    .on_gap = perfect_on_gap,
    .on_epoch = perfect_on_epoch,
    .epoch_us = WS_EPOCH_US,
};

static const struct route_policy *const oracles[] = {&srpt, &belady, &perfect};

const struct route_policy *lab_policy_at(size_t idx)
{
    for (size_t live = 0;; live++) {
        const struct route_policy *policy = route_policy_at(live);
        if (policy == NULL) {
            idx -= live;
            break;
        }
        if (live == idx) {
            return policy;
        }
    }
    return idx < sizeof(oracles) / sizeof(oracles[0]) ? oracles[idx] : NULL;
}

const struct route_policy *lab_policy_find(struct str name)
{
    for (size_t i = 0;; i++) {
        const struct route_policy *policy = lab_policy_at(i);
        if (policy == NULL || str_eq(name, str_of(policy->name))) {
            return policy;
        }
    }
}
