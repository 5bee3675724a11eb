/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/kv.h"

#include "common/base/map.h"
#include "simulator/model/chains.h"

struct block {
    uint64_t hash;        /* 0 = no content that can be hit */
    uint64_t parent_hash; /* 0 = first of a chain */
    uint32_t refs;
    uint32_t prev; /* idle queue, only while refs is 0 */
    uint32_t next;
    uint32_t same_prev; /* other blocks with this hash; the index points to the first */
    uint32_t same_next;
    uint32_t children; /* blocks whose parent_hash is this hash; kept by the one in the index */
    uint32_t depth;    /* blocks before it in its chain */
    uint32_t before;   /* guesses where to look first: its parent when it was stored, */
    uint32_t after;    /* and the last one stored behind it */
    uint32_t mark;     /* of the last sim_kv_hold that met it */
    bool has_state;    /* kept by the one in the index */
};

struct sim_kv {
    const struct mem *mem;
    struct sim_kv_opts opts;
    struct sim_chains *chains; /* of unreferenced blocks with hash; NULL when nobody asks */
    uint64_t now_us;
    struct block *blocks; /* [block_count + 1]; the last one is the head of the idle queue */
    uint32_t block_count;
    uint32_t mark;
    uint32_t idle_count;
    uint32_t hashed_idle_count; /* of those, how many have a hash */
    struct map index;           /* hash -> block */
    uint64_t unused_count;
    uint64_t evicted_count;
    uint64_t unstored_count;
};

