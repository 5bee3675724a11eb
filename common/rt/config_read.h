/* SPDX-License-Identifier: Apache-2.0 */
/* Fills struct config from defaults, a YAML file and flags, strictly: whatever is unknown, doubled,
 * of the wrong type or out of range is refused with file:line, key and what is allowed.
 * In this order: config_defaults, config_read_file, config_set or config_add_engine per flag,
 * config_check.
 *
 * THREAD: one owner.
 * LIMITS: CONFIG_FILE_BYTES, CONFIG_DEPTH_MAX; no anchors, aliases or tags. */
#ifndef COMMON_RT_CONFIG_READ_H
#define COMMON_RT_CONFIG_READ_H

#include "common/base/config.h"
#include "common/base/err.h"

enum {
    CONFIG_FILE_BYTES = 1 << 20,
    CONFIG_DEPTH_MAX = 16,
    CONFIG_ERRORS_MAX = 20,
    CONFIG_ERROR_BYTES = 400,
};

/* The first CONFIG_ERRORS_MAX complaints, each one line without a newline. Zero it before the first
 * use. */
struct config_errors {
    size_t count;       /* texts kept */
    size_t total_count; /* complaints, those not kept included */
    char text[CONFIG_ERRORS_MAX][CONFIG_ERROR_BYTES];
};

/* Every key at its default, no engines. mem is borrowed for the config's life. ST_OK, ST_NOMEM. */
MUST_CHECK enum status config_defaults(struct config *cfg, const struct mem *mem);

/* Frees what config_defaults and later calls took. NULL is fine. */
void config_fini(struct config *cfg);

/* Reads a file over cfg. Keys that are not in it keep their value; `engines` are added. ST_OK;
 * ST_NOTFOUND (no such file), ST_IO, ST_INVAL (complaints in errors; cfg is then half changed: drop
 * it), ST_NOMEM. */
MUST_CHECK enum status
config_read_file(struct config *cfg, const char *path, struct config_errors *errors);

/* The same from memory; name stands for the file in complaints. */
MUST_CHECK enum status config_read_text(struct config *cfg,
                                        const char *name,
                                        struct str text,
                                        struct config_errors *errors);

/* Sets one key of config.def from text, as a flag does. Lists: separated by commas. ST_OK;
 * ST_NOTFOUND (no such key), ST_INVAL (err says what is allowed), ST_NOMEM; on failure cfg is
 * unchanged. */
MUST_CHECK enum status
config_set(struct config *cfg, const char *key, const char *value, struct err *err);

/* Appends an engine with defaults for all but its URL. ST_OK, ST_INVAL, ST_FULL
 * (CONFIG_ENGINES_MAX), ST_NOMEM. */
MUST_CHECK enum status config_add_engine(struct config *cfg, const char *url, struct err *err);

/* What one key cannot say alone: addresses, URL schemes, names (filled in where empty), files that
 * must be there, keys that need each other. ST_OK, ST_INVAL (complaints in errors), ST_NOMEM. */
MUST_CHECK enum status config_check(struct config *cfg, struct config_errors *errors);

/* An engine URL: http:// or https:// with a host, a port or the scheme's own, and a path prefix not
 * ending in /v1; or unix:PATH. ST_OK, ST_INVAL. */
MUST_CHECK enum status config_check_url(struct str url, struct err *err);

/* An engine name: 1..63 of A-Z a-z 0-9 . _ -, ST_INVAL otherwise. */
MUST_CHECK enum status config_check_name(struct str name, struct err *err);

/* Calls report for each key that differs and needs a restart; returns how many. */
typedef void (*config_report_fn)(void *ctx, const char *key);
size_t config_diff_not_reloadable(const struct config *old_cfg,
                                  const struct config *new_cfg,
                                  config_report_fn report,
                                  void *ctx);

/* Warns in the log about each SAGA_* variable of the environment: none of them changes anything
 * (SAGA_TRACES belongs to the benchmark). Returns how many. */
size_t config_env_check(void);

/* Appends a complete example file with every key at its default. ST_OK, ST_FULL, ST_NOMEM. */
MUST_CHECK enum status config_example(struct buf *out);

/* Appends docs/config.md. Same statuses. */
MUST_CHECK enum status config_docs(struct buf *out);

#endif
