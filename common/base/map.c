/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/map.h"

#include <string.h>

enum { MAP_MIN_CAP = 16, MAP_MAX_COUNT = 1 << 30 };

/* Slot a key would like. Small ids become spread, hashes stay so. */
static uint32_t map_home(const struct map *map, uint64_t key)
{
    uint64_t mixed = (key ^ (key >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed ^ (mixed >> 32)) & (map->cap - 1);
}

/* Slots and marks are one block: first the slots, then the marks. */
static size_t map_block_bytes(uint32_t cap)
{
    return (size_t)cap * (sizeof(struct map_slot) + sizeof(uint8_t));
}

void map_init(struct map *map, const struct mem *mem, uint32_t max_count)
{
    ASSERT(max_count <= MAP_MAX_COUNT);
    *map = (struct map){.mem = mem, .max_count = max_count};
}

void map_fini(struct map *map)
{
    if (map == NULL || map->mem == NULL) {
        return;
    }
    mem_free(map->mem, map->slots, map_block_bytes(map->cap));
    map->slots = NULL;
    map->is_used = NULL;
    map->cap = 0;
    map->count = 0;
}

uint64_t *map_get(const struct map *map, uint64_t key)
{
    if (map->count == 0) {
        return NULL;
    }
    uint32_t mask = map->cap - 1;
    for (uint32_t i = map_home(map, key); map->is_used[i]; i = (i + 1) & mask) {
        if (map->slots[i].key == key) {
            return &map->slots[i].val;
        }
    }
    return NULL;
}

/* Puts a key that is known to be absent; there is a free slot. */
static void map_insert_new(struct map *map, uint64_t key, uint64_t val)
{
    uint32_t mask = map->cap - 1;
    uint32_t i = map_home(map, key);
    while (map->is_used[i]) {
        i = (i + 1) & mask;
    }
    map->slots[i] = (struct map_slot){key, val};
    map->is_used[i] = 1;
    map->count++;
}

static bool map_grow(struct map *map)
{
    uint32_t new_cap = map->cap == 0 ? MAP_MIN_CAP : map->cap * 2;
    struct map_slot *slots = mem_alloc(map->mem, map_block_bytes(new_cap));
    if (slots == NULL) {
        return false;
    }
    struct map old = *map;
    map->slots = slots;
    map->is_used = (uint8_t *)(slots + new_cap);
    map->cap = new_cap;
    map->count = 0;
    memset(map->is_used, 0, new_cap);
    for (uint32_t i = 0; i < old.cap; i++) {
        if (old.is_used[i]) {
            map_insert_new(map, old.slots[i].key, old.slots[i].val);
        }
    }
    mem_free(map->mem, old.slots, map_block_bytes(old.cap));
    return true;
}

enum status map_put(struct map *map, uint64_t key, uint64_t val)
{
    uint64_t *found = map_get(map, key);
    if (found != NULL) {
        *found = val;
        return ST_OK;
    }
    if (map->count >= map->max_count) {
        map->full_count++;
        return ST_FULL;
    }
    /* At most 3/4 full: probes stay short, a free slot always ends them. */
    if (map->count >= map->cap - map->cap / 4 && !map_grow(map)) {
        return ST_NOMEM;
    }
    map_insert_new(map, key, val);
    return ST_OK;
}

bool map_remove(struct map *map, uint64_t key)
{
    uint64_t *found = map_get(map, key);
    if (found == NULL) {
        return false;
    }
    struct map_slot *slot =
        (struct map_slot *)(void *)((char *)found - offsetof(struct map_slot, val));
    uint32_t mask = map->cap - 1;
    uint32_t hole = (uint32_t)(slot - map->slots);
    /* Pull each later member of the run back over the hole unless that would put it before its
     * home. */
    for (uint32_t i = (hole + 1) & mask; map->is_used[i]; i = (i + 1) & mask) {
        uint32_t home = map_home(map, map->slots[i].key);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->is_used[hole] = 0;
    map->count--;
    return true;
}

size_t map_bytes(const struct map *map)
{
    return map_block_bytes(map->cap);
}

bool map_next(const struct map *map, uint32_t *it, uint64_t *ret_key, uint64_t *ret_val)
{
    for (uint32_t i = *it; i < map->cap; i++) {
        if (map->is_used[i]) {
            *it = i + 1;
            *ret_key = map->slots[i].key;
            *ret_val = map->slots[i].val;
            return true;
        }
    }
    *it = map->cap;
    return false;
}
