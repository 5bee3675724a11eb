/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/dist.h"

#include <math.h>
#include <string.h>

/* Below this a conditional probability says nothing: the condition itself was ruled out. */
#define SURVIVAL_MIN 1e-9

/* Exponents beyond this would leave the range of float. */
#define EXPONENT_MAX 100.0

uint32_t dist_bin(const struct dist_axis *axis, double x)
{
    uint32_t lo = 0;
    uint32_t hi = DIST_EDGES;
    if (!(x > 0.0)) {
        return 0;
    }
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (axis->edges[mid] < x) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Half lives from a to b, may be negative. */
static double half_lives(uint64_t a_us, uint64_t b_us, uint64_t half_life_us)
{
    double span = b_us >= a_us ? (double)(b_us - a_us) : -(double)(a_us - b_us);
    double n = span / (double)(half_life_us > 0 ? half_life_us : 1);
    return n > EXPONENT_MAX ? EXPONENT_MAX : (n < -EXPONENT_MAX ? -EXPONENT_MAX : n);
}

float dist_weight(const struct dist_clock *clock, uint64_t at_us, uint64_t half_life_us)
{
    return exp2f((float)half_lives(clock->base_us, at_us, half_life_us));
}

float dist_scale(const struct dist_clock *clock, uint64_t now_us, uint64_t half_life_us)
{
    uint64_t at_us = now_us > clock->last_us ? now_us : clock->last_us;
    return exp2f((float)-half_lives(clock->base_us, at_us, half_life_us));
}

bool dist_rebase(struct dist_clock *clock,
                 uint64_t now_us,
                 uint64_t half_life_us,
                 float *ret_factor)
{
    double n = half_lives(clock->base_us, now_us, half_life_us);
    if (now_us > clock->last_us) {
        clock->last_us = now_us;
    }
    if (n <= DIST_GROWTH_MAX) {
        return false;
    }
    clock->base_us = now_us;
    *ret_factor = exp2f((float)-n);
    return true;
}

void dist_rescale(float *counts, uint32_t count, float factor)
{
    for (uint32_t i = 0; i < count; i++) {
        counts[i] *= factor;
    }
}

/* Adds to the first n counts, one trip of fixed length: this is what vector instructions like. */
static void add_below(float *counts, uint32_t n, float weight)
{
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        float sum = counts[i] + (i < n ? weight : 0.0f);
        counts[i] = sum > 0.0f ? sum : 0.0f;
    }
}

void dist_count_left(float *left, uint32_t bin, float weight)
{
    add_below(left, bin, weight);
}

void dist_count_ended(float *risk, uint32_t bin, float weight)
{
    add_below(risk, bin + 1, weight);
}

void dist_count_open(float *risk, uint32_t bin, float weight)
{
    add_below(risk, bin, weight);
    float sum = risk[bin] + 0.5f * weight;
    risk[bin] = sum > 0.0f ? sum : 0.0f;
}

void dist_curve_prior(struct dist_curve *curve, float never_ratio)
{
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        curve->after[i] = 1.0f - (1.0f - never_ratio) * (float)(i + 1) / (float)DIST_BINS;
    }
}

void dist_curve_mix(struct dist_curve *curve, const float *left, float n, float scale, float k)
{
    float inv = 1.0f / (n * scale + k);
    float own = scale * inv;
    float wide = k * inv;
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        curve->after[i] = left[i] * own + curve->after[i] * wide;
    }
}

void dist_curve_smooth(struct dist_curve *curve)
{
    float before = 1.0f;
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        float after = curve->after[i];
        before = after < before ? after : before;
        curve->after[i] = before;
    }
}

/* Four runs side by side, joined at the end: one long chain of products would wait for each. */
static void running_product(const float *factors, float *ret)
{
    enum { RUNS = 4, RUN = DIST_BINS / RUNS };
    float left[RUNS] = {1.0f, 1.0f, 1.0f, 1.0f};
    for (uint32_t i = 0; i < RUN; i++) {
        for (uint32_t r = 0; r < RUNS; r++) {
            left[r] *= factors[r * RUN + i];
            ret[r * RUN + i] = left[r];
        }
    }
    for (uint32_t r = 1; r < RUNS; r++) {
        float all = ret[r * RUN - 1];
        for (uint32_t i = 0; i < RUN; i++) {
            ret[r * RUN + i] *= all;
        }
    }
}

void dist_curve_add(
    struct dist_curve *curve, const float *ended, const float *risk, float scale, float k)
{
    float before[DIST_BINS];
    float stay[DIST_BINS];
    before[0] = 1.0f;
    memcpy(before + 1, curve->after, sizeof(before) - sizeof(before[0]));
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        float leaving = ended[i] * scale + k * (before[i] - curve->after[i]);
        float all = risk[i] * scale + k * before[i];
        float share = leaving / (all + 1e-30f);
        stay[i] = share < 1.0f ? 1.0f - share : 0.0f;
    }
    running_product(stay, curve->after);
}

