/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/report.h"

static enum status add_ci(const struct pool *pool, struct buf *out)
{
    return buf_add_fmt(
        out, ",\"ci\":{\"mean_slowdown\":[%.6g,%.6g],\"geomean_vs_first\":[%.6g,%.6g]}",
        pool->slowdown_ci.low, pool->slowdown_ci.high, pool->geomean_ci.low, pool->geomean_ci.high);
}

static enum status
add_head(const struct lab_report *report, uint32_t point, uint32_t policy, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    enum status st = buf_add_str(out, STR("{\"policy\":\""));
    if (st == ST_OK) {
        st = buf_add_json(out, opts->policies[policy]);
    }
    return st == ST_OK ? buf_add_fmt(out, "\",\"workload\":\"%s\",\"load\":%.6g",
                                     workload_names[opts->workload], pool_load(report, point))
                       : st;
}

/* The engines it had. */
static enum status add_engine(const struct batch_run *run, struct buf *out)
{
    const struct lab_engine_spec *spec = &run->spec;
    return buf_add_fmt(out,
                       ",\"kv_scale\":%.6g,\"kv_tokens\":%u,\"chunk\":%u,\"block_tokens\":%u,"
                       "\"evict\":\"%s\",\"admission\":\"%s\",\"tier_tokens\":%llu,\"tier_mode\":"
                       "\"%s\",\"store_tokens\":%llu",
                       spec->kv_scale, run->engine.profile.kv_tokens,
                       run->engine.profile.budget_tokens, spec->block_tokens, spec->evict->name,
                       lab_admission_names[spec->admission], (unsigned long long)spec->tier_tokens,
                       lab_tier_mode_names[spec->tier_mode],
                       (unsigned long long)spec->store_tokens);
}

static enum status add_times(const struct metrics *m, struct buf *out)
{
    enum status st = buf_add_fmt(
        out,
        ",\"sessions\":%u,\"finished\":%u,\"mean_slowdown\":%.6g,\"geomean_slowdown\":%.6g,"
        "\"p50_slowdown\":%.6g,\"p99_slowdown\":%.6g,\"mean_tct_s\":%.6g,"
        "\"p50_tct_s\":%.6g,\"p99_tct_s\":%.6g",
        m->sessions, m->finished, m->mean_slowdown, m->geomean_slowdown, m->p50_slowdown,
        m->p99_slowdown, m->mean_tct_s, m->p50_tct_s, m->p99_tct_s);
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
        "\"preempted\":%llu,\"steals\":%llu,\"pauses_per_session\":%.6g,"
        "\"mean_kv_used\":%.6g,\"max_kv_used\":%.6g,\"attempts_failed\":%llu,\"cut\":%llu",
        m->cached_share, m->regenerated_share, m->share_within_2p5x, m->refused_share,
        m->goodput_share, (unsigned long long)m->steps, (unsigned long long)m->moves,
        (unsigned long long)m->preempted, (unsigned long long)m->steals, m->pauses_per_session,
        m->mean_kv_used, m->max_kv_used, (unsigned long long)m->attempts_failed,
        (unsigned long long)m->cut);
}

/* Beside others. */
static enum status add_compared(const struct pool *pool, bool asks_recovery, struct buf *out)
{
    enum status st = buf_add_fmt(out, ",\"geomean_vs_first\":%.6g,\"share_within_expected\":%.6g",
                                 pool->geomean_vs_first, pool->share_within_expected);
    if (st == ST_OK && pool->hits_vs_belady > 0) {
        st = buf_add_fmt(out, ",\"hits_vs_belady\":%.6g", pool->hits_vs_belady);
    }
    if (st == ST_OK) {
        st = pool->collapsed > 0 ? buf_add_fmt(out, ",\"collapse_s\":%.6g", pool->collapse_s)
                                 : buf_add_str(out, STR(",\"collapse_s\":null"));
    }
    if (st == ST_OK && asks_recovery) {
        st = pool->recovered > 0 ? buf_add_fmt(out, ",\"recovery_s\":%.6g", pool->recovery_s)
                                 : buf_add_str(out, STR(",\"recovery_s\":null"));
    }
    return st == ST_OK ? add_ci(pool, out) : st;
}

