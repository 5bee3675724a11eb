/* SPDX-License-Identifier: Apache-2.0 */
/* One entry at one rate on so many engines, with each seed: what the searches (saturation.h,
 * plan_fleet.h) repeat.
 * THREAD: one owner; runs go to as many threads as there are jobs. */
#ifndef BENCH_LAB_TRY_H
#define BENCH_LAB_TRY_H

#include "bench/lab/setup.h"

struct lab_try {
    uint32_t entry; /* of the setup */
    uint32_t engines;
    double rate_per_s;
    double slo_ratio; /* times the TCT alone */
};

struct lab_tried {
    uint32_t engines;
    double late_slowdown; /* mean over seeds, as the next one */
    double mean_slowdown;
    double mean_kv_used;
    double share_within; /* of all sessions, finished within slo_ratio */
    bool is_rising;      /* with any seed */
};

/* As batch_run_all. */
MUST_CHECK enum status lab_try_run(struct lab_setup *setup,
                                   const struct lab_try *what,
                                   struct lab_tried *ret,
                                   struct err *err);

#endif
