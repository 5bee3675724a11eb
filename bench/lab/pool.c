/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/pool.h"

#include "bench/lab/collapse.h"

#include <math.h>

enum { BOOT_SEED = 31 };

const struct batch_run *
pool_run(const struct lab_report *report, uint32_t point, uint32_t seed, uint32_t policy)
{
    const struct lab_options *opts = report->opts;
    uint32_t at = (point * opts->seed_count + seed) * opts->policy_count + policy;
    return &report->batch->runs[at];
}

const struct batch_run *
pool_unlimited(const struct lab_report *report, uint32_t point, uint32_t seed)
{
    for (uint32_t i = 0; i < report->opts->policy_count; i++) {
        const struct batch_run *run = pool_run(report, point, seed, i);
        if (run->entry->is_unlimited) {
            return run;
        }
    }
    return NULL;
}

/* What the intervals are drawn from: one group a seed. */
struct groups {
    struct boot_group slowdowns[LAB_LIST_MAX];
    struct boot_group logs[LAB_LIST_MAX];
    double *values; /* [cap] */
    uint32_t count;
    uint32_t cap;
};

static void add_group(struct groups *groups,
                      uint32_t at,
                      const struct batch_run *run,
                      const struct batch_run *first)
{
    uint32_t sessions = run->of->draw.arrival_count;
    struct boot_group *group = &groups->slowdowns[at];
    *group = (struct boot_group){.values = groups->values + groups->count};
    for (uint32_t i = 0; i < sessions; i++) {
        if (!run->sessions[i].is_given_up) {
            groups->values[groups->count++] = metrics_slowdown(&run->sessions[i]);
            group->count++;
        }
    }
    group = &groups->logs[at];
    *group = (struct boot_group){.values = groups->values + groups->count};
    for (uint32_t i = 0; i < sessions; i++) {
        if (!run->sessions[i].is_given_up && !first->sessions[i].is_given_up) {
            groups->values[groups->count++] =
                log(first->sessions[i].tct_s / run->sessions[i].tct_s);
            group->count++;
        }
    }
}

static double mean_of(const struct boot_group *groups, uint32_t group_count)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t g = 0; g < group_count; g++) {
        for (uint32_t i = 0; i < groups[g].count; i++) {
            sum += groups[g].values[i];
        }
        count += groups[g].count;
    }
    return count > 0 ? sum / count : 0;
}

/* Mean slowdown that the first policy has at the lowest load with the point's memory. */
static double expected_slowdown(const struct lab_report *report, uint32_t point)
{
    const struct lab_options *opts = report->opts;
    uint32_t lowest = 0;
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 1; i < opts->load_count; i++) {
        lowest = opts->loads[i] < opts->loads[lowest] ? i : lowest;
    }
    for (uint32_t seed = 0; seed < opts->seed_count; seed++) {
        const struct batch_run *run =
            pool_run(report, point - point % opts->load_count + lowest, seed, 0);
        for (uint32_t i = 0; i < run->of->draw.arrival_count; i++) {
            if (!run->sessions[i].is_given_up) {
                sum += metrics_slowdown(&run->sessions[i]);
                count++;
            }
        }
    }
    return count > 0 ? sum / count : 1;
}

/* The run of the same policy that evicts what is used last; NULL = there is none. */
static const struct batch_run *
belady_of(const struct lab_report *report, uint32_t point, uint32_t seed, uint32_t policy)
{
    const struct lab_entry *entry = pool_run(report, point, seed, policy)->entry;
    for (uint32_t i = 0; i < report->opts->policy_count; i++) {
        const struct batch_run *run = pool_run(report, point, seed, i);
        if (!entry->is_unlimited && !run->entry->is_unlimited &&
            str_eq(run->entry->policy, entry->policy) &&
            strcmp(run->spec.evict->name, "belady") == 0) {
            return run;
        }
    }
    return NULL;
}

static void
add_recovery(const struct lab_report *report, const struct batch_run *run, struct pool *ret)
{
    double from_s = report->opts->recovery_from_s;
    double took_s = from_s < 0
                        ? COLLAPSE_NEVER
                        : collapse_recovery_s(run->sessions, run->of->draw.arrival_count, from_s);
    if (took_s >= 0) {
        ret->recovered++;
        ret->recovery_s += (took_s - ret->recovery_s) / ret->recovered;
    }
}

/* What needs no intervals. */
static void add_seeds(const struct lab_report *report,
                      uint32_t point,
                      uint32_t policy,
                      uint32_t from,
                      uint32_t count,
                      struct pool *ret)
{
    double expected = expected_slowdown(report, point);
    uint32_t within = 0;
    uint32_t sessions = 0;
    for (uint32_t i = from; i < from + count; i++) {
        const struct batch_run *run = pool_run(report, point, i, policy);
        const struct batch_run *unlimited = pool_unlimited(report, point, i);
        const struct batch_run *belady = belady_of(report, point, i, policy);
        double collapse_s = collapse_at_s(run->sessions, run->of->draw.arrival_count);
        ret->late_slowdown += run->metrics.late_slowdown / count;
        ret->has_unlimited = unlimited != NULL;
        ret->carries += unlimited != NULL && metrics_carries(&run->metrics, &unlimited->metrics);
        if (collapse_s >= 0) {
            ret->collapsed++;
            ret->collapse_s += (collapse_s - ret->collapse_s) / ret->collapsed;
        }
        add_recovery(report, run, ret);
        if (belady != NULL && belady->metrics.cached_share > 0) {
            ret->hits_vs_belady += run->metrics.cached_share / belady->metrics.cached_share / count;
        }
        within += metrics_within(run->sessions, run->of->draw.arrival_count,
                                 POOL_EXPECTED_RATIO * expected);
        sessions += run->of->draw.arrival_count;
    }
    ret->share_within_expected = sessions > 0 ? (double)within / sessions : 0;
}

enum status pool_make(const struct lab_report *report,
                      uint32_t point,
                      uint32_t policy,
                      uint32_t from,
                      uint32_t count,
                      struct pool *ret)
{
    struct groups groups = {0};
    struct pool pool = {0};
    for (uint32_t i = 0; i < count; i++) {
        groups.cap += 2 * pool_run(report, point, from + i, policy)->of->draw.arrival_count;
    }
    groups.values = mem_calloc(mem_heap(), groups.cap, sizeof(*groups.values));
    if (groups.values == NULL) {
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct batch_run *run = pool_run(report, point, from + i, policy);
        add_group(&groups, i, run, pool_run(report, point, from + i, 0));
    }
    add_seeds(report, point, policy, from, count, &pool);
    pool.mean_slowdown = mean_of(groups.slowdowns, count);
    pool.geomean_vs_first = exp(mean_of(groups.logs, count));
    pool.slowdown_ci = boot_mean(groups.slowdowns, count, BOOT_SEED);
    pool.geomean_ci = boot_mean(groups.logs, count, BOOT_SEED);
    pool.geomean_ci.low = exp(pool.geomean_ci.low);
    pool.geomean_ci.high = exp(pool.geomean_ci.high);
    mem_free(mem_heap(), groups.values, groups.cap * sizeof(*groups.values));
    *ret = pool;
    return ST_OK;
}
