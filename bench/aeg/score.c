/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/aeg/score.h"

#include <math.h>

const double score_horizons_s[SCORE_HORIZONS] = {1.0, 10.0, 60.0, 300.0};
const char *const score_horizon_names[SCORE_HORIZONS] = {"1s", "10s", "60s", "300s"};
const char *const score_who_names[SCORE_WHO_COUNT] = {"saga", "global_mean", "last_value",
                                                      "tool_p95"};

void score_init(struct score *score, const struct mem *mem)
{
    *score = (struct score){.mem = mem};
    for (uint32_t i = 0; i < SCORE_SIZE_COUNT; i++) {
        for (uint32_t who = 0; who < SCORE_WHO_COUNT; who++) {
            samples_init(&score->errors[i][who], mem, who);
        }
    }
}

void score_fini(struct score *score)
{
    for (uint32_t i = 0; i < SCORE_SIZE_COUNT; i++) {
        for (uint32_t who = 0; who < SCORE_WHO_COUNT; who++) {
            samples_fini(&score->errors[i][who]);
        }
    }
    mem_free(score->mem, score->points, score->point_cap * sizeof(*score->points));
    *score = (struct score){0};
}

void score_wait(struct score *score, uint32_t horizon, const double *p, bool happened)
{
    double y = happened ? 1.0 : 0.0;
    for (uint32_t who = 0; who < SCORE_WHO_COUNT; who++) {
        score->brier_sum[horizon][who] += (p[who] - y) * (p[who] - y);
    }
    uint32_t at = (uint32_t)(p[SCORE_SAGA] * SCORE_BINS);
    struct score_bin *bin = &score->bins[horizon][at < SCORE_BINS ? at : SCORE_BINS - 1];
    bin->forecast_sum += p[SCORE_SAGA];
    bin->happened += y;
    bin->count++;
    score->wait_count += horizon == 0;
}

void score_size(struct score *score, enum score_size what, const double *forecast, double value)
{
    for (uint32_t who = 0; who < SCORE_WHO_COUNT; who++) {
        double error = fabs(log((forecast[who] + 1.0) / (value + 1.0)));
        samples_add(&score->errors[what][who], error);
    }
}

enum status score_work(struct score *score, const struct score_point *point)
{
    if (score->point_count == score->point_cap) {
        uint32_t cap = score->point_cap == 0 ? 1024 : score->point_cap * 2;
        struct score_point *p =
            mem_resize(score->mem, score->points, score->point_cap * sizeof(*p), cap * sizeof(*p));
        if (p == NULL) {
            return ST_NOMEM;
        }
        score->points = p;
        score->point_cap = cap;
    }
    score->points[score->point_count++] = *point;
    return ST_OK;
}

double score_brier(const struct score *score, uint32_t horizon, enum score_who who)
{
    return score->wait_count == 0 ? (double)NAN
                                  : score->brier_sum[horizon][who] / (double)score->wait_count;
}

double score_concordance(const struct score *score, enum score_who who)
{
    struct rng rng;
    double right = 0.0;
    uint32_t pairs = 0;
    rng_init(&rng, 1);
    for (uint32_t i = 0; i < SCORE_PAIRS && score->point_count > 1; i++) {
        const struct score_point *a = &score->points[rng_below(&rng, score->point_count)];
        const struct score_point *b = &score->points[rng_below(&rng, score->point_count)];
        double truth = a->work_s - b->work_s;
        double said = a->forecast_s[who] - b->forecast_s[who];
        if (a->session == b->session || fabs(truth) < 1e-9) {
            continue;
        }
        bool is_tie = fabs(said) < 1e-9;
        right += is_tie ? 0.5 : ((said > 0.0) == (truth > 0.0) ? 1.0 : 0.0);
        pairs++;
    }
    return pairs == 0 ? (double)NAN : right / pairs;
}
