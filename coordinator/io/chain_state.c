/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/chain_state.h"

#include "common/base/hash.h"

enum status chain_init(struct chain *chain, const struct mem *mem, uint32_t cap)
{
    ASSERT(cap >= 8);
    *chain = (struct chain){.mem = mem, .cap = cap};
    chain->hashes = mem_calloc(mem, cap, sizeof(*chain->hashes));
    chain->bytes = mem_calloc(mem, cap, sizeof(*chain->bytes));
    chain->is_end = mem_calloc(mem, cap, sizeof(*chain->is_end));
    chain->ordinals = mem_calloc(mem, cap, sizeof(*chain->ordinals));
    if (chain->hashes == NULL || chain->bytes == NULL || chain->is_end == NULL ||
        chain->ordinals == NULL) {
        chain_fini(chain);
        return ST_NOMEM;
    }
    return ST_OK;
}

void chain_fini(struct chain *chain)
{
    if (chain == NULL || chain->mem == NULL) {
        return;
    }
    mem_free(chain->mem, chain->hashes, chain->cap * sizeof(*chain->hashes));
    mem_free(chain->mem, chain->bytes, chain->cap * sizeof(*chain->bytes));
    mem_free(chain->mem, chain->is_end, chain->cap * sizeof(*chain->is_end));
    mem_free(chain->mem, chain->ordinals, chain->cap * sizeof(*chain->ordinals));
    *chain = (struct chain){.mem = NULL};
}

static bool is_kept(const struct chain *chain, bool is_end, uint32_t ordinal)
{
    uint32_t stride = is_end ? chain->end_stride : chain->inner_stride;
    return (ordinal + 1) % stride == 0;
}

/* Halves the boundaries inside messages until there is room; the ends only when nothing else is
 * left. */
static void chain_thin(struct chain *chain)
{
    while (chain->count == chain->cap) {
        if (chain->inner_kept > 0) {
            chain->inner_stride *= 2;
        } else {
            chain->end_stride *= 2;
        }
        uint32_t to = 0;
        chain->inner_kept = 0;
        for (uint32_t i = 0; i < chain->count; i++) {
            if (!is_kept(chain, chain->is_end[i] != 0, chain->ordinals[i])) {
                continue;
            }
            chain->hashes[to] = chain->hashes[i];
            chain->bytes[to] = chain->bytes[i];
            chain->is_end[to] = chain->is_end[i];
            chain->ordinals[to] = chain->ordinals[i];
            chain->inner_kept += chain->is_end[i] == 0 ? 1 : 0;
            to++;
        }
        chain->count = to;
    }
}

static void chain_store(struct chain *chain, bool is_end, uint32_t ordinal)
{
    uint32_t at = chain->count++;
    chain->hashes[at] = chain->hash;
    chain->bytes[at] = chain->prompt_bytes;
    chain->is_end[at] = is_end ? 1 : 0;
    chain->ordinals[at] = ordinal;
    chain->inner_kept += is_end ? 0 : 1;
}

static void chain_note(struct chain *chain, bool is_end)
{
    uint32_t ordinal = is_end ? chain->end_seen++ : chain->inner_seen++;
    chain->since_bytes = 0;
    if (is_kept(chain, is_end, ordinal)) {
        chain_thin(chain);
    }
    bool is_room = is_kept(chain, is_end, ordinal);
    if (is_room) {
        chain_store(chain, is_end, ordinal);
    }
    chain->is_last_kept = is_end ? is_room : chain->is_last_kept;
}

void chain_close(struct chain *chain)
{
    if (chain->end_seen == 0 || chain->is_last_kept) {
        return;
    }
    if (chain->count == chain->cap) {
        chain->count--;
    }
    chain_store(chain, true, chain->end_seen - 1);
}

void chain_count(struct chain *chain, size_t bytes)
{
    uint32_t add = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    uint32_t room = UINT32_MAX - chain->prompt_bytes;
    chain->prompt_bytes += add < room ? add : room;
    room = UINT32_MAX - chain->since_bytes;
    chain->since_bytes += add < room ? add : room;
}

void chain_fold(struct chain *chain, uint64_t tag, uint64_t value)
{
    chain->hash = hash_mix(chain->hash + tag, value);
}

void chain_step(struct chain *chain)
{
    if (chain->since_bytes >= CHAIN_STEP_BYTES) {
        chain_note(chain, false);
    }
}

void chain_note_end(struct chain *chain)
{
    chain_note(chain, true);
}

void chain_reset(struct chain *chain)
{
    chain->count = 0;
    chain->prompt_bytes = 0;
    chain->opening = 0;
    chain->hash = 0;
    chain->since_bytes = 0;
    chain->inner_seen = 0;
    chain->end_seen = 0;
    chain->inner_kept = 0;
    chain->inner_stride = 1;
    chain->end_stride = 1;
    chain->opaque_depth = 0;
    chain->is_last_kept = false;
}
