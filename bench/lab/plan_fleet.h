/* SPDX-License-Identifier: Apache-2.0 */
/* `saga sim plan`: the fewest engines on which enough sessions end in time.
 * THREAD: main. */
#ifndef BENCH_LAB_PLAN_FLEET_H
#define BENCH_LAB_PLAN_FLEET_H

#include "bench/lab/setup.h"

/* setup is loaded; its first entry is what the fleet runs, its second the bound. The answer goes to
 * standard output, each try to standard error. With err: as batch_run_all; ST_TOOBIG (not on
 * LAB_ENGINES_MAX either), ST_IO. */
MUST_CHECK enum status lab_plan_fleet(struct lab_setup *setup, struct err *err);

#endif
