/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/entry.h"

#include "common/rt/config_read.h"
#include "simulator/cluster/cluster.h"

/* The bound needs no cache to be near, only an engine with little to do: for a new session the
 * least busy one. */
#define UNLIMITED_POLICY "prefix_affinity"

/* Clients wait as long as it takes, unless a timeout is set. */
enum { PATIENCE_MS = 86400000 };
enum { KEY_BYTES = 128, VALUE_BYTES = 1024 };

struct pair {
    char key[KEY_BYTES];
    char value[VALUE_BYTES];
};

static enum status read_pair(struct pair *ret, struct str text, struct err *err)
{
    struct str rest = text;
    struct str key;
    if (!str_split(&rest, '=', &key) || key.len == 0 || key.len == text.len) {
        return err_set(err, ST_INVAL, "expected KEY=VALUE");
    }
    if (key.len >= sizeof(ret->key) || rest.len >= sizeof(ret->value)) {
        return err_set(err, ST_INVAL, "too long");
    }
    (void)str_copy(ret->key, sizeof(ret->key), key);
    (void)str_copy(ret->value, sizeof(ret->value), rest);
    return ST_OK;
}

static enum status set_config(struct lab_entry *entry, const struct pair *pair, struct err *err)
{
    if (strcmp(pair->key, "routing.policy") == 0) {
        return err_set(err, ST_INVAL, "routing.policy: the policies are what --policies says");
    }
    return config_set(&entry->config, pair->key, pair->value, err);
}

static enum status set_own(struct lab_entry *entry, const struct pair *pair, struct err *err)
{
    enum status st =
        lab_engine_spec_read(&entry->engine, pair->key, pair->key, str_of(pair->value), err);
    if (st == ST_NOTFOUND && strchr(pair->key, '.') == NULL) { /* keys of the gateway have dots */
        return route_params_set(lab_policy_find(entry->policy), str_of(pair->key),
                                str_of(pair->value), entry->params, err);
    }
    if (st == ST_NOTFOUND) {
        return set_config(entry, pair, err);
    }
    entry->has_kv_scale = entry->has_kv_scale || strcmp(pair->key, "kv-scale") == 0;
    entry->has_tier_tokens = entry->has_tier_tokens || strcmp(pair->key, "tier-tokens") == 0;
    return st;
}

typedef enum status (*set_fn)(struct lab_entry *entry, const struct pair *pair, struct err *err);

/* where: the option that it stands in. */
static enum status
set_from(struct lab_entry *entry, const char *where, struct str text, set_fn set, struct err *err)
{
    struct pair pair;
    struct err why = {0};
    enum status st = read_pair(&pair, text, &why);
    st = st == ST_OK ? set(entry, &pair, &why) : st;
    return st == ST_OK
               ? st
               : err_set(err, ST_INVAL, "%s %.*s: %s", where, (int)text.len, text.p, why.text);
}

static enum status find_policy(struct lab_entry *entry, struct str name, struct err *err)
{
    entry->is_unlimited = str_eq(name, STR(LAB_UNLIMITED));
    entry->policy = entry->is_unlimited ? STR(UNLIMITED_POLICY) : name;
    const struct route_policy *policy = lab_policy_find(entry->policy);
    if (policy == NULL) {
        return err_set(err, ST_INVAL, "no policy \"%.*s\"; see --list-policies", (int)name.len,
                       name.p);
    }
    return route_params_read(policy, STR(""), entry->params, err);
}

enum status lab_entry_make(struct lab_entry *ret,
                           const struct lab_options *opts,
                           struct str text,
                           struct err *err)
{
    struct str rest = text;
    struct str part = STR("");
    *ret = (struct lab_entry){.label = text, .engine = opts->engine};
    enum status st = config_defaults(&ret->config, mem_heap());
    if (st != ST_OK) {
        return err_set(err, st, "no memory for the settings");
    }
    ret->config.routing_queue_timeout_ms = PATIENCE_MS;
    for (uint32_t i = 0; st == ST_OK && i < opts->set_count; i++) {
        st = set_from(ret, "--set", str_of(opts->sets[i]), set_config, err);
    }
    if (st == ST_OK && str_split(&rest, ':', &part)) {
        st = find_policy(ret, part, err);
    }
    while (st == ST_OK && str_split(&rest, ';', &part)) {
        st = set_from(ret, "--policies", part, set_own, err);
    }
    return st;
}

void lab_entry_fini(struct lab_entry *entry)
{
    if (entry != NULL) {
        config_fini(&entry->config);
    }
}

struct lab_engine_spec
lab_entry_engine(const struct lab_entry *entry, const struct lab_options *opts, uint32_t memory)
{
    struct lab_engine_spec spec = entry->engine;
    struct lab_memory at = lab_options_memory(opts, memory);
    spec.kv_scale = entry->has_kv_scale ? spec.kv_scale : at.kv_scale;
    spec.tier_tokens = entry->has_tier_tokens ? spec.tier_tokens : at.tier_tokens;
    return spec;
}
