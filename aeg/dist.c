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
    if (!(x > 0.0)) {
        return 0;
    }
    /* Without a branch to guess. */
    for (uint32_t half = DIST_BINS / 2; half > 0; half /= 2) {
        lo += axis->edges[lo + half - 1] < x ? half : 0;
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
        counts[i] += i < n ? weight : 0.0f;
    }
}

/* Where more was taken off than was left, by rounding or by decay. */
static void keep_above(float *counts, uint32_t n, float least)
{
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        float floor = i < n ? least : 0.0f;
        counts[i] = counts[i] > floor ? counts[i] : floor;
    }
}

void dist_count_left(float *left, uint32_t bin, float weight)
{
    add_below(left, bin, weight);
    if (weight < 0.0f) {
        keep_above(left, bin, left[bin]);
    }
}

void dist_count_ended(float *risk, uint32_t bin, float weight)
{
    dist_count_left(risk, bin + 1, weight);
}

void dist_count_open(float *risk, uint32_t bin, float weight)
{
    float sum = risk[bin] + 0.5f * weight;
    risk[bin] = sum > risk[bin + 1] ? sum : risk[bin + 1];
    dist_count_left(risk, bin, weight);
}

void dist_left_of(const uint8_t *restrict bins, uint32_t count, float *restrict left)
{
    uint8_t above[DIST_BINS] = {0};
    const uint8_t end = DIST_BINS;
    for (uint32_t k = 0; k < count; k++) {
        uint8_t bin = bins[k];
        for (uint8_t i = 0; i < end; i++) {
            above[i] = (uint8_t)(above[i] + (i < bin));
        }
    }
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        left[i] = (float)above[i];
    }
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
        float sum = left[i] * own + curve->after[i] * wide;
        curve->after[i] = sum < 1.0f ? sum : 1.0f;
    }
}

void dist_curve_sum(struct dist_curve *restrict curve,
                    const float *const rows[DIST_ROWS],
                    const float weights[DIST_ROWS])
{
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        float sum = 0.0f;
        for (uint32_t r = 0; r < DIST_ROWS; r++) {
            sum += weights[r] * rows[r][i];
        }
        curve->after[i] = sum < 1.0f ? sum : 1.0f;
    }
}

/* Four bins at a time: what compilers do not find by themselves is that a running product needs no
 * memory in between. */
/* NOLINTBEGIN(readability-identifier-naming): there are no vectors without a typedef. */
typedef float four __attribute__((vector_size(4 * sizeof(float))));
typedef int32_t four_mask __attribute__((vector_size(4 * sizeof(int32_t))));
/* NOLINTEND(readability-identifier-naming) */

static four load(const float *from)
{
    four ret;
    memcpy(&ret, from, sizeof(ret));
    return ret;
}

/* a, ab, (ab)c, (ab)(cd): in this order, so that it never rises when all are at most 1. */
static four running_product(four x)
{
    const four one = {1.0f, 1.0f, 1.0f, 1.0f};
    four firsts = __builtin_shufflevector(x, x, 0, 2, 0, 2);
    x *= __builtin_shufflevector(one, firsts, 0, 4, 1, 5);
    x *= __builtin_shufflevector(one, x, 0, 1, 5, 5);
    return x;
}

