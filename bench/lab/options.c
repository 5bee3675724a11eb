/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/options.h"

#include "bench/lab/profile_file.h"

/* Sessions/s that an unlimited cache carries on 16 engines of this profile, all sessions. */
#define LIMIT_PROFILE "a100x4-llama3-70b"
#define LIMIT_ENGINES 16.0
#define HOURS_DEFAULT 1.5
static const double limits_per_s[WORKLOAD_KIND_COUNT] = {0.42, 0.065, 0.165, 2.2, 0};

static enum status
read_loads(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    struct str parts[LAB_LIST_MAX] = {{0}};
    enum status st = lab_read_list(name, text, parts, &opts->load_count, err);
    for (uint32_t i = 0; i < opts->load_count && st == ST_OK; i++) {
        st = lab_read_number(name, parts[i], 1e-4, 1e4, &opts->loads[i], err);
    }
    return st;
}

static enum status read_seeds(struct lab_options *opts, struct str text, struct err *err)
{
    struct str parts[LAB_LIST_MAX] = {{0}};
    enum status st = lab_read_list("--seeds", text, parts, &opts->seed_count, err);
    for (uint32_t i = 0; i < opts->seed_count && st == ST_OK; i++) {
        if (str_to_u64(parts[i], &opts->seeds[i]) != ST_OK) {
            st = lab_read_bad(err, "--seeds", parts[i], "whole numbers");
        }
    }
    return st;
}

static enum status
read_kv_scales(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    struct str parts[LAB_LIST_MAX] = {{0}};
    struct lab_engine_spec one = opts->engine;
    enum status st = lab_read_list(name, text, parts, &opts->kv_count, err);
    for (uint32_t i = 0; i < opts->kv_count && st == ST_OK; i++) {
        st = lab_engine_spec_read(&one, "kv-scale", name, parts[i], err);
        opts->kv_scales[i] = one.kv_scale;
    }
    return st;
}

static enum status
read_tiers(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    struct str parts[LAB_LIST_MAX] = {{0}};
    struct lab_engine_spec one = opts->engine;
    enum status st = lab_read_list(name, text, parts, &opts->tier_count, err);
    for (uint32_t i = 0; i < opts->tier_count && st == ST_OK; i++) {
        st = lab_engine_spec_read(&one, "tier-tokens", name, parts[i], err);
        opts->tiers[i] = one.tier_tokens;
    }
    return st;
}

static enum status add_set(struct lab_options *opts, const char *value, struct err *err)
{
    if (opts->set_count == LAB_SETS_MAX) {
        return err_set(err, ST_INVAL, "--set: more than %d", LAB_SETS_MAX);
    }
    opts->sets[opts->set_count++] = value;
    return ST_OK;
}

/* Options whose value is kept as it is. */
static bool keep_text(struct lab_options *opts, const char *name, const char *value)
{
    if (strcmp(name, "--trace") == 0) {
        opts->trace = value;
    } else if (strcmp(name, "--json") == 0) {
        opts->json = value;
    } else if (strcmp(name, "--plot") == 0) {
        opts->plot = value;
    } else if (strcmp(name, "--scenario") == 0) {
        opts->scenario = value;
    } else if (strcmp(name, "--arrivals") == 0) {
        opts->arrivals = value;
    } else if (strcmp(name, "--tenants") == 0) {
        opts->tenants = value;
    } else if (strcmp(name, "--arrivals-from") == 0) {
        opts->played = value;
        opts->has_rate = true;
    } else if (strcmp(name, "--only") == 0) {
        opts->only = str_of(value);
    } else if (strcmp(name, "--leave-out") == 0) {
        opts->leave_out = str_of(value);
    } else {
        return false;
    }
    return true;
}

