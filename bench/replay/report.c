/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/report.h"

#include <stdio.h>

/* Above the bound by more than this, the caches were warm. */
#define WARM_RATIO 0.005

enum { BAR_MIN = 10, BAR_MAX = 60, LINE_BYTES = 256, CELL_BYTES = 32 };

/* "950 us", "12.3 ms", "4.56 s", "3m20s" */
static const char *duration(double s, char out[CELL_BYTES])
{
    if (s < 0.001) {
        (void)snprintf(out, CELL_BYTES, "%.0f us", s * 1e6);
    } else if (s < 1) {
        (void)snprintf(out, CELL_BYTES, "%.*f ms", s < 0.1 ? 1 : 0, s * 1e3);
    } else if (s < 120) {
        (void)snprintf(out, CELL_BYTES, "%.*f s", s < 10 ? 2 : 1, s);
    } else {
        unsigned whole_s = (unsigned)s;
        (void)snprintf(out, CELL_BYTES, "%um%02us", whole_s / 60, whole_s % 60);
    }
    return out;
}

static double step_share(const struct stats *stats)
{
    return stats->step_total == 0
               ? 0
               : (double)(stats->step_done + stats->step_failed) / (double)stats->step_total;
}

/* Adds one line cut to width columns; all of it is ASCII but the bar. */
static enum status add_line(struct buf *out, uint32_t width, const char *text)
{
    size_t len = strlen(text);
    enum status st = buf_add(out, text, len > width ? width : len);
    return st == ST_OK ? buf_add_str(out, STR("\n")) : st;
}

static enum status add_bar(const struct report *report, uint32_t width, struct buf *out)
{
    const struct stats *stats = report->stats;
    char after[CELL_BYTES * 2];
    char cell[CELL_BYTES];
    int len = snprintf(after, sizeof(after), "] %3.0f %%  %s", 100 * step_share(stats),
                       duration(stats->elapsed_s, cell));
    uint32_t used = (uint32_t)(len < 0 ? 0 : len) + 1;
    uint32_t cells = width > used + BAR_MIN ? width - used : BAR_MIN;
    cells = cells > BAR_MAX ? BAR_MAX : cells;
    uint32_t full = (uint32_t)(step_share(stats) * cells);
    enum status st = buf_add_str(out, STR("["));
    for (uint32_t i = 0; i < cells && st == ST_OK; i++) {
        st = buf_add_str(out, i < full ? STR("#") : STR("."));
    }
    return st == ST_OK ? buf_add_fmt(out, "%s\n", after) : st;
}

enum status report_live(const struct report *report, uint32_t width, struct buf *out)
{
    struct stats *stats = report->stats;
    char line[LINE_BYTES];
    char sessions[CELL_BYTES];
    char steps[CELL_BYTES];
    char cached[CELL_BYTES];
    char mean[CELL_BYTES];
    char p90[CELL_BYTES];
    bool has_tct = stats->tct_s.seen_count > 0;
    (void)snprintf(sessions, sizeof(sessions), "%llu/%llu", (unsigned long long)stats->session_done,
                   (unsigned long long)stats->session_total);
    (void)snprintf(steps, sizeof(steps), "%llu/%llu", (unsigned long long)stats->step_done,
                   (unsigned long long)stats->step_total);
    (void)snprintf(cached, sizeof(cached), "%.1f %%", 100 * stats_cached_ratio(stats));
    (void)duration(samples_mean(&stats->tct_s), mean);
    (void)duration(samples_quantile(&stats->tct_s, 0.9), p90);
    enum status st = add_bar(report, width, out);
    (void)snprintf(line, sizeof(line), "%-10s%-12s%-11s%-10s%-10s%-10s%-10s%s", "sessions", "steps",
                   "cache hits", "TCT mean", "TCT p90", "tokens/s", "in flight", "errors");
    st = st == ST_OK ? add_line(out, width, line) : st;
    (void)snprintf(line, sizeof(line), "%-10s%-12s%-11s%-10s%-10s%-10.0f%-10u%llu", sessions, steps,
                   cached, has_tct ? mean : "-", has_tct ? p90 : "-", report->tokens_per_s,
                   report->in_flight, (unsigned long long)stats->step_failed);
    st = st == ST_OK ? add_line(out, width, line) : st;
    (void)snprintf(line, sizeof(line),
                   "unlimited KV on one engine would hit %.1f %%; failed sessions %llu; waiting %u",
                   100 * stats_bound_ratio(stats), (unsigned long long)stats->session_failed,
                   report->waiting);
    return st == ST_OK ? add_line(out, width, line) : st;
}

enum status report_line(const struct report *report, struct buf *out)
{
    struct stats *stats = report->stats;
    char elapsed[CELL_BYTES];
    char mean[CELL_BYTES];
    char p90[CELL_BYTES];
    return buf_add_fmt(out,
                       "%s: sessions %llu/%llu, steps %llu/%llu, cache hits %.1f %%, TCT mean %s "
                       "p90 %s, %.0f tokens/s, "
                       "in flight %u, errors %llu\n",
                       duration(stats->elapsed_s, elapsed), (unsigned long long)stats->session_done,
                       (unsigned long long)stats->session_total,
                       (unsigned long long)stats->step_done, (unsigned long long)stats->step_total,
                       100 * stats_cached_ratio(stats), duration(samples_mean(&stats->tct_s), mean),
                       duration(samples_quantile(&stats->tct_s, 0.9), p90), report->tokens_per_s,
                       report->in_flight, (unsigned long long)stats->step_failed);
}

