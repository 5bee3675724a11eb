/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/report.h"

static enum status add_ci(const struct pool *pool, struct buf *out)
{
    return buf_add_fmt(
        out, ",\"ci\":{\"mean_slowdown\":[%.6g,%.6g],\"geomean_vs_first\":[%.6g,%.6g]}",
        pool->slowdown_ci.low, pool->slowdown_ci.high, pool->geomean_ci.low, pool->geomean_ci.high);
}

static enum status
add_head(const struct lab_options *opts, uint32_t load, uint32_t policy, struct buf *out)
{
    enum status st = buf_add_str(out, STR("{\"policy\":\""));
    if (st == ST_OK) {
        st = buf_add_json(out, opts->policies[policy]);
    }
    return st == ST_OK ? buf_add_fmt(out, "\",\"workload\":\"%s\",\"load\":%.6g",
                                     workload_names[opts->workload], opts->loads[load])
                       : st;
}

static enum status add_times(const struct metrics *m, struct buf *out)
{
    enum status st = buf_add_fmt(
        out,
        ",\"sessions\":%u,\"finished\":%u,\"mean_slowdown\":%.6g,\"geomean_slowdown\":%.6g,"
        "\"p50_slowdown\":%.6g,\"p99_slowdown\":%.6g,\"mean_tct_s\":%.6g",
        m->sessions, m->finished, m->mean_slowdown, m->geomean_slowdown, m->p50_slowdown,
        m->p99_slowdown, m->mean_tct_s);
    return st == ST_OK
               ? buf_add_fmt(out,
                             ",\"mean_ttft_s\":%.6g,\"p99_ttft_s\":%.6g,\"p999_ttft_s\":%.6g,"
                             "\"max_wait_s\":%.6g,\"tokens_per_s\":%.6g,\"late_slowdown\":%.6g,"
                             "\"is_rising\":%s",
                             m->mean_ttft_s, m->p99_ttft_s, m->p999_ttft_s, m->max_wait_s,
                             m->tokens_per_s, m->late_slowdown, m->is_rising ? "true" : "false")
               : st;
}

static enum status add_shares(const struct metrics *m, struct buf *out)
{
    return buf_add_fmt(
        out,
        ",\"cached_share\":%.6g,\"regenerated_share\":%.6g,\"share_within_2p5x\":%.6g,"
        "\"refused_share\":%.6g,\"goodput_share\":%.6g,\"steps\":%llu,\"moves\":%llu,"
        "\"preempted\":%llu",
        m->cached_share, m->regenerated_share, m->share_within_2p5x, m->refused_share,
        m->goodput_share, (unsigned long long)m->steps, (unsigned long long)m->moves,
        (unsigned long long)m->preempted);
}

static enum status add_run(
    const struct lab_report *report, uint32_t load, uint32_t seed, uint32_t policy, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    const struct batch_run *run = pool_run(report, load, seed, policy);
    struct pool pool;
    enum status st = pool_make(report, load, policy, seed, 1, &pool);
    if (st == ST_OK) {
        st = add_head(opts, load, policy, out);
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out, ",\"rate_per_s\":%.6g,\"seed\":%llu,\"split\":\"%s\",\"chunk\":%u",
                         run->of->rate_per_s, (unsigned long long)run->of->seed,
                         split_names[opts->split], opts->profile.budget_tokens);
    }
    if (st == ST_OK) {
        st = add_times(&run->metrics, out);
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out, ",\"geomean_vs_first\":%.6g", pool.geomean_vs_first);
    }
    if (st == ST_OK) {
        st = add_shares(&run->metrics, out);
    }
    if (st == ST_OK) {
        st = add_ci(&pool, out);
    }
    if (st == ST_OK && pool.has_unlimited) {
        st = buf_add_fmt(out, ",\"carries\":%s", pool.carries > 0 ? "true" : "false");
    }
    return st == ST_OK ? buf_add_fmt(out, ",\"event_hash\":\"%016llx\"}",
                                     (unsigned long long)run->event_hash)
                       : st;
}

static enum status
add_pool(const struct lab_report *report, uint32_t load, uint32_t policy, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    struct pool pool;
    enum status st = pool_make(report, load, policy, 0, opts->seed_count, &pool);
    if (st == ST_OK) {
        st = add_head(opts, load, policy, out);
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out,
                         ",\"seeds\":%u,\"mean_slowdown\":%.6g,\"geomean_vs_first\":%.6g,"
                         "\"late_slowdown\":%.6g",
                         opts->seed_count, pool.mean_slowdown, pool.geomean_vs_first,
                         pool.late_slowdown);
    }
    if (st == ST_OK && pool.has_unlimited) {
        st = buf_add_fmt(out, ",\"seeds_carried\":%u", pool.carries);
    }
    if (st == ST_OK) {
        st = add_ci(&pool, out);
    }
    return st == ST_OK ? buf_add_str(out, STR("}")) : st;
}

static enum status add_parameters(const struct lab_options *opts, struct buf *out)
{
    return buf_add_fmt(
        out,
        "{\"parameters\":{\"profile\":\"%s\",\"engines\":%u,\"kv_tokens\":%u,\"chunk\":%u,"
        "\"evict\":\"%s\",\"hours\":%.6g,\"burst_cv\":%.6g,\"load_is_rate\":%s},\n\"runs\":[",
        opts->profile.name, opts->engines, opts->profile.kv_tokens, opts->profile.budget_tokens,
        opts->evict->name, opts->hours, opts->burst_cv, opts->has_rate ? "true" : "false");
}

enum status lab_report_json(const struct lab_report *report, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    const char *comma = "\n";
    enum status st = add_parameters(opts, out);
    for (uint32_t load = 0; load < opts->load_count; load++) {
        for (uint32_t seed = 0; seed < opts->seed_count; seed++) {
            for (uint32_t p = 0; p < opts->policy_count && st == ST_OK; p++) {
                st = buf_add_str(out, str_of(comma));
                if (st == ST_OK) {
                    st = add_run(report, load, seed, p, out);
                }
                comma = ",\n";
            }
        }
    }
    if (st == ST_OK) {
        st = buf_add_str(out, STR("],\n\"over_seeds\":["));
    }
    comma = "\n";
    for (uint32_t load = 0; load < opts->load_count; load++) {
        for (uint32_t p = 0; p < opts->policy_count && st == ST_OK; p++) {
            st = buf_add_str(out, str_of(comma));
            if (st == ST_OK) {
                st = add_pool(report, load, p, out);
            }
            comma = ",\n";
        }
    }
    return st == ST_OK ? buf_add_str(out, STR("]}\n")) : st;
}