/* Only of `saga sim plan`. */
static enum status
read_plan(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    if (!opts->is_planning) {
        return ST_NOTFOUND;
    }
    if (strcmp(name, "--policy") == 0) {
        opts->policies[0] = text;
        return ST_OK;
    }
    if (strcmp(name, "--slo") == 0) {
        text.len -= text.len > 1 && text.p[text.len - 1] == 'x';
        return lab_read_number(name, text, 1, 1000, &opts->slo_ratio, err);
    }
    if (strcmp(name, "--attain") == 0) {
        return lab_read_number(name, text, 0.01, 1, &opts->attain_ratio, err);
    }
    if (strcmp(name, "--sessions-per-hour") == 0) {
        return lab_read_number(name, text, 0.1, 1e7, &opts->sessions_per_hour, err);
    }
    return ST_NOTFOUND;
}

/* Options whose value is a name, as the next ones one of numbers and one of lists; ST_NOTFOUND:
 * none of these. */
static enum status
read_named(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    uint32_t at = 0;
    enum status st = ST_NOTFOUND;
    if (strcmp(name, "--workload") == 0) {
        st = lab_read_name(name, text, workload_names, WORKLOAD_KIND_COUNT, &at, err);
        opts->workload = (enum workload_kind)at;
    } else if (strcmp(name, "--split") == 0) {
        st = lab_read_name(name, text, split_names, SPLIT_COUNT, &at, err);
        opts->split = (enum workload_split)at;
    } else if (strcmp(name, "--profile") == 0) {
        st = profile_load(text.p, &opts->profile, err);
    }
    return st;
}

static enum status
read_amount(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    enum status st = ST_NOTFOUND;
    uint64_t n = 0;
    if (strcmp(name, "--hours") == 0) {
        st = lab_read_number(name, text, 1e-3, 1000, &opts->hours, err);
    } else if (strcmp(name, "--recovery-from") == 0) {
        st = lab_read_number(name, text, 0, 60000, &opts->recovery_from_s, err);
        opts->recovery_from_s *= 60;
    } else if (strcmp(name, "--burst") == 0) {
        st = lab_read_number(name, text, 0.1, 20, &opts->burst_cv, err);
    } else if (strcmp(name, "--engines") == 0) {
        st = lab_read_whole(name, text, 1, LAB_ENGINES_MAX, &n, err);
        opts->engines = (uint32_t)n;
    } else if (strcmp(name, "--jobs") == 0) {
        st = lab_read_whole(name, text, 1, LAB_JOBS_MAX, &n, err);
        opts->jobs = (uint32_t)n;
    }
    return st;
}

static enum status
read_lists(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    if (strcmp(name, "--policies") == 0) {
        return lab_read_list(name, text, opts->policies, &opts->policy_count, err);
    }
    if (strcmp(name, "--load") == 0 || strcmp(name, "--rate") == 0) {
        opts->has_rate = strcmp(name, "--rate") == 0;
        opts->has_load = true;
        return read_loads(opts, name, text, err);
    }
    if (strcmp(name, "--seeds") == 0) {
        opts->has_seeds = true;
        return read_seeds(opts, text, err);
    }
    if (strcmp(name, "--kv-scale") == 0) {
        return read_kv_scales(opts, name, text, err);
    }
    if (strcmp(name, "--tier-tokens") == 0) {
        return read_tiers(opts, name, text, err);
    }
    return ST_NOTFOUND;
}

/* An option with a value. */
static enum status
read_value(struct lab_options *opts, const char *name, const char *value, struct err *err)
{
    struct str text = str_of(value);
    if (keep_text(opts, name, value)) {
        return ST_OK;
    }
    if (strcmp(name, "--set") == 0) {
        return add_set(opts, value, err);
    }
    enum status st = read_plan(opts, name, text, err);
    if (st == ST_NOTFOUND) {
        st = read_lists(opts, name, text, err);
    }
    if (st == ST_NOTFOUND) {
        st = read_named(opts, name, text, err);
    }
    if (st == ST_NOTFOUND) {
        st = read_amount(opts, name, text, err);
    }
    if (st == ST_NOTFOUND) {
        st = lab_engine_spec_read(&opts->engine, name + 2, name, text, err);
    }
    return st != ST_NOTFOUND ? st : err_set(err, ST_INVAL, "no option %s; see --help", name);
}

