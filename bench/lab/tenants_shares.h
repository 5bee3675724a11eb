/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants' shares of the load, from a file of clients' rates (ServeGen's client windows).
 * THREAD: one owner. LIMITS: TENANTS_CLIENTS_MAX. */
#ifndef BENCH_LAB_TENANTS_SHARES_H
#define BENCH_LAB_TENANTS_SHARES_H

#include "bench/lab/scenario.h"
#include "bench/replay/lines.h"

enum { TENANTS_CLIENTS_MAX = 1 << 16 };

/* CSV, plain or gzip, with a heading that names the columns pool, client and rate_rps: a client's
 * share is the sum of its rates over that of all. The largest SCENARIO_TENANTS_MAX - 1 become
 * tenants of the scenario, largest first, the others together one more, "rest".
 * ST_INVAL with err, ST_NOMEM, as lines_next. */
MUST_CHECK enum status
tenants_shares_load(struct scenario *scenario, const char *path, struct err *err);
MUST_CHECK enum status tenants_shares_read(struct scenario *scenario,
                                           const char *name,
                                           struct lines *lines,
                                           struct err *err);

#endif
