/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rt/config_schema.h"

#include <stdarg.h>
#include <stdio.h>

/* The same .def files make two tables; OWNER is the struct that the fields are in. */
#define BOOL(key_, field, def_, reload, text_) \
    {.key = key_,                              \
     .kind = CONFIG_KIND_BOOL,                 \
     .is_reloadable = (reload) != 0,           \
     .offset = offsetof(OWNER, field),         \
     .def = #def_,                             \
     .text = text_},
#define U64(key_, field, def_, min_, max_, unit_, reload, text_) \
    {.key = key_,                                                \
     .kind = CONFIG_KIND_U64,                                    \
     .is_reloadable = (reload) != 0,                             \
     .offset = offsetof(OWNER, field),                           \
     .def = #def_,                                               \
     .min = min_,                                                \
     .max = max_,                                                \
     .unit = unit_,                                              \
     .text = text_},
#define F64(key_, field, def_, min_, max_, unit_, reload, text_) \
    {.key = key_,                                                \
     .kind = CONFIG_KIND_F64,                                    \
     .is_reloadable = (reload) != 0,                             \
     .offset = offsetof(OWNER, field),                           \
     .def = #def_,                                               \
     .min_f64 = min_,                                            \
     .max_f64 = max_,                                            \
     .unit = unit_,                                              \
     .text = text_},
#define TEXT(key_, field, def_, max_len_, reload, text_) \
    {.key = key_,                                        \
     .kind = CONFIG_KIND_TEXT,                           \
     .is_reloadable = (reload) != 0,                     \
     .offset = offsetof(OWNER, field),                   \
     .def = def_,                                        \
     .max_len = max_len_,                                \
     .text = text_},
#define ENUM(key_, field, def_, allowed_, reload, text_) \
    {.key = key_,                                        \
     .kind = CONFIG_KIND_ENUM,                           \
     .is_reloadable = (reload) != 0,                     \
     .offset = offsetof(OWNER, field),                   \
     .def = def_,                                        \
     .allowed = allowed_,                                \
     .text = text_},
#define LIST(key_, field, def_, max_count_, max_len_, reload, text_) \
    {.key = key_,                                                    \
     .kind = CONFIG_KIND_LIST,                                       \
     .is_reloadable = (reload) != 0,                                 \
     .offset = offsetof(OWNER, field),                               \
     .def = def_,                                                    \
     .max_count = max_count_,                                        \
     .max_len = max_len_,                                            \
     .text = text_},

#define OWNER struct config
static const struct config_key main_keys[] = {
#include "common/base/config.def"
};
#undef OWNER

#define OWNER struct config_engine
static const struct config_key engine_keys[] = {
#include "common/base/config_engine.def"
};
#undef OWNER

static const struct config_table main_table = {main_keys, sizeof(main_keys) / sizeof(main_keys[0])};
static const struct config_table engine_table = {engine_keys,
                                                 sizeof(engine_keys) / sizeof(engine_keys[0])};

const struct config_table *config_main_table(void)
{
    return &main_table;
}

const struct config_table *config_engine_table(void)
{
    return &engine_table;
}

const struct config_key *config_find(const struct config_table *table, struct str path)
{
    for (size_t i = 0; i < table->count; i++) {
        if (str_eq(str_of(table->keys[i].key), path)) {
            return &table->keys[i];
        }
    }
    return NULL;
}

size_t config_find_section(const struct config_table *table, struct str path)
{
    for (size_t i = 0; i < table->count; i++) {
        struct str key = str_of(table->keys[i].key);
        if (key.len > path.len && key.p[path.len] == '.' && str_starts(key, path)) {
            return i;
        }
    }
    return table->count;
}

enum { NEAREST_BYTES_MAX = 64 };

/* Edit distance (insert, delete, change one byte), row by row. Both at most
 * NEAREST_BYTES_MAX long. */
static unsigned edit_distance(struct str a, struct str b)
{
    unsigned row[NEAREST_BYTES_MAX + 1];
    for (unsigned j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            unsigned change = diagonal + (a.p[i - 1] == b.p[j - 1] ? 0 : 1);
            unsigned shift = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < shift ? change : shift;
        }
    }
    return row[b.len];
}

const char *config_nearest(const struct config_table *table, struct str path)
{
    const char *best = NULL;
    unsigned best_distance = 4; /* further away is a guess, not a slip */
    if (path.len > NEAREST_BYTES_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < table->count; i++) {
        struct str key = str_of(table->keys[i].key);
        if (key.len <= NEAREST_BYTES_MAX) {
            unsigned distance = edit_distance(path, key);
            if (distance < best_distance && distance < path.len) {
                best_distance = distance;
                best = table->keys[i].key;
            }
        }
    }
    return best;
}

struct config_phrase config_allowed(const struct config_key *key)
{
    struct config_phrase phrase;
    int len = 0;
    switch (key->kind) {
    case CONFIG_KIND_BOOL:
        len = snprintf(phrase.text, sizeof(phrase.text), "true or false");
        break;
    case CONFIG_KIND_U64:
        len = snprintf(phrase.text, sizeof(phrase.text), "a whole number from %llu to %llu (%s)",
                       (unsigned long long)key->min, (unsigned long long)key->max, key->unit);
        break;
    case CONFIG_KIND_F64:
        len = snprintf(phrase.text, sizeof(phrase.text), "a number from %g to %g (%s)",
                       key->min_f64, key->max_f64, key->unit);
        break;
    case CONFIG_KIND_TEXT:
        len = snprintf(phrase.text, sizeof(phrase.text), "text of at most %zu bytes", key->max_len);
        break;
    case CONFIG_KIND_ENUM:
        len = snprintf(phrase.text, sizeof(phrase.text), "one of %s", key->allowed);
        break;
    case CONFIG_KIND_LIST:
        len =
            snprintf(phrase.text, sizeof(phrase.text),
                     "a list of at most %zu texts of 1 to %zu bytes", key->max_count, key->max_len);
        break;
    }
    ASSERT(len > 0);
    return phrase;
}

void config_complain(struct config_errors *errors, const char *fmt, ...)
{
    errors->total_count++;
    if (errors->count == CONFIG_ERRORS_MAX) {
        return;
    }
    char *text = errors->text[errors->count++];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, CONFIG_ERROR_BYTES, fmt, args);
    va_end(args);
    if (len < 0) {
        text[0] = '\0';
    }
    /* What a file holds must not reach a terminal raw. */
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            *c = '?';
        }
    }
}
