/* SPDX-License-Identifier: Apache-2.0 */
/* The very sessions that `saga bench` played, as a run of the laboratory: the same lengths,
 * prefixes, waits, sub-agents and arrivals. Waits for people are part of the TCT, as there.
 * THREAD: one owner. OWNERSHIP: nothing of the log is kept. */
#ifndef BENCH_LAB_PLAYED_H
#define BENCH_LAB_PLAYED_H

#include "bench/lab/bench_log.h"
#include "bench/lab/workload.h"

/* Sessions of which a step was answered. ST_INVAL (there is none; err), ST_NOMEM. */
MUST_CHECK enum status played_workload(struct workload *ret,
                                       const struct mem *mem,
                                       const struct bench_log *log,
                                       struct err *err);

/* All of them, as they came. workload is one of played_workload's. ST_NOMEM. */
MUST_CHECK enum status played_draw(struct draw *ret,
                                   const struct mem *mem,
                                   const struct bench_log *log,
                                   const struct workload *workload);

/* Root sessions per second between the first arrival and the last, at least one an hour. */
double played_rate_per_s(const struct draw *draw);

#endif
