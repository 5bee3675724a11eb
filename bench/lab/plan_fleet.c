/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. from a guess the number of engines is doubled or halved until one number is enough
 * and another is not; 2. the middle is tried until they are neighbours; 3. with one engine less the
 * unlimited cache is tried: does it do, then KV memory is what limits, else compute; 4. the answer.
 * Failures: as said by whoever failed; nothing is printed then. */
#include "bench/lab/plan_fleet.h"

#include "bench/lab/output.h"
#include "bench/lab/try.h"

#include <stdio.h>

enum { TRIES_MAX = 64, ENTRY_POLICY = 0, ENTRY_BOUND = 1 };
/* Share of L* at which the search begins. */
#define GUESS_LOAD 0.6

struct search {
    struct lab_setup *setup;
    struct lab_tried tries[TRIES_MAX]; /* [try_count] of the policy */
    uint32_t try_count;
    struct err *err;
};

static double rate_per_s(const struct search *search)
{
    return search->setup->opts.sessions_per_hour / 3600;
}

static bool is_enough(const struct search *search, const struct lab_tried *tried)
{
    return tried->share_within >= search->setup->opts.attain_ratio;
}

static enum status
try_with(struct search *search, uint32_t entry, uint32_t engines, struct lab_tried *ret)
{
    const struct lab_options *opts = &search->setup->opts;
    const struct lab_try what = {
        .entry = entry,
        .engines = engines,
        .rate_per_s = rate_per_s(search),
        .slo_ratio = opts->slo_ratio,
    };
    enum status st = lab_try_run(search->setup, &what, ret, search->err);
    if (st == ST_OK) {
        (void)fprintf(stderr,
                      "%u engines, %.*s: %.1f %% of the sessions within %gx of their time alone, "
                      "%.0f %% of KV memory in use\n",
                      engines, (int)opts->policies[entry].len, opts->policies[entry].p,
                      100 * ret->share_within, opts->slo_ratio, 100 * ret->mean_kv_used);
    }
    return st;
}

static enum status try_policy(struct search *search, uint32_t engines, bool *ret_is_enough)
{
    struct lab_tried *tried = &search->tries[search->try_count];
    enum status st = try_with(search, ENTRY_POLICY, engines, tried);
    if (st == ST_OK) {
        search->try_count++;
        *ret_is_enough = is_enough(search, tried);
    }
    return st;
}

static uint32_t guess(const struct search *search)
{
    const struct lab_options *opts = &search->setup->opts;
    double an_engine = lab_options_limit(opts) / opts->engines * GUESS_LOAD;
    double engines = an_engine > 0 ? rate_per_s(search) / an_engine : 1;
    return engines < 1 ? 1 : engines > LAB_ENGINES_MAX ? LAB_ENGINES_MAX : (uint32_t)engines;
}

/* good: the fewest known to do, LAB_ENGINES_MAX + 1 = none yet; bad: the most known not to. */
static enum status search_fewest(struct search *search, uint32_t *ret)
{
    uint32_t good = LAB_ENGINES_MAX + 1;
    uint32_t bad = 0;
    uint32_t next = guess(search);
    enum status st = ST_OK;
    while (good - bad > 1 && st == ST_OK) {
        bool is_good = false;
        st = try_policy(search, next, &is_good);
        if (is_good) {
            good = next;
        } else {
            bad = next;
        }
        if (good > LAB_ENGINES_MAX) {
            next = bad * 2 > LAB_ENGINES_MAX ? LAB_ENGINES_MAX : bad * 2;
        } else {
            next = bad == 0 ? good / 2 : (good + bad) / 2;
        }
    }
    if (st == ST_OK && good > LAB_ENGINES_MAX) {
        return err_set(search->err, ST_TOOBIG, "not even %d engines do", LAB_ENGINES_MAX);
    }
    *ret = good;
    return st;
}