enum status sim_kv_new(struct sim_kv **ret, const struct mem *mem, const struct sim_kv_opts *opts)
{
    uint32_t block_count = opts->block_count;
    if (block_count == 0 || block_count > SIM_KV_BLOCKS_MAX) {
        return ST_INVAL;
    }
    struct sim_kv *kv = mem_calloc(mem, 1, sizeof(*kv));
    if (kv == NULL) {
        return ST_NOMEM;
    }
    kv->mem = mem;
    kv->opts = *opts;
    kv->block_count = block_count;
    kv->idle_count = block_count;
    map_init(&kv->index, mem, block_count);
    kv->blocks = mem_calloc(mem, (size_t)block_count + 1, sizeof(*kv->blocks));
    enum status st = kv->blocks == NULL ? ST_NOMEM : ST_OK;
    if (st == ST_OK && (opts->has_chains || opts->evict->score != NULL)) {
        st = sim_chains_new(&kv->chains, mem, block_count);
    }
    if (st != ST_OK) {
        sim_kv_free(kv);
        return st;
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
    sim_chains_free(kv->chains);
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
    if (kv->chains != NULL && b->hash != 0) {
        sim_chains_remove(kv->chains, idx);
    }
}

/* The block that the index has for a hash, SIM_BLOCK_NONE when there is none. Looks at likely
 * first, which may be SIM_BLOCK_NONE. */
static uint32_t indexed(const struct sim_kv *kv, uint64_t hash, uint32_t likely)
{
    if (likely != SIM_BLOCK_NONE && kv->blocks[likely].hash == hash &&
        kv->blocks[likely].same_prev == SIM_BLOCK_NONE) {
        return likely;
    }
    const uint64_t *at = map_get(&kv->index, hash);
    return at != NULL ? (uint32_t)*at : SIM_BLOCK_NONE;
}

/* Does nothing stored depend on just this block? */
static bool is_leaf(const struct sim_kv *kv, uint32_t idx)
{
    const struct block *b = &kv->blocks[idx];
    bool has_copy = b->same_prev != SIM_BLOCK_NONE || b->same_next != SIM_BLOCK_NONE;
    return has_copy || b->children == 0;
}

/* The block that stands in the index for the one before this; SIM_BLOCK_NONE for a first one. */
static uint32_t parent_of(const struct sim_kv *kv, uint32_t idx)
{
    const struct block *b = &kv->blocks[idx];
    return b->parent_hash != 0 ? indexed(kv, b->parent_hash, b->before) : SIM_BLOCK_NONE;
}

/* Takes the block out of the index; it must have a hash. */
static void forget(struct sim_kv *kv, uint32_t idx)
{
    struct block *b = &kv->blocks[idx];
    uint32_t parent = parent_of(kv, idx);
    if (parent != SIM_BLOCK_NONE) {
        kv->blocks[parent].children--;
    }
    if (b->same_prev != SIM_BLOCK_NONE) {
        kv->blocks[b->same_prev].same_next = b->same_next;
    } else if (b->same_next != SIM_BLOCK_NONE) {
        *map_get(&kv->index, b->hash) = b->same_next;
        kv->blocks[b->same_next].children = b->children;
        kv->blocks[b->same_next].has_state = b->has_state;
    } else {
        (void)map_remove(&kv->index, b->hash);
    }
    if (b->same_next != SIM_BLOCK_NONE) {
        kv->blocks[b->same_next].same_prev = b->same_prev;
    }
    b->same_prev = SIM_BLOCK_NONE;
    b->same_next = SIM_BLOCK_NONE;
    b->hash = 0;
    b->parent_hash = 0;
    b->children = 0;
    b->has_state = false;
}

static struct sim_evict_memory memory_facts(const struct sim_kv *kv)
{
    struct sim_evict_memory memory = {.block_s = kv->opts.block_s, .depth_s = kv->opts.depth_s};
    uint32_t idx = sim_chains_first(kv->chains);
    for (; idx != SIM_BLOCK_NONE; idx = sim_chains_next(kv->chains, idx)) {
        uint64_t key;
        struct sim_evict_chain facts = sim_chains_facts(kv->chains, idx, kv->now_us, &key);
        memory.idle_us = facts.idle_us > memory.idle_us ? facts.idle_us : memory.idle_us;
        if (facts.idle_blocks > memory.idle_blocks) {
            memory.idle_blocks = facts.idle_blocks;
        }
    }
    return memory;
}

/* The first block to go of the chain with the highest score, of equals the one idle longest, then
 * the smaller key. Chains whose first block others depend on wait for those. */
static uint32_t pick_by_score(const struct sim_kv *kv)
{
    struct sim_evict_memory memory = memory_facts(kv);
    uint32_t best = SIM_BLOCK_NONE;
    uint64_t best_key = 0;
    uint64_t best_idle_us = 0;
    double best_score = 0.0;
    uint32_t idx = sim_chains_first(kv->chains);
    for (; idx != SIM_BLOCK_NONE; idx = sim_chains_next(kv->chains, idx)) {
        if (!is_leaf(kv, idx)) {
            continue;
        }
        uint64_t key;
        struct sim_evict_chain facts = sim_chains_facts(kv->chains, idx, kv->now_us, &key);
        facts.tail_depth = kv->blocks[idx].depth;
        double score = kv->opts.evict->score(&facts, &memory);
        bool is_equal = best != SIM_BLOCK_NONE && score == best_score;
        bool is_older =
            facts.idle_us > best_idle_us || (facts.idle_us == best_idle_us && key < best_key);
        if (best == SIM_BLOCK_NONE || score > best_score || (is_equal && is_older)) {
            best = idx;
            best_key = key;
            best_idle_us = facts.idle_us;
            best_score = score;
        }
    }
    return best;
}

/* The block to hand out next; likely is the one after the last handed out, of its chain. */
static uint32_t pick(const struct sim_kv *kv, uint32_t likely)
{
    uint32_t first = kv->blocks[kv->block_count].next;
    if (kv->opts.evict->score == NULL || kv->blocks[first].hash == 0) {
        return first;
    }
    if (likely != SIM_BLOCK_NONE && is_leaf(kv, likely)) {
        return likely;
    }
    uint32_t idx = pick_by_score(kv);
    if (idx != SIM_BLOCK_NONE) {
        return idx;
    }
    /* Each chain waits for another: copies of one prefix went in an odd order. Any leaf will do. */
    for (idx = first; !is_leaf(kv, idx);) {
        idx = kv->blocks[idx].next;
    }
    return idx;
}

/* The block that goes on from this one with this hash; before is SIM_BLOCK_NONE for a first one. */
static uint32_t next_of(const struct sim_kv *kv, uint32_t before, uint64_t hash)
{
    return indexed(kv, hash, before == SIM_BLOCK_NONE ? before : kv->blocks[before].after);
}

/* Leading hashes in the index: by halves, because what one depends on never goes before it. */
static uint32_t match_length(const struct sim_kv *kv, const uint64_t *hashes, uint32_t n)
{
    uint32_t from = 0;
    while (from < n) {
        uint32_t mid = from + (n - from) / 2;
        if (map_get(&kv->index, hashes[mid]) != NULL) {
            from = mid + 1;
        } else {
            n = mid;
        }
    }
    return from;
}

uint32_t
sim_kv_match(const struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *ret_idle)
{
    uint32_t count = match_length(kv, hashes, n);
    if (ret_idle != NULL) {
        uint32_t idx = SIM_BLOCK_NONE;
        *ret_idle = 0;
        for (uint32_t i = 0; i < count; i++) {
            idx = next_of(kv, idx, hashes[i]);
            *ret_idle += kv->blocks[idx].refs == 0;
        }
    }
    return count;
}

uint32_t sim_kv_match_state(const struct sim_kv *kv, const uint64_t *hashes, uint32_t n)
{
    uint32_t count = 0;
    uint32_t idx = SIM_BLOCK_NONE;
    for (uint32_t i = 0; i < n; i++) {
        idx = next_of(kv, idx, hashes[i]);
        count = kv->blocks[idx].has_state ? i + 1 : count;
    }
    return count;
}

void sim_kv_keep_state(struct sim_kv *kv, uint32_t block)
{
    ASSERT(sim_kv_is_held(kv, block));
    kv->blocks[indexed(kv, kv->blocks[block].hash, block)].has_state = true;
}

static void refer(struct sim_kv *kv, uint32_t idx)
{
    if (kv->blocks[idx].refs == 0) {
        idle_remove(kv, idx);
    }
    kv->blocks[idx].refs++;
}

void sim_kv_take(struct sim_kv *kv, const uint64_t *hashes, uint32_t n, uint32_t *ret_blocks)
{
    uint32_t idx = SIM_BLOCK_NONE;
    for (uint32_t i = 0; i < n; i++) {
        idx = next_of(kv, idx, hashes[i]);
        ASSERT(idx != SIM_BLOCK_NONE);
        refer(kv, idx);
        ret_blocks[i] = idx;
    }
}

/* Its content makes room; where it was the last copy, the tiers may keep one. */
static void evict(struct sim_kv *kv, uint32_t idx)
{
    const struct block *b = &kv->blocks[idx];
    bool has_copy = b->same_prev != SIM_BLOCK_NONE || b->same_next != SIM_BLOCK_NONE;
    if (kv->opts.tiers != NULL && !has_copy) {
        sim_tiers_evicted(kv->opts.tiers, b->hash);
    }
    forget(kv, idx);
    kv->evicted_count++;
}

enum status sim_kv_alloc(struct sim_kv *kv, uint32_t n, uint32_t *ret_blocks)
{
    if (n > kv->idle_count) {
        return ST_FULL;
    }
    uint32_t likely = SIM_BLOCK_NONE;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t idx = pick(kv, likely);
        ASSERT(idx < kv->block_count && kv->blocks[idx].refs == 0 && is_leaf(kv, idx));
        bool is_cached = kv->blocks[idx].hash != 0;
        likely =
            is_cached && kv->chains != NULL ? sim_chains_after(kv->chains, idx) : SIM_BLOCK_NONE;
        idle_remove(kv, idx);
        if (is_cached) {
            evict(kv, idx);
        }
        kv->blocks[idx].refs = 1;
        ret_blocks[i] = idx;
    }
    return ST_OK;
}