/* Where x lies in its bin: 0 = at the lower edge, 1 = at the upper. */
static double place_in_bin(const struct dist_axis *axis, uint32_t bin, double x)
{
    double hi = axis->edges[bin];
    double lo = bin == 0 ? 0.0 : axis->edges[bin - 1];
    if (x >= hi) {
        return 1.0;
    }
    if (!(x > lo)) {
        return 0.0;
    }
    return lo > 0.0 ? log(x / lo) / log(hi / lo) : (x - lo) / (hi - lo);
}

double dist_survival(const struct dist_curve *curve, const struct dist_axis *axis, double x)
{
    uint32_t bin = dist_bin(axis, x);
    double before = bin == 0 ? 1.0 : (double)curve->after[bin - 1];
    if (bin >= DIST_EDGES || !(x > 0.0)) {
        /* x = 0: what sits on the first edge when that is 0 has happened. */
        bool is_at_zero = bin == 0 && axis->edges[0] <= 0.0;
        return is_at_zero ? (double)curve->after[0] : before;
    }
    return before - (before - (double)curve->after[bin]) * place_in_bin(axis, bin, x);
}

double
dist_within(const struct dist_curve *curve, const struct dist_axis *axis, double x, double elapsed)
{
    double base = elapsed > 0.0 ? dist_survival(curve, axis, elapsed) : 1.0;
    if (!(x > elapsed) || base < SURVIVAL_MIN) {
        return 0.0;
    }
    double p = 1.0 - dist_survival(curve, axis, x) / base;
    return p < 0.0 ? 0.0 : (p > 1.0 ? 1.0 : p);
}

double dist_hazard(const struct dist_curve *curve, const struct dist_axis *axis, double x)
{
    uint32_t bin = dist_bin(axis, x);
    if (bin >= DIST_EDGES) {
        return 0.0;
    }
    double left = dist_survival(curve, axis, x);
    double before = bin == 0 ? 1.0 : (double)curve->after[bin - 1];
    double lo = bin == 0 ? 0.0 : axis->edges[bin - 1];
    double hi = axis->edges[bin];
    double width = lo > 0.0 ? x * log(hi / lo) : hi - lo;
    if (left < SURVIVAL_MIN || !(width > 0.0)) {
        return 0.0;
    }
    return (before - (double)curve->after[bin]) / (width * left);
}

double dist_quantile(const struct dist_curve *curve,
                     const struct dist_axis *axis,
                     double p,
                     double elapsed)
{
    double base = elapsed > 0.0 ? dist_survival(curve, axis, elapsed) : 1.0;
    double goal = base * (1.0 - p);
    double before = 1.0;
    for (uint32_t i = 0; i < DIST_EDGES; i++) {
        double after = (double)curve->after[i];
        double hi = axis->edges[i];
        if (after <= goal && hi >= elapsed) {
            double lo = i == 0 ? 0.0 : axis->edges[i - 1];
            double part = before > after ? (before - goal) / (before - after) : 1.0;
            part = part < 0.0 ? 0.0 : (part > 1.0 ? 1.0 : part);
            double x = lo > 0.0 ? lo * pow(hi / lo, part) : lo + (hi - lo) * part;
            return x > elapsed ? x : elapsed;
        }
        before = after;
    }
    double last = axis->mids[DIST_BINS - 1];
    return last > elapsed ? last : elapsed;
}

double dist_mean(const struct dist_curve *curve, const struct dist_axis *axis, double elapsed)
{
    /* Sums side by side: one long chain of additions would wait for each. */
    enum { RUNS = 4 };
    float parts[DIST_BINS];
    double sums[RUNS] = {0};
    double masses[RUNS] = {0};
    uint32_t from = elapsed > 0.0 ? dist_bin(axis, elapsed) : 0;
    double before = elapsed > 0.0 ? dist_survival(curve, axis, elapsed) : 1.0;
    for (uint32_t i = 1; i < DIST_BINS; i++) {
        float part = curve->after[i - 1] - curve->after[i];
        part = part > 0.0f ? part : 0.0f;
        parts[i] = i > from ? part : 0.0f;
    }
    parts[0] = 0.0f;
    float first = (float)before - curve->after[from];
    parts[from] = first > 0.0f ? first : 0.0f;
    for (uint32_t i = 0; i < DIST_BINS; i += RUNS) {
        for (uint32_t r = 0; r < RUNS; r++) {
            sums[r] += (double)parts[i + r] * axis->mids[i + r];
            masses[r] += (double)parts[i + r];
        }
    }
    double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double mass = (masses[0] + masses[1]) + (masses[2] + masses[3]);
    double mean = mass > SURVIVAL_MIN ? sum / mass : axis->mids[DIST_BINS - 1];
    return mean > elapsed ? mean : elapsed;
}
