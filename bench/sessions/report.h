/* SPDX-License-Identifier: Apache-2.0 */
/* The result as a table or as JSON.
 * THREAD: one owner. */
#ifndef BENCH_SESSIONS_REPORT_H
#define BENCH_SESSIONS_REPORT_H

#include "bench/sessions/score.h"

void report_table(const struct score *score);
void report_json(const struct score *score);

/* Precision and recall reach the goals of docs/identity.md. */
bool report_is_good(const struct score *score);

#endif
