/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/saturation.h"

enum { TRIES_MAX = 40 };
/* Low load: this share of the first rate that is not carried. */
#define LOW_SHARE 0.1
#define LOW_RATIO 2.0

struct search {
    struct batch *batch;
    struct draw_opts opts;
    FILE *log;
    struct err *err;
};

static enum status try_rate(struct search *search, double rate_per_s, struct metrics *ret)
{
    struct batch_case of = {.rate_per_s = rate_per_s, .seed = search->opts.seed};
    struct batch_run run = {.of = &of, .policy = STR("unlimited"), .is_unlimited = true};
    search->opts.rate_per_s = rate_per_s;
    enum status st = draw_make(&of.draw, mem_heap(), search->batch->workload, &search->opts);
    if (st != ST_OK) {
        return err_set(search->err, st, "sessions: %s", status_text(st));
    }
    search->batch->runs = &run;
    search->batch->run_count = 1;
    st = batch_run_all(search->batch, search->err);
    *ret = run.metrics;
    batch_release(search->batch);
    search->batch->runs = NULL;
    search->batch->run_count = 0;
    draw_fini(&of.draw);
    if (st == ST_OK && search->log != NULL) {
        (void)fprintf(search->log, "%.4f sessions/s: late mean slowdown %.2f%s\n", rate_per_s,
                      ret->late_slowdown, ret->is_rising ? ", rising" : "");
    }
    return st;
}

enum status saturation_find(struct batch *batch,
                            const struct draw_opts *opts,
                            FILE *log,
                            struct saturation *ret,
                            struct err *err)
{
    struct search search = {.batch = batch, .opts = *opts, .log = log, .err = err};
    struct metrics metrics = {0};
    double good = opts->rate_per_s * LOW_SHARE;
    double bad = 0;
    double next = opts->rate_per_s;
    enum status st = try_rate(&search, good, &metrics);
    double low = metrics.late_slowdown;
    for (int i = 0; st == ST_OK && (bad == 0 || bad > good * SATURATION_WITHIN); i++) {
        if (i == TRIES_MAX) {
            return err_set(err, ST_TOOBIG, "no rate was found that is not carried");
        }
        st = try_rate(&search, next, &metrics);
        if (!metrics.is_rising && metrics.late_slowdown <= LOW_RATIO * low) {
            good = next;
        } else {
            bad = next;
        }
        next = bad == 0 ? good * 2 : (good + bad) / 2;
    }
    if (st == ST_OK) {
        *ret = (struct saturation){.rate_per_s = good, .low_slowdown = low};
    }
    return st;
}
