/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/dist.h"

#include "common/base/rng.h"
#include "tests/kit/kit.h"

#include <math.h>
#include <stdio.h>

static void bin__edges__belong_to_the_bin_below(void **state)
{
    (void)state;
    const struct dist_axis *axis = &dist_axis_time_us;
    const double asked_us[] = {1e6, 10e6, 60e6, 300e6};
    for (size_t i = 0; i < 4; i++) {
        uint32_t bin = dist_bin(axis, asked_us[i]);
        assert_true(axis->edges[bin] == asked_us[i]);
        assert_int_equal(dist_bin(axis, asked_us[i] + 1), bin + 1);
    }
    assert_int_equal(dist_bin(axis, (double)NAN), 0);
    assert_int_equal(dist_bin(axis, -5.0), 0);
    assert_int_equal(dist_bin(axis, 1e300), DIST_BINS - 1);
    assert_int_equal(dist_bin(&dist_axis_count, 0.0), 0);
    assert_int_equal(dist_bin(&dist_axis_count, 1.0), 1);
}

static void axes__edges_and_middles__rise_and_interleave(void **state)
{
    (void)state;
    const struct dist_axis *axes[] = {&dist_axis_time_us, &dist_axis_count};
    for (size_t a = 0; a < 2; a++) {
        for (uint32_t i = 0; i < DIST_EDGES; i++) {
            assert_true(axes[a]->mids[i] <= axes[a]->edges[i]);
            assert_true(axes[a]->mids[i + 1] > axes[a]->edges[i]);
        }
    }
}

/* F6: half life 10 s, one observation at 0 and one at 20 s. */
static void clock__worked_example__older_counts_a_quarter(void **state)
{
    (void)state;
    struct dist_clock clock = {0, 0};
    const uint64_t half_life_us = 10000000;
    float factor = 0.0f;
    float sum = dist_weight(&clock, 0, half_life_us);
    assert_false(dist_rebase(&clock, 20000000, half_life_us, &factor));
    sum += dist_weight(&clock, 20000000, half_life_us);
    assert_close((double)sum, 5.0, 1e-6);
    assert_close((double)(sum * dist_scale(&clock, 20000000, half_life_us)), 1.25, 1e-6);
    assert_close((double)(sum * dist_scale(&clock, 30000000, half_life_us)), 0.625, 1e-6);
}

static void clock__far_future__rebased_and_finite(void **state)
{
    (void)state;
    struct dist_clock clock = {0, 0};
    float factor = 0.0f;
    assert_true(dist_rebase(&clock, 210000000, 10000000, &factor));
    assert_close((double)factor, exp2(-21.0), 1e-9);
    assert_close((double)dist_weight(&clock, 210000000, 10000000), 1.0, 1e-9);
    assert_true(dist_rebase(&clock, UINT64_MAX, 1, &factor));
    assert_true(factor >= 0.0f && factor < 1e-20f);
    assert_true(dist_weight(&clock, 0, 1) > 0.0f);
    assert_true(dist_scale(&clock, 0, 1) <= 1.0f);
}

static void count__taken_back__never_below_zero(void **state)
{
    (void)state;
    float risk[DIST_RISKS] = {0};
    dist_count_open(risk, 1, 2.0f);
    assert_close((double)risk[0], 2.0, 1e-9);
    assert_close((double)risk[1], 1.0, 1e-9);
    dist_count_open(risk, 1, -2.1f);
    assert_true(risk[0] == 0.0f && risk[1] == 0.0f && risk[2] == 0.0f);
}

static void count__taken_back_by_a_hair_too_much__never_rises(void **state)
{
    (void)state;
    float risk[DIST_RISKS] = {0};
    dist_count_ended(risk, 40, 0.1f);
    dist_count_open(risk, 20, 1e7f);
    dist_count_ended(risk, 10, 3.3f);
    dist_count_open(risk, 20, -1e7f);
    dist_count_ended(risk, 10, -3.4f);
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        if (risk[i] < risk[i + 1]) {
            fail_msg("bin %u: %g, then %g", i, (double)risk[i], (double)risk[i + 1]);
        }
    }
    assert_close((double)risk[40], 0.1, 1e-6);
}

static void left_of__few_values__as_counted_one_by_one(void **state)
{
    (void)state;
    const uint8_t bins[] = {0, 63, 7, 7, 20};
    float counted[DIST_BINS] = {0};
    float left[DIST_BINS];
    for (size_t i = 0; i < sizeof(bins); i++) {
        dist_count_left(counted, bins[i], 1.0f);
    }
    dist_left_of(bins, sizeof(bins), left);
    assert_memory_equal(left, counted, sizeof(left));
}

