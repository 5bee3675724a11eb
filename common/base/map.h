/* SPDX-License-Identifier: Apache-2.0 */
/* Hash map from a 64-bit key to a 64-bit value: open addressing, linear probing, backward-shift
 * deletion, grows by doubling up to its cap. Keys are expected to be well-mixed hashes or small ids
 * (they are mixed again). For keys longer than 64 bits the owner compares the whole key behind the
 * value. PURE. THREAD: one owner. LIMITS: max_count. Iteration order is by slot: never let it
 * decide anything. */
#ifndef COMMON_BASE_MAP_H
#define COMMON_BASE_MAP_H

#include "common/base/mem.h"

struct map_slot {
    uint64_t key;
    uint64_t val;
};

struct map {
    const struct mem *mem;
    struct map_slot *slots; /* [cap] */
    uint8_t *is_used;       /* [cap] */
    uint32_t cap;           /* 0 or a power of two */
    uint32_t count;
    uint32_t max_count;
    uint64_t full_count; /* how often map_put said ST_FULL */
};

void map_init(struct map *map, const struct mem *mem, uint32_t max_count);
void map_fini(struct map *map);

/* Pointer to the value of key, valid until the next put or remove; NULL when absent.
 * O(1) expected. */
uint64_t *map_get(const struct map *map, uint64_t key);

/* Inserts or overwrites. ST_OK, ST_FULL (max_count reached), ST_NOMEM. */
MUST_CHECK enum status map_put(struct map *map, uint64_t key, uint64_t val);

/* Removes key; false when it was absent. */
bool map_remove(struct map *map, uint64_t key);

/* Bytes held, for accounting. */
size_t map_bytes(const struct map *map);

/* Walks all entries: start with *it = 0; false at the end. */
bool map_next(const struct map *map, uint32_t *it, uint64_t *ret_key, uint64_t *ret_val);

#endif