/* What keeps one engine less from being enough. */
static enum status find_limit(struct search *search, uint32_t engines, const char **ret)
{
    struct lab_tried bound = {0};
    if (engines == 1) {
        *ret = "nothing";
        return ST_OK;
    }
    enum status st = try_with(search, ENTRY_BOUND, engines - 1, &bound);
    *ret = is_enough(search, &bound) ? "KV memory" : "compute";
    return st;
}

static const struct lab_tried *tried_with(const struct search *search, uint32_t engines)
{
    for (uint32_t i = 0; i < search->try_count; i++) {
        if (search->tries[i].engines == engines) {
            return &search->tries[i];
        }
    }
    return &search->tries[0]; /* the search ends on a number that it has tried */
}

static enum status
add_text(const struct search *search, uint32_t engines, const char *limit, struct buf *out)
{
    const struct lab_options *opts = &search->setup->opts;
    const struct lab_tried *tried = tried_with(search, engines);
    return buf_add_fmt(
        out,
        "%u %s (%s) for %g sessions an hour of workload %s under %.*s: %.1f %% within %gx of "
        "their time alone, mean slowdown %.2f, %.0f %% of KV memory in use by running "
        "requests.\nWhat limits one engine less: %s.\n",
        engines, engines == 1 ? "engine" : "engines", opts->profile.name, opts->sessions_per_hour,
        workload_names[opts->workload], (int)opts->policies[0].len, opts->policies[0].p,
        100 * tried->share_within, opts->slo_ratio, tried->mean_slowdown, 100 * tried->mean_kv_used,
        limit);
}

static enum status add_try(const struct lab_tried *tried, const char *comma, struct buf *out)
{
    return buf_add_fmt(out,
                       "%s{\"engines\":%u,\"share_within\":%.6g,\"mean_slowdown\":%.6g,"
                       "\"mean_kv_used\":%.6g}",
                       comma, tried->engines, tried->share_within, tried->mean_slowdown,
                       tried->mean_kv_used);
}

static enum status
add_json(const struct search *search, uint32_t engines, const char *limit, struct buf *out)
{
    const struct lab_options *opts = &search->setup->opts;
    enum status st = buf_add_fmt(
        out,
        "{\"engines\":%u,\"limited_by\":\"%s\",\"sessions_per_hour\":%.6g,\"slo_ratio\":%.6g,"
        "\"attain_ratio\":%.6g,\"workload\":\"%s\",\"profile\":\"%s\",\"policy\":\"",
        engines, limit, opts->sessions_per_hour, opts->slo_ratio, opts->attain_ratio,
        workload_names[opts->workload], opts->profile.name);
    if (st == ST_OK) {
        st = buf_add_json(out, opts->policies[0]);
    }
    if (st == ST_OK) {
        st = buf_add_str(out, STR("\",\"tries\":["));
    }
    for (uint32_t i = 0; i < search->try_count && st == ST_OK; i++) {
        st = add_try(&search->tries[i], i > 0 ? "," : "", out);
    }
    return st == ST_OK ? buf_add_str(out, STR("]}\n")) : st;
}

static enum status
answer(const struct search *search, uint32_t engines, const char *limit, struct err *err)
{
    struct buf text;
    struct buf json;
    buf_init(&text, mem_heap(), OUTPUT_BYTES_MAX);
    buf_init(&json, mem_heap(), OUTPUT_BYTES_MAX);
    enum status st = add_text(search, engines, limit, &text);
    if (st == ST_OK) {
        st = add_json(search, engines, limit, &json);
    }
    st = st == ST_OK ? output_put(search->setup->opts.json, &text, &json, err)
                     : err_set(err, st, "the answer: %s", status_text(st));
    buf_fini(&text);
    buf_fini(&json);
    return st;
}

enum status lab_plan_fleet(struct lab_setup *setup, struct err *err)
{
    struct search search = {.setup = setup, .err = err};
    uint32_t engines = 0;
    const char *limit = NULL;
    enum status st = search_fewest(&search, &engines);
    if (st == ST_OK) {
        st = find_limit(&search, engines, &limit);
    }
    return st == ST_OK ? answer(&search, engines, limit, err) : st;
}