void sim_kv_store(struct sim_kv *kv, uint32_t block, uint64_t hash, uint32_t parent)
{
    ASSERT(block < kv->block_count && hash != 0);
    struct block *b = &kv->blocks[block];
    ASSERT(b->refs > 0 && b->hash == 0);
    uint64_t parent_hash = parent != SIM_BLOCK_NONE ? kv->blocks[parent].hash : 0;
    if (parent != SIM_BLOCK_NONE && parent_hash == 0) {
        kv->unstored_count++;
        return;
    }
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
    b->parent_hash = parent_hash;
    b->depth = 0;
    if (parent != SIM_BLOCK_NONE) {
        b->depth = kv->blocks[parent].depth + 1;
        kv->blocks[parent].after = block;
        b->before = parent;
        kv->blocks[indexed(kv, parent_hash, parent)].children++;
    }
}

void sim_kv_release(struct sim_kv *kv, const uint32_t *blocks, uint32_t n, uint64_t chain)
{
    for (uint32_t i = n; i-- > 0;) {
        uint32_t idx = blocks[i];
        ASSERT(idx < kv->block_count && kv->blocks[idx].refs > 0);
        if (--kv->blocks[idx].refs == 0) {
            uint32_t head = kv->block_count;
            bool is_stored = kv->blocks[idx].hash != 0;
            kv->unused_count++;
            idle_insert(kv, idx, is_stored ? head : kv->blocks[head].next);
            if (is_stored && kv->chains != NULL) {
                sim_chains_add(kv->chains, idx, chain, kv->now_us);
            }
        }
    }
}

