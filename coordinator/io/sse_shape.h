/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the last ordinary event of a stream, around its piece of text: the next one mostly
 * differs in nothing else and need not be looked at again. THREAD: one owner. LIMITS: events over
 * SSE_SHAPE_MAX are not remembered. */
#ifndef COORDINATOR_IO_SSE_SHAPE_H
#define COORDINATOR_IO_SSE_SHAPE_H

#include "common/base/str.h"

enum { SSE_SHAPE_MAX = 1024 };

struct sse_shape {
    struct buf around;   /* the event without its text; empty = none remembered */
    size_t before_bytes; /* of around, in front of the text */
};

void sse_shape_init(struct sse_shape *shape, const struct mem *mem);
void sse_shape_fini(struct sse_shape *shape);
/* Is it the remembered event with another text? Exact: the text is inside the same JSON string. */
bool sse_shape_matches(const struct sse_shape *shape, struct str event);
/* Remembers an event if it has a text that is easily found; forgets the one before either way. */
void sse_shape_learn(struct sse_shape *shape, struct str event);

#endif
