/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/report_json.h"

#include "bench/replay/report_rows.h"

#include <stdlib.h>
#include <yyjson.h>

/* A failed addition leaves the document without that key: only for want of memory. */
struct writer {
    yyjson_mut_doc *doc;
    bool is_ok;
};

static void put(struct writer *w, yyjson_mut_val *obj, const char *key, yyjson_mut_val *val)
{
    w->is_ok = val != NULL && yyjson_mut_obj_add_val(w->doc, obj, key, val) && w->is_ok;
}

static void put_u64(struct writer *w, yyjson_mut_val *obj, const char *key, uint64_t n)
{
    put(w, obj, key, yyjson_mut_uint(w->doc, n));
}

static void put_f64(struct writer *w, yyjson_mut_val *obj, const char *key, double x)
{
    put(w, obj, key, yyjson_mut_real(w->doc, x));
}

static void put_str(struct writer *w, yyjson_mut_val *obj, const char *key, const char *text)
{
    put(w, obj, key, text == NULL ? yyjson_mut_null(w->doc) : yyjson_mut_strcpy(w->doc, text));
}

static void put_bool(struct writer *w, yyjson_mut_val *obj, const char *key, bool b)
{
    put(w, obj, key, yyjson_mut_bool(w->doc, b));
}

static yyjson_mut_val *put_obj(struct writer *w, yyjson_mut_val *obj, const char *key)
{
    yyjson_mut_val *val = yyjson_mut_obj(w->doc);
    put(w, obj, key, val);
    return val;
}

static void
put_samples(struct writer *w, yyjson_mut_val *obj, const char *key, struct samples *samples)
{
    yyjson_mut_val *val = put_obj(w, obj, key);
    put_u64(w, val, "count", samples->seen_count);
    put_f64(w, val, "p50", samples_quantile(samples, 0.5));
    put_f64(w, val, "p90", samples_quantile(samples, 0.9));
    put_f64(w, val, "p99", samples_quantile(samples, 0.99));
    put_f64(w, val, "mean", samples_mean(samples));
    put_f64(w, val, "max", samples->max);
}

static void put_parameters(struct writer *w, yyjson_mut_val *root, const struct report *report)
{
    const struct replay_options *opts = report->opts;
    yyjson_mut_val *val = put_obj(w, root, "parameters");
    yyjson_mut_val *urls = yyjson_mut_arr(w->doc);
    for (uint32_t i = 0; i < opts->url_count; i++) {
        w->is_ok = yyjson_mut_arr_add_strcpy(w->doc, urls, opts->urls[i]) && w->is_ok;
    }
    put(w, val, "urls", urls);
    put_str(w, val, "spread", options_spread_name(opts->spread));
    put_str(w, val, "trace", report->trace_name);
    put_str(w, val, "model", report->model);
    put_u64(w, val, "seed", opts->seed);
    put_u64(w, val, "sessions", report->stats->session_total);
    put_u64(w, val, "max_steps", opts->max_steps);
    put_str(w, val, "arrivals", options_arrivals_name(opts->arrivals));
    put_u64(w, val, "burst", opts->burst);
    put_f64(w, val, "rate_per_s", opts->rate_per_s);
    put_f64(w, val, "speed", opts->speed);
    put_f64(w, val, "max_gap_s", opts->max_gap_s);
    put_f64(w, val, "scale_tokens", opts->scale_tokens);
    put_u64(w, val, "tenants", opts->tenants);
    put_bool(w, val, "session_header", opts->has_session_header);
    put_bool(w, val, "ignore_eos", opts->ignores_eos);
    put_u64(w, val, "max_in_flight", opts->max_in_flight);
    put_f64(w, val, "timeout_s", opts->timeout_s);
    put_u64(w, val, "retry", opts->retries);
}

