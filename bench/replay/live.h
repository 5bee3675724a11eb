/* SPDX-License-Identifier: Apache-2.0 */
/* Progress on standard error: a table redrawn in place on a terminal, else a line now and then.
 * THREAD: reactor. */
#ifndef BENCH_REPLAY_LIVE_H
#define BENCH_REPLAY_LIVE_H

#include "bench/replay/report.h"
#include "common/io/reactor/loop.h"

/* Fills in what changes: stats, in_flight, waiting. */
typedef void (*live_update_fn)(void *ctx, struct report *report);

struct live {
    struct loop *loop;
    struct loop_timer timer;
    struct report report;
    live_update_fn update;
    void *ctx;
    struct buf text;
    bool is_table;
    bool has_drawn;
    double last_s; /* stats->elapsed_s at the last look */
    uint64_t last_deltas;
};

/* Starts (does nothing when opts->is_quiet). report's fixed parts are copied. ST_NOMEM. */
MUST_CHECK enum status live_start(struct live *live,
                                  struct loop *loop,
                                  const struct report *report,
                                  live_update_fn update,
                                  void *ctx);
/* Draws a last time and stops. Fine on a zeroed one. */
void live_stop(struct live *live);

#endif