void dist_curve_add(
    struct dist_curve *curve, const float *ended, const float *risk, float scale, float k)
{
    const four one = {1.0f, 1.0f, 1.0f, 1.0f};
    four last = one;   /* S at the end of the four before, in the first place */
    four so_far = one; /* the same of the new curve, in each place */
    for (uint32_t i = 0; i < DIST_BINS; i += 4) {
        four after = load(curve->after + i);
        four turned = __builtin_shufflevector(after, after, 3, 0, 1, 2);
        four before = __builtin_shufflevector(turned, last, 4, 1, 2, 3);
        four leaving = load(ended + i) * scale + (before - after) * k;
        four all = load(risk + i) * scale + before * k;
        four stay = one - leaving / (all + 1e-30f);
        stay = (four)((four_mask)stay & (stay > 0.0f));
        four ret = running_product(stay) * so_far;
        memcpy(curve->after + i, &ret, sizeof(ret));
        so_far = __builtin_shufflevector(ret, ret, 3, 3, 3, 3);
        last = turned;
    }
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

/* S(x) for x in this bin. */
static double
survival_in(const struct dist_curve *curve, const struct dist_axis *axis, uint32_t bin, double x)
{
    double before = bin == 0 ? 1.0 : (double)curve->after[bin - 1];
    if (bin >= DIST_EDGES || !(x > 0.0)) {
        /* x = 0: what sits on the first edge when that is 0 has happened. */
        bool is_at_zero = bin == 0 && axis->edges[0] <= 0.0;
        return is_at_zero ? (double)curve->after[0] : before;
    }
    return before - (before - (double)curve->after[bin]) * place_in_bin(axis, bin, x);
}

double dist_survival(const struct dist_curve *curve, const struct dist_axis *axis, double x)
{
    return survival_in(curve, axis, dist_bin(axis, x), x);
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
    double left = survival_in(curve, axis, bin, x);
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
    uint32_t from = dist_bin(axis, elapsed);
    double base = elapsed > 0.0 ? survival_in(curve, axis, from, elapsed) : 1.0;
    float goal = (float)(base * (1.0 - p));
    uint32_t bin = 0;
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        bin += curve->after[i] > goal;
    }
    bin = bin > from ? bin : from;
    double x = (double)axis->mids[DIST_BINS - 1];
    if (bin < DIST_EDGES) {
        float after = curve->after[bin];
        float before = bin == 0 ? 1.0f : curve->after[bin - 1];
        float part = before > after ? (before - goal) / (before - after) : 1.0f;
        part = part < 0.0f ? 0.0f : (part > 1.0f ? 1.0f : part);
        double lo = bin == 0 ? 0.0 : axis->edges[bin - 1];
        double hi = axis->edges[bin];
        x = lo > 0.0 ? lo * (double)powf((float)(hi / lo), part) : lo + (hi - lo) * (double)part;
    }
    return x > elapsed ? x : elapsed;
}

/* Sum of a * b. Sums side by side: one long chain of additions would wait for each. */
static double dot(const float *a, const float *b)
{
    enum { RUNS = 8 };
    float sums[RUNS] = {0};
    for (uint32_t i = 0; i < DIST_BINS; i += RUNS) {
        for (uint32_t r = 0; r < RUNS; r++) {
            sums[r] += a[i + r] * b[i + r];
        }
    }
    return (double)(((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                    ((sums[4] + sums[5]) + (sums[6] + sums[7])));
}

/* P(bin i), of the bins above `from`; `before` is S at the begin of that one. [DIST_BINS] */
static void
masses(const struct dist_curve *restrict curve, uint32_t from, float before, float *restrict ret)
{
    ret[0] = 0.0f;
    for (uint32_t i = 1; i < DIST_BINS; i++) {
        float mass = curve->after[i - 1] - curve->after[i];
        ret[i] = i > from ? mass : 0.0f;
    }
    float first = before - curve->after[from];
    ret[from] = first > 0.0f ? first : 0.0f;
}

double dist_expect(const struct dist_curve *curve, const float *values)
{
    float mass[DIST_BINS];
    masses(curve, 0, 1.0f, mass);
    return dot(mass, values);
}

double dist_mean(const struct dist_curve *curve, const struct dist_axis *axis, double elapsed)
{
    float mass[DIST_BINS];
    uint32_t from = dist_bin(axis, elapsed);
    float before = elapsed > 0.0 ? (float)survival_in(curve, axis, from, elapsed) : 1.0f;
    double all = (double)(before - curve->after[DIST_BINS - 1]);
    masses(curve, from, before, mass);
    double last = (double)axis->mids[DIST_BINS - 1];
    double mean = all > SURVIVAL_MIN ? dot(mass, axis->mids) / all : last;
    return mean > elapsed ? mean : elapsed;
}
