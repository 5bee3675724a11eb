/* SPDX-License-Identifier: Apache-2.0 */
/* What forecasts were worth.
 *
 *     Brier        mean of (p - y)^2, y = 1 when it happened            (Brier 1950)
 *     log error    |ln((forecast + 1) / (value + 1))|, median and mean
 *     concordance  share of pairs of points of two sessions whose order by remaining work was
 *                  forecast right, ties half                            (Harrell 1982)
 *
 * THREAD: one owner. */
#ifndef BENCH_AEG_SCORE_H
#define BENCH_AEG_SCORE_H

#include "bench/replay/samples.h"

enum { SCORE_HORIZONS = 4, SCORE_BINS = 10, SCORE_PAIRS = 200000 };

/* Who forecasts, in the order of the JSON. */
enum score_who { SCORE_SAGA, SCORE_GLOBAL_MEAN, SCORE_LAST_VALUE, SCORE_TOOL_P95 };
enum { SCORE_WHO_COUNT = SCORE_TOOL_P95 + 1 };

enum score_size { SCORE_OUT, SCORE_NEW, SCORE_TO_GO };
enum { SCORE_SIZE_COUNT = SCORE_TO_GO + 1 };

extern const double score_horizons_s[SCORE_HORIZONS]; /* 1, 10, 60, 300 */
extern const char *const score_horizon_names[SCORE_HORIZONS];
extern const char *const score_who_names[SCORE_WHO_COUNT];

struct score_bin {
    double forecast_sum;
    double happened;
    uint64_t count;
};

struct score_point {
    double work_s;
    double forecast_s[SCORE_WHO_COUNT];
    uint32_t session;
};

struct score {
    const struct mem *mem;
    uint64_t wait_count;
    double brier_sum[SCORE_HORIZONS][SCORE_WHO_COUNT];
    struct score_bin bins[SCORE_HORIZONS][SCORE_BINS]; /* of ours */
    struct samples errors[SCORE_SIZE_COUNT][SCORE_WHO_COUNT];
    struct score_point *points;
    uint32_t point_count;
    uint32_t point_cap;
};

void score_init(struct score *score, const struct mem *mem);
void score_fini(struct score *score);

/* p [SCORE_WHO_COUNT] in [0, 1]. Once per horizon; horizon 0 counts the wait. */
void score_wait(struct score *score, uint32_t horizon, const double *p, bool happened);
/* forecast [SCORE_WHO_COUNT]. */
void score_size(struct score *score, enum score_size what, const double *forecast, double value);
/* ST_NOMEM. */
MUST_CHECK enum status score_work(struct score *score, const struct score_point *point);

/* NaN without data. */
double score_brier(const struct score *score, uint32_t horizon, enum score_who who);
/* Of SCORE_PAIRS random pairs (fixed seed). NaN when no pair tells. */
double score_concordance(const struct score *score, enum score_who who);

#endif
