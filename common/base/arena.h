/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocator for things that die together (a request, a step's effects).
 * PURE. THREAD: one owner. LIMITS: max_bytes over all chunks. */
#ifndef COMMON_BASE_ARENA_H
#define COMMON_BASE_ARENA_H

#include "common/base/mem.h"

struct arena_chunk;

struct arena {
    const struct mem *mem;
    struct arena_chunk *head; /* newest chunk, NULL = none yet */
    size_t chunk_bytes;       /* payload of an ordinary chunk */
    size_t max_bytes;         /* payload limit over all chunks */
    size_t used_bytes;        /* payload handed out in all chunks, padding included */
    size_t held_bytes;        /* payload capacity of all chunks */
};

/* Prepares an empty arena; allocates nothing. mem is borrowed. */
void arena_init(struct arena *arena, const struct mem *mem, size_t chunk_bytes, size_t max_bytes);

/* Frees everything; the arena may be used again after it. NULL is fine. */
void arena_fini(struct arena *arena);

/* Forgets all allocations but keeps one chunk for reuse. */
void arena_reset(struct arena *arena);

/* bytes aligned to 16, uninitialised; NULL when memory or max_bytes is exhausted. */
MUST_CHECK void *arena_alloc(struct arena *arena, size_t bytes);

/* Zeroed array; NULL on overflow or exhaustion. */
MUST_CHECK void *arena_calloc(struct arena *arena, size_t count, size_t size);

/* Copy of len bytes with a NUL behind them; NULL on exhaustion. */
MUST_CHECK char *arena_copy(struct arena *arena, const char *src, size_t len);

#endif
