/* SPDX-License-Identifier: Apache-2.0 */
/* The prompt chain: one running hash over the canonical form of a prompt, noted wherever reuse of
 * cached work can begin or end (docs/formulas.md#F1). Two requests share their first n tokens
 * exactly as far as their chains are equal. PURE. THREAD: one owner. LIMITS: at most cap
 * boundaries; beyond that those inside messages get sparser first. */
#ifndef COORDINATOR_IO_CHAIN_H
#define COORDINATOR_IO_CHAIN_H

#include "common/base/str.h"

#include <yyjson.h>

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

/* What a request's prompt is made of, in template order. Values may be NULL or of any type. */
struct chain_prompt {
    struct str model;
    struct str cache_salt;
    yyjson_val *tools;  /* array of tools */
    yyjson_val *system; /* string or array of parts (Anthropic's system, Responses' instructions) */
    yyjson_val *messages; /* array of messages or input items; a string is one user message */
    yyjson_val *texts;    /* completions: a string, strings, tokens or arrays of tokens */
};

/* cap >= 8. ST_NOMEM. */
MUST_CHECK enum status chain_init(struct chain *chain, const struct mem *mem, uint32_t cap);
void chain_fini(struct chain *chain);
/* Fills the arrays anew. Documents must have been read with YYJSON_READ_NUMBER_AS_RAW. Cannot fail.
 * O(prompt). */
void chain_build(struct chain *chain, const struct chain_prompt *prompt);

#endif
