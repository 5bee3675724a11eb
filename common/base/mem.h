/* SPDX-License-Identifier: Apache-2.0 */
/* Where pure code gets its memory from: an allocator handed in by the caller, so that tests can
 * fail the n-th allocation and count what is left. PURE. THREAD: as the allocator behind it.
 * OWNERSHIP: the struct mem outlives all it gave out. */
#ifndef COMMON_BASE_MEM_H
#define COMMON_BASE_MEM_H

#include "common/base/status.h"

struct mem {
    void *(*resize)(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes); /* NULL on failure;
                                          ptr NULL = allocate; new_bytes 0 = free, returns NULL */
    void *ctx;
};

/* The process heap (malloc). Static, never NULL. */
const struct mem *mem_heap(void);

/* bytes of uninitialised memory, or NULL. bytes >= 1. */
MUST_CHECK void *mem_alloc(const struct mem *mem, size_t bytes);

/* count * size zeroed bytes, or NULL (also on overflow). */
MUST_CHECK void *mem_calloc(const struct mem *mem, size_t count, size_t size);

/* Grows or shrinks; old_bytes is what was asked for before. On NULL the old block is intact. */
MUST_CHECK void *mem_resize(const struct mem *mem, void *ptr, size_t old_bytes, size_t new_bytes);

/* Frees a block of the given size; ptr may be NULL. */
void mem_free(const struct mem *mem, void *ptr, size_t bytes);

#endif
