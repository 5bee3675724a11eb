/* SPDX-License-Identifier: Apache-2.0 */
/* The prompt of one task as it changes, without any text: a list of numbered 64-token blocks, and
 * from it the prompt chain that a client's request would have (docs/formulas.md#F1). PURE. THREAD:
 * one owner. LIMITS: BLOCKS_COUNT_MAX. */
#ifndef BENCH_SESSIONS_SHAPE_H
#define BENCH_SESSIONS_SHAPE_H

#include "bench/sessions/blocks.h"
#include "coordinator/core/event.h"

/* What a prompt keeps of the one before. */
enum shape_link {
    SHAPE_FIRST,   /* there is none before */
    SHAPE_WHOLE,   /* all of it */
    SHAPE_REWIND,  /* at least half, but not its end */
    SHAPE_COMPACT, /* less than half, but more than the system prompt */
    SHAPE_CLEAR,   /* no more than the system prompt */
};

enum { SHAPE_LINKS = 5 };

struct shape_chain {
    uint64_t hashes[COORD_CHAIN_MAX];
    uint32_t bytes[COORD_CHAIN_MAX];
    uint8_t is_end[COORD_CHAIN_MAX];
    uint32_t count;
};

struct shape {
    const struct mem *mem;
    uint64_t seed;      /* of what only this task says */
    uint64_t open_seed; /* of its first request */
    uint64_t sys_seed;
    uint32_t own_blocks; /* at the end of its first request: of seed whatever open_seed is */
    uint32_t sys_blocks;
    uint32_t fresh;      /* next block id where none are recorded */
    uint32_t in_tokens;  /* of the newest prompt */
    uint32_t base;       /* whole blocks of it as recorded; smaller growth has blocks of its own */
    uint32_t *ids;       /* [count] blocks of the newest prompt */
    uint32_t *next;      /* [cap] scratch */
    uint64_t *hashes;    /* [count] of the prompt up to and with that block */
    uint32_t count, cap; /* cap of all three */
    uint32_t reply;      /* blocks of the answer to it */
    struct map names;    /* block id -> what it holds */
    struct map ends;     /* hashes at which a segment ended */
};

struct shape_step {
    const struct blocks *blocks;  /* of row */
    const struct blocks_row *row; /* the recorded blocks; NULL = made up from the lengths below */
    uint32_t in_tokens;
    uint32_t reuse_tokens;
    uint32_t out_tokens;
    bool is_tool; /* opened by tool results, so the reply before is in it */
};

void shape_init(struct shape *shape, const struct mem *mem);
void shape_fini(struct shape *shape);

/* Turns the prompt before into this one and says what it keeps. ST_OK, ST_NOMEM, ST_FULL. */
MUST_CHECK enum status
shape_advance(struct shape *shape, const struct shape_step *step, enum shape_link *ret);

/* The chain of the newest prompt. */
void shape_chain(const struct shape *shape, struct shape_chain *ret);

#endif
