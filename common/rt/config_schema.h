/* SPDX-License-Identifier: Apache-2.0 */
/* config.def and config_engine.def as data; only config_*.c includes this.
 * THREAD: any (constant). */
#ifndef COMMON_RT_CONFIG_SCHEMA_H
#define COMMON_RT_CONFIG_SCHEMA_H

#include "common/rt/config_read.h"

enum config_kind {
    CONFIG_KIND_BOOL,
    CONFIG_KIND_U64,
    CONFIG_KIND_F64,
    CONFIG_KIND_TEXT,
    CONFIG_KIND_ENUM,
    CONFIG_KIND_LIST,
};

struct config_key {
    const char *key; /* YAML path, levels joined by dots */
    enum config_kind kind;
    bool is_reloadable;
    size_t offset;   /* of the field in its struct */
    const char *def; /* default as text */
    uint64_t min;    /* U64 */
    uint64_t max;
    double min_f64; /* F64 */
    double max_f64;
    size_t max_count;    /* LIST */
    size_t max_len;      /* TEXT; one item of LIST */
    const char *allowed; /* ENUM: texts separated by '|'; else NULL */
    const char *unit;    /* U64, F64; else NULL */
    const char *text;
};

struct config_table {
    const struct config_key *keys; /* [count] */
    size_t count;
};

const struct config_table *config_main_table(void);
const struct config_table *config_engine_table(void);

/* Key with this whole path, or NULL. */
const struct config_key *config_find(const struct config_table *table, struct str path);

/* Index of the first key below this section ("tls" for "tls.cert_file"); table->count when it is
 * none. */
size_t config_find_section(const struct config_table *table, struct str path);

/* Key nearest to a misspelt path; NULL when nothing is near. */
const char *config_nearest(const struct config_table *table, struct str path);

/* What a value must look like: "a number from 1 to 64", "one of off, early". */
struct config_phrase {
    char text[200];
};
struct config_phrase config_allowed(const struct config_key *key);

/* Reads value into the field of obj. ST_INVAL without a word: the caller adds config_allowed. */
MUST_CHECK enum status
config_store(struct config *cfg, void *obj, const struct config_key *key, struct str value);

/* Stores a whole list. ST_INVAL: too many, or an item too long, empty or with a NUL byte. */
MUST_CHECK enum status config_store_list(struct config *cfg,
                                         void *obj,
                                         const struct config_key *key,
                                         const struct str *items,
                                         size_t count);

/* A new engine at the end, all keys at their defaults. ST_OK, ST_FULL, ST_NOMEM. */
MUST_CHECK enum status config_new_engine(struct config *cfg, struct config_engine **ret);

/* Adds one complaint. */
void config_complain(struct config_errors *errors, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
