/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/body_pool.h"

void body_pool_init(struct body_pool *pool)
{
    for (int i = 0; i < BODY_POOL_COUNT; i++) {
        buf_init(&pool->bufs[i], mem_heap(), BODY_POOL_MAX_BYTES);
    }
}

void body_pool_fini(struct body_pool *pool)
{
    for (int i = 0; i < BODY_POOL_COUNT; i++) {
        buf_fini(&pool->bufs[i]);
    }
}

enum status body_pool_take(struct body_pool *pool, struct buf *body, size_t len)
{
    for (int i = 0; i < BODY_POOL_COUNT && len >= BODY_POOL_MIN_BYTES; i++) {
        struct buf *spare = &pool->bufs[i];
        if (spare->cap >= len) {
            body->p = spare->p;
            body->cap = spare->cap;
            body->len = 0;
            spare->p = NULL;
            spare->cap = 0;
            return ST_OK;
        }
    }
    return buf_reserve(body, len);
}

void body_pool_give(struct body_pool *pool, struct buf *body)
{
    size_t max_bytes = body->max_bytes;
    struct buf *least = &pool->bufs[0];
    for (int i = 1; i < BODY_POOL_COUNT; i++) {
        if (pool->bufs[i].cap < least->cap) {
            least = &pool->bufs[i];
        }
    }
    bool is_wanted = body->cap >= BODY_POOL_MIN_BYTES && body->cap <= BODY_POOL_MAX_BYTES &&
                     body->cap > least->cap;
    if (is_wanted) {
        char *p = body->p;
        size_t cap = body->cap;
        body->p = least->p;
        body->cap = least->cap;
        least->p = p;
        least->cap = cap;
    }
    buf_fini(body);
    buf_init(body, mem_heap(), max_bytes);
}
