/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/kv.h"

#include "common/base/map.h"

struct block {
    uint64_t hash; /* 0 = no content that can be hit */
    uint32_t refs;
    uint32_t prev; /* idle queue, only while refs is 0 */
    uint32_t next;
    uint32_t same_prev; /* other blocks with this hash; the index points to the first */
    uint32_t same_next;
    uint32_t pad;
};

struct sim_kv {
    const struct mem *mem;
    const struct sim_evict *evict;
    struct block *blocks; /* [block_count + 1]; the last one is the head of the idle queue */
    uint32_t block_count;
    uint32_t idle_count;
    uint32_t hashed_idle_count; /* of those, how many have a hash */
    struct map index;           /* hash -> block */
    uint64_t evicted_count;
    uint64_t unstored_count;
};

enum status sim_kv_new(struct sim_kv **ret,
                       const struct mem *mem,
                       uint32_t block_count,
                       const struct sim_evict *evict)
{
    if (block_count == 0 || block_count > SIM_KV_BLOCKS_MAX) {
        return ST_INVAL;
    }
    struct sim_kv *kv = mem_calloc(mem, 1, sizeof(*kv));
    if (kv == NULL) {
        return ST_NOMEM;
    }
    kv->mem = mem;
    kv->evict = evict;
    kv->block_count = block_count;
    kv->idle_count = block_count;
    map_init(&kv->index, mem, block_count);
    kv->blocks = mem_calloc(mem, (size_t)block_count + 1, sizeof(*kv->blocks));
    if (kv->blocks == NULL) {
        sim_kv_free(kv);
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i <= block_count; i++) {
        struct block *b = &kv->blocks[i];
        b->prev = i == 0 ? block_count : i - 1;
        b->next = i == block_count ? 0 : i + 1;
        b->same_prev = SIM_BLOCK_NONE;
        b->same_next = SIM_BLOCK_NONE;
    }
    *ret = kv;
    return ST_OK;
}

void sim_kv_free(struct sim_kv *kv)
{
    if (kv == NULL) {
        return;
    }
    map_fini(&kv->index);
    mem_free(kv->mem, kv->blocks, ((size_t)kv->block_count + 1) * sizeof(*kv->blocks));
    mem_free(kv->mem, kv, sizeof(*kv));
}

/* Puts block idx before block at in the idle queue. */
static void idle_insert(struct sim_kv *kv, uint32_t idx, uint32_t at)
{
    struct block *b = &kv->blocks[idx];
    b->next = at;
    b->prev = kv->blocks[at].prev;
    kv->blocks[b->prev].next = idx;
    kv->blocks[at].prev = idx;
    kv->idle_count++;
    kv->hashed_idle_count += b->hash != 0;
}

static void idle_remove(struct sim_kv *kv, uint32_t idx)
{
    struct block *b = &kv->blocks[idx];
    kv->blocks[b->prev].next = b->next;
    kv->blocks[b->next].prev = b->prev;
    kv->idle_count--;
    kv->hashed_idle_count -= b->hash != 0;
}

/* Takes the block out of the index; it must have a hash and be outside the idle queue. */
static void forget(struct sim_kv *kv, uint32_t idx)
{
    struct block *b = &kv->blocks[idx];
    if (b->same_prev != SIM_BLOCK_NONE) {
        kv->blocks[b->same_prev].same_next = b->same_next;
    } else if (b->same_next != SIM_BLOCK_NONE) {
        *map_get(&kv->index, b->hash) = b->same_next;
    } else {
        (void)map_remove(&kv->index, b->hash);
    }
    if (b->same_next != SIM_BLOCK_NONE) {
        kv->blocks[b->same_next].same_prev = b->same_prev;
    }
    b->same_prev = SIM_BLOCK_NONE;
    b->same_next = SIM_BLOCK_NONE;
    b->hash = 0;
}

uint32_t
sim_kv_match(const struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *ret_idle)
{
    uint32_t idle = 0;
    uint32_t i = 0;
    for (; i < n; i++) {
        const uint64_t *at = map_get(&kv->index, hashes[i]);
        if (at == NULL) {
            break;
        }
        idle += kv->blocks[*at].refs == 0;
    }
    if (ret_idle != NULL) {
        *ret_idle = idle;
    }
    return i;
}

void sim_kv_take(struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *ret_blocks)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *at = map_get(&kv->index, hashes[i]);
        ASSERT(at != NULL);
        uint32_t idx = (uint32_t)*at;
        if (kv->blocks[idx].refs == 0) {
            idle_remove(kv, idx);
        }
        kv->blocks[idx].refs++;
        ret_blocks[i] = idx;
    }
}