static void put_counts(struct writer *w, yyjson_mut_val *root, const struct report *report)
{
    const struct stats *stats = report->stats;
    put_bool(w, root, "stopped_early", report->is_stopped_early);
    put_f64(w, root, "elapsed_s", stats->elapsed_s);
    put_u64(w, root, "sessions_done", stats->session_done);
    put_u64(w, root, "sessions_failed", stats->session_failed);
    put_u64(w, root, "sub_agents_done", stats->agent_done);
    put_u64(w, root, "sub_agents_planned", report->agent_total);
    put_u64(w, root, "steps_planned", stats->step_total);
    put_u64(w, root, "steps_done", stats->step_done);
    put_u64(w, root, "steps_failed", stats->step_failed);
    put_u64(w, root, "retries", stats->retry_count);
    yyjson_mut_val *errors = put_obj(w, root, "errors");
    for (int i = 0; i < STATS_ERROR_COUNT; i++) {
        if (stats->error_count[i] > 0) {
            put_u64(w, errors, stats_error_key((enum stats_error)i), stats->error_count[i]);
        }
    }
    put_str(w, root, "first_error", stats->first_error);
}

static void put_tokens(struct writer *w, yyjson_mut_val *root, const struct report *report)
{
    const struct stats *stats = report->stats;
    double elapsed_s = stats->elapsed_s;
    put_u64(w, root, "prompt_tokens", stats->prompt_tokens);
    put_u64(w, root, "cached_tokens", stats->cached_tokens);
    put_u64(w, root, "output_tokens", stats->output_tokens);
    put_u64(w, root, "steps_without_usage", stats->no_usage_count);
    put_f64(w, root, "output_tokens_per_s",
            elapsed_s > 0 ? (double)stats->output_tokens / elapsed_s : 0);
    put_f64(w, root, "cached_ratio", stats_cached_ratio(stats));
    put_f64(w, root, "unlimited_kv_cached_ratio", stats_bound_ratio(stats));
    put_bool(w, root, "unlimited_kv_is_complete", report->is_bound_complete);
    put_u64(w, root, "own_prompt_tokens", stats->own_tokens);
}

static void put_engines(struct writer *w, yyjson_mut_val *root, const struct stats *stats)
{
    yyjson_mut_val *engines = put_obj(w, root, "engine_steps");
    for (uint32_t i = 0; i < stats->engine_count; i++) {
        put_u64(w, engines, stats->engines[i].name, stats->engines[i].step_count);
    }
    put_f64(w, root, "same_engine_ratio", stats_stay_ratio(stats));
    put_u64(w, root, "same_engine_pairs", stats->pair_count);
    put_f64(w, root, "busiest_engine_ratio", stats_busiest_ratio(stats));
}

static enum status write(struct writer *w, const struct report *report, struct buf *out)
{
    yyjson_mut_val *root = yyjson_mut_obj(w->doc);
    yyjson_mut_doc_set_root(w->doc, root);
    put_parameters(w, root, report);
    put_counts(w, root, report);
    put_tokens(w, root, report);
    put_engines(w, root, report->stats);
    put_samples(w, root, "ttft_s", &report->stats->ttft_s);
    put_samples(w, root, "inter_token_s", &report->stats->gap_s);
    put_samples(w, root, "step_s", &report->stats->step_s);
    put_samples(w, root, "tct_s", &report->stats->tct_s);
    size_t len = 0;
    char *text = w->is_ok ? yyjson_mut_write(w->doc, YYJSON_WRITE_PRETTY_TWO_SPACES, &len) : NULL;
    if (text == NULL) {
        return ST_NOMEM;
    }
    /* The rows, many and alike, are written a line each, before the last brace. */
    struct str head = {text, report->rows == NULL ? len : len - strlen("\n}")};
    enum status st = buf_add_str(out, head);
    free(text); /* LINT_ALLOW(malloc): yyjson allocated it */
    if (st == ST_OK && report->rows != NULL) {
        st = buf_add_str(out, STR(",\n"));
        st = st == ST_OK ? report_rows(report->plan, report->rows, out) : st;
        st = st == ST_OK ? buf_add_str(out, STR("\n}")) : st;
    }
    return st == ST_OK ? buf_add_str(out, STR("\n")) : st;
}

enum status report_json(const struct report *report, struct buf *out)
{
    struct writer w = {.doc = yyjson_mut_doc_new(NULL), .is_ok = true};
    if (w.doc == NULL) {
        return ST_NOMEM;
    }
    enum status st = write(&w, report, out);
    yyjson_mut_doc_free(w.doc);
    return st;
}
