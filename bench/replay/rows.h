/* SPDX-License-Identifier: Apache-2.0 */
/* Every answered step of a replay, one row each, so that others can fit a model of the engine to
 * them or play the same sessions again. PURE. THREAD: one owner. LIMITS: ROWS_MAX. */
#ifndef BENCH_REPLAY_ROWS_H
#define BENCH_REPLAY_ROWS_H

#include "bench/replay/stats.h"

enum { ROWS_MAX = 1 << 22 };

struct row {
    uint32_t run; /* of the plan */
    uint32_t step;
    uint32_t prompt_tokens; /* by the engine's usage, as the next two */
    uint32_t cached_tokens;
    uint32_t output_tokens;
    uint32_t own_tokens;  /* of the prompt, as the bench counts: four bytes each */
    uint32_t kept_tokens; /* of the prompt and answer before, that this prompt begins with */
    double gap_s;         /* from the answer before to this request, as planned */
    double sent_s;        /* since the replay's begin, as seen by the client */
    double ttft_s;        /* from there; < 0: no text came */
    double step_s;        /* from there to the end */
    char engine[STATS_ENGINE_BYTES];
};

struct rows {
    const struct mem *mem;
    struct row *rows; /* [count] in the order in which steps ended */
    uint32_t count;
    uint32_t cap;
};

void rows_init(struct rows *rows, const struct mem *mem);
void rows_fini(struct rows *rows);
/* ST_NOMEM, ST_FULL. */
MUST_CHECK enum status rows_add(struct rows *rows, const struct row *row);

#endif