enum status sim_kv_alloc(struct sim_kv *kv, uint32_t n, uint32_t *ret_blocks)
{
    if (n > kv->idle_count) {
        return ST_FULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t idx = kv->evict->pick(kv);
        ASSERT(idx < kv->block_count && kv->blocks[idx].refs == 0);
        idle_remove(kv, idx);
        if (kv->blocks[idx].hash != 0) {
            forget(kv, idx);
            kv->evicted_count++;
        }
        kv->blocks[idx].refs = 1;
        ret_blocks[i] = idx;
    }
    return ST_OK;
}

void sim_kv_store(struct sim_kv *kv, uint32_t block, uint64_t hash)
{
    ASSERT(block < kv->block_count && hash != 0);
    struct block *b = &kv->blocks[block];
    ASSERT(b->refs > 0 && b->hash == 0);
    const uint64_t *first = map_get(&kv->index, hash);
    if (first == NULL) {
        if (map_put(&kv->index, hash, block) != ST_OK) {
            kv->unstored_count++;
            return;
        }
    } else {
        struct block *head = &kv->blocks[*first];
        b->same_prev = (uint32_t)*first;
        b->same_next = head->same_next;
        if (head->same_next != SIM_BLOCK_NONE) {
            kv->blocks[head->same_next].same_prev = block;
        }
        head->same_next = block;
    }
    b->hash = hash;
}

void sim_kv_release(struct sim_kv *kv, const uint32_t *blocks, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;) {
        uint32_t idx = blocks[i];
        ASSERT(idx < kv->block_count && kv->blocks[idx].refs > 0);
        if (--kv->blocks[idx].refs == 0) {
            uint32_t head = kv->block_count;
            idle_insert(kv, idx, kv->blocks[idx].hash != 0 ? head : kv->blocks[head].next);
        }
    }
}

void sim_kv_reset(struct sim_kv *kv)
{
    for (uint32_t i = 0; i < kv->block_count; i++) {
        if (kv->blocks[i].refs == 0 && kv->blocks[i].hash != 0) {
            kv->hashed_idle_count--;
            forget(kv, i);
        }
    }
}

struct sim_kv_counts sim_kv_counts(const struct sim_kv *kv)
{
    return (struct sim_kv_counts){
        .total_blocks = kv->block_count,
        .used_blocks = kv->block_count - kv->idle_count,
        .cached_blocks = kv->hashed_idle_count,
        .free_blocks = kv->idle_count - kv->hashed_idle_count,
        .evicted_count = kv->evicted_count,
        .unstored_count = kv->unstored_count,
    };
}

uint32_t sim_kv_idle_next(const struct sim_kv *kv, uint32_t block)
{
    uint32_t next = kv->blocks[block].next;
    return next == kv->block_count ? SIM_BLOCK_NONE : next;
}

uint32_t sim_kv_idle_first(const struct sim_kv *kv)
{
    return sim_kv_idle_next(kv, kv->block_count);
}

uint64_t sim_kv_block_hash(const struct sim_kv *kv, uint32_t block)
{
    return kv->blocks[block].hash;
}

/* Is the block reachable from the index under its hash? */
static bool is_indexed(const struct sim_kv *kv, uint32_t idx)
{
    const uint64_t *at = map_get(&kv->index, kv->blocks[idx].hash);
    if (at == NULL) {
        return false;
    }
    uint32_t steps = 0;
    for (uint32_t i = (uint32_t)*at; i != SIM_BLOCK_NONE; i = kv->blocks[i].same_next) {
        if (i == idx) {
            return true;
        }
        if (kv->blocks[i].hash != kv->blocks[idx].hash || ++steps > kv->block_count) {
            return false;
        }
    }
    return false;
}

bool sim_kv_check(const struct sim_kv *kv)
{
    uint32_t idle = 0;
    uint32_t hashed = 0;
    for (uint32_t i = sim_kv_idle_first(kv); i != SIM_BLOCK_NONE; i = sim_kv_idle_next(kv, i)) {
        if (kv->blocks[i].refs != 0 || idle >= kv->block_count) {
            return false;
        }
        idle++;
        hashed += kv->blocks[i].hash != 0;
    }
    uint32_t used = 0;
    uint32_t all_hashed = 0;
    for (uint32_t i = 0; i < kv->block_count; i++) {
        used += kv->blocks[i].refs != 0;
        all_hashed += kv->blocks[i].hash != 0;
        if (kv->blocks[i].hash != 0 && !is_indexed(kv, i)) {
            return false;
        }
    }
    return idle == kv->idle_count && hashed == kv->hashed_idle_count &&
           used + idle == kv->block_count && kv->index.count <= all_hashed;
}
