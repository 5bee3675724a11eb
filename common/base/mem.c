/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

static void *heap_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    (void)ctx;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_bytes);
}

static const struct mem heap = {.resize = heap_resize, .ctx = NULL};

const struct mem *mem_heap(void)
{
    return &heap;
}

void *mem_alloc(const struct mem *mem, size_t bytes)
{
    ASSERT(bytes >= 1);
    return mem->resize(mem->ctx, NULL, 0, bytes);
}

void *mem_calloc(const struct mem *mem, size_t count, size_t size)
{
    ASSERT(count >= 1 && size >= 1);
    if (count > SIZE_MAX / size) {
        return NULL;
    }
    size_t bytes = count * size;
    void *ptr = mem->resize(mem->ctx, NULL, 0, bytes);
    if (ptr != NULL) {
        memset(ptr, 0, bytes);
    }
    return ptr;
}

void *mem_resize(const struct mem *mem, void *ptr, size_t old_bytes, size_t new_bytes)
{
    ASSERT(new_bytes >= 1);
    return mem->resize(mem->ctx, ptr, old_bytes, new_bytes);
}

void mem_free(const struct mem *mem, void *ptr, size_t bytes)
{
    if (ptr != NULL) {
        (void)mem->resize(mem->ctx, ptr, bytes, 0);
    }
}
