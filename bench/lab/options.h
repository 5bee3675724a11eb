/* SPDX-License-Identifier: Apache-2.0 */
/* What `saga sim` was asked to do, checked.
 * PURE. THREAD: any. OWNERSHIP: strings are borrowed from argv. */
#ifndef BENCH_LAB_OPTIONS_H
#define BENCH_LAB_OPTIONS_H

#include "bench/lab/batch.h"

enum { LAB_LIST_MAX = 32, LAB_ENGINES_MAX = 4096 };

struct lab_options {
    const char *trace;                 /* NULL = the sample that is built in */
    struct str policies[LAB_LIST_MAX]; /* [policy_count]; "unlimited" is no policy but the bound */
    double loads[LAB_LIST_MAX];        /* [load_count]: shares of L*, or with has_rate sessions/s */
    uint64_t seeds[LAB_LIST_MAX];      /* [seed_count] */
    uint32_t policy_count;
    uint32_t load_count;
    uint32_t seed_count;
    enum workload_kind workload;
    enum workload_split split;
    struct sim_profile profile; /* with kv_scale and chunk in it */
    const struct sim_evict *evict;
    double kv_scale;
    double burst_cv;
    double hours; /* during which sessions arrive */
    uint32_t chunk;
    uint32_t engines;
    uint32_t jobs;
    const char *json; /* file, "-" = standard output, NULL = none */
    const char *plot; /* folder, NULL = none */
    bool has_rate;
    bool is_finding;
    bool shows_progress;
    bool lists_policies;
    bool wants_help;
};

#define LAB_UNLIMITED "unlimited"

/* Reads argv[1..]. cpus: what --jobs is without being given. ST_INVAL with err. Nothing else is
 * read when wants_help or lists_policies. */
MUST_CHECK enum status
lab_options_parse(int argc, char **argv, uint32_t cpus, struct lab_options *ret, struct err *err);

const char *lab_options_help(void);

/* Sessions/s that an unlimited cache carries with these engines; 0 = not known for this profile. */
double lab_options_limit(const struct lab_options *opts);

#endif