static enum status add_run(const struct lab_report *report,
                           uint32_t point,
                           uint32_t seed,
                           uint32_t policy,
                           struct buf *out)
{
    const struct batch_run *run = pool_run(report, point, seed, policy);
    struct pool pool;
    enum status st = pool_make(report, point, policy, seed, 1, &pool);
    if (st == ST_OK) {
        st = add_head(report, point, policy, out);
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out, ",\"rate_per_s\":%.6g,\"seed\":%llu,\"split\":\"%s\"",
                         run->of->rate_per_s, (unsigned long long)run->of->seed,
                         split_names[report->opts->split]);
    }
    if (st == ST_OK) {
        st = add_engine(run, out);
    }
    if (st == ST_OK) {
        st = add_times(&run->metrics, out);
    }
    if (st == ST_OK) {
        st = add_shares(&run->metrics, out);
    }
    if (st == ST_OK) {
        st = add_compared(&pool, report->opts->recovery_from_s >= 0, out);
    }
    if (st == ST_OK) {
        st = tenants_json(&run->tenants, report->batch->scenario, out);
    }
    if (st == ST_OK && pool.has_unlimited) {
        st = buf_add_fmt(out, ",\"carries\":%s", pool.carries > 0 ? "true" : "false");
    }
    return st == ST_OK ? buf_add_fmt(out, ",\"event_hash\":\"%016llx\"}",
                                     (unsigned long long)run->event_hash)
                       : st;
}

static enum status
add_pool(const struct lab_report *report, uint32_t point, uint32_t policy, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    struct pool pool;
    enum status st = pool_make(report, point, policy, 0, opts->seed_count, &pool);
    if (st == ST_OK) {
        st = add_head(report, point, policy, out);
    }
    if (st == ST_OK) {
        st = add_engine(pool_run(report, point, 0, policy), out);
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out,
                         ",\"seeds\":%u,\"mean_slowdown\":%.6g,\"late_slowdown\":%.6g,"
                         "\"seeds_collapsed\":%u",
                         opts->seed_count, pool.mean_slowdown, pool.late_slowdown, pool.collapsed);
    }
    if (st == ST_OK && opts->recovery_from_s >= 0) {
        st = buf_add_fmt(out, ",\"seeds_recovered\":%u", pool.recovered);
    }
    if (st == ST_OK && pool.has_unlimited) {
        st = buf_add_fmt(out, ",\"seeds_carried\":%u", pool.carries);
    }
    if (st == ST_OK) {
        st = add_compared(&pool, report->opts->recovery_from_s >= 0, out);
    }
    return st == ST_OK ? buf_add_str(out, STR("}")) : st;
}

static enum status add_parameters(const struct lab_options *opts, struct buf *out)
{
    return buf_add_fmt(
        out,
        "{\"parameters\":{\"profile\":\"%s\",\"engines\":%u,\"hours\":%.6g,\"burst_cv\":%.6g,"
        "\"load_is_rate\":%s},\n\"runs\":[",
        opts->profile.name, opts->engines, opts->hours, opts->burst_cv,
        opts->has_rate ? "true" : "false");
}

static enum status add_runs(const struct lab_report *report, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    const char *comma = "\n";
    enum status st = ST_OK;
    for (uint32_t point = 0; point < pool_points(report); point++) {
        for (uint32_t seed = 0; seed < opts->seed_count; seed++) {
            for (uint32_t p = 0; p < opts->policy_count && st == ST_OK; p++) {
                st = buf_add_str(out, str_of(comma));
                if (st == ST_OK) {
                    st = add_run(report, point, seed, p, out);
                }
                comma = ",\n";
            }
        }
    }
    return st;
}

static enum status add_pools(const struct lab_report *report, struct buf *out)
{
    const char *comma = "\n";
    enum status st = ST_OK;
    for (uint32_t point = 0; point < pool_points(report); point++) {
        for (uint32_t p = 0; p < report->opts->policy_count && st == ST_OK; p++) {
            st = buf_add_str(out, str_of(comma));
            if (st == ST_OK) {
                st = add_pool(report, point, p, out);
            }
            comma = ",\n";
        }
    }
    return st;
}

enum status lab_report_json(const struct lab_report *report, struct buf *out)
{
    enum status st = add_parameters(report->opts, out);
    if (st == ST_OK) {
        st = add_runs(report, out);
    }
    if (st == ST_OK) {
        st = buf_add_str(out, STR("],\n\"over_seeds\":["));
    }
    if (st == ST_OK) {
        st = add_pools(report, out);
    }
    return st == ST_OK ? buf_add_str(out, STR("]}\n")) : st;
}
