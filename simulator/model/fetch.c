/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/fetch.h"

/* Holds the blocks that are there before it and those that come. */
struct fetch {
    struct list link;
    uint64_t chain;
    uint64_t arrives_at_us;
    uint64_t *hashes; /* [block_count] */
    uint32_t *blocks; /* [block_count] */
    uint32_t hit_count;
    uint32_t block_count;
};

static struct fetch *fetch_of(struct list *link)
{
    return LIST_OWNER(link, struct fetch, link);
}

static void free_fetch(struct sim_engine *engine, struct fetch *fetch)
{
    mem_free(engine->mem, fetch->hashes, fetch->block_count * sizeof(*fetch->hashes));
    mem_free(engine->mem, fetch->blocks, fetch->block_count * sizeof(*fetch->blocks));
    mem_free(engine->mem, fetch, sizeof(*fetch));
}

static struct fetch *new_fetch(struct sim_engine *engine, const uint64_t *hashes, uint32_t n)
{
    struct fetch *fetch = mem_calloc(engine->mem, 1, sizeof(*fetch));
    if (fetch == NULL) {
        return NULL;
    }
    fetch->block_count = n;
    fetch->hashes = mem_calloc(engine->mem, n, sizeof(*fetch->hashes));
    fetch->blocks = mem_calloc(engine->mem, n, sizeof(*fetch->blocks));
    if (fetch->hashes == NULL || fetch->blocks == NULL) {
        free_fetch(engine, fetch);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        fetch->hashes[i] = hashes[i];
    }
    return fetch;
}

/* Lets all its blocks go; those that have not come are free. */
static void end_fetch(struct sim_engine *engine, struct fetch *fetch)
{
    sim_kv_release(engine->kv, fetch->blocks, fetch->block_count, fetch->chain);
    list_remove(&fetch->link);
    free_fetch(engine, fetch);
}

/* How many of n blocks behind the hit ones have room without anybody losing a block in use. */
static uint32_t room_for(const struct sim_engine *engine, uint32_t n)
{
    struct sim_kv_counts kv = sim_kv_counts(engine->kv);
    uint32_t room = kv.free_blocks + kv.cached_blocks;
    return n < room ? n : room;
}

uint32_t
sim_fetch_begin(struct sim_engine *engine, const uint64_t *hashes, uint32_t n, uint64_t chain)
{
    if (engine->tiers == NULL) {
        return 0;
    }
    uint32_t idle_hit = 0;
    uint32_t hit = sim_kv_match(engine->kv, hashes, n, &idle_hit);
    uint32_t more = sim_tiers_match(engine->tiers, hashes + hit, n - hit);
    uint32_t room = room_for(engine, more + idle_hit);
    more = room > idle_hit ? room - idle_hit : 0;
    struct fetch *fetch = more > 0 ? new_fetch(engine, hashes, hit + more) : NULL;
    if (fetch == NULL) {
        return 0;
    }
    fetch->chain = chain;
    fetch->hit_count = hit;
    sim_kv_take(engine->kv, hashes, hit, fetch->blocks);
    fetch->arrives_at_us = sim_tiers_load(engine->tiers, hashes + hit, more);
    enum status st = sim_kv_alloc(engine->kv, more, fetch->blocks + hit);
    ASSERT(st == ST_OK);
    list_push_back(&engine->fetches, &fetch->link);
    engine->counters.prefetch_blocks += more;
    return more;
}

uint32_t
sim_fetch_receive(struct sim_engine *engine, const uint64_t *hashes, uint32_t n, uint64_t chain)
{
    if (n == 0 || !engine->opts.has_prefix_cache) {
        return 0;
    }
    uint32_t idle_hit = 0;
    uint32_t hit = sim_kv_match(engine->kv, hashes, n, &idle_hit);
    uint32_t room = room_for(engine, n - hit + idle_hit);
    uint32_t more = room > idle_hit ? room - idle_hit : 0;
    uint32_t *blocks = mem_calloc(engine->mem, n, sizeof(*blocks));
    if (blocks == NULL) {
        return 0;
    }
    sim_kv_take(engine->kv, hashes, hit, blocks);
    enum status st = sim_kv_alloc(engine->kv, more, blocks + hit);
    ASSERT(st == ST_OK);
    for (uint32_t i = hit; i < hit + more; i++) {
        sim_engine_place(engine, hashes, blocks, i);
    }
    sim_kv_release(engine->kv, blocks, hit + more, chain);
    mem_free(engine->mem, blocks, n * sizeof(*blocks));
    if (engine->pins != NULL) {
        sim_pins_released(engine->pins, chain);
    }
    engine->counters.received_blocks += more;
    return more;
}

