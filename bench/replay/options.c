/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/options.h"

#include "common/base/str.h"

static const char help_text[] =
    "usage: saga bench --url URL [OPTIONS]\n"
    "\n"
    "Replays recorded agent sessions against an OpenAI-compatible server: prompts of the recorded "
    "lengths that share\n"
    "prefixes as recorded, the recorded waits between steps, sub-agents, streamed answers. Reports "
    "time to first token,\n"
    "time between tokens, task completion time (TCT), cached prompt tokens (beside what one engine "
    "with unlimited KV\n"
    "memory would serve from its cache), and errors. Ctrl-C stops and prints what there is.\n"
    "\n"
    "  --url URL             server, with or without /v1; given several times: several engines, "
    "see --spread\n"
    "  --spread HOW          with several URLs: session (default, each session has one), random, "
    "round_robin (per step)\n"
    "  --trace FILE          agent steps, JSON lines, plain or gzip (default: a sample of 100 "
    "sessions, built in)\n"
    "  --sessions N          root sessions to run (default: all; more than there are: copies with "
    "other text)\n"
    "  --max-steps N         only the first N steps of a session\n"
    "  --arrivals HOW        poisson (default) or burst\n"
    "  --burst N             sessions that arrive together (burst; default 10)\n"
    "  --rate R              sessions a second (default: all within 30 s)\n"
    "  --speed X             waits are X times shorter (default 20)\n"
    "  --max-gap S           recorded waits are cut to S seconds first (default 60)\n"
    "  --scale-tokens F      lengths are multiplied by F (default 1)\n"
    "  --tenants N           sessions belong to N tenants: a key and an x-tenant-id header each\n"
    "  --session-header W    on: send x-session-id; off (default): the server must know a session "
    "by its prompt\n"
    "  --model NAME          default: the first of /v1/models\n"
    "  --api-key KEY         sent as a bearer token (with --tenants: KEY-0, KEY-1, ...)\n"
    "  --max-in-flight N     steps at once (default 512)\n"
    "  --timeout S           of a step, in seconds (default 600)\n"
    "  --retry N             try a step up to N times more after 429, 503 (Retry-After is obeyed) "
    "or no connection\n"
    "  --ignore-eos W        on (default): send ignore_eos, so that engines which know it answer "
    "with the recorded\n"
    "                        lengths; off: for servers that refuse fields they do not know\n"
    "  --insecure            do not check https certificates\n"
    "  --seed N              of arrivals, texts, choices (default 1)\n"
    "  --json                the result as JSON on standard output\n"
    "  --rows                with --json: every session and step too, for saga sim profile fit and "
    "--arrivals-from\n"
    "  --live                redraw the table even when standard error is no terminal\n"
    "  --quiet               no progress\n";

const char *options_help(void)
{
    return help_text;
}

static const char *const arrivals_names[] = {"poisson", "burst"};
static const char *const spread_names[] = {"session", "random", "round_robin"};
static const char *const switch_names[] = {"off", "on"};

const char *options_arrivals_name(enum options_arrivals arrivals)
{
    return arrivals_names[arrivals];
}

const char *options_spread_name(enum options_spread spread)
{
    return spread_names[spread];
}

/* One option with a value: exactly one of the targets is set. */
struct value_option {
    const char *name;
    const char **text;
    uint32_t *u32;
    uint64_t *u64;
    double *f64;
    double min;
    double max;
};

struct switch_option {
    const char *name;
    bool *target;
};

/* The place of value among names [count], 2 or 3. */
static enum status read_choice(const char *option,
                               const char *value,
                               const char *const *names,
                               int count,
                               int *ret,
                               struct err *err)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(value, names[i]) == 0) {
            *ret = i;
            return ST_OK;
        }
    }
    return err_set(err, ST_INVAL, "%s %s: must be %s, %s%s%s", option, value, names[0], names[1],
                   count > 2 ? " or " : "", count > 2 ? names[2] : "");
}

static enum status read_enum(struct replay_options *opts,
                             const char *name,
                             const char *value,
                             bool *ret_is_known,
                             struct err *err)
{
    enum status st = ST_OK;
    int at = 0;
    *ret_is_known = true;
    if (strcmp(name, "--arrivals") == 0) {
        st = read_choice(name, value, arrivals_names, 2, &at, err);
        opts->arrivals = (enum options_arrivals)at;
    } else if (strcmp(name, "--spread") == 0) {
        st = read_choice(name, value, spread_names, 3, &at, err);
        opts->spread = (enum options_spread)at;
    } else if (strcmp(name, "--session-header") == 0) {
        st = read_choice(name, value, switch_names, 2, &at, err);
        opts->has_session_header = at == 1;
    } else if (strcmp(name, "--ignore-eos") == 0) {
        st = read_choice(name, value, switch_names, 2, &at, err);
        opts->ignores_eos = at == 1;
    } else {
        *ret_is_known = false;
    }
    return st;
}

