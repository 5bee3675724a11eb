/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a recorded session through aeg/ as the coordinator does a live one, and shows each forecast
 * beside what came then.
 * PURE. THREAD: one owner. */
#ifndef BENCH_AEG_DRIVE_H
#define BENCH_AEG_DRIVE_H

#include "aeg/forecast.h"
#include "bench/replay/trace.h"

/* Work of a step on an engine of this speed: recorded model times come from other hardware. */
#define DRIVE_PREFILL_TOKENS_PER_S 10000.0
#define DRIVE_DECODE_TOKENS_PER_S  50.0

/* How long a gap after an answer to a person is waited for before the session is given up. */
#define DRIVE_IDLE_S 3600

/* One step has ended and the gap after it is open. */
struct drive_point {
    const struct aeg_forecast *forecast; /* made now */
    const struct trace_step *step;       /* ended */
    const struct trace_step *next;       /* NULL = none came */
    uint32_t session;                    /* in the trace */
    uint32_t done;                       /* steps */
    uint32_t to_go;
    double work_done_s;
    double work_to_go_s;
    double wait_s; /* INFINITY = no request came */
    bool is_known; /* the trace says what came of the gap */
};

typedef void (*drive_fn)(void *ctx, const struct drive_point *point);

double drive_work_s(uint32_t new_tokens, uint32_t out_tokens);
uint32_t drive_new_tokens(const struct trace_step *step);

/* One session from *now_us on, which is moved to its end. fn may be NULL. ST_NOMEM. */
MUST_CHECK enum status drive_session(struct aeg *aeg,
                                     const struct trace *trace,
                                     uint32_t session,
                                     uint64_t *now_us,
                                     drive_fn fn,
                                     void *ctx);

#endif
