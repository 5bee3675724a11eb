/* SPDX-License-Identifier: Apache-2.0 */
/* When a run fell over, and when it was up again, from the slowdowns of its sessions by arrival.
 * (Whether a policy carries a load is metrics.h's.) PURE. THREAD: any. */
#ifndef BENCH_LAB_COLLAPSE_H
#define BENCH_LAB_COLLAPSE_H

#include "bench/lab/metrics.h"

/* Sessions are looked at by the window in which they come. */
#define COLLAPSE_WINDOW_S 600.0
/* A window is bad when the mean slowdown of its sessions is above this. */
#define COLLAPSE_RATIO 3.0
/* Fewer bad windows at the end are no collapse yet. */
#define COLLAPSE_WINDOWS 3
#define COLLAPSE_NEVER   (-1.0)

/* Begin of the first window from which on all that have sessions are bad, at least
 * COLLAPSE_WINDOWS of them, s; COLLAPSE_NEVER. Sessions that were given up are passed over. */
double collapse_at_s(const struct metrics_session *sessions, uint32_t count);

/* Steady: mean slowdown of the sessions in the last part of the arrivals. */
#define RECOVERY_STEADY_FROM 0.75
/* Recovered: a window's mean slowdown is at most this times the steady one. */
#define RECOVERY_RATIO 1.05

/* Time from from_s on (the end of a pulse of load, the loss of caches) to the end of the first
 * window that begins then or later and has recovered, s; COLLAPSE_NEVER: none has, or there is
 * nothing steady that is good (up to COLLAPSE_RATIO). */
double collapse_recovery_s(const struct metrics_session *sessions, uint32_t count, double from_s);

#endif
