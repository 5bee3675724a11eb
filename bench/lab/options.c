/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/options.h"

#include "simulator/model/evict.h"

/* Sessions/s that an unlimited cache carries on 16 engines of this profile, all sessions. */
#define LIMIT_PROFILE "a100x4-llama3-70b"
#define LIMIT_ENGINES 16.0
#define HOURS_DEFAULT 1.5
static const double limits_per_s[WORKLOAD_KIND_COUNT] = {0.42, 0.065, 0.165};

static const char help_text[] =
    "usage: saga sim [OPTIONS]\n"
    "       saga sim --events FILE [--json]\n"
    "\n"
    "Replays recorded agent sessions on modelled engines in virtual time, with the gateway's own "
    "code, under one or more\n"
    "placement policies, and prints what became of the sessions. Load is a share of L*, the rate "
    "of sessions that an\n"
    "unlimited cache carries. The same options give the same result.\n"
    "\n"
    "  --trace FILE       agent steps, JSON lines, plain or gzip (default: a small sample, built "
    "in)\n"
    "  --workload NAME    swe (default), claude-code, mix (3 to 1)\n"
    "  --split HALF       all (default), train, test: sessions by a hash of their id\n"
    "  --policies A,B,C   default prefix_affinity,saga; \"unlimited\" is the bound: a cache "
    "without end, shared for free;\n"
    "                     the first is what others are compared with; --list-policies\n"
    "  --profile NAME     engine (default a100x4-llama3-70b)\n"
    "  --engines N        default 16\n"
    "  --load X,Y         shares of L* (default 0.5)\n"
    "  --rate R,S         sessions/s instead\n"
    "  --seeds S,T        default 1\n"
    "  --hours H          during which sessions arrive (default 1.5); those that have come are "
    "played to their end,\n"
    "                     for at most as long again\n"
    "  --burst CV         variation of the times between arrivals: 1 (default) = Poisson, else "
    "Gamma\n"
    "  --evict NAME       what a full cache gives up first (default lru)\n"
    "  --kv-scale F       KV memory of an engine, times the profile's (default 1)\n"
    "  --chunk N          tokens of one iteration (default: the profile's)\n"
    "  --find-saturation  search L* for this workload and profile and print it\n"
    "  --jobs N           runs at a time (default: one a core)\n"
    "  --json OUT         the result as JSON, \"-\" = to standard output instead of the table\n"
    "  --plot DIR         write runs.json and sessions.csv there for bench/lab/plot.py\n"
    "  --progress         show progress even when standard error is no terminal\n"
    "  --list-policies    names that --policies knows\n"
    "  --events FILE      replay a log of `saga serve --record-events` instead: are the decisions "
    "the same?\n";

const char *lab_options_help(void)
{
    return help_text;
}

static enum status bad(struct err *err, const char *name, struct str value, const char *must)
{
    return err_set(err, ST_INVAL, "%s %.*s: must be %s", name, (int)value.len, value.p, must);
}

/* One number of an option. */
static enum status
read_number(const char *name, struct str text, double min, double max, double *ret, struct err *err)
{
    double x = 0;
    if (str_to_f64(text, &x) != ST_OK || !(x >= min && x <= max)) {
        return err_set(err, ST_INVAL, "%s %.*s: must be a number from %g to %g", name,
                       (int)text.len, text.p, min, max);
    }
    *ret = x;
    return ST_OK;
}

static enum status
read_whole(const char *name, struct str text, uint32_t max, uint32_t *ret, struct err *err)
{
    uint64_t n = 0;
    if (str_to_u64(text, &n) != ST_OK || n == 0 || n > max) {
        return err_set(err, ST_INVAL, "%s %.*s: must be a whole number from 1 to %u", name,
                       (int)text.len, text.p, max);
    }
    *ret = (uint32_t)n;
    return ST_OK;
}

static enum status
split_list(const char *name, struct str text, struct str *ret, uint32_t *ret_count, struct err *err)
{
    uint32_t count = 0;
    struct str part = STR("");
    while (str_split(&text, ',', &part)) {
        if (part.len == 0) {
            return err_set(err, ST_INVAL, "%s: an empty entry", name);
        }
        if (count == LAB_LIST_MAX) {
            return err_set(err, ST_INVAL, "%s: more than %d", name, LAB_LIST_MAX);
        }
        ret[count++] = part;
    }
    if (count == 0) {
        return err_set(err, ST_INVAL, "%s: nothing given", name);
    }
    *ret_count = count;
    return ST_OK;
}

static enum status
read_loads(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    struct str parts[LAB_LIST_MAX] = {{0}};
    enum status st = split_list(name, text, parts, &opts->load_count, err);
    for (uint32_t i = 0; i < opts->load_count && st == ST_OK; i++) {
        st = read_number(name, parts[i], 1e-4, 1e4, &opts->loads[i], err);
    }
    return st;
}

static enum status read_seeds(struct lab_options *opts, struct str text, struct err *err)
{
    struct str parts[LAB_LIST_MAX] = {{0}};
    enum status st = split_list("--seeds", text, parts, &opts->seed_count, err);
    for (uint32_t i = 0; i < opts->seed_count && st == ST_OK; i++) {
        if (str_to_u64(parts[i], &opts->seeds[i]) != ST_OK) {
            st = bad(err, "--seeds", parts[i], "whole numbers");
        }
    }
    return st;
}

static enum status read_name(const char *name,
                             struct str text,
                             const char *const *names,
                             uint32_t count,
                             uint32_t *ret,
                             struct err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(text, str_of(names[i]))) {
            *ret = i;
            return ST_OK;
        }
    }
    return err_set(err, ST_INVAL, "%s %.*s: must be %s, %s or %s", name, (int)text.len, text.p,
                   names[0], names[1], names[2]);
}

