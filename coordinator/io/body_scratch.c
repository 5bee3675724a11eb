/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/body_scratch.h"

#include <string.h>

enum { SCRATCH_ALIGN = 16, SCRATCH_ROUND = 65536 };

struct scratch_extra {
    struct scratch_extra *next;
    size_t bytes; /* with this header */
};

static size_t align_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

void scratch_init(struct scratch *scratch, const struct mem *mem)
{
    *scratch = (struct scratch){.mem = mem};
}

void scratch_end(struct scratch *scratch)
{
    while (scratch->extras != NULL) {
        struct scratch_extra *extra = scratch->extras;
        scratch->extras = extra->next;
        mem_free(scratch->mem, extra, extra->bytes);
    }
    if (scratch->block_bytes > SCRATCH_KEPT_MAX) {
        mem_free(scratch->mem, scratch->block, scratch->block_bytes);
        scratch->block = NULL;
        scratch->block_bytes = 0;
    }
    scratch->used_bytes = 0;
}

void scratch_fini(struct scratch *scratch)
{
    if (scratch == NULL || scratch->mem == NULL) {
        return;
    }
    scratch_end(scratch);
    mem_free(scratch->mem, scratch->block, scratch->block_bytes);
    scratch->block = NULL;
    scratch->block_bytes = 0;
}

enum status scratch_begin(struct scratch *scratch, size_t want_bytes, size_t max_bytes)
{
    scratch_end(scratch);
    scratch->left_bytes = max_bytes;
    scratch->is_over = false;
    if (want_bytes <= scratch->block_bytes) {
        return ST_OK;
    }
    size_t bytes = align_up(want_bytes, SCRATCH_ROUND);
    /* Nothing in the old block is needed, so it is not resized but replaced. */
    mem_free(scratch->mem, scratch->block, scratch->block_bytes);
    scratch->block_bytes = 0;
    scratch->block = mem_alloc(scratch->mem, bytes);
    if (scratch->block == NULL) {
        return ST_NOMEM;
    }
    scratch->block_bytes = bytes;
    return ST_OK;
}

/* Takes bytes off what the request may still have. */
static bool scratch_take(struct scratch *scratch, size_t bytes)
{
    if (bytes > scratch->left_bytes) {
        scratch->is_over = true;
        return false;
    }
    scratch->left_bytes -= bytes;
    return true;
}

static void *extra_piece(struct scratch_extra *extra)
{
    return (char *)extra + align_up(sizeof(struct scratch_extra), SCRATCH_ALIGN);
}

void *scratch_alloc(struct scratch *scratch, size_t bytes)
{
    if (bytes > SIZE_MAX / 2 || !scratch_take(scratch, bytes)) {
        return NULL;
    }
    size_t rounded = align_up(bytes, SCRATCH_ALIGN);
    if (scratch->block_bytes - scratch->used_bytes >= rounded) {
        void *piece = scratch->block + scratch->used_bytes;
        scratch->used_bytes += rounded;
        return piece;
    }
    size_t extra_bytes = align_up(sizeof(struct scratch_extra), SCRATCH_ALIGN) + rounded;
    struct scratch_extra *extra = mem_alloc(scratch->mem, extra_bytes);
    if (extra == NULL) {
        return NULL;
    }
    *extra = (struct scratch_extra){.next = scratch->extras, .bytes = extra_bytes};
    scratch->extras = extra;
    return extra_piece(extra);
}

static void *yy_malloc(void *ctx, size_t bytes)
{
    return scratch_alloc(ctx, bytes);
}

/* The block's last piece, grown where it lies; NULL when piece is another one or there is no room.
 */
static void *grow_last(struct scratch *scratch, void *piece, size_t old_bytes, size_t bytes)
{
    size_t old_rounded = align_up(old_bytes, SCRATCH_ALIGN);
    if (scratch->block == NULL || scratch->used_bytes < old_rounded ||
        (char *)piece != scratch->block + (scratch->used_bytes - old_rounded)) {
        return NULL;
    }
    size_t from = scratch->used_bytes - old_rounded;
    size_t rounded = align_up(bytes, SCRATCH_ALIGN);
    if (scratch->block_bytes - from < rounded || !scratch_take(scratch, bytes - old_bytes)) {
        return NULL;
    }
    scratch->used_bytes = from + rounded;
    return piece;
}

/* The newest extra block, resized. */
static void *grow_extra(struct scratch *scratch, size_t old_bytes, size_t bytes)
{
    if (!scratch_take(scratch, bytes - old_bytes)) {
        return NULL;
    }
    struct scratch_extra *extra = scratch->extras;
    size_t head_bytes = align_up(sizeof(*extra), SCRATCH_ALIGN);
    size_t extra_bytes = head_bytes + align_up(bytes, SCRATCH_ALIGN);
    extra = mem_resize(scratch->mem, extra, extra->bytes, extra_bytes);
    if (extra == NULL) {
        return NULL;
    }
    extra->bytes = extra_bytes;
    scratch->extras = extra;
    return extra_piece(extra);
}

static void *yy_realloc(void *ctx, void *piece, size_t old_bytes, size_t bytes)
{
    struct scratch *scratch = ctx;
    if (bytes <= old_bytes) {
        return piece;
    }
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    if (scratch->extras != NULL && piece == extra_piece(scratch->extras)) {
        return grow_extra(scratch, old_bytes, bytes);
    }
    void *grown = grow_last(scratch, piece, old_bytes, bytes);
    if (grown == NULL && !scratch->is_over) {
        grown = scratch_alloc(scratch, bytes);
        if (grown != NULL && piece != NULL) {
            memcpy(grown, piece, old_bytes);
        }
    }
    return grown;
}

static void yy_free(void *ctx, void *piece)
{
    /* Everything goes with scratch_end. */
    (void)ctx;
    (void)piece;
}

yyjson_alc scratch_yyjson(struct scratch *scratch)
{
    return (yyjson_alc){
        .malloc = yy_malloc, .realloc = yy_realloc, .free = yy_free, .ctx = scratch};
}
