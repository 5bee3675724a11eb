/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario as a person writes it (docs/scenarios.md): load over time, tenants, models, faults,
 * the network. Read from YAML, or one of those that are built in.
 * THREAD: one owner while it is read, any after. */
#ifndef BENCH_LAB_SCENARIO_H
#define BENCH_LAB_SCENARIO_H

#include "bench/lab/workload.h"
#include "common/base/err.h"

enum {
    SCENARIO_FILE_BYTES = 1 << 20,
    SCENARIO_STEPS_MAX = 256,
    SCENARIO_TENANTS_MAX = 32,
    SCENARIO_NAME_BYTES = 64,
};

/* From here on, so much of L*. */
struct scenario_load {
    double from_s; /* ascending; the first one 0 */
    double share;  /* of L*, > 0 */
};

struct scenario_tenant {
    char name[SCENARIO_NAME_BYTES];
    double load; /* of L* of its workload; 0 = not said */
    double
        share; /* of the run's load; 0 = not said. Neither: what the others leave, in equal parts */
    uint32_t model;
    enum workload_kind workload;
    bool has_workload; /* else the run's */
};

struct scenario_model {
    char name[SCENARIO_NAME_BYTES];
    double engines_share; /* of the run's engines; all together 1 */
};

struct scenario {
    char text[SCENARIO_NAME_BYTES * 4]; /* what it models, in a line */
    struct scenario_load loads[SCENARIO_STEPS_MAX];
    uint32_t load_count; /* 0 = the same all the time */
    struct scenario_tenant tenants[SCENARIO_TENANTS_MAX];
    uint32_t tenant_count; /* 0 = all sessions are one tenant's */
    struct scenario_model models[LAB_MODELS_MAX];
    uint32_t model_count;
    struct lab_fault faults[LAB_FAULTS_MAX];
    uint32_t fault_count;
    struct lab_net net;
    uint64_t latency_us; /* one way; 0 = not said */
    uint64_t stale_us;
};

/* name: a built-in scenario, else a file. ST_INVAL with err: "FILE:LINE: what is wrong";
 * ST_NOTFOUND, ST_IO, ST_NOMEM. */
MUST_CHECK enum status scenario_load(struct scenario *ret, const char *name, struct err *err);
/* The same from memory; name stands for the file in err. */
MUST_CHECK enum status
scenario_read(struct scenario *ret, const char *name, struct str text, struct err *err);

/* The built-in ones; NULL past the end. */
struct scenario_builtin {
    const char *name;
    const char *yaml;
};
const struct scenario_builtin *scenario_builtin_at(size_t i);

/* Mean of the load over these hours; 0 = the scenario says nothing about it. */
double scenario_mean_load(const struct scenario *scenario, double hours);

/* Where the load changes over time it is the time that is stretched: the moment, within these
 * hours, at which as much of the load is over as of an even one after even_s. */
double scenario_warp_s(const struct scenario *scenario, double hours, double even_s);

/* Where a tenant's sessions come from, once the load is known. */
struct scenario_part {
    double rate_per_s;
    enum workload_kind workload;
    uint32_t model;
};

/* What each tenant brings [SCENARIO_TENANTS_MAX] when the run's load is this share of L*; limits
 * [WORKLOAD_KIND_COUNT] are sessions/s at L* by workload, kind is the run's. ST_INVAL with err: the
 * tenants' loads are more than that. */
MUST_CHECK enum status scenario_parts(const struct scenario *scenario,
                                      double load,
                                      const double *limits,
                                      enum workload_kind kind,
                                      struct scenario_part *ret,
                                      struct err *err);

/* What one run hands to the cluster; it borrows from the scenario and itself. */
struct scenario_run {
    struct lab_scenario lab;
    struct str model_names[LAB_MODELS_MAX];
    uint32_t model_engines[LAB_MODELS_MAX];
    struct str tenant_names[SCENARIO_TENANTS_MAX];
};
void scenario_run_init(struct scenario_run *run, const struct scenario *scenario, uint32_t engines);

#endif
