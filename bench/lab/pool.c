/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/pool.h"

#include <math.h>

enum { BOOT_SEED = 31 };

const struct batch_run *
pool_run(const struct lab_report *report, uint32_t load, uint32_t seed, uint32_t policy)
{
    const struct lab_options *opts = report->opts;
    uint32_t at = (load * opts->seed_count + seed) * opts->policy_count + policy;
    return &report->batch->runs[at];
}

const struct batch_run *
pool_unlimited(const struct lab_report *report, uint32_t load, uint32_t seed)
{
    for (uint32_t i = 0; i < report->opts->policy_count; i++) {
        const struct batch_run *run = pool_run(report, load, seed, i);
        if (run->is_unlimited) {
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

enum status pool_make(const struct lab_report *report,
                      uint32_t load,
                      uint32_t policy,
                      uint32_t from,
                      uint32_t count,
                      struct pool *ret)
{
    struct groups groups = {0};
    struct pool pool = {0};
    for (uint32_t i = 0; i < count; i++) {
        groups.cap += 2 * pool_run(report, load, from + i, policy)->of->draw.arrival_count;
    }
    groups.values = mem_calloc(mem_heap(), groups.cap, sizeof(*groups.values));
    if (groups.values == NULL) {
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct batch_run *run = pool_run(report, load, from + i, policy);
        const struct batch_run *unlimited = pool_unlimited(report, load, from + i);
        add_group(&groups, i, run, pool_run(report, load, from + i, 0));
        pool.late_slowdown += run->metrics.late_slowdown / count;
        pool.has_unlimited = unlimited != NULL;
        pool.carries += unlimited != NULL && metrics_carries(&run->metrics, &unlimited->metrics);
    }
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
