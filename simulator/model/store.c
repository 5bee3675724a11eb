/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/store.h"

#include "common/base/map.h"

/* In the list from the one to go first, or (hash 0) in that of unused ones, by next only. */
struct entry {
    uint64_t hash;
    uint32_t prev;
    uint32_t next;
};

struct sim_store {
    const struct mem *mem;
    struct entry *entries; /* [total_blocks + 1]; the last one is the head of the list */
    struct map index;      /* hash -> entry */
    uint32_t unused;       /* total_blocks = none */
    struct sim_store_counts counts;
};

enum status sim_store_new(struct sim_store **ret,
                          const struct mem *mem,
                          uint64_t capacity_tokens,
                          uint32_t block_tokens)
{
    uint64_t total = block_tokens > 0 ? capacity_tokens / block_tokens : 0;
    if (total == 0 || total > SIM_STORE_BLOCKS_MAX) {
        return ST_INVAL;
    }
    struct sim_store *store = mem_calloc(mem, 1, sizeof(*store));
    if (store == NULL) {
        return ST_NOMEM;
    }
    uint32_t head = (uint32_t)total;
    store->mem = mem;
    store->counts.total_blocks = head;
    map_init(&store->index, mem, head);
    store->entries = mem_calloc(mem, (size_t)head + 1, sizeof(*store->entries));
    if (store->entries == NULL) {
        sim_store_free(store);
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < head; i++) {
        store->entries[i].next = i + 1;
    }
    store->entries[head] = (struct entry){.prev = head, .next = head};
    *ret = store;
    return ST_OK;
}

void sim_store_free(struct sim_store *store)
{
    if (store == NULL) {
        return;
    }
    map_fini(&store->index);
    mem_free(store->mem, store->entries,
             ((size_t)store->counts.total_blocks + 1) * sizeof(*store->entries));
    mem_free(store->mem, store, sizeof(*store));
}

bool sim_store_has(const struct sim_store *store, uint64_t hash)
{
    return map_get(&store->index, hash) != NULL;
}

static void unlink_entry(struct sim_store *store, uint32_t idx)
{
    struct entry *e = &store->entries[idx];
    store->entries[e->prev].next = e->next;
    store->entries[e->next].prev = e->prev;
}

static void link_last(struct sim_store *store, uint32_t idx)
{
    uint32_t head = store->counts.total_blocks;
    struct entry *e = &store->entries[idx];
    e->prev = store->entries[head].prev;
    e->next = head;
    store->entries[e->prev].next = idx;
    store->entries[head].prev = idx;
}

static void take_out(struct sim_store *store, uint32_t idx)
{
    struct entry *e = &store->entries[idx];
    unlink_entry(store, idx);
    (void)map_remove(&store->index, e->hash);
    e->hash = 0;
    e->next = store->unused;
    store->unused = idx;
    store->counts.blocks--;
}

bool sim_store_put(struct sim_store *store, uint64_t hash)
{
    ASSERT(hash != 0);
    uint32_t head = store->counts.total_blocks;
    const uint64_t *at = map_get(&store->index, hash);
    if (at != NULL) {
        unlink_entry(store, (uint32_t)*at);
        link_last(store, (uint32_t)*at);
        return false;
    }
    if (store->unused == head) {
        take_out(store, store->entries[head].next);
        store->counts.evicted_count++;
    }
    uint32_t idx = store->unused;
    if (map_put(&store->index, hash, idx) != ST_OK) {
        store->counts.refused_count++;
        return false;
    }
    store->unused = store->entries[idx].next;
    store->entries[idx].hash = hash;
    link_last(store, idx);
    store->counts.blocks++;
    store->counts.put_count++;
    return true;
}

void sim_store_touch(struct sim_store *store, uint64_t hash)
{
    const uint64_t *at = map_get(&store->index, hash);
    if (at != NULL) {
        unlink_entry(store, (uint32_t)*at);
        link_last(store, (uint32_t)*at);
    }
}

void sim_store_drop(struct sim_store *store, uint64_t hash)
{
    const uint64_t *at = map_get(&store->index, hash);
    if (at != NULL) {
        take_out(store, (uint32_t)*at);
        store->counts.dropped_count++;
    }
}

void sim_store_clear(struct sim_store *store)
{
    uint32_t head = store->counts.total_blocks;
    while (store->entries[head].next != head) {
        take_out(store, store->entries[head].next);
        store->counts.dropped_count++;
    }
}

struct sim_store_counts sim_store_counts(const struct sim_store *store)
{
    return store->counts;
}

bool sim_store_check(const struct sim_store *store)
{
    const struct sim_store_counts *n = &store->counts;
    uint32_t head = n->total_blocks;
    uint32_t linked = 0;
    for (uint32_t i = store->entries[head].next; i != head; i = store->entries[i].next) {
        const uint64_t *at = map_get(&store->index, store->entries[i].hash);
        if (at == NULL || *at != i || ++linked > head) {
            return false;
        }
    }
    uint32_t unused = 0;
    for (uint32_t i = store->unused; i != head; i = store->entries[i].next) {
        if (store->entries[i].hash != 0 || ++unused > head) {
            return false;
        }
    }
    return linked == n->blocks && linked + unused == head && store->index.count == linked &&
           n->put_count == n->blocks + n->evicted_count + n->dropped_count;
}