static enum status read_profile(struct lab_options *opts, struct str text, struct err *err)
{
    const struct sim_profile *profile = sim_profile_find(text);
    if (profile == NULL) {
        return bad(err, "--profile", text, "a built-in profile: see saga engine --help");
    }
    opts->profile = *profile;
    return ST_OK;
}

static enum status read_evict(struct lab_options *opts, struct str text, struct err *err)
{
    char names[256] = "one of";
    opts->evict = sim_evict_find(text);
    for (size_t i = 0; opts->evict == NULL && sim_evict_at(i) != NULL; i++) {
        size_t len = strlen(names);
        names[len++] = ' ';
        (void)str_copy(names + len, sizeof(names) - len, str_of(sim_evict_at(i)->name));
    }
    return opts->evict != NULL ? ST_OK : bad(err, "--evict", text, names);
}

static enum status
read_names(struct lab_options *opts, const char *name, struct str text, struct err *err)
{
    uint32_t at = 0;
    if (strcmp(name, "--workload") == 0) {
        enum status st = read_name(name, text, workload_names, WORKLOAD_KIND_COUNT, &at, err);
        opts->workload = (enum workload_kind)at;
        return st;
    }
    if (strcmp(name, "--split") == 0) {
        enum status st = read_name(name, text, split_names, SPLIT_COUNT, &at, err);
        opts->split = (enum workload_split)at;
        return st;
    }
    if (strcmp(name, "--profile") == 0) {
        return read_profile(opts, text, err);
    }
    if (strcmp(name, "--evict") == 0) {
        return read_evict(opts, text, err);
    }
    if (strcmp(name, "--policies") == 0) {
        return split_list(name, text, opts->policies, &opts->policy_count, err);
    }
    return err_set(err, ST_INVAL, "no option %s; see --help", name);
}

/* An option with a value. */
static enum status
read_value(struct lab_options *opts, const char *name, const char *value, struct err *err)
{
    struct str text = str_of(value);
    if (strcmp(name, "--trace") == 0) {
        opts->trace = value;
        return ST_OK;
    }
    if (strcmp(name, "--json") == 0) {
        opts->json = value;
        return ST_OK;
    }
    if (strcmp(name, "--plot") == 0) {
        opts->plot = value;
        return ST_OK;
    }
    if (strcmp(name, "--load") == 0 || strcmp(name, "--rate") == 0) {
        opts->has_rate = strcmp(name, "--rate") == 0;
        return read_loads(opts, name, text, err);
    }
    if (strcmp(name, "--seeds") == 0) {
        return read_seeds(opts, text, err);
    }
    if (strcmp(name, "--hours") == 0) {
        return read_number(name, text, 1e-3, 1000, &opts->hours, err);
    }
    if (strcmp(name, "--burst") == 0) {
        return read_number(name, text, 0.1, 20, &opts->burst_cv, err);
    }
    if (strcmp(name, "--kv-scale") == 0) {
        return read_number(name, text, 0.01, 1000, &opts->kv_scale, err);
    }
    if (strcmp(name, "--engines") == 0) {
        return read_whole(name, text, LAB_ENGINES_MAX, &opts->engines, err);
    }
    if (strcmp(name, "--chunk") == 0) {
        return read_whole(name, text, 1 << 20, &opts->chunk, err);
    }
    if (strcmp(name, "--jobs") == 0) {
        return read_whole(name, text, BATCH_JOBS_MAX, &opts->jobs, err);
    }
    return read_names(opts, name, text, err);
}

static bool read_switch(struct lab_options *opts, const char *name)
{
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        opts->wants_help = true;
    } else if (strcmp(name, "--list-policies") == 0) {
        opts->lists_policies = true;
    } else if (strcmp(name, "--find-saturation") == 0) {
        opts->is_finding = true;
    } else if (strcmp(name, "--progress") == 0) {
        opts->shows_progress = true;
    } else {
        return false;
    }
    return true;
}

/* What one option alone cannot tell. */
static enum status finish(struct lab_options *opts, struct err *err)
{
    double kv_tokens = opts->profile.kv_tokens * opts->kv_scale;
    if (kv_tokens < 1024 || kv_tokens > 1e9) {
        return err_set(err, ST_INVAL, "--kv-scale %g leaves %.0f tokens: must be 1024 to 1e9",
                       opts->kv_scale, kv_tokens);
    }
    opts->profile.kv_tokens = (uint32_t)kv_tokens;
    if (opts->chunk > 0) {
        opts->profile.budget_tokens = opts->chunk;
    }
    if (opts->profile.budget_tokens < opts->profile.max_running) {
        return err_set(err, ST_INVAL, "--chunk %u: must be at least %u, the profile's batch",
                       opts->chunk, opts->profile.max_running);
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
        .seeds = {1},
        .seed_count = 1,
        .kv_scale = 1,
        .burst_cv = 1,
        .hours = HOURS_DEFAULT,
        .engines = 16,
        .jobs = cpus,
        .profile = *sim_profile_find(STR(LIMIT_PROFILE)),
        .evict = sim_evict_default(),
    };
    enum status st = ST_OK;
    for (int i = 1; i < argc && st == ST_OK; i++) {
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
    if (st == ST_OK && !opts.wants_help && !opts.lists_policies) {
        st = finish(&opts, err);
    }
    if (st == ST_OK) {
        *ret = opts;
    }
    return st;
}

double lab_options_limit(const struct lab_options *opts)
{
    return strcmp(opts->profile.name, LIMIT_PROFILE) == 0
               ? limits_per_s[opts->workload] * opts->engines / LIMIT_ENGINES
               : 0;
}
