/* SPDX-License-Identifier: Apache-2.0 */
/* What `saga sim` does when nothing else is asked for: each policy at each load, with each seed and
 * each memory.
 * THREAD: main. */
#ifndef BENCH_LAB_SWEEP_H
#define BENCH_LAB_SWEEP_H

#include "bench/lab/setup.h"

/* setup is loaded. The table or JSON goes to standard output, files where they were asked for. With
 * err: as batch_run_all; ST_IO. */
MUST_CHECK enum status lab_sweep(struct lab_setup *setup, struct err *err);

#endif
