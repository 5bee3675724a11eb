/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded prompts as runs of block ids: which 64-token blocks each request consists of.
 * THREAD: one owner. LIMITS: BLOCKS_ROWS_MAX, BLOCKS_RUNS_MAX. */
#ifndef BENCH_SESSIONS_BLOCKS_H
#define BENCH_SESSIONS_BLOCKS_H

#include "bench/replay/lines.h"
#include "common/base/map.h"

enum {
    BLOCK_TOKENS = 64,
    BLOCKS_ROWS_MAX = 1 << 20,
    BLOCKS_RUNS_MAX = 1 << 24,
    BLOCKS_COUNT_MAX = 1 << 18, /* blocks of one prompt */
};

struct block_run {
    uint32_t first;
    uint32_t count;
};

struct blocks_row {
    uint32_t run_at;
    uint32_t run_count;
};

struct blocks {
    const struct mem *mem;
    struct map by_step; /* hash of session id and step -> row */
    struct blocks_row *rows;
    struct block_run *runs;
    uint32_t row_count, row_cap;
    uint32_t run_count, run_cap;
};

/* Reads lines with s (session), i (step) and runs ([[first, count], ...]).
 * ST_PROTO, ST_TOOBIG, ST_NOMEM, and what lines_open and lines_next return, all with err. The
 * object is to be ended in any case. */
MUST_CHECK enum status
blocks_load(struct blocks *ret, const struct mem *mem, const char *path, struct err *err);
void blocks_fini(struct blocks *blocks);

/* The row of a session's step; NULL when there is none. */
const struct blocks_row *
blocks_find(const struct blocks *blocks, struct str session, uint32_t step);

#endif