static void sum__two_mixes__the_same_curve(void **state)
{
    (void)state;
    float near[DIST_BINS] = {0};
    float far[DIST_BINS] = {0};
    struct dist_curve one_by_one;
    struct dist_curve prior;
    struct dist_curve sum;
    dist_count_left(far, 9, 6.0f);
    dist_count_left(near, 30, 2.0f);
    dist_curve_prior(&prior, 0.1f);
    dist_curve_prior(&one_by_one, 0.1f);
    dist_curve_mix(&one_by_one, far, 6.0f, 0.5f, 3.0f);
    dist_curve_mix(&one_by_one, near, 2.0f, 1.0f, 2.0f);
    /* far: 1/2 * 0.5 / (3 + 3), near: 1 / (2 + 2), prior: 1/2 * 3 / (3 + 3). */
    const float *const rows[DIST_ROWS] = {far, near, prior.after, far, far, far, far, far};
    const float weights[DIST_ROWS] = {0.5f / 12.0f, 0.25f, 0.25f};
    dist_curve_sum(&sum, rows, weights);
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        assert_close((double)sum.after[i], (double)one_by_one.after[i], 1e-6);
    }
}

static void expect__worked_example__weighted_by_mass(void **state)
{
    (void)state;
    struct dist_curve curve = {.after = {0.75f, 0.25f}};
    const float values[DIST_BINS] = {8.0f, 4.0f, 2.0f, 1e6f};
    assert_close(dist_expect(&curve, values), 0.25 * 8.0 + 0.5 * 4.0 + 0.25 * 2.0, 1e-6);
}

/* F7: k = 2; 3 ended and 2 censored in bin 0, 1 ended in bin 1; the wider group S = 1/2, 1/4. */
static void add__worked_example__hazards_four_sevenths_and_three_quarters(void **state)
{
    (void)state;
    struct dist_curve curve = {0};
    const float ended[DIST_BINS] = {3.0f, 1.0f};
    float risk[DIST_RISKS] = {0};
    dist_count_ended(risk, 0, 3.0f);
    dist_count_open(risk, 0, 2.0f);
    dist_count_ended(risk, 1, 1.0f);
    curve.after[0] = 0.5f;
    curve.after[1] = 0.25f;
    dist_curve_add(&curve, ended, risk, 1.0f, 2.0f);
    assert_close((double)curve.after[0], 3.0 / 7.0, 1e-6);
    assert_close((double)curve.after[1], 3.0 / 7.0 / 4.0, 1e-6);
}

static void mix__nothing_censored__same_as_by_hazards(void **state)
{
    (void)state;
    struct dist_curve plain;
    struct dist_curve general;
    const float ended[DIST_BINS] = {[3] = 5.0f, [40] = 2.0f};
    float risk[DIST_RISKS] = {0};
    dist_count_ended(risk, 3, 5.0f);
    dist_count_ended(risk, 40, 2.0f);
    dist_curve_prior(&plain, 0.1f);
    general = plain;
    dist_curve_mix(&plain, risk + 1, 7.0f, 0.5f, 4.0f);
    dist_curve_add(&general, ended, risk, 0.5f, 4.0f);
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        assert_close((double)plain.after[i], (double)general.after[i], 1e-5);
    }
}

static void add__all_censored_late__hazard_before_falls(void **state)
{
    (void)state;
    struct dist_curve curve;
    const float none[DIST_BINS] = {0};
    float risk[DIST_RISKS] = {0};
    dist_count_open(risk, 50, 100.0f);
    dist_curve_prior(&curve, 0.1f);
    double before = (double)curve.after[40];
    dist_curve_add(&curve, none, risk, 1.0f, 4.0f);
    assert_true((double)curve.after[40] > before);
    assert_true((double)curve.after[40] > 0.95);
}

/* F8: S = 0.8 up to 1 s, 0.4 from the next edge (1.333521 s) on. */
static void within__worked_example__half_and_its_hazard(void **state)
{
    (void)state;
    const struct dist_axis *axis = &dist_axis_time_us;
    struct dist_curve curve;
    uint32_t bin = dist_bin(axis, 1e6);
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        curve.after[i] = i <= bin ? 0.8f : 0.4f;
    }
    assert_close(dist_within(&curve, axis, 10e6, 1e6), 0.5, 1e-6);
    assert_close(dist_within(&curve, axis, 10e6, 0.0), 0.6, 1e-6);
    assert_close(dist_within(&curve, axis, 1e6, 1e6), 0.0, 1e-9);
    double hi = axis->edges[bin + 1];
    double x = sqrt(1e6 * hi);
    assert_close(dist_survival(&curve, axis, x), 0.6, 1e-6);
    assert_close(dist_hazard(&curve, axis, x), 0.4 / (x * log(hi / 1e6) * 0.6), 1e-12);
    assert_close(dist_quantile(&curve, axis, 0.4, 0.0), x, 1.0);
    assert_close(dist_quantile(&curve, axis, 0.25, 1e6), x, 1.0);
}

