/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/arena.h"

#include <string.h>

enum { ARENA_ALIGN = 16 };

struct arena_chunk {
    struct arena_chunk *next; /* older */
    size_t cap;               /* payload bytes, a multiple of ARENA_ALIGN */
    size_t used;              /* payload bytes handed out */
    size_t pad;               /* keeps the payload aligned */
};

_Static_assert(sizeof(struct arena_chunk) % ARENA_ALIGN == 0, "payload must stay aligned");

void arena_init(struct arena *arena, const struct mem *mem, size_t chunk_bytes, size_t max_bytes)
{
    size_t rounded = chunk_bytes & ~(size_t)(ARENA_ALIGN - 1);
    *arena = (struct arena){
        .mem = mem,
        .chunk_bytes = rounded < ARENA_ALIGN ? ARENA_ALIGN : rounded,
        .max_bytes = max_bytes,
    };
}

static void chunk_free(struct arena *arena, struct arena_chunk *chunk)
{
    mem_free(arena->mem, chunk, sizeof(*chunk) + chunk->cap);
}

void arena_fini(struct arena *arena)
{
    if (arena == NULL) {
        return;
    }
    while (arena->head != NULL) {
        struct arena_chunk *next = arena->head->next;
        chunk_free(arena, arena->head);
        arena->head = next;
    }
    arena->used_bytes = 0;
    arena->held_bytes = 0;
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *keep = NULL;
    while (arena->head != NULL) {
        struct arena_chunk *chunk = arena->head;
        arena->head = chunk->next;
        /* A big one is not worth keeping: it was made for one unusual object. */
        if (keep == NULL && chunk->cap <= arena->chunk_bytes) {
            keep = chunk;
        } else {
            chunk_free(arena, chunk);
        }
    }
    if (keep != NULL) {
        keep->next = NULL;
        keep->used = 0;
    }
    arena->head = keep;
    arena->used_bytes = 0;
    arena->held_bytes = keep == NULL ? 0 : keep->cap;
}

/* A new chunk with room for bytes (a multiple of ARENA_ALIGN), linked; NULL when that is not
 * possible. */
static struct arena_chunk *chunk_add(struct arena *arena, size_t bytes)
{
    size_t left = arena->max_bytes - arena->held_bytes;
    size_t cap = bytes > arena->chunk_bytes ? bytes : arena->chunk_bytes;
    if (cap > left) {
        cap = bytes;
    }
    if (cap > left || cap > SIZE_MAX - sizeof(struct arena_chunk)) {
        return NULL;
    }
    struct arena_chunk *chunk = mem_alloc(arena->mem, sizeof(*chunk) + cap);
    if (chunk == NULL) {
        return NULL;
    }
    *chunk = (struct arena_chunk){.cap = cap};
    arena->held_bytes += cap;
    if (arena->head != NULL && bytes > arena->chunk_bytes) {
        /* Full at once: goes behind the head, whose room stays in use. */
        chunk->next = arena->head->next;
        arena->head->next = chunk;
    } else {
        chunk->next = arena->head;
        arena->head = chunk;
    }
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - (ARENA_ALIGN - 1)) {
        return NULL;
    }
    size_t need = bytes == 0 ? ARENA_ALIGN : (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    struct arena_chunk *chunk = arena->head;
    if (chunk == NULL || chunk->cap - chunk->used < need) {
        chunk = chunk_add(arena, need);
        if (chunk == NULL) {
            return NULL;
        }
    }
    unsigned char *payload = (unsigned char *)(chunk + 1) + chunk->used;
    chunk->used += need;
    arena->used_bytes += need;
    return payload;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    void *ptr = arena_alloc(arena, count * size);
    if (ptr != NULL) {
        memset(ptr, 0, count * size);
    }
    return ptr;
}

char *arena_copy(struct arena *arena, const char *src, size_t len)
{
    if (len == SIZE_MAX) {
        return NULL;
    }
    char *dst = arena_alloc(arena, len + 1);
    if (dst == NULL) {
        return NULL;
    }
    if (len > 0) {
        memcpy(dst, src, len);
    }
    dst[len] = '\0';
    return dst;
}
