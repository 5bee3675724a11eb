/* SPDX-License-Identifier: Apache-2.0 */
/* What all runs of one call have in common: the recorded sessions and how long each takes alone,
 * the entries, the batch that runs them. THREAD: one owner. */
#ifndef BENCH_LAB_SETUP_H
#define BENCH_LAB_SETUP_H

#include "bench/lab/batch.h"
#include "bench/lab/bench_log.h"
#include "bench/lab/scenario_setup.h"

struct lab_setup {
    struct lab_options opts;
    struct scenario_setup scenario;
    struct lab_entry entries[LAB_LIST_MAX]; /* [entry_count], by opts.policies */
    uint32_t entry_count;
    struct trace trace;
    struct bench_log log; /* with --arrivals-from */
    struct workload workload;
    struct batch batch; /* without runs */
    uint64_t *alone_us; /* [workload.session_count] */
};

/* The scenario and the entries of setup->opts. ST_INVAL with err: the user asked for what is not
 * there. */
MUST_CHECK enum status lab_setup_entries(struct lab_setup *setup, struct err *err);

/* The rest. Sessions are cut to what the smallest of the engines holds, and are alone on the
 * largest one, without tiers: all runs have the same ones, and the same time to be compared with.
 * With err, as trace_load_named, workload_make, batch_alone. */
MUST_CHECK enum status lab_setup_load(struct lab_setup *setup, struct err *err);

/* Half-made ones too. */
void lab_setup_fini(struct lab_setup *setup);

/* An entry's run at a place of the sweep over memory; what setup has checked. */
struct batch_run lab_setup_run(const struct lab_setup *setup,
                               uint32_t entry,
                               uint32_t memory,
                               struct batch_case *of);

#endif
