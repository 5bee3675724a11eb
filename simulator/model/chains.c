/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/chains.h"

#include "common/base/map.h"

/* Lists by index; SIM_BLOCK_NONE ends them. */
struct place {
    uint32_t chain;
    uint32_t prev;
    uint32_t next;
};

struct chain {
    uint64_t key;
    uint64_t used_at_us;
    struct sim_chain_hint hint;
    uint32_t first; /* block to go first */
    uint32_t last;
    uint32_t block_count;
    uint32_t prev; /* chains with blocks; next also of those without */
    uint32_t next;
};

struct sim_chains {
    const struct mem *mem;
    struct place *places; /* [block_count] */
    struct chain *chains; /* [block_count + 1]; the last one holds what finds no place by its key */
    struct map by_key;    /* to index in chains */
    uint32_t block_count;
    uint32_t first;
    uint32_t unused; /* chains without blocks */
};

enum status sim_chains_new(struct sim_chains **ret, const struct mem *mem, uint32_t block_count)
{
    struct sim_chains *chains = mem_calloc(mem, 1, sizeof(*chains));
    if (chains == NULL) {
        return ST_NOMEM;
    }
    chains->mem = mem;
    chains->block_count = block_count;
    chains->first = SIM_BLOCK_NONE;
    map_init(&chains->by_key, mem, block_count);
    chains->places = mem_calloc(mem, block_count, sizeof(*chains->places));
    chains->chains = mem_calloc(mem, (size_t)block_count + 1, sizeof(*chains->chains));
    if (chains->places == NULL || chains->chains == NULL) {
        sim_chains_free(chains);
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < block_count; i++) {
        chains->places[i].chain = SIM_BLOCK_NONE;
        chains->chains[i].next = i + 1 < block_count ? i + 1 : SIM_BLOCK_NONE;
    }
    *ret = chains;
    return ST_OK;
}

void sim_chains_free(struct sim_chains *chains)
{
    if (chains == NULL) {
        return;
    }
    map_fini(&chains->by_key);
    mem_free(chains->mem, chains->places, chains->block_count * sizeof(*chains->places));
    mem_free(chains->mem, chains->chains,
             ((size_t)chains->block_count + 1) * sizeof(*chains->chains));
    mem_free(chains->mem, chains, sizeof(*chains));
}

/* The chain of a key; one without blocks when it was not there. */
static uint32_t chain_of(struct sim_chains *chains, uint64_t key)
{
    const uint64_t *at = map_get(&chains->by_key, key);
    if (at != NULL) {
        return (uint32_t)*at;
    }
    uint32_t idx = chains->unused;
    /* Every chain but the last has a block, so one is unused while a block is in none. */
    ASSERT(idx != SIM_BLOCK_NONE);
    if (map_put(&chains->by_key, key, idx) != ST_OK) {
        return chains->block_count;
    }
    chains->unused = chains->chains[idx].next;
    chains->chains[idx].key = key;
    return idx;
}

static void chain_open(struct sim_chains *chains, uint32_t idx)
{
    struct chain *c = &chains->chains[idx];
    c->hint = SIM_CHAIN_UNKNOWN;
    c->first = SIM_BLOCK_NONE;
    c->last = SIM_BLOCK_NONE;
    c->prev = SIM_BLOCK_NONE;
    c->next = chains->first;
    if (c->next != SIM_BLOCK_NONE) {
        chains->chains[c->next].prev = idx;
    }
    chains->first = idx;
}

static void chain_close(struct sim_chains *chains, uint32_t idx)
{
    struct chain *c = &chains->chains[idx];
    if (c->prev != SIM_BLOCK_NONE) {
        chains->chains[c->prev].next = c->next;
    } else {
        chains->first = c->next;
    }
    if (c->next != SIM_BLOCK_NONE) {
        chains->chains[c->next].prev = c->prev;
    }
    if (idx != chains->block_count) {
        (void)map_remove(&chains->by_key, c->key);
        c->next = chains->unused;
        chains->unused = idx;
    }
}

void sim_chains_add(struct sim_chains *chains, uint32_t block, uint64_t key, uint64_t now_us)
{
    ASSERT(chains->places[block].chain == SIM_BLOCK_NONE);
    uint32_t idx = chain_of(chains, key);
    struct chain *c = &chains->chains[idx];
    if (c->block_count == 0) {
        chain_open(chains, idx);
    }
    chains->places[block] = (struct place){.chain = idx, .prev = c->last, .next = SIM_BLOCK_NONE};
    if (c->last != SIM_BLOCK_NONE) {
        chains->places[c->last].next = block;
    } else {
        c->first = block;
    }
    c->last = block;
    c->block_count++;
    c->used_at_us = now_us;
}

void sim_chains_remove(struct sim_chains *chains, uint32_t block)
{
    struct place *at = &chains->places[block];
    ASSERT(at->chain != SIM_BLOCK_NONE);
    struct chain *c = &chains->chains[at->chain];
    if (at->prev != SIM_BLOCK_NONE) {
        chains->places[at->prev].next = at->next;
    } else {
        c->first = at->next;
    }
    if (at->next != SIM_BLOCK_NONE) {
        chains->places[at->next].prev = at->prev;
    } else {
        c->last = at->prev;
    }
    if (--c->block_count == 0) {
        chain_close(chains, at->chain);
    }
    at->chain = SIM_BLOCK_NONE;
}

void sim_chains_hint(struct sim_chains *chains, uint64_t key, const struct sim_chain_hint *hint)
{
    const uint64_t *at = map_get(&chains->by_key, key);
    if (at != NULL) {
        chains->chains[*at].hint = *hint;
    }
}

static uint32_t first_block(const struct sim_chains *chains, uint32_t idx)
{
    return idx == SIM_BLOCK_NONE ? SIM_BLOCK_NONE : chains->chains[idx].first;
}

uint32_t sim_chains_find(const struct sim_chains *chains, uint64_t key)
{
    const uint64_t *at = map_get(&chains->by_key, key);
    return at != NULL ? chains->chains[*at].first : SIM_BLOCK_NONE;
}

uint32_t sim_chains_first(const struct sim_chains *chains)
{
    return first_block(chains, chains->first);
}

uint32_t sim_chains_next(const struct sim_chains *chains, uint32_t block)
{
    return first_block(chains, chains->chains[chains->places[block].chain].next);
}

struct sim_evict_chain sim_chains_facts(const struct sim_chains *chains,
                                        uint32_t block,
                                        uint64_t now_us,
                                        uint64_t *ret_key)
{
    const struct chain *c = &chains->chains[chains->places[block].chain];
    *ret_key = c->key;
    return (struct sim_evict_chain){
        .hint = c->hint,
        .idle_us = now_us - c->used_at_us,
        .idle_blocks = c->block_count,
    };
}

uint32_t sim_chains_after(const struct sim_chains *chains, uint32_t block)
{
    return chains->places[block].next;
}

bool sim_chains_check(const struct sim_chains *chains, uint32_t blocks)
{
    uint32_t found = 0;
    uint32_t keyed = 0;
    for (uint32_t i = chains->first; i != SIM_BLOCK_NONE; i = chains->chains[i].next) {
        const struct chain *c = &chains->chains[i];
        uint32_t own = 0;
        for (uint32_t b = c->first; b != SIM_BLOCK_NONE; b = chains->places[b].next) {
            if (chains->places[b].chain != i || ++own > c->block_count) {
                return false;
            }
        }
        if (own != c->block_count || own == 0) {
            return false;
        }
        found += own;
        keyed += i != chains->block_count;
    }
    return found == blocks && keyed == chains->by_key.count;
}
