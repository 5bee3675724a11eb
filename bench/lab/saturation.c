/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/saturation.h"

#include "bench/lab/try.h"

enum { TRIES_MAX = 40 };
/* Low load: this share of the first rate that is not carried. */
#define LOW_SHARE 0.1
#define LOW_RATIO 2.0

struct search {
    struct lab_setup *setup;
    FILE *log;
    struct err *err;
};

static enum status try_rate(struct search *search, double rate_per_s, struct lab_tried *ret)
{
    const struct lab_try what = {.engines = search->setup->opts.engines, .rate_per_s = rate_per_s};
    enum status st = lab_try_run(search->setup, &what, ret, search->err);
    if (st == ST_OK && search->log != NULL) {
        (void)fprintf(search->log, "%.4f sessions/s: late mean slowdown %.2f%s\n", rate_per_s,
                      ret->late_slowdown, ret->is_rising ? ", rising" : "");
    }
    return st;
}

enum status saturation_find(
    struct lab_setup *setup, double from_per_s, FILE *log, struct saturation *ret, struct err *err)
{
    struct search search = {.setup = setup, .log = log, .err = err};
    struct lab_tried tried = {0};
    double good = from_per_s * LOW_SHARE;
    double bad = 0;
    double next = from_per_s;
    enum status st = try_rate(&search, good, &tried);
    double low = tried.late_slowdown;
    for (int i = 0; st == ST_OK && (bad == 0 || bad > good * SATURATION_WITHIN); i++) {
        if (i == TRIES_MAX) {
            return err_set(err, ST_TOOBIG, "no rate was found that is not carried");
        }
        st = try_rate(&search, next, &tried);
        if (!tried.is_rising && tried.late_slowdown <= LOW_RATIO * low) {
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
