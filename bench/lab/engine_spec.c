/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/engine_spec.h"

#define KV_TOKENS_MIN 1024
#define KV_TOKENS_MAX 100000000
#define TOKENS_MAX    UINT64_C(1000000000000)
enum { BLOCK_DEFAULT = 64, CHUNK_MAX = 1 << 20, QUEUE_MAX = 1 << 20, EVICT_MAX = 16 };
enum { PREFILL_ENGINES_MAX = 256 };
/* As Dynamo's max_local_prefill_length; of a network between machines. */
enum { PREFILL_MIN_TOKENS = 512, PREFILL_LATENCY_US = 500 };
/* Of a PCIe 4.0 x16 link. */
#define TIER_GBPS_DEFAULT 25.0

const char *const lab_tier_mode_names[LAB_TIER_MODE_COUNT] = {"write-back", "write-through"};
const char *const lab_admission_names[LAB_ADMISSION_COUNT] = {"all", "second", "states"};

struct lab_engine_spec lab_engine_spec_default(void)
{
    return (struct lab_engine_spec){
        .evict = sim_evict_default(),
        .kv_scale = 1,
        .tier_gbps = TIER_GBPS_DEFAULT,
        .prefill_gbps = TIER_GBPS_DEFAULT,
        .block_tokens = BLOCK_DEFAULT,
    };
}

static enum status
read_evict(struct lab_engine_spec *spec, const char *name, struct str text, struct err *err)
{
    const char *names[EVICT_MAX] = {NULL};
    uint32_t count = 0;
    uint32_t at = 0;
    while (count < EVICT_MAX && sim_evict_at(count) != NULL) {
        names[count] = sim_evict_at(count)->name;
        count++;
    }
    enum status st = lab_read_name(name, text, names, count, &at, err);
    if (st == ST_OK) {
        spec->evict = sim_evict_at(at);
    }
    return st;
}

/* A power of two, as paged memories have. */
static enum status
read_block(struct lab_engine_spec *spec, const char *name, struct str text, struct err *err)
{
    uint64_t n = 0;
    enum status st = lab_read_whole(name, text, 1, 1024, &n, err);
    if (st == ST_OK && (n & (n - 1)) != 0) {
        st = lab_read_bad(err, name, text, "a power of two");
    }
    if (st == ST_OK) {
        spec->block_tokens = (uint32_t)n;
    }
    return st;
}

static enum status
read_chunk(struct lab_engine_spec *spec, const char *name, struct str text, struct err *err)
{
    uint64_t n = 0;
    enum status st = lab_read_whole(name, text, 1, CHUNK_MAX, &n, err);
    if (st == ST_OK) {
        spec->chunk = (uint32_t)n;
    }
    return st;
}

static enum status
read_mode(struct lab_engine_spec *spec, const char *name, struct str text, struct err *err)
{
    uint32_t at = 0;
    enum status st = lab_read_name(name, text, lab_tier_mode_names, LAB_TIER_MODE_COUNT, &at, err);
    if (st == ST_OK) {
        spec->tier_mode = (enum lab_tier_mode)at;
    }
    return st;
}

static enum status
read_admission(struct lab_engine_spec *spec, const char *name, struct str text, struct err *err)
{
    uint32_t at = 0;
    enum status st = lab_read_name(name, text, lab_admission_names, LAB_ADMISSION_COUNT, &at, err);
    if (st == ST_OK) {
        spec->admission = (enum sim_admission)at;
    }
    return st;
}

enum status lab_engine_spec_read(struct lab_engine_spec *spec,
                                 const char *key,
                                 const char *name,
                                 struct str text,
                                 struct err *err)
{
    if (strcmp(key, "admission") == 0) {
        return read_admission(spec, name, text, err);
    }
    if (strcmp(key, "block") == 0) {
        return read_block(spec, name, text, err);
    }
    if (strcmp(key, "chunk") == 0) {
        return read_chunk(spec, name, text, err);
    }
    if (strcmp(key, "evict") == 0) {
        return read_evict(spec, name, text, err);
    }
    if (strcmp(key, "tier-mode") == 0) {
        return read_mode(spec, name, text, err);
    }
    if (strcmp(key, "kv-scale") == 0) {
        return lab_read_number(name, text, 0.01, 1000, &spec->kv_scale, err);
    }
    if (strcmp(key, "tier-gbps") == 0) {
        return lab_read_number(name, text, 0.01, 10000, &spec->tier_gbps, err);
    }
    if (strcmp(key, "tier-tokens") == 0) {
        return lab_read_whole(name, text, 0, TOKENS_MAX, &spec->tier_tokens, err);
    }
    if (strcmp(key, "store-tokens") == 0) {
        return lab_read_whole(name, text, 0, TOKENS_MAX, &spec->store_tokens, err);
    }
    if (strcmp(key, "prefill-gbps") == 0) {
        return lab_read_number(name, text, 0.01, 10000, &spec->prefill_gbps, err);
    }
    if (strcmp(key, "prefill-engines") == 0) {
        uint64_t n = 0;
        enum status st = lab_read_whole(name, text, 0, PREFILL_ENGINES_MAX, &n, err);
        spec->prefill_engines = st == ST_OK ? (uint32_t)n : spec->prefill_engines;
        return st;
    }
    return ST_NOTFOUND;
}

struct sim_prefill_opts lab_engine_spec_prefill(const struct lab_engine_spec *spec)
{
    return (struct sim_prefill_opts){
        .engines = spec->prefill_engines,
        .min_tokens = PREFILL_MIN_TOKENS,
        .link = {.bytes_per_s = (uint64_t)(spec->prefill_gbps * 1e9),
                 .latency_us = PREFILL_LATENCY_US},
    };
}

enum status lab_engine_spec_apply(const struct lab_engine_spec *spec,
                                  const struct sim_profile *profile,
                                  struct sim_engine_opts *ret,
                                  struct err *err)
{
    struct sim_engine_opts opts = {
        .profile = *profile,
        .evict = spec->evict,
        .admission = spec->admission,
        .block_tokens = spec->block_tokens,
        .queue_max = QUEUE_MAX,
        .has_prefix_cache = true,
    };
    sim_tiers_opts_init(&opts.tiers);
    opts.tiers.host_tokens = spec->tier_tokens;
    opts.tiers.host_mode =
        spec->tier_mode == LAB_TIER_WRITE_BACK ? SIM_TIER_WRITE_BACK : SIM_TIER_WRITE_THROUGH;
    opts.tiers.host_link.bytes_per_s = (uint64_t)(spec->tier_gbps * 1e9);
    double kv_tokens = profile->kv_tokens * spec->kv_scale;
    if (kv_tokens < KV_TOKENS_MIN || kv_tokens > KV_TOKENS_MAX) {
        return err_set(err, ST_INVAL, "kv-scale %g leaves %.0f tokens: must be %d to %d",
                       spec->kv_scale, kv_tokens, KV_TOKENS_MIN, KV_TOKENS_MAX);
    }
    opts.profile.kv_tokens = (uint32_t)kv_tokens;
    if (spec->chunk > 0) {
        opts.profile.budget_tokens = spec->chunk;
    }
    if (opts.profile.budget_tokens < opts.profile.max_running) {
        return err_set(err, ST_INVAL, "chunk %u: must be at least %u, the profile's batch",
                       spec->chunk, opts.profile.max_running);
    }
    if (spec->admission == SIM_ADMIT_STATES && spec->tier_tokens + spec->store_tokens > 0) {
        return err_set(err, ST_INVAL, "admission states: not with tier-tokens or store-tokens");
    }
    *ret = opts;
    return ST_OK;
}
