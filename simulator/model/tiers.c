/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/tiers.h"

struct sim_tiers {
    const struct mem *mem;
    struct sim_store *host; /* NULL = none */
    struct sim_store *store;
    enum sim_tier_mode host_mode;
    struct sim_link host_link;
    struct sim_link store_link;
    uint64_t block_bytes;
    uint32_t block_tokens;
    uint64_t now_us;
    struct sim_tiers_counts counts;
};

void sim_tiers_opts_init(struct sim_tiers_opts *opts)
{
    *opts = (struct sim_tiers_opts){
        .host_link = {.bytes_per_s = UINT64_C(25000000000), .latency_us = 20},
        .store_link = {.bytes_per_s = UINT64_C(25000000000), .latency_us = 500},
    };
}

enum status sim_tiers_new(struct sim_tiers **ret,
                          const struct mem *mem,
                          const struct sim_tiers_opts *opts,
                          uint32_t block_tokens,
                          uint64_t bytes_per_token)
{
    if (!sim_link_is_sound(&opts->host_link) || !sim_link_is_sound(&opts->store_link)) {
        return ST_INVAL;
    }
    struct sim_tiers *tiers = mem_calloc(mem, 1, sizeof(*tiers));
    if (tiers == NULL) {
        return ST_NOMEM;
    }
    tiers->mem = mem;
    tiers->store = opts->store;
    tiers->host_mode = opts->host_mode;
    tiers->host_link.opts = opts->host_link;
    tiers->store_link.opts = opts->store_link;
    tiers->block_tokens = block_tokens;
    tiers->block_bytes = bytes_per_token * block_tokens;
    if (opts->host_tokens > 0) {
        enum status st = sim_store_new(&tiers->host, mem, opts->host_tokens, block_tokens);
        if (st != ST_OK) {
            sim_tiers_free(tiers);
            return st;
        }
    }
    *ret = tiers;
    return ST_OK;
}

void sim_tiers_free(struct sim_tiers *tiers)
{
    if (tiers != NULL) {
        sim_store_free(tiers->host);
        mem_free(tiers->mem, tiers, sizeof(*tiers));
    }
}

void sim_tiers_set_now(struct sim_tiers *tiers, uint64_t now_us)
{
    tiers->now_us = now_us;
}

static bool host_has(const struct sim_tiers *tiers, uint64_t hash)
{
    return tiers->host != NULL && sim_store_has(tiers->host, hash);
}

uint32_t sim_tiers_match(const struct sim_tiers *tiers, const uint64_t *hashes, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && (host_has(tiers, hashes[i]) ||
                     (tiers->store != NULL && sim_store_has(tiers->store, hashes[i])))) {
        i++;
    }
    return i;
}

uint64_t sim_tiers_load(struct sim_tiers *tiers, const uint64_t *hashes, uint32_t n)
{
    uint64_t host_blocks = 0;
    uint64_t end_us = tiers->now_us + 1;
    for (uint32_t i = 0; i < n; i++) {
        host_blocks += host_has(tiers, hashes[i]);
    }
    uint64_t store_blocks = n - host_blocks;
    if (host_blocks > 0) {
        uint64_t us =
            sim_link_load(&tiers->host_link, host_blocks * tiers->block_bytes, tiers->now_us);
        end_us = us > end_us ? us : end_us;
    }
    if (store_blocks > 0) {
        uint64_t us =
            sim_link_load(&tiers->store_link, store_blocks * tiers->block_bytes, tiers->now_us);
        end_us = us > end_us ? us : end_us;
    }
    tiers->counts.host_hit_blocks += host_blocks;
    tiers->counts.store_hit_blocks += store_blocks;
    sim_tiers_used(tiers, hashes, n);
    return end_us;
}

static void write_host(struct sim_tiers *tiers, uint64_t hash)
{
    if (sim_store_put(tiers->host, hash)) {
        tiers->counts.host_written_blocks++;
        sim_link_write(&tiers->host_link, tiers->block_bytes, tiers->now_us);
    }
}

static bool is_through(const struct sim_tiers *tiers)
{
    return tiers->host != NULL && tiers->host_mode == SIM_TIER_WRITE_THROUGH;
}

void sim_tiers_arrived(struct sim_tiers *tiers, uint64_t hash)
{
    if (is_through(tiers)) {
        write_host(tiers, hash);
    } else if (tiers->host != NULL) {
        sim_store_drop(tiers->host, hash);
    }
}

void sim_tiers_computed(struct sim_tiers *tiers, uint64_t hash)
{
    sim_tiers_arrived(tiers, hash);
    if (tiers->store != NULL && sim_store_put(tiers->store, hash)) {
        tiers->counts.store_written_blocks++;
        sim_link_write(&tiers->store_link, tiers->block_bytes, tiers->now_us);
    }
}

void sim_tiers_evicted(struct sim_tiers *tiers, uint64_t hash)
{
    if (tiers->host != NULL && tiers->host_mode == SIM_TIER_WRITE_BACK) {
        write_host(tiers, hash);
    }
}

void sim_tiers_used(struct sim_tiers *tiers, const uint64_t *hashes, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;) {
        if (tiers->host != NULL) {
            sim_store_touch(tiers->host, hashes[i]);
        }
        if (tiers->store != NULL) {
            sim_store_touch(tiers->store, hashes[i]);
        }
    }
}

void sim_tiers_reset(struct sim_tiers *tiers)
{
    if (tiers->host != NULL) {
        sim_store_clear(tiers->host);
    }
}

struct sim_tiers_counts sim_tiers_counts(const struct sim_tiers *tiers)
{
    struct sim_tiers_counts n = tiers->counts;
    n.host_hit_tokens = n.host_hit_blocks * tiers->block_tokens;
    n.store_hit_tokens = n.store_hit_blocks * tiers->block_tokens;
    n.host_loaded_bytes = n.host_hit_blocks * tiers->block_bytes;
    n.store_loaded_bytes = n.store_hit_blocks * tiers->block_bytes;
    n.host_written_bytes = n.host_written_blocks * tiers->block_bytes;
    n.store_written_bytes = n.store_written_blocks * tiers->block_bytes;
    return n;
}

struct sim_store_counts sim_tiers_host(const struct sim_tiers *tiers)
{
    return tiers->host != NULL ? sim_store_counts(tiers->host) : (struct sim_store_counts){0};
}

bool sim_tiers_check(const struct sim_tiers *tiers)
{
    if (tiers->host != NULL &&
        (!sim_store_check(tiers->host) ||
         sim_tiers_host(tiers).put_count != tiers->counts.host_written_blocks)) {
        return false;
    }
    return tiers->store == NULL ||
           (sim_store_check(tiers->store) &&
            sim_store_counts(tiers->store).put_count >= tiers->counts.store_written_blocks);
}
