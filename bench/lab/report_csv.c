/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/report.h"

/* The columns that say which run it was. */
static enum status add_run(const struct lab_report *report, uint32_t idx, struct buf *out)
{
    const struct batch_run *run = &report->batch->runs[idx];
    uint32_t point = idx / (report->opts->seed_count * report->opts->policy_count);
    return buf_add_fmt(out, "\"%.*s\",%g,%g,%llu,%llu", (int)run->entry->label.len,
                       run->entry->label.p, pool_load(report, point), run->spec.kv_scale,
                       (unsigned long long)run->spec.tier_tokens,
                       (unsigned long long)run->of->seed);
}

enum status lab_report_sessions(const struct lab_report *report, struct buf *out)
{
    enum status st =
        buf_add_str(out, STR("policy,load,kv_scale,tier_tokens,seed,at_s,tct_s,slowdown,state\n"));
    for (uint32_t i = 0; i < report->batch->run_count; i++) {
        const struct batch_run *run = &report->batch->runs[i];
        for (uint32_t k = 0; k < run->metrics.sessions && st == ST_OK; k++) {
            const struct metrics_session *session = &run->sessions[k];
            const char *state = session->is_finished ? "finished" : "unfinished";
            st = add_run(report, i, out);
            if (st == ST_OK) {
                st = buf_add_fmt(out, ",%.3f,%.3f,%.4f,%s\n", session->at_s, session->tct_s,
                                 metrics_slowdown(session),
                                 session->is_given_up ? "given_up" : state);
            }
        }
    }
    return st;
}

/* The engines of one moment. */
static enum status
add_moment(const struct lab_report *report, uint32_t idx, uint32_t moment, struct buf *out)
{
    const struct timeline *timeline = &report->batch->runs[idx].timeline;
    const struct lab_sample *engines = timeline->items + (size_t)moment * timeline->engines;
    uint64_t at_s = moment * (TIMELINE_EVERY_US / 1000000);
    enum status st = ST_OK;
    for (uint32_t e = 0; e < timeline->engines && st == ST_OK; e++) {
        st = add_run(report, idx, out);
        if (st == ST_OK) {
            st = buf_add_fmt(out, ",%llu,%u,%u,%u,%u,%.4f,%llu\n", (unsigned long long)at_s, e,
                             engines[e].running, engines[e].waiting, engines[e].paused,
                             engines[e].kv_used_ratio,
                             (unsigned long long)engines[e].regenerated_tokens);
        }
    }
    return st;
}

enum status lab_report_engines(const struct lab_report *report, struct buf *out)
{
    enum status st = buf_add_str(out, STR("policy,load,kv_scale,tier_tokens,seed,at_s,engine,"
                                          "running,waiting,paused,kv_used,regenerated_tokens\n"));
    for (uint32_t i = 0; i < report->batch->run_count; i++) {
        for (uint32_t k = 0; k < report->batch->runs[i].timeline.count && st == ST_OK; k++) {
            st = add_moment(report, i, k, out);
        }
    }
    return st;
}
