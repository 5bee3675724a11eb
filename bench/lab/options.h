/* SPDX-License-Identifier: Apache-2.0 */
/* What `saga sim` was asked to do, checked.
 * PURE but for the file of --profile. THREAD: any. OWNERSHIP: strings are borrowed from argv. */
#ifndef BENCH_LAB_OPTIONS_H
#define BENCH_LAB_OPTIONS_H

#include "bench/lab/engine_spec.h"
#include "bench/lab/workload.h"

enum { LAB_ENGINES_MAX = 1024, LAB_SETS_MAX = 64, LAB_JOBS_MAX = 256 };

/* A place in the sweep over memory. */
struct lab_memory {
    double kv_scale;
    uint64_t tier_tokens;
};

struct lab_options {
    const char *scenario;              /* built in or a file, NULL = none */
    const char *arrivals;              /* "poisson", "gamma" or a file, NULL = by burst_cv */
    const char *tenants;               /* file of clients' rates, NULL = none */
    const char *trace;                 /* NULL = the sample that is built in */
    struct str policies[LAB_LIST_MAX]; /* [policy_count] as entry.h has them */
    const char *sets[LAB_SETS_MAX];    /* [set_count] KEY=VALUE of the gateway's configuration */
    double loads[LAB_LIST_MAX];        /* [load_count]: shares of L*, or with has_rate sessions/s */
    uint64_t seeds[LAB_LIST_MAX];      /* [seed_count] */
    double kv_scales[LAB_LIST_MAX];    /* [kv_count] */
    uint64_t tiers[LAB_LIST_MAX];      /* [tier_count] tokens */
    uint32_t policy_count;
    uint32_t set_count;
    uint32_t load_count;
    uint32_t seed_count;
    uint32_t kv_count;
    uint32_t tier_count;
    enum workload_kind workload;
    enum workload_split split;
    struct str only;               /* sources, between commas; empty = all */
    struct str leave_out;          /* likewise */
    struct sim_profile profile;    /* as it ships */
    struct lab_engine_spec engine; /* of all entries; kv_scale and tier_tokens are the lists' */
    double burst_cv;
    double hours;           /* during which sessions arrive */
    double recovery_from_s; /* when what runs have to recover from is over; < 0 = nothing */
    uint32_t engines;
    uint32_t jobs;
    const char *played; /* a run of saga bench whose sessions are played, NULL = drawn ones */
    const char *json;   /* file, "-" = standard output, NULL = none */
    const char *plot;   /* folder, NULL = none */
    bool has_rate;
    bool has_seeds; /* said, not the default */
    bool has_load;  /* --load or --rate was given */
    bool is_finding;
    bool is_planning;         /* `saga sim plan`: policies are the one asked for and the bound */
    double slo_ratio;         /* planning: TCT over TCT alone that is in time */
    double attain_ratio;      /* planning: share of sessions that must be */
    double sessions_per_hour; /* planning */
    bool shows_progress;
    bool lists_policies;
    bool lists_scenarios;
    bool wants_help;
};

#define LAB_UNLIMITED "unlimited"

/* How many places the sweep over memory has: each KV size with each tier. */
static inline uint32_t lab_options_memories(const struct lab_options *opts)
{
    return opts->kv_count * opts->tier_count;
}

static inline struct lab_memory lab_options_memory(const struct lab_options *opts, uint32_t memory)
{
    return (struct lab_memory){.kv_scale = opts->kv_scales[memory / opts->tier_count],
                               .tier_tokens = opts->tiers[memory % opts->tier_count]};
}

/* Reads argv[1..]; "plan" first makes it `saga sim plan`. cpus: what --jobs is without being given.
 * ST_INVAL with err. Nothing else is read when wants_help, lists_policies or lists_scenarios. */
MUST_CHECK enum status
lab_options_parse(int argc, char **argv, uint32_t cpus, struct lab_options *ret, struct err *err);

const char *lab_options_help(bool is_planning);

/* Sessions/s that an unlimited cache carries with these engines; 0 = not known for this profile. */
double lab_options_limit(const struct lab_options *opts);
/* The same of another workload. */
double lab_options_limit_of(const struct lab_options *opts, enum workload_kind kind);

#endif
