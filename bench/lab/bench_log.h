/* SPDX-License-Identifier: Apache-2.0 */
/* What `saga bench --json --rows` wrote, read back: the sessions it played and each step it
 * measured. THREAD: one owner. LIMITS: BENCH_LOG_BYTES_MAX, ROWS_MAX. */
#ifndef BENCH_LAB_BENCH_LOG_H
#define BENCH_LAB_BENCH_LOG_H

#include "bench/replay/rows.h"
#include "common/base/err.h"
#include "common/base/str.h"

#define BENCH_LOG_BYTES_MAX (UINT64_C(1) << 30)

struct log_session {
    uint32_t parent; /* TRACE_NONE = a root; always before its sub-agents */
    uint32_t spawn_step;
    uint32_t tenant;
    uint32_t system_id;
    uint32_t system_tokens; /* as the bench counts */
    uint32_t row_at;        /* its rows in rows.rows, by step from 0 without a hole */
    uint32_t row_count;     /* 0 = nothing was answered */
};

struct bench_log {
    const struct mem *mem;
    struct log_session *sessions; /* [session_count] */
    uint32_t session_count;
    struct rows rows; /* sorted by session and step; those behind a hole are dropped */
};

/* text is a whole report. ST_PROTO: not a report of the bench with rows (err says). ST_NOMEM. */
MUST_CHECK enum status
bench_log_read(struct bench_log *ret, const struct mem *mem, struct str text, struct err *err);
/* The same of a file. ST_IO, ST_TOOBIG. */
MUST_CHECK enum status
bench_log_load(struct bench_log *ret, const struct mem *mem, const char *path, struct err *err);
void bench_log_fini(struct bench_log *log);

#endif
