/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for one parse: a block kept from request to request, from which pieces are cut in order,
 * and extra blocks that live for one request only. Everything goes at once. THREAD: one owner.
 * LIMITS: a block over SCRATCH_KEPT_MAX is not kept; a parse gets at most the limit it began with.
 */
#ifndef COORDINATOR_IO_BODY_SCRATCH_H
#define COORDINATOR_IO_BODY_SCRATCH_H

#include "common/base/mem.h"

#include <yyjson.h>

enum { SCRATCH_KEPT_MAX = 8388608 };

struct scratch_extra;

struct scratch {
    const struct mem *mem;
    char *block; /* NULL until the first begin */
    size_t block_bytes;
    size_t used_bytes;            /* of block */
    struct scratch_extra *extras; /* of this request, newest first */
    size_t left_bytes;            /* what this request may still take */
    bool is_over; /* a piece was refused because of the limit, not for want of memory */
};

void scratch_init(struct scratch *scratch, const struct mem *mem);
void scratch_fini(struct scratch *scratch);
/* Starts a request that will likely take want_bytes and may take max_bytes; what was given out
 * before is gone. ST_NOMEM. */
MUST_CHECK enum status scratch_begin(struct scratch *scratch, size_t want_bytes, size_t max_bytes);
/* Gives back what is not kept. */
void scratch_end(struct scratch *scratch);
/* bytes >= 1, aligned to 16; NULL when there is no memory or the limit is reached (is_over). Lives
 * until scratch_end. */
MUST_CHECK void *scratch_alloc(struct scratch *scratch, size_t bytes);
/* The same as an allocator for yyjson; the last piece grows in place where it can. */
yyjson_alc scratch_yyjson(struct scratch *scratch);

#endif
