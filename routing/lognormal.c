/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/lognormal.h"

#include <math.h>

#define LN2 0.69314718055994530942

double route_ln(double x)
{
    enum { TERMS = 18 };
    int power = 0;
    double part = frexp(x, &power); /* exact; [1/2, 1) */
    double s = (part - 1.0) / (part + 1.0);
    double sum = 0.0;
    for (int i = TERMS; i-- > 0;) { /* 2 artanh s, |s| <= 1/3 */
        sum = sum * s * s + 1.0 / (2 * i + 1);
    }
    return 2.0 * s * sum + power * LN2;
}

double route_exp(double x)
{
    enum { TERMS = 18, POWER_MAX = 1000 };
    double power = floor(x / LN2 + 0.5);
    if (power > POWER_MAX || power < -POWER_MAX) {
        return power > 0.0 ? INFINITY : 0.0;
    }
    double rest = x - power * LN2;
    double sum = 1.0;
    for (int i = TERMS; i > 0; i--) {
        sum = 1.0 + rest / i * sum;
    }
    return ldexp(sum, (int)power);
}

double route_normal_ratio(double z)
{
    double x = fabs(z) / sqrt(2.0);
    double t = 1.0 / (1.0 + 0.3275911 * x);
    double sum =
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)));
    double erf_x = 1.0 - t * sum * route_exp(-x * x);
    return 0.5 * (1.0 + (z < 0.0 ? -erf_x : erf_x));
}

double route_lognormal_hold_s(double ln_mean, double ln_sigma, double worth_s, double max_s)
{
    enum { TIMES = 32 };
    const double first_s = 0.05;
    double best_s = 0.0;
    double best = 0.0;
    if (max_s <= 0.0 || worth_s <= 0.0) {
        return 0.0;
    }
    double ln_from = route_ln(first_s < max_s ? first_s : max_s);
    double ln_to = route_ln(max_s);
    double mean_s = route_exp(ln_mean + ln_sigma * ln_sigma / 2.0);
    for (int i = 0; i < TIMES; i++) {
        double ln_d = ln_from + (ln_to - ln_from) * i / (TIMES - 1);
        double d = i == TIMES - 1 ? max_s : route_exp(ln_d);
        double within = route_normal_ratio((ln_d - ln_mean) / ln_sigma);
        double spent = mean_s * route_normal_ratio((ln_d - ln_mean) / ln_sigma - ln_sigma);
        double gain = worth_s * within - spent - d * (1.0 - within);
        if (gain > 0.0 && gain >= best) {
            best = gain;
            best_s = d;
        }
    }
    return best_s;
}
