/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. sessions are drawn for each seed; 2. they run side by side; 3. the sum is taken.
 * Failures: as said by whoever failed; all is given back. */
#include "bench/lab/try.h"

static enum status draw_all(const struct lab_setup *setup,
                            const struct lab_try *what,
                            struct batch_case *cases,
                            struct err *err)
{
    const struct lab_options *opts = &setup->opts;
    enum status st = ST_OK;
    for (uint32_t i = 0; i < opts->seed_count && st == ST_OK; i++) {
        const struct draw_opts draw = {
            .rate_per_s = what->rate_per_s,
            .burst_cv = opts->burst_cv,
            .hours = opts->hours,
            .seed = opts->seeds[i],
            .times = setup->scenario.times.count > 0 ? &setup->scenario.times : NULL,
        };
        cases[i].rate_per_s = what->rate_per_s;
        cases[i].seed = opts->seeds[i];
        st = draw_make(&cases[i].draw, mem_heap(), &setup->workload, &draw);
    }
    return st == ST_OK ? st : err_set(err, st, "sessions: %s", status_text(st));
}

static struct lab_tried
sum_up(const struct batch_run *runs, uint32_t count, const struct lab_try *what)
{
    struct lab_tried sum = {.engines = what->engines};
    uint32_t sessions = 0;
    uint32_t within = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct metrics *metrics = &runs[i].metrics;
        sum.late_slowdown += metrics->late_slowdown / count;
        sum.mean_slowdown += metrics->mean_slowdown / count;
        sum.mean_kv_used += metrics->mean_kv_used / count;
        sum.is_rising = sum.is_rising || metrics->is_rising;
        sessions += metrics->sessions;
        within += metrics_within(runs[i].sessions, metrics->sessions, what->slo_ratio);
    }
    sum.share_within = sessions > 0 ? (double)within / sessions : 0;
    return sum;
}

enum status lab_try_run(struct lab_setup *setup,
                        const struct lab_try *what,
                        struct lab_tried *ret,
                        struct err *err)
{
    struct batch_case cases[LAB_LIST_MAX] = {{0}};
    struct batch_run runs[LAB_LIST_MAX] = {{0}};
    uint32_t count = setup->opts.seed_count;
    struct batch batch = setup->batch;
    batch.engines = what->engines;
    batch.runs = runs;
    batch.run_count = count;
    enum status st = draw_all(setup, what, cases, err);
    for (uint32_t i = 0; i < count; i++) {
        runs[i] = lab_setup_run(setup, what->entry, 0, &cases[i]);
    }
    if (st == ST_OK) {
        st = batch_run_all(&batch, err);
    }
    if (st == ST_OK) {
        *ret = sum_up(runs, count, what);
    }
    batch_release(&batch);
    for (uint32_t i = 0; i < count; i++) {
        draw_fini(&cases[i].draw);
    }
    return st;
}
