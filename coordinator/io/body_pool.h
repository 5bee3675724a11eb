/* SPDX-License-Identifier: Apache-2.0 */
/* A few large body buffers kept from request to request: fresh ones of that size come page by page
 * from the system. THREAD: reactor. LIMITS: BODY_POOL_COUNT buffers of BODY_POOL_MIN_BYTES to
 * BODY_POOL_MAX_BYTES. */
#ifndef COORDINATOR_IO_BODY_POOL_H
#define COORDINATOR_IO_BODY_POOL_H

#include "common/base/str.h"

enum { BODY_POOL_COUNT = 4, BODY_POOL_MIN_BYTES = 65536, BODY_POOL_MAX_BYTES = 524288 };

struct body_pool {
    struct buf bufs[BODY_POOL_COUNT]; /* cap 0 = free place */
};

void body_pool_init(struct body_pool *pool);
void body_pool_fini(struct body_pool *pool);

/* Gives an empty body (cap 0) room for len bytes out of the pool, or by buf_reserve. ST_OK,
 * ST_FULL, ST_NOMEM. */
MUST_CHECK enum status body_pool_take(struct body_pool *pool, struct buf *body, size_t len);
/* Takes the body's memory back, or frees it; the body is empty after it and may be used again. */
void body_pool_give(struct body_pool *pool, struct buf *body);

#endif
