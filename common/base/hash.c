/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/hash.h"

#define XXH_INLINE_ALL /* no shared libxxhash is loaded */
#include <xxhash.h>

enum { HASH_STATE_ALIGN = 64 };

/* The state must sit on a 64-byte boundary, which no allocator of ours promises; so the block is
 * larger and this header says where the state is. */
struct hash_stream {
    const struct mem *mem;
    XXH3_state_t *state;
};

enum { HASH_STREAM_BYTES = sizeof(struct hash_stream) + HASH_STATE_ALIGN + sizeof(XXH3_state_t) };

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}

static void put_le64(unsigned char *dst, uint64_t v)
{
    for (int i = 0; i < 8; i++) {
        dst[i] = (unsigned char)(v >> (8 * i));
    }
}

uint64_t hash_mix(uint64_t a, uint64_t b)
{
    unsigned char both[16];
    put_le64(both, a);
    put_le64(both + 8, b);
    return XXH3_64bits(both, sizeof(both));
}

struct hash_stream *hash_stream_new(const struct mem *mem)
{
    struct hash_stream *hs = mem_alloc(mem, HASH_STREAM_BYTES);
    if (hs == NULL) {
        return NULL;
    }
    uintptr_t after = (uintptr_t)(hs + 1);
    size_t skip = (HASH_STATE_ALIGN - after % HASH_STATE_ALIGN) % HASH_STATE_ALIGN;
    hs->mem = mem;
    hs->state = (XXH3_state_t *)(void *)((char *)(hs + 1) + skip);
    XXH3_INITSTATE(hs->state);
    hash_stream_begin(hs, 0);
    return hs;
}

void hash_stream_free(struct hash_stream *hs)
{
    if (hs != NULL) {
        mem_free(hs->mem, hs, HASH_STREAM_BYTES);
    }
}

void hash_stream_begin(struct hash_stream *hs, uint64_t seed)
{
    /* Fails only without a state. */
    (void)XXH3_64bits_reset_withSeed(hs->state, seed);
}

void hash_stream_add(struct hash_stream *hs, const void *data, size_t len)
{
    if (len > 0) {
        (void)XXH3_64bits_update(hs->state, data, len);
    }
}

uint64_t hash_stream_end(const struct hash_stream *hs)
{
    return XXH3_64bits_digest(hs->state);
}
