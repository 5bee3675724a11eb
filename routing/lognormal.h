/* SPDX-License-Identifier: Apache-2.0 */
/* Log-normal times, with the same result bit for bit on any machine: only sums, products, quotients
 * and roots. PURE. THREAD: any. */
#ifndef ROUTING_LOGNORMAL_H
#define ROUTING_LOGNORMAL_H

/* Natural logarithm of x > 0, and e^x; to about 1e-15 of the value. */
double route_ln(double x);
double route_exp(double x);

/* P(Z <= z) of a standard normal Z, to 1.5e-7. Source: Abramowitz and Stegun 7.1.26. */
double route_normal_ratio(double z);

/* The d from {0} and 32 times from 50 ms (or max_s, when that is less) to max_s, in equal ratios,
 * that makes
 *
 *     P(T < d) worth_s - E[T; T < d] - d P(T >= d)
 *
 * largest for a time T whose logarithm is normal with this mean and deviation; 0 when none makes it
 * positive. Source: vLLM Router, program scheduling (progress TTL). */
double route_lognormal_hold_s(double ln_mean, double ln_sigma, double worth_s, double max_s);

#endif
