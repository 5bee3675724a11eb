/* SPDX-License-Identifier: Apache-2.0 */
/* Values from text into struct config. */
#include "common/rt/config_schema.h"

enum { CONFIG_CHUNK_BYTES = 4096, CONFIG_ARENA_BYTES = 16 << 20, CONFIG_LIST_MAX = 64 };

static void *field_of(void *obj, const struct config_key *key)
{
    return (char *)obj + key->offset;
}

/* Index of value in "a|b|c"; ST_INVAL when it is none of them. */
static enum status enum_index(const char *allowed, struct str value, int *ret)
{
    struct str rest = str_of(allowed);
    struct str part;
    for (int i = 0; str_split(&rest, '|', &part); i++) {
        if (str_eq(part, value)) {
            *ret = i;
            return ST_OK;
        }
    }
    return ST_INVAL;
}

static enum status store_bool(bool *field, struct str value)
{
    if (str_eq(value, STR("true")) || str_eq(value, STR("on"))) {
        *field = true;
        return ST_OK;
    }
    if (str_eq(value, STR("false")) || str_eq(value, STR("off"))) {
        *field = false;
        return ST_OK;
    }
    return ST_INVAL;
}

static enum status store_u64(uint64_t *field, const struct config_key *key, struct str value)
{
    uint64_t v;
    if (str_to_u64(value, &v) != ST_OK || v < key->min || v > key->max) {
        return ST_INVAL;
    }
    *field = v;
    return ST_OK;
}

static enum status store_f64(double *field, const struct config_key *key, struct str value)
{
    double v;
    if (str_to_f64(value, &v) != ST_OK || !(v >= key->min_f64 && v <= key->max_f64)) {
        return ST_INVAL;
    }
    *field = v;
    return ST_OK;
}

static bool is_clean_text(struct str value, size_t max_len)
{
    return value.len <= max_len && (value.len == 0 || memchr(value.p, '\0', value.len) == NULL) &&
           str_is_utf8(value, NULL);
}

static enum status
store_text(struct config *cfg, const char **field, const struct config_key *key, struct str value)
{
    if (!is_clean_text(value, key->max_len)) {
        return ST_INVAL;
    }
    char *copy = arena_copy(&cfg->arena, value.p, value.len);
    if (copy == NULL) {
        return ST_NOMEM;
    }
    *field = copy;
    return ST_OK;
}

enum status config_store_list(struct config *cfg,
                              void *obj,
                              const struct config_key *key,
                              const struct str *items,
                              size_t count)
{
    if (count > key->max_count) {
        return ST_INVAL;
    }
    const char **copies = arena_calloc(&cfg->arena, count == 0 ? 1 : count, sizeof(copies[0]));
    if (copies == NULL) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i].len == 0 || !is_clean_text(items[i], key->max_len)) {
            return ST_INVAL;
        }
        copies[i] = arena_copy(&cfg->arena, items[i].p, items[i].len);
        if (copies[i] == NULL) {
            return ST_NOMEM;
        }
    }
    struct config_list *list = field_of(obj, key);
    *list = (struct config_list){.items = copies, .count = count};
    return ST_OK;
}

/* Items separated by commas, blanks around them ignored; "" is the empty list. */
static enum status
store_list_text(struct config *cfg, void *obj, const struct config_key *key, struct str value)
{
    struct str items[CONFIG_LIST_MAX];
    size_t count = 0;
    struct str rest = value.len == 0 ? (struct str){NULL, 0} : value;
    struct str part;
    ASSERT(key->max_count <= CONFIG_LIST_MAX);
    while (str_split(&rest, ',', &part)) {
        if (count == CONFIG_LIST_MAX) {
            return ST_INVAL;
        }
        items[count++] = str_trim(part);
    }
    return config_store_list(cfg, obj, key, items, count);
}

