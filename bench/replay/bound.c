/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/bound.h"

#include "bench/replay/text.h"
#include "common/base/hash.h"

enum { BLOCK_BYTES = BOUND_BLOCK_TOKENS * TEXT_TOKEN_BYTES };

void bound_init(struct bound *bound, const struct mem *mem)
{
    map_init(&bound->blocks, mem, BOUND_BLOCKS_MAX);
    bound->is_complete = true;
}

void bound_fini(struct bound *bound)
{
    if (bound != NULL) {
        map_fini(&bound->blocks);
    }
}

/* Walks the whole blocks; returns how many leading ones were there. */
static size_t walk(struct bound *bound, struct str flat)
{
    size_t hits = 0;
    bool is_hit = true;
    uint64_t hash = 0;
    for (size_t at = 0; flat.len - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
        hash = hash_bytes(flat.p + at, BLOCK_BYTES, hash);
        is_hit = is_hit && map_get(&bound->blocks, hash) != NULL;
        if (is_hit) {
            hits++;
        } else if (map_put(&bound->blocks, hash, 0) != ST_OK) {
            bound->is_complete = false;
        }
    }
    return hits;
}

uint32_t bound_offer(struct bound *bound, struct str flat)
{
    size_t hits = walk(bound, flat);
    size_t tokens = flat.len / TEXT_TOKEN_BYTES;
    size_t most = tokens == 0 ? 0 : (tokens - 1) / BOUND_BLOCK_TOKENS;
    return (uint32_t)((hits < most ? hits : most) * BOUND_BLOCK_TOKENS);
}

void bound_note(struct bound *bound, struct str flat)
{
    (void)walk(bound, flat);
}