static enum status read_value(const struct value_option *option, const char *value, struct err *err)
{
    if (option->text != NULL) {
        *option->text = value;
        return ST_OK;
    }
    double number = 0;
    uint64_t whole = 0;
    bool is_fine = false;
    if (option->f64 != NULL) {
        is_fine = str_to_f64(str_of(value), &number) == ST_OK;
    } else {
        is_fine = str_to_u64(str_of(value), &whole) == ST_OK;
        number = (double)whole;
    }
    if (!is_fine || number < option->min || number > option->max) {
        return err_set(err, ST_INVAL, "%s %s: must be a%s number from %g to %g", option->name,
                       value, option->f64 != NULL ? "" : " whole", option->min, option->max);
    }
    if (option->f64 != NULL) {
        *option->f64 = number;
    } else if (option->u64 != NULL) {
        *option->u64 = whole;
    } else {
        *option->u32 = (uint32_t)whole;
    }
    return ST_OK;
}

static enum status add_url(struct replay_options *opts, const char *url, struct err *err)
{
    if (opts->url_count == OPTIONS_URLS_MAX) {
        return err_set(err, ST_INVAL, "more than %d --url", OPTIONS_URLS_MAX);
    }
    opts->urls[opts->url_count++] = url;
    return ST_OK;
}

/* The option at argv[*at] that takes a value; *at moves to the value. */
static enum status
parse_valued(struct replay_options *opts, int argc, char **argv, int *at, struct err *err)
{
    const struct value_option options[] = {
        {"--trace", .text = &opts->trace},
        {"--model", .text = &opts->model},
        {"--api-key", .text = &opts->api_key},
        {"--sessions", .u32 = &opts->sessions, .min = 1, .max = OPTIONS_SESSIONS_MAX},
        {"--max-steps", .u32 = &opts->max_steps, .min = 1, .max = 1e6},
        {"--tenants", .u32 = &opts->tenants, .min = 1, .max = 1e5},
        {"--max-in-flight", .u32 = &opts->max_in_flight, .min = 1, .max = 1e6},
        {"--retry", .u32 = &opts->retries, .min = 0, .max = 100},
        {"--burst", .u32 = &opts->burst, .min = 1, .max = OPTIONS_SESSIONS_MAX},
        {"--seed", .u64 = &opts->seed, .min = 0, .max = 0x1p63},
        {"--rate", .f64 = &opts->rate_per_s, .min = 1e-4, .max = 1e5},
        {"--speed", .f64 = &opts->speed, .min = 1e-3, .max = 1e6},
        {"--max-gap", .f64 = &opts->max_gap_s, .min = 0, .max = 1e7},
        {"--scale-tokens", .f64 = &opts->scale_tokens, .min = 1e-4, .max = 100},
        {"--timeout", .f64 = &opts->timeout_s, .min = 0.01, .max = 86400},
    };
    const char *name = argv[*at];
    const char *value = *at + 1 < argc ? argv[*at + 1] : NULL;
    bool is_url = strcmp(name, "--url") == 0;
    bool is_enum = false;
    const struct value_option *found = NULL;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        found = strcmp(name, options[i].name) == 0 ? &options[i] : found;
    }
    enum status st = read_enum(opts, name, value == NULL ? "" : value, &is_enum, err);
    if (found == NULL && !is_url && !is_enum) {
        return err_set(err, ST_INVAL, "unknown option %s; see saga bench --help", name);
    }
    if (value == NULL) {
        return err_set(err, ST_INVAL, "%s needs a value", name);
    }
    *at += 1;
    if (is_enum) {
        return st;
    }
    return is_url ? add_url(opts, value, err) : read_value(found, value, err);
}

static bool parse_switch(struct replay_options *opts, const char *name)
{
    const struct switch_option switches[] = {
        {"--json", &opts->is_json},    {"--quiet", &opts->is_quiet},
        {"--live", &opts->is_live},    {"--insecure", &opts->is_insecure},
        {"--help", &opts->wants_help}, {"-h", &opts->wants_help},
        {"--rows", &opts->has_rows},
    };
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        if (strcmp(name, switches[i].name) == 0) {
            *switches[i].target = true;
            return true;
        }
    }
    return false;
}

enum status options_parse(int argc, char **argv, struct replay_options *ret, struct err *err)
{
    struct replay_options opts = {
        .seed = 1,
        .speed = 20,
        .max_gap_s = 60,
        .scale_tokens = 1,
        .timeout_s = 600,
        .max_in_flight = 512,
        .burst = 10,
        .ignores_eos = true,
    };
    enum status st = ST_OK;
    for (int at = 1; at < argc && st == ST_OK && !opts.wants_help; at++) {
        if (!parse_switch(&opts, argv[at])) {
            st = parse_valued(&opts, argc, argv, &at, err);
        }
    }
    if (st == ST_OK && opts.url_count == 0 && !opts.wants_help) {
        return err_set(err, ST_INVAL, "--url is missing; see saga bench --help");
    }
    if (st == ST_OK) {
        *ret = opts;
    }
    return st;
}
