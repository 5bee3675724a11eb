/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the prompt chain: the running hash, the count of canonical bytes and the boundaries
 * noted on the way. PURE. THREAD: one owner. */
#ifndef COORDINATOR_IO_CHAIN_STATE_H
#define COORDINATOR_IO_CHAIN_STATE_H

#include "common/base/str.h"

enum {
    CHAIN_STEP_BYTES = 4096, /* distance of boundaries inside a long message */
    CHAIN_SEGMENT_BYTES = 4, /* counted for each segment, as templates put a few tokens around it */
    CHAIN_OPAQUE_BYTES =
        4096, /* most that is counted for a string that is no text (an image's base64) */
    CHAIN_DEPTH_MAX = 64, /* deeper JSON is hashed in the order it was sent, without recursion */
};

struct chain {
    const struct mem *mem;
    uint64_t *hashes;   /* [cap] */
    uint32_t *bytes;    /* [cap] canonical bytes up to and with the boundary, ascending */
    uint8_t *is_end;    /* [cap] 1 = end of a segment */
    uint32_t *ordinals; /* [cap] which inner boundary or which end it is, from 0 */
    uint32_t cap;
    uint32_t count;
    uint32_t prompt_bytes; /* all canonical bytes */
    uint64_t opening;      /* hash at the end of tools and system prompt, 0 = neither is there */
    /* while building */
    uint64_t hash;
    uint32_t since_bytes; /* since the last boundary, < CHAIN_STEP_BYTES outside values */
    uint32_t inner_seen;  /* boundaries met so far, kept or not */
    uint32_t end_seen;
    uint32_t inner_kept;
    uint32_t inner_stride; /* one in so many is kept; a power of two */
    uint32_t end_stride;
    uint32_t opaque_depth; /* > 0: strings count CHAIN_OPAQUE_BYTES at most */
    bool is_last_kept;     /* the newest end is in the arrays */
};

/* Domains: the same bytes in another place of the structure give another hash. Any distinct values
 * do. */
#define TAG_MODEL   UINT64_C(0x9d4e1c5f7a3b2601)
#define TAG_SALT    UINT64_C(0x5b8f2e91c6d07a43)
#define TAG_SEGMENT UINT64_C(0xe3a7519c04f6b8d5)
#define TAG_TEXT    UINT64_C(0x27c9f03b8e15d467)
#define TAG_STOP    UINT64_C(0x71d65ab2f9830ec9)
#define TAG_OBJECT  UINT64_C(0xc81f34e76b9d502b)
#define TAG_MEMBER  UINT64_C(0x3f62d8a51c7e940d)
#define TAG_VALUE   UINT64_C(0xa4059be37d28f16f)
#define TAG_TOKENS  UINT64_C(0x16eb7c48d3f5a091)
#define TAG_KEY     UINT64_C(0xf27a80d64b39ce13)
#define TAG_STRING  UINT64_C(0x8c5d3e1fa7640b75)
#define TAG_NUMBER  UINT64_C(0x40b69f27de1853a7)
#define TAG_ARRAY   UINT64_C(0xbe130a7c59f2d689)
#define TAG_DEEP    UINT64_C(0x6a97f5c4103ed82b)

/* Counted for a token given as a number, and for null, true and false. */
enum { CHAIN_TOKEN_BYTES = 4 };

/* cap >= 8. ST_NOMEM. */
MUST_CHECK enum status chain_init(struct chain *chain, const struct mem *mem, uint32_t cap);
void chain_fini(struct chain *chain);
/* Back to an empty prompt; the arrays stay. */
void chain_reset(struct chain *chain);
void chain_count(struct chain *chain, size_t bytes);
void chain_fold(struct chain *chain, uint64_t tag, uint64_t value);
/* After anything that is no text: a boundary if CHAIN_STEP_BYTES have passed. */
void chain_step(struct chain *chain);
/* The end of a segment is a boundary wherever it lies. */
void chain_note_end(struct chain *chain);
/* The end of the whole prompt is always there: the next step of the session looks for it. */
void chain_close(struct chain *chain);

#endif
