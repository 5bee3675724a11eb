/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes used for identity and placement, all XXH3 (xxhash). Stable across machines and runs:
 * values may be stored and compared later. Not for secrets. PURE. THREAD: any. */
#ifndef COMMON_BASE_HASH_H
#define COMMON_BASE_HASH_H

#include "common/base/str.h"

/* XXH3_64bits_withSeed. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);
static inline uint64_t hash_str(struct str s, uint64_t seed)
{
    return hash_bytes(s.p, s.len, seed);
}
/* Mixes two values into one (order matters). */
uint64_t hash_mix(uint64_t a, uint64_t b);

/* A running hash over pieces whose boundaries do not matter. Big struct: keep one per parser, not
 * per object; after hash_stream_begin it may be reused. */
struct hash_stream;
MUST_CHECK struct hash_stream *hash_stream_new(const struct mem *mem);
void hash_stream_free(struct hash_stream *hs);
void hash_stream_begin(struct hash_stream *hs, uint64_t seed);
void hash_stream_add(struct hash_stream *hs, const void *data, size_t len);
uint64_t hash_stream_end(const struct hash_stream *hs);

#endif