enum status
config_store(struct config *cfg, void *obj, const struct config_key *key, struct str value)
{
    void *field = field_of(obj, key);
    switch (key->kind) {
    case CONFIG_KIND_BOOL:
        return store_bool(field, value);
    case CONFIG_KIND_U64:
        return store_u64(field, key, value);
    case CONFIG_KIND_F64:
        return store_f64(field, key, value);
    case CONFIG_KIND_TEXT:
        return store_text(cfg, field, key, value);
    case CONFIG_KIND_ENUM:
        return enum_index(key->allowed, value, field);
    case CONFIG_KIND_LIST:
        return store_list_text(cfg, obj, key, value);
    }
    ASSERT(false);
    return ST_INTERNAL;
}

static enum status store_defaults(struct config *cfg, void *obj, const struct config_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        enum status st = config_store(cfg, obj, &table->keys[i], str_of(table->keys[i].def));
        ASSERT(st != ST_INVAL); /* the .def file contradicts itself */
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

enum status config_defaults(struct config *cfg, const struct mem *mem)
{
    *cfg = (struct config){0};
    arena_init(&cfg->arena, mem, CONFIG_CHUNK_BYTES, CONFIG_ARENA_BYTES);
    enum status st = store_defaults(cfg, cfg, config_main_table());
    if (st != ST_OK) {
        config_fini(cfg);
    }
    return st;
}

void config_fini(struct config *cfg)
{
    if (cfg != NULL && cfg->arena.mem != NULL) {
        arena_fini(&cfg->arena);
        cfg->engines = NULL;
        cfg->engine_count = 0;
    }
}

enum status config_set(struct config *cfg, const char *key, const char *value, struct err *err)
{
    const struct config_key *found = config_find(config_main_table(), str_of(key));
    if (found == NULL) {
        const char *near = config_nearest(config_main_table(), str_of(key));
        return err_set(err, ST_NOTFOUND, "%.100s: unknown key%s%s%s", key,
                       near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
                       near == NULL ? "" : "?");
    }
    enum status st = config_store(cfg, cfg, found, str_of(value));
    if (st == ST_INVAL) {
        return err_set(err, st, "%s: '%.60s' is not %s", key, value, config_allowed(found).text);
    }
    if (st != ST_OK) {
        return err_set(err, st, "%s: %s", key, status_text(st));
    }
    return st;
}

enum status config_new_engine(struct config *cfg, struct config_engine **ret)
{
    if (cfg->engine_count == CONFIG_ENGINES_MAX) {
        return ST_FULL;
    }
    struct config_engine fresh = {0};
    enum status st = store_defaults(cfg, &fresh, config_engine_table());
    if (st != ST_OK) {
        return st;
    }
    /* Room doubles when the count reaches a power of two. */
    if ((cfg->engine_count & (cfg->engine_count - 1)) == 0) {
        size_t cap = cfg->engine_count == 0 ? 1 : cfg->engine_count * 2;
        struct config_engine *engines = arena_calloc(&cfg->arena, cap, sizeof(engines[0]));
        if (engines == NULL) {
            return ST_NOMEM;
        }
        if (cfg->engine_count > 0) {
            memcpy(engines, cfg->engines, cfg->engine_count * sizeof(engines[0]));
        }
        cfg->engines = engines;
    }
    cfg->engines[cfg->engine_count] = fresh;
    *ret = &cfg->engines[cfg->engine_count++];
    return ST_OK;
}

enum status config_add_engine(struct config *cfg, const char *url, struct err *err)
{
    enum status st = config_check_url(str_of(url), err);
    if (st != ST_OK) {
        return st;
    }
    struct config_engine *engine = NULL;
    st = config_new_engine(cfg, &engine);
    if (st == ST_FULL) {
        return err_set(err, st, "more than %d engines", CONFIG_ENGINES_MAX);
    }
    if (st == ST_OK) {
        st = config_store(cfg, engine, config_find(config_engine_table(), STR("url")), str_of(url));
        if (st != ST_OK) {
            cfg->engine_count--;
        }
    }
    if (st != ST_OK) {
        return err_set(err, st, "engine %.200s: %s", url, status_text(st));
    }
    return ST_OK;
}
