/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a profile from measured requests: docs/profiles.md, "Fitting a profile".
 *
 * The time to a first token and the time from there to the last are sums of iterations, and an
 * iteration is linear in the constants but for one maximum. So, in turns as in Magnani and Boyd,
 * "Convex piecewise-linear fitting" (2009): with the constants at hand the requests are played
 * (fit_play.h), which says how much of what each time is made of and on which side of the maximum;
 * then the constants are solved for (fit_solve.h). Of all rounds the one whose played times are
 * nearest to the measured ones counts.
 *
 * PURE. THREAD: one owner. */
#ifndef BENCH_LAB_FIT_H
#define BENCH_LAB_FIT_H

#include "bench/lab/fit_solve.h"
#include "common/base/err.h"
#include "common/base/str.h"

/* So many steps, and of them so many that computed so many new tokens: fewer and b would be made up
 * from what decoding requests cost. */
enum { FIT_STEPS_MIN = 30, FIT_LONG_MIN = 10, FIT_LONG_TOKENS = 64 };
/* 95 % of a normal distribution is within this many standard errors. */
#define FIT_ERRORS_95 1.96
/* What must be known: half of 95 % interval over value of b and f. */
#define FIT_RATIO_MAX 0.5
/* Half of all steps are to be foreseen within this. */
#define FIT_MISS_MAX 0.5

struct fit {
    struct sim_profile profile;
    struct fit_solution solution;
    uint32_t steps;    /* measured */
    double first_miss; /* median of |played - measured| / measured, of times to first tokens */
    double step_miss;  /* of whole steps */
};

/* steps [count] by engine, then sent_s; like: what times cannot tell (sizes of batch and memory;
 * max_running and budget_tokens shape the batches). ST_INVAL with err: the data does not determine
 * the constants. ST_NOMEM. */
MUST_CHECK enum status fit_make(const struct fit_step *steps,
                                uint32_t count,
                                const struct sim_profile *like,
                                const struct mem *mem,
                                struct fit *ret,
                                struct err *err);

/* Appends what was found and how well, each line with "# " before it. ST_FULL, ST_NOMEM. */
MUST_CHECK enum status fit_report(const struct fit *fit, struct buf *out);

#endif
