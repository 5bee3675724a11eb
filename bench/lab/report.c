/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/report.h"

enum { NAME_WIDTH_MIN = 16 };

static int name_width(const struct lab_options *opts)
{
    size_t width = NAME_WIDTH_MIN;
    for (uint32_t i = 0; i < opts->policy_count; i++) {
        width = opts->policies[i].len > width ? opts->policies[i].len : width;
    }
    return (int)width;
}

static enum status add_name(const struct lab_report *report, uint32_t policy, struct buf *out)
{
    struct str name = report->opts->policies[policy];
    return buf_add_fmt(out, "%-*.*s", name_width(report->opts), (int)name.len, name.p);
}

static const char *yes_or_no(const struct pool *pool)
{
    if (!pool->has_unlimited) {
        return "-";
    }
    return pool->carries > 0 ? "yes" : "no";
}

static enum status add_row(const struct lab_report *report,
                           uint32_t point,
                           uint32_t seed,
                           uint32_t policy,
                           struct buf *out)
{
    const struct batch_run *run = pool_run(report, point, seed, policy);
    const struct metrics *m = &run->metrics;
    struct pool pool;
    enum status st = pool_make(report, point, policy, seed, 1, &pool);
    if (st == ST_OK) {
        st = add_name(report, policy, out);
    }
    if (st != ST_OK) {
        return st;
    }
    st = buf_add_fmt(out,
                     " %6.4g %4llu %6u/%-6u %8.2f %7.2f %7.2f %8.0f %8.0f %8.2f %7.2f %7.1f %7.1f "
                     "%6.0f %6.0f %6.1f %6.1f %6.1f %5.0f %5.0f %7s\n",
                     pool_load(report, point), (unsigned long long)run->of->seed, m->finished,
                     m->sessions, m->mean_slowdown, m->p50_slowdown, m->p99_slowdown, m->mean_tct_s,
                     m->p99_tct_s, pool.geomean_vs_first, m->mean_ttft_s, m->p99_ttft_s,
                     m->p999_ttft_s, m->max_wait_s, m->tokens_per_s, 100 * m->regenerated_share,
                     100 * m->share_within_2p5x, 100 * pool.share_within_expected,
                     100 * m->mean_kv_used, 100 * m->max_kv_used, yes_or_no(&pool));
    return st == ST_OK ? tenants_table(&run->tenants, report->batch->scenario, out) : st;
}

static enum status add_rows(const struct lab_report *report, uint32_t memory, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    enum status st = buf_add_fmt(
        out,
        "%-*s %6s %4s %13s %8s %7s %7s %8s %8s %8s %7s %7s %7s %6s %6s %6s %6s %6s %5s %5s %7s\n",
        name_width(opts), "policy", opts->has_rate ? "rate" : "load", "seed", "done", "slowdown",
        "p50", "p99", "TCT s", "p99", "vs first", "TTFT s", "p99", "p99.9", "max", "tok/s",
        "regen%", "<2.5x%", "exp.%", "KV%", "max", "carries");
    for (uint32_t load = 0; load < opts->load_count; load++) {
        uint32_t point = memory * opts->load_count + load;
        for (uint32_t seed = 0; seed < opts->seed_count; seed++) {
            for (uint32_t p = 0; p < opts->policy_count && st == ST_OK; p++) {
                st = add_row(report, point, seed, p, out);
            }
        }
    }
    return st;
}

static enum status
add_pool(const struct lab_report *report, uint32_t point, uint32_t policy, struct buf *out)
{
    uint32_t seeds = report->opts->seed_count;
    struct pool pool;
    enum status st = pool_make(report, point, policy, 0, seeds, &pool);
    if (st == ST_OK) {
        st = add_name(report, policy, out);
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out, " %6.4g %8.2f (%6.2f to %6.2f) %8.2f (%6.2f to %6.2f)",
                         pool_load(report, point), pool.mean_slowdown, pool.slowdown_ci.low,
                         pool.slowdown_ci.high, pool.geomean_vs_first, pool.geomean_ci.low,
                         pool.geomean_ci.high);
    }
    if (st == ST_OK) {
        st = pool.has_unlimited ? buf_add_fmt(out, " %4u of %-2u", pool.carries, seeds)
                                : buf_add_fmt(out, " %10s", "-");
    }
    if (st == ST_OK) {
        st = pool.collapsed > 0 ? buf_add_fmt(out, " %4u of %-2u %8.0f", pool.collapsed, seeds,
                                              pool.collapse_s / 60)
                                : buf_add_fmt(out, " %4u of %-2u %8s", 0U, seeds, "-");
    }
    if (st == ST_OK) {
        st = pool.hits_vs_belady > 0 ? buf_add_fmt(out, " %8.3f", pool.hits_vs_belady)
                                     : buf_add_fmt(out, " %8s", "-");
    }
    if (st == ST_OK && report->opts->recovery_from_s >= 0) {
        st = buf_add_fmt(out, " %4u of %-2u %6.0f", pool.recovered, seeds, pool.recovery_s / 60);
    }
    return st == ST_OK ? buf_add_str(out, STR("\n")) : st;
}

/* All seeds together. */
static enum status add_pools(const struct lab_report *report, uint32_t memory, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    enum status st = buf_add_fmt(
        out, "\nAll %u seeds together, 95 %% intervals\n%-*s %6s %26s %26s %10s %10s %8s %8s%s\n",
        opts->seed_count, name_width(opts), "policy", opts->has_rate ? "rate" : "load",
        "mean slowdown", "faster than the first", "carries", "collapses", "min", "/Belady",
        opts->recovery_from_s >= 0 ? "   recovers    min" : "");
    for (uint32_t load = 0; load < opts->load_count; load++) {
        for (uint32_t p = 0; p < opts->policy_count && st == ST_OK; p++) {
            st = add_pool(report, memory * opts->load_count + load, p, out);
        }
    }
    return st;
}

static enum status add_memory(const struct lab_report *report, uint32_t memory, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    struct lab_memory at = lab_options_memory(opts, memory);
    enum status st = buf_add_fmt(out, "\n%.0f KV tokens", opts->profile.kv_tokens * at.kv_scale);
    if (st == ST_OK && at.tier_tokens > 0) {
        st = buf_add_fmt(out, ", tier of %llu tokens, %s", (unsigned long long)at.tier_tokens,
                         lab_tier_mode_names[opts->engine.tier_mode]);
    }
    if (st == ST_OK && opts->engine.store_tokens > 0) {
        st = buf_add_fmt(out, ", store of %llu tokens",
                         (unsigned long long)opts->engine.store_tokens);
    }
    if (st == ST_OK) {
        st = buf_add_str(out, STR("\n"));
    }
    if (st == ST_OK) {
        st = add_rows(report, memory, out);
    }
    return st == ST_OK && opts->seed_count > 1 ? add_pools(report, memory, out) : st;
}

enum status lab_report_table(const struct lab_report *report, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    enum status st = buf_add_fmt(
        out, "workload %s, split %s, %u x %s, chunk %u, block %u, evict %s, %g h\n",
        workload_names[opts->workload], split_names[opts->split], opts->engines, opts->profile.name,
        opts->engine.chunk > 0 ? opts->engine.chunk : opts->profile.budget_tokens,
        opts->engine.block_tokens, opts->engine.evict->name, opts->hours);
    for (uint32_t m = 0; m < lab_options_memories(opts) && st == ST_OK; m++) {
        st = add_memory(report, m, out);
    }
    return st;
}