static void quantile__half_never_happens__last_middle(void **state)
{
    (void)state;
    struct dist_curve curve;
    dist_curve_prior(&curve, 0.6f);
    double last = dist_axis_count.mids[DIST_BINS - 1];
    assert_close(dist_quantile(&curve, &dist_axis_count, 0.5, -1.0), last, 1e-6);
}

static void mean__two_values__by_their_middles(void **state)
{
    (void)state;
    struct dist_curve curve;
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        curve.after[i] = i < 1 ? 1.0f : (i < 3 ? 0.5f : 0.0f);
    }
    assert_close(dist_mean(&curve, &dist_axis_count, -1.0), 0.5 * 1.0 + 0.5 * 3.0, 1e-6);
    assert_close(dist_mean(&curve, &dist_axis_count, 2.0), 3.0, 1e-6);
}

static void check_curve(const struct dist_curve *curve, unsigned seed)
{
    double before = 1.0;
    double x = 100.0;
    for (uint32_t i = 0; i < 45; i++) {
        x *= 1.7;
        double s = dist_survival(curve, &dist_axis_time_us, x);
        double p = dist_within(curve, &dist_axis_time_us, x * 3, x);
        double h = dist_hazard(curve, &dist_axis_time_us, x);
        if (!(s >= 0.0 && s <= before) || !(p >= 0.0 && p <= 1.0) || !(h >= 0.0 && h < 1e12)) {
            fail_msg("seed %u at %g: S %g after %g, P %g, hazard %g", seed, x, s, before, p, h);
        }
        before = s;
    }
}

static void curves__random_counts__survival_falls_and_stays_in_range(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        struct rng rng;
        struct dist_curve curve;
        rng_init(&rng, seed);
        dist_curve_prior(&curve, (float)rng_unit(&rng));
        for (uint32_t level = 0; level < 7; level++) {
            float ended[DIST_BINS] = {0};
            float risk[DIST_RISKS] = {0};
            float all = 0.0f;
            uint64_t n = rng_below(&rng, 200);
            for (uint64_t i = 0; i < n; i++) {
                uint32_t bin = (uint32_t)rng_below(&rng, DIST_BINS);
                float weight = (float)exp2(60.0 * rng_unit(&rng) - 40.0);
                if (level % 2 == 0 && rng_below(&rng, 3) == 0) {
                    dist_count_open(risk, bin, weight);
                    continue;
                }
                ended[bin] += weight;
                all += weight;
                dist_count_ended(risk, bin, weight);
            }
            float scale = (float)exp2(-60.0 * rng_unit(&rng));
            if (level % 2 == 0) {
                dist_curve_add(&curve, ended, risk, scale, 5.0f);
            } else {
                dist_curve_mix(&curve, risk + 1, all, scale, 5.0f);
            }
            check_curve(&curve, seed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bin__edges__belong_to_the_bin_below),
        cmocka_unit_test(axes__edges_and_middles__rise_and_interleave),
        cmocka_unit_test(clock__worked_example__older_counts_a_quarter),
        cmocka_unit_test(clock__far_future__rebased_and_finite),
        cmocka_unit_test(count__taken_back__never_below_zero),
        cmocka_unit_test(count__taken_back_by_a_hair_too_much__never_rises),
        cmocka_unit_test(left_of__few_values__as_counted_one_by_one),
        cmocka_unit_test(sum__two_mixes__the_same_curve),
        cmocka_unit_test(expect__worked_example__weighted_by_mass),
        cmocka_unit_test(add__worked_example__hazards_four_sevenths_and_three_quarters),
        cmocka_unit_test(mix__nothing_censored__same_as_by_hazards),
        cmocka_unit_test(add__all_censored_late__hazard_before_falls),
        cmocka_unit_test(within__worked_example__half_and_its_hazard),
        cmocka_unit_test(quantile__half_never_happens__last_middle),
        cmocka_unit_test(mean__two_values__by_their_middles),
        cmocka_unit_test(curves__random_counts__survival_falls_and_stays_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