static bool read_switch(struct lab_options *opts, const char *name)
{
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        opts->wants_help = true;
    } else if (strcmp(name, "--list-policies") == 0) {
        opts->lists_policies = true;
    } else if (strcmp(name, "--list-scenarios") == 0) {
        opts->lists_scenarios = true;
    } else if (strcmp(name, "--find-saturation") == 0) {
        opts->is_finding = true;
    } else if (strcmp(name, "--progress") == 0) {
        opts->shows_progress = true;
    } else {
        return false;
    }
    return true;
}

/* The fleet runs one policy on one kind of memory; the bound tells what limits it. */
static enum status finish_plan(struct lab_options *opts, struct err *err)
{
    if (opts->is_finding || opts->plot != NULL || lab_options_memories(opts) > 1) {
        return err_set(err, ST_INVAL, "plan takes no sweep, no plot and no --find-saturation");
    }
    if (opts->sessions_per_hour == 0) {
        return err_set(err, ST_INVAL, "plan: give --sessions-per-hour");
    }
    opts->policies[1] = STR(LAB_UNLIMITED);
    opts->policy_count = 2;
    return ST_OK;
}

/* What one option alone cannot tell. */
static enum status finish(struct lab_options *opts, struct err *err)
{
    if (!opts->has_seeds) {
        opts->seeds[0] = opts->split == SPLIT_TEST ? 2 : 1; /* train odd, test even */
    }
    if (opts->is_finding) {
        opts->policies[0] = STR(LAB_UNLIMITED);
        opts->policy_count = 1;
    }
    if (opts->played != NULL && (opts->is_finding || opts->is_planning || opts->load_count > 1)) {
        return err_set(err, ST_INVAL, "--arrivals-from has one load and cannot be searched");
    }
    if (opts->is_planning) {
        return finish_plan(opts, err);
    }
    if (!opts->is_finding && !opts->has_rate && lab_options_limit(opts) == 0) {
        return err_set(err, ST_INVAL,
                       "L* is not known for profile %s: give --rate, or search it with "
                       "--find-saturation",
                       opts->profile.name);
    }
    return ST_OK;
}

enum status
lab_options_parse(int argc, char **argv, uint32_t cpus, struct lab_options *ret, struct err *err)
{
    struct lab_options opts = {
        .policies = {STR("prefix_affinity"), STR("saga")},
        .policy_count = 2,
        .loads = {0.5},
        .load_count = 1,
        .seed_count = 1,
        .kv_scales = {1},
        .kv_count = 1,
        .tier_count = 1,
        .burst_cv = 1,
        .recovery_from_s = -1,
        .slo_ratio = 1.5,
        .attain_ratio = 0.95,
        .hours = HOURS_DEFAULT,
        .engines = 16,
        .jobs = cpus,
        .profile = *sim_profile_find(STR(LIMIT_PROFILE)),
        .engine = lab_engine_spec_default(),
    };
    enum status st = ST_OK;
    int from = argc > 1 && strcmp(argv[1], "plan") == 0 ? 2 : 1;
    opts.is_planning = from == 2;
    opts.policies[0] = opts.is_planning ? STR("saga") : opts.policies[0];
    for (int i = from; i < argc && st == ST_OK; i++) {
        if (read_switch(&opts, argv[i])) {
            continue;
        }
        if (i + 1 == argc || strncmp(argv[i], "--", 2) != 0) {
            st = err_set(err, ST_INVAL, "cannot use \"%s\"; see --help", argv[i]);
        } else {
            i++;
            st = read_value(&opts, argv[i - 1], argv[i], err);
        }
    }
    if (st == ST_OK && !opts.wants_help && !opts.lists_policies && !opts.lists_scenarios) {
        st = finish(&opts, err);
    }
    if (st == ST_OK) {
        *ret = opts;
    }
    return st;
}

double lab_options_limit_of(const struct lab_options *opts, enum workload_kind kind)
{
    return strcmp(opts->profile.name, LIMIT_PROFILE) == 0
               ? limits_per_s[kind] * opts->engines / LIMIT_ENGINES
               : 0;
}

double lab_options_limit(const struct lab_options *opts)
{
    return lab_options_limit_of(opts, opts->workload);
}