void sim_fetch_end_due(struct sim_engine *engine)
{
    struct list *link = engine->fetches.next;
    while (link != &engine->fetches) {
        struct fetch *fetch = fetch_of(link);
        link = link->next;
        if (fetch->arrives_at_us <= engine->now_us) {
            uint64_t chain = fetch->chain;
            for (uint32_t i = fetch->hit_count; i < fetch->block_count; i++) {
                sim_engine_place(engine, fetch->hashes, fetch->blocks, i);
            }
            end_fetch(engine, fetch);
            if (engine->pins != NULL) {
                sim_pins_released(engine->pins, chain);
            }
        }
    }
}

bool sim_fetch_cancel(struct sim_engine *engine)
{
    if (list_is_empty(&engine->fetches)) {
        return false;
    }
    struct fetch *fetch = fetch_of(engine->fetches.prev);
    engine->counters.prefetch_lost_blocks += fetch->block_count - fetch->hit_count;
    end_fetch(engine, fetch);
    return true;
}

void sim_fetch_cancel_all(struct sim_engine *engine)
{
    while (sim_fetch_cancel(engine)) {
    }
}

/* Of the request's blocks behind its hits, most at most, the leading ones that this brings. */
static uint32_t
shared(const struct fetch *fetch, const struct request *req, uint32_t hit, uint32_t most)
{
    uint32_t n = 0;
    if (fetch->chain != req->spec.chain || fetch->hit_count != hit) {
        return 0;
    }
    while (n < most && hit + n < fetch->block_count &&
           fetch->hashes[hit + n] == req->spec.block_hashes[hit + n]) {
        n++;
    }
    return n;
}

/* The first that brings the request anything; NULL when none does. */
static struct fetch *fetch_for(const struct sim_engine *engine,
                               const struct request *req,
                               uint32_t hit,
                               uint32_t most,
                               uint32_t *ret_shared)
{
    LIST_FOR_EACH(link, &engine->fetches)
    {
        *ret_shared = shared(fetch_of(link), req, hit, most);
        if (*ret_shared > 0) {
            return fetch_of(link);
        }
    }
    *ret_shared = 0;
    return NULL;
}

uint32_t sim_fetch_coming(const struct sim_engine *engine,
                          const struct request *req,
                          uint32_t hit,
                          uint32_t most)
{
    uint32_t n = 0;
    (void)fetch_for(engine, req, hit, most, &n);
    return n;
}

uint32_t sim_fetch_take_over(struct sim_engine *engine,
                             struct request *req,
                             uint32_t most,
                             uint64_t *ret_at_us)
{
    uint32_t n = 0;
    struct fetch *fetch = fetch_for(engine, req, req->block_count, most, &n);
    if (fetch == NULL) {
        return 0;
    }
    uint32_t to = fetch->hit_count + n;
    for (uint32_t i = fetch->hit_count; i < to; i++) {
        req->blocks[req->block_count++] = fetch->blocks[i];
    }
    *ret_at_us = fetch->arrives_at_us;
    engine->counters.prefetch_lost_blocks += fetch->block_count - to;
    sim_kv_release(engine->kv, fetch->blocks + to, fetch->block_count - to, fetch->chain);
    sim_kv_release(engine->kv, fetch->blocks, fetch->hit_count, fetch->chain);
    list_remove(&fetch->link);
    free_fetch(engine, fetch);
    return n;
}

uint64_t sim_fetch_next_at_us(const struct sim_engine *engine)
{
    uint64_t at_us = UINT64_MAX;
    LIST_FOR_EACH(link, &engine->fetches)
    {
        uint64_t arrives_at_us = fetch_of(link)->arrives_at_us;
        at_us = arrives_at_us < at_us ? arrives_at_us : at_us;
    }
    return at_us;
}

bool sim_fetch_check(const struct sim_engine *engine, uint64_t *ret_refs)
{
    LIST_FOR_EACH(link, &engine->fetches)
    {
        const struct fetch *fetch = fetch_of(link);
        *ret_refs += fetch->block_count;
        if (fetch->hit_count >= fetch->block_count) {
            return false;
        }
        for (uint32_t i = 0; i < fetch->block_count; i++) {
            if (sim_kv_is_held(engine->kv, fetch->blocks[i]) != (i < fetch->hit_count)) {
                return false;
            }
        }
    }
    return true;
}