static enum status add_row(struct buf *out, const char *name, struct samples *samples)
{
    char cells[5][CELL_BYTES];
    if (samples->seen_count == 0) {
        return buf_add_fmt(out, "  %-22s%11s\n", name, "none");
    }
    (void)duration(samples_quantile(samples, 0.5), cells[0]);
    (void)duration(samples_quantile(samples, 0.9), cells[1]);
    (void)duration(samples_quantile(samples, 0.99), cells[2]);
    (void)duration(samples_mean(samples), cells[3]);
    (void)duration(samples->max, cells[4]);
    return buf_add_fmt(out, "  %-22s%11s%11s%11s%11s%11s%10llu\n", name, cells[0], cells[1],
                       cells[2], cells[3], cells[4], (unsigned long long)samples->seen_count);
}

static enum status add_times(const struct report *report, struct buf *out)
{
    struct stats *stats = report->stats;
    enum status st = buf_add_fmt(out, "\n  %-22s%11s%11s%11s%11s%11s%10s\n", "", "p50", "p90",
                                 "p99", "mean", "max", "n");
    st = st == ST_OK ? add_row(out, "time to first token", &stats->ttft_s) : st;
    st = st == ST_OK ? add_row(out, "between tokens", &stats->gap_s) : st;
    st = st == ST_OK ? add_row(out, "step", &stats->step_s) : st;
    return st == ST_OK ? add_row(out, "task completion (TCT)", &stats->tct_s) : st;
}

static enum status add_cache(const struct report *report, struct buf *out)
{
    const struct stats *stats = report->stats;
    double cached = stats_cached_ratio(stats);
    double bound = stats_bound_ratio(stats);
    enum status st = buf_add_fmt(
        out,
        "\n  cached prompt tokens  %.2f %% of %llu\n"
        "  one engine, unlimited KV: %s%.2f %% (measured is %+.2f points from it)\n",
        100 * cached, (unsigned long long)stats->prompt_tokens,
        report->is_bound_complete ? "" : "at least ", 100 * bound, 100 * (cached - bound));
    if (st == ST_OK && cached > bound + WARM_RATIO) {
        st = buf_add_str(out, STR("  more than that: the server had seen these texts before "
                                  "(restart it, or change --seed)\n"));
    }
    if (st == ST_OK && stats->no_usage_count > 0) {
        st = buf_add_fmt(out, "  %llu answers had no usage and are not in these shares\n",
                         (unsigned long long)stats->no_usage_count);
    }
    if (st == ST_OK && stats->pair_count > 0) {
        st = buf_add_fmt(out,
                         "  same engine as the step before: %.2f %% of %llu; %u engines, busiest "
                         "%.2fx the mean\n",
                         100 * stats_stay_ratio(stats), (unsigned long long)stats->pair_count,
                         stats->engine_count, stats_busiest_ratio(stats));
    }
    double rate = stats->elapsed_s > 0 ? (double)stats->output_tokens / stats->elapsed_s : 0;
    return st == ST_OK ? buf_add_fmt(out, "  output tokens  %llu, %.0f a second\n",
                                     (unsigned long long)stats->output_tokens, rate)
                       : st;
}

static enum status add_errors(const struct report *report, struct buf *out)
{
    const struct stats *stats = report->stats;
    uint64_t step_count = stats->step_failed + stats->step_done;
    enum status st = buf_add_fmt(
        out, "\n  errors  %llu of %llu steps, %llu sessions failed, %llu retries\n",
        (unsigned long long)stats->step_failed, (unsigned long long)step_count,
        (unsigned long long)stats->session_failed, (unsigned long long)stats->retry_count);
    for (int i = 0; i < STATS_ERROR_COUNT && st == ST_OK; i++) {
        if (stats->error_count[i] > 0) {
            st = buf_add_fmt(out, "    %-32s%8llu\n", stats_error_text((enum stats_error)i),
                             (unsigned long long)stats->error_count[i]);
        }
    }
    if (st == ST_OK && stats->first_error[0] != '\0') {
        st = buf_add_fmt(out, "    the first one: %s\n", stats->first_error);
    }
    return st;
}

enum status report_text(const struct report *report, struct buf *out)
{
    const struct stats *stats = report->stats;
    const struct replay_options *opts = report->opts;
    char elapsed[CELL_BYTES];
    enum status st = buf_add_fmt(
        out, "saga bench: %llu of %llu sessions and %llu of %u sub-agents, %llu steps in %s%s\n",
        (unsigned long long)stats->session_done, (unsigned long long)stats->session_total,
        (unsigned long long)stats->agent_done, report->agent_total,
        (unsigned long long)stats->step_done, duration(stats->elapsed_s, elapsed),
        report->is_stopped_early ? " (stopped before the end)" : "");
    if (st == ST_OK) {
        st = buf_add_fmt(out, "  %s%s, model %s, trace %s\n", opts->urls[0],
                         opts->url_count > 1 ? " and others" : "", report->model,
                         report->trace_name);
    }
    if (st == ST_OK) {
        st = buf_add_fmt(
            out,
            "  seed %llu, waits %gx shorter (cut to %g s first), lengths x %g, arrivals %s%s%s\n",
            (unsigned long long)opts->seed, opts->speed, opts->max_gap_s, opts->scale_tokens,
            options_arrivals_name(opts->arrivals), opts->url_count > 1 ? ", spread " : "",
            opts->url_count > 1 ? options_spread_name(opts->spread) : "");
    }
    st = st == ST_OK ? add_times(report, out) : st;
    st = st == ST_OK ? add_cache(report, out) : st;
    return st == ST_OK ? add_errors(report, out) : st;
}