uint32_t sim_kv_hold(struct sim_kv *kv, uint64_t chain, uint32_t *ret_blocks)
{
    uint32_t n = 0;
    uint32_t idx = sim_chains_find(kv->chains, chain);
    kv->mark++;
    for (; idx != SIM_BLOCK_NONE; idx = sim_chains_after(kv->chains, idx)) {
        uint32_t from = n;
        for (uint32_t i = idx; i != SIM_BLOCK_NONE && kv->blocks[i].mark != kv->mark;
             i = parent_of(kv, i)) {
            kv->blocks[i].mark = kv->mark;
            ret_blocks[n++] = i;
        }
        for (uint32_t to = n; from + 1 < to; from++) { /* what they depend on first */
            uint32_t last = ret_blocks[--to];
            ret_blocks[to] = ret_blocks[from];
            ret_blocks[from] = last;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        refer(kv, ret_blocks[i]);
    }
    return n;
}

void sim_kv_set_now(struct sim_kv *kv, uint64_t now_us)
{
    kv->now_us = now_us;
}

void sim_kv_hint(struct sim_kv *kv, uint64_t chain, const struct sim_chain_hint *hint)
{
    if (kv->chains != NULL) {
        sim_chains_hint(kv->chains, chain, hint);
    }
}

struct sim_chain_hint sim_kv_chain_hint(const struct sim_kv *kv, uint64_t chain)
{
    uint32_t idx = sim_chains_find(kv->chains, chain);
    uint64_t key;
    return idx != SIM_BLOCK_NONE ? sim_chains_facts(kv->chains, idx, kv->now_us, &key).hint
                                 : SIM_CHAIN_UNKNOWN;
}

bool sim_kv_is_held(const struct sim_kv *kv, uint32_t block)
{
    return block < kv->block_count && kv->blocks[block].refs > 0 && kv->blocks[block].hash != 0;
}

void sim_kv_reset(struct sim_kv *kv)
{
    for (uint32_t i = 0; i < kv->block_count; i++) {
        if (kv->blocks[i].refs == 0 && kv->blocks[i].hash != 0) {
            kv->hashed_idle_count--;
            if (kv->chains != NULL) {
                sim_chains_remove(kv->chains, i);
            }
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
        .unused_count = kv->unused_count,
        .evicted_count = kv->evicted_count,
        .unstored_count = kv->unstored_count,
    };
}

uint64_t sim_kv_refs(const struct sim_kv *kv)
{
    uint64_t refs = 0;
    for (uint32_t i = 0; i < kv->block_count; i++) {
        refs += kv->blocks[i].refs;
    }
    return refs;
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

/* Is the prefix of every stored block stored too, and does each know how many depend on it? */
static bool are_families_whole(const struct sim_kv *kv)
{
    uint64_t with_parent = 0;
    uint64_t children = 0;
    for (uint32_t i = 0; i < kv->block_count; i++) {
        const struct block *b = &kv->blocks[i];
        children += b->children;
        with_parent += b->parent_hash != 0;
        if (b->has_state && indexed(kv, b->hash, SIM_BLOCK_NONE) != i) {
            return false;
        }
        if (b->parent_hash == 0) {
            continue;
        }
        uint32_t parent = indexed(kv, b->parent_hash, SIM_BLOCK_NONE);
        if (b->hash == 0 || parent == SIM_BLOCK_NONE || kv->blocks[parent].children == 0) {
            return false;
        }
    }
    return with_parent == children;
}

bool sim_kv_check(const struct sim_kv *kv)
{
    uint32_t idle = 0;
    uint32_t hashed = 0;
    uint32_t at = kv->blocks[kv->block_count].next;
    for (; at != kv->block_count; at = kv->blocks[at].next) {
        if (kv->blocks[at].refs != 0 || idle >= kv->block_count) {
            return false;
        }
        idle++;
        hashed += kv->blocks[at].hash != 0;
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
           used + idle == kv->block_count && kv->index.count <= all_hashed &&
           are_families_whole(kv) && (kv->chains == NULL || sim_chains_check(kv->chains, hashed));
}
