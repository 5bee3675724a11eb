/* SPDX-License-Identifier: Apache-2.0 */
/* What --scenario, --arrivals and --tenants ask for, loaded, and the runs' sessions drawn by it.
 * THREAD: one owner while it is made, any after. OWNERSHIP: outlives the batch. */
#ifndef BENCH_LAB_SCENARIO_SETUP_H
#define BENCH_LAB_SCENARIO_SETUP_H

#include "bench/lab/arrivals_times.h"
#include "bench/lab/batch.h"
#include "bench/lab/scenario.h"

struct scenario_setup {
    struct scenario scenario;
    struct arrivals_times times; /* count 0 = none */
    bool has_scenario;           /* or tenants */
};

/* Loads the files; opts->loads become the scenario's own where no load was asked for. ST_INVAL with
 * err, as scenario_load. */
MUST_CHECK enum status
scenario_setup_make(struct scenario_setup *ret, struct lab_options *opts, struct err *err);
void scenario_setup_fini(struct scenario_setup *setup);

/* Which sessions the workload must have: the run's, or a mix when tenants have their own. */
enum workload_kind scenario_setup_kind(const struct scenario_setup *setup,
                                       const struct lab_options *opts);

/* Draws the sessions of one load and seed; made->load, rate_per_s and draw are filled. ST_INVAL
 * with err: the scenario's tenants bring more than the load. As draw_make. */
MUST_CHECK enum status scenario_setup_draw(const struct scenario_setup *setup,
                                           const struct lab_options *opts,
                                           uint32_t load,
                                           const struct workload *workload,
                                           struct batch_case *made,
                                           struct err *err);

/* The built-in scenarios, a line each. */
void scenario_setup_list(void);

#endif
