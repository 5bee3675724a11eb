/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong during a run: faults of engines at set times, and how messages travel. Plain
 * data; docs/scenarios.md says what each models and what is not modelled.
 * PURE. THREAD: any. */
#ifndef SIMULATOR_CLUSTER_SCENARIO_H
#define SIMULATOR_CLUSTER_SCENARIO_H

#include "common/base/str.h"

enum { LAB_FAULTS_MAX = 1024, LAB_MODELS_MAX = 16 };

enum lab_fault_kind {
    LAB_FAULT_CRASH,      /* what runs there dies, the cache is lost, no connection until the end */
    LAB_FAULT_SLOW,       /* iterations take slow_per_mille / 1000 times as long */
    LAB_FAULT_LOSE_CACHE, /* all that no running request holds is forgotten; no end */
    LAB_FAULT_DRAIN,      /* taken out: what runs ends there, nothing new; at the end put back */
    LAB_FAULT_PARTITION,  /* gateway and engine cannot talk; must end */
};
enum { LAB_FAULT_KINDS = LAB_FAULT_PARTITION + 1 };

struct lab_fault {
    uint64_t at_us;
    uint64_t until_us; /* its end, after at_us; 0 = none */
    enum lab_fault_kind kind;
    uint32_t engine_first; /* engines that the run does not have are passed over */
    uint32_t engine_count;
    uint32_t slow_per_mille; /* SLOW: >= 1000 */
};

/* Of each message between client and gateway, beside lab_plan.network_us; of each between gateway
 * and node only duplicate_ratio. */
struct lab_net {
    uint64_t jitter_us;     /* 0 to this more, each as likely */
    uint64_t retransmit_us; /* a lost one is sent again after this, then twice as long, .. */
    double loss_ratio;      /* of transmissions, < 1 */
    double duplicate_ratio; /* comes a second time, up to jitter_us + LAB_DUPLICATE_US later */
};

#define LAB_DUPLICATE_US 10000

struct lab_scenario {
    const struct lab_fault *faults; /* [fault_count] */
    uint32_t fault_count;
    struct lab_net net;
    uint64_t stale_us;             /* answers to the coordinator's probes are late by this */
    const struct str *model_names; /* [model_count]; 0 = engines do not say what they serve */
    const uint32_t *model_engines; /* [model_count] the first engines serve the first model, .. */
    uint32_t model_count;
    const struct str *tenant_names; /* [tenant_count], else "t0", .. */
    uint32_t tenant_count;
};

#endif
