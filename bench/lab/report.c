/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/report.h"

static enum status add_row(
    const struct lab_report *report, uint32_t load, uint32_t seed, uint32_t policy, struct buf *out)
{
    const struct batch_run *run = pool_run(report, load, seed, policy);
    const struct metrics *m = &run->metrics;
    struct pool pool;
    enum status st = pool_make(report, load, policy, seed, 1, &pool);
    if (st != ST_OK) {
        return st;
    }
    const char *carries = pool.carries > 0 ? "yes" : "no";
    return buf_add_fmt(
        out,
        "%-18.*s %6.4g %4llu %6u/%-6u %8.2f %8.2f %8.2f %9.1f %8.2f %7.2f %8.1f %8.1f %8.1f %8.0f "
        "%6.1f %6.1f %7s\n",
        (int)run->policy.len, run->policy.p, report->opts->loads[load],
        (unsigned long long)run->of->seed, m->finished, m->sessions, m->mean_slowdown,
        m->p50_slowdown, m->p99_slowdown, m->mean_tct_s, pool.geomean_vs_first, m->mean_ttft_s,
        m->p99_ttft_s, m->p999_ttft_s, m->max_wait_s, m->tokens_per_s, 100 * m->regenerated_share,
        100 * m->share_within_2p5x, pool.has_unlimited ? carries : "-");
}

static enum status add_pooled(const struct lab_report *report, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    enum status st =
        buf_add_fmt(out, "\nAll %u seeds together, 95 %% intervals\n%-18s %6s %26s %26s %9s\n",
                    opts->seed_count, "policy", opts->has_rate ? "rate" : "load", "mean slowdown",
                    "faster than the first", "carries");
    for (uint32_t load = 0; load < opts->load_count; load++) {
        for (uint32_t p = 0; p < opts->policy_count && st == ST_OK; p++) {
            struct pool pool;
            st = pool_make(report, load, p, 0, opts->seed_count, &pool);
            if (st == ST_OK) {
                st = buf_add_fmt(out, "%-18.*s %6.4g %8.2f (%6.2f to %6.2f) %8.2f (%6.2f to %6.2f)",
                                 (int)opts->policies[p].len, opts->policies[p].p, opts->loads[load],
                                 pool.mean_slowdown, pool.slowdown_ci.low, pool.slowdown_ci.high,
                                 pool.geomean_vs_first, pool.geomean_ci.low, pool.geomean_ci.high);
            }
            if (st == ST_OK && pool.has_unlimited) {
                st = buf_add_fmt(out, "  %u of %u", pool.carries, opts->seed_count);
            }
            if (st == ST_OK) {
                st = buf_add_str(out, STR("\n"));
            }
        }
    }
    return st;
}

enum status lab_report_table(const struct lab_report *report, struct buf *out)
{
    const struct lab_options *opts = report->opts;
    enum status st =
        buf_add_fmt(out,
                    "workload %s, split %s, %u x %s, %u KV tokens, chunk %u, evict %s, %g h\n\n"
                    "%-18s %6s %4s %13s %8s %8s %8s %9s %8s %7s %8s %8s %8s %8s %6s %6s %7s\n",
                    workload_names[opts->workload], split_names[opts->split], opts->engines,
                    opts->profile.name, opts->profile.kv_tokens, opts->profile.budget_tokens,
                    opts->evict->name, opts->hours, "policy", opts->has_rate ? "rate" : "load",
                    "seed", "done", "slowdown", "p50", "p99", "TCT s", "vs first", "TTFT s", "p99",
                    "p99.9", "max", "tok/s", "regen%", "<2.5x%", "carries");
    for (uint32_t load = 0; load < opts->load_count; load++) {
        for (uint32_t seed = 0; seed < opts->seed_count; seed++) {
            for (uint32_t p = 0; p < opts->policy_count && st == ST_OK; p++) {
                st = add_row(report, load, seed, p, out);
            }
        }
    }
    return st == ST_OK && opts->seed_count > 1 ? add_pooled(report, out) : st;
}

enum status lab_report_sessions(const struct lab_report *report, struct buf *out)
{
    enum status st = buf_add_str(out, STR("policy,load,seed,at_s,tct_s,slowdown,state\n"));
    for (uint32_t i = 0; i < report->batch->run_count; i++) {
        const struct batch_run *run = &report->batch->runs[i];
        uint32_t load = i / (report->opts->seed_count * report->opts->policy_count);
        for (uint32_t k = 0; k < run->metrics.sessions && st == ST_OK; k++) {
            const struct metrics_session *session = &run->sessions[k];
            const char *state = session->is_finished ? "finished" : "unfinished";
            st = buf_add_fmt(out, "%.*s,%g,%llu,%.3f,%.3f,%.4f,%s\n", (int)run->policy.len,
                             run->policy.p, report->opts->loads[load],
                             (unsigned long long)run->of->seed, session->at_s, session->tct_s,
                             metrics_slowdown(session), session->is_given_up ? "given_up" : state);
        }
    }
    return st;
}
