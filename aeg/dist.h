/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions over log-spaced bins with decayed counts, some of them right-censored, and the
 * survival curve that they give when drawn towards a wider group's curve.
 * PURE. THREAD: one owner. LIMITS: DIST_BINS. Formulas: docs/formulas.md#F6, #F7. */
#ifndef AEG_DIST_H
#define AEG_DIST_H

#include "common/base/status.h"

enum { DIST_BINS = 64, DIST_EDGES = DIST_BINS - 1, DIST_RISKS = DIST_BINS + 1, DIST_ROWS = 8 };

/* Bin i holds values in (edges[i-1], edges[i]], bin 0 all up to edges[0], the last bin all above
 * the last edge. mids[i] stands for bin i where one value must. */
struct dist_axis {
    const double *edges; /* [DIST_EDGES] rising */
    const float *mids;   /* [DIST_BINS] */
};

extern const struct dist_axis dist_axis_time_us; /* 1 ms .. 15.6 h, 8 a decade */
extern const struct dist_axis dist_axis_count;   /* 0, 1, 2 .. 2.5 million, 10 a decade */

/* The bin of x; NaN and negative values count as 0. O(log bins). */
uint32_t dist_bin(const struct dist_axis *axis, double x);

/* Weights of exponentially decayed counts (F6): an observation at time t counts 2^((t - base) /
 * half life), so what was counted earlier never has to be touched; reading multiplies by scale. */
struct dist_clock {
    uint64_t base_us;
    uint64_t last_us; /* the latest observation */
};

/* Exponent up to which weights may grow before the owner rescales its counts. */
#define DIST_GROWTH_MAX 20.0

/* Weight of an observation at at_us, > 0 and finite. */
float dist_weight(const struct dist_clock *clock, uint64_t at_us, uint64_t half_life_us);
/* What to multiply counts by to have them decayed until now_us; in [0, 1] for now_us >= base. */
float dist_scale(const struct dist_clock *clock, uint64_t now_us, uint64_t half_life_us);
/* True when weights at now_us would grow past the limit. The owner then multiplies all its counts
 * by *ret_factor; the base has moved to now_us. */
bool dist_rebase(struct dist_clock *clock,
                 uint64_t now_us,
                 uint64_t half_life_us,
                 float *ret_factor);
void dist_rescale(float *counts, uint32_t count, float factor);

/* Counts are kept cumulative, so that a curve needs no sums: left[i] is the weight of all values in
 * bins above i, risk[i] that of all that reached bin i, one that was censored in i by half. A
 * negative weight takes back; neither ever rises in i nor falls below 0, whatever rounding left.
 *
 * left [DIST_BINS], risk [DIST_RISKS]. O(bins). */
void dist_count_left(float *left, uint32_t bin, float weight);
void dist_count_ended(float *risk, uint32_t bin, float weight);
void dist_count_open(float *risk, uint32_t bin, float weight);
/* left of count single values, at most 255, by their bins. */
void dist_left_of(const uint8_t *bins, uint32_t count, float *left);

/* Survival curve: after[i] = P(X > edges[i]); what is left after the last bin never happens. */
struct dist_curve {
    float after[DIST_BINS];
};

/* The curve of nothing known: equal mass in each bin, never_ratio of all left behind the last. */
void dist_curve_prior(struct dist_curve *curve, float never_ratio);

/* Draws the curve (of the wider group) towards counts of a narrower one (F7):
 *
 *     hazard[i] = (ended[i] + k * S[i-1] * h[i]) / (risk[i] + k * S[i-1])
 *
 * Source: Susarla and Van Ryzin 1976 (Dirichlet prior, right-censored data), in the hazard form of
 * Walker and Muliere 1997; half of a bin's censored at risk as in Cutler and Ederer 1958.
 *
 * ended  [DIST_BINS] counts >= 0
 * risk   [DIST_RISKS] as above
 * scale  multiplies the counts
 * k      weight of the wider group, in observations, > 0
 *
 * O(bins). */
void dist_curve_add(
    struct dist_curve *curve, const float *ended, const float *risk, float scale, float k);
/* The same when nothing is censored: the mean of the two curves, weighted by n * scale and k.
 * left [DIST_BINS], n all of the weight. */
void dist_curve_mix(struct dist_curve *curve, const float *left, float n, float scale, float k);
/* The sum of curves, or counts left, each times its weight: several mixes in one go. rows
 * [DIST_ROWS] of [DIST_BINS], not NULL, one without a part in it with weight 0. */
void dist_curve_sum(struct dist_curve *curve,
                    const float *const rows[DIST_ROWS],
                    const float weights[DIST_ROWS]);

/* P(X > x). Within a bin S falls linearly in log x; above the last edge it stays. In [0, 1], never
 * rising in x. NaN counts as 0. */
double dist_survival(const struct dist_curve *curve, const struct dist_axis *axis, double x);
/* P(X <= x | X > elapsed), 0 when x <= elapsed. In [0, 1]. */
double
dist_within(const struct dist_curve *curve, const struct dist_axis *axis, double x, double elapsed);
/* Rate -S'(x) / S(x) in 1 / unit of the axis, >= 0, finite. 0 above the last edge. */
double dist_hazard(const struct dist_curve *curve, const struct dist_axis *axis, double x);
/* Smallest x with P(X <= x | X > elapsed) >= p, by the same interpolation; the last bin's middle
 * when p is not reached. p in [0, 1]. */
double dist_quantile(const struct dist_curve *curve,
                     const struct dist_axis *axis,
                     double p,
                     double elapsed);
/* Sum over bins of P(X in the bin) * values[bin]. values [DIST_BINS]. */
double dist_expect(const struct dist_curve *curve, const float *values);
/* E[X | X > elapsed, X ends], by bin middles. */
double dist_mean(const struct dist_curve *curve, const struct dist_axis *axis, double elapsed);

#endif
