/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/json.h"

#include <math.h>

bool json_get_str(yyjson_val *obj, const char *key, struct str *ret)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (!yyjson_is_str(val)) {
        return false;
    }
    *ret = json_str(val);
    return true;
}

bool json_get_u64(yyjson_val *obj, const char *key, uint64_t *ret)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (yyjson_is_uint(val)) {
        *ret = yyjson_get_uint(val);
        return true;
    }
    if (!yyjson_is_real(val)) {
        return false;
    }
    double real = yyjson_get_real(val);
    if (!(real >= 0.0 && real < 0x1.0p64) || floor(real) != real) {
        return false;
    }
    *ret = (uint64_t)real;
    return true;
}

bool json_get_bool(yyjson_val *obj, const char *key, bool *ret)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (!yyjson_is_bool(val)) {
        return false;
    }
    *ret = yyjson_get_bool(val);
    return true;
}

struct str json_str(yyjson_val *val)
{
    if (!yyjson_is_str(val)) {
        return (struct str){NULL, 0};
    }
    return (struct str){yyjson_get_str(val), yyjson_get_len(val)};
}

/* yyjson frees without telling the size that struct mem wants: kept in front of each block. */
struct block {
    size_t bytes; /* of the whole block */
    size_t pad;   /* keeps what follows aligned to 16 */
};

static void *block_resize(void *ctx, void *ptr, size_t old_size, size_t size)
{
    const struct mem *mem = ctx;
    struct block *old = ptr == NULL ? NULL : (struct block *)ptr - 1;
    (void)old_size;
    if (size > SIZE_MAX - sizeof(*old)) {
        return NULL;
    }
    struct block *block = mem_resize(mem, old, old == NULL ? 0 : old->bytes, sizeof(*block) + size);
    if (block == NULL) {
        return NULL;
    }
    block->bytes = sizeof(*block) + size;
    return block + 1;
}

static void *block_alloc(void *ctx, size_t size)
{
    return block_resize(ctx, NULL, 0, size);
}

static void block_free(void *ctx, void *ptr)
{
    if (ptr != NULL) {
        struct block *block = (struct block *)ptr - 1;
        mem_free(ctx, block, block->bytes);
    }
}

enum status json_add_val(struct buf *out, yyjson_val *val)
{
    /* yyjson wants a context that is not const; nothing is written through it. */
    yyjson_alc alc = {block_alloc, block_resize, block_free, (void *)(uintptr_t)out->mem};
    yyjson_write_err why = {0};
    size_t len = 0;
    char *text = yyjson_val_write_opts(val, YYJSON_WRITE_NOFLAG, &alc, &len, &why);
    if (text == NULL) {
        return why.code == YYJSON_WRITE_ERROR_MEMORY_ALLOCATION ? ST_NOMEM : ST_INVAL;
    }
    enum status st = buf_add(out, text, len);
    block_free(alc.ctx, text);
    return st;
}
