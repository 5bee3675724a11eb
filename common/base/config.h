/* SPDX-License-Identifier: Apache-2.0 */
/* The checked configuration as plain data. The YAML reader that fills it is common/rt/config_read.
 * PURE. OWNERSHIP: strings and lists belong to the struct (arena inside). */
#ifndef COMMON_BASE_CONFIG_H
#define COMMON_BASE_CONFIG_H

#include "common/base/arena.h"
#include "common/base/str.h"

struct config_list {
    const char **items; /* [count] NUL-terminated */
    size_t count;
};

enum { CONFIG_ENGINES_MAX = 1024 };

#define BOOL(key, field, def, reload, text)                     bool field;
#define U64(key, field, def, min, max, unit, reload, text)      uint64_t field;
#define F64(key, field, def, min, max, unit, reload, text)      double field;
#define TEXT(key, field, def, max_len, reload, text)            const char *field;
#define ENUM(key, field, def, allowed, reload, text)            int field;
#define LIST(key, field, def, max_count, max_len, reload, text) struct config_list field;

struct config_engine {
#include "common/base/config_engine.def"
};

struct config {
#include "common/base/config.def"
    struct config_engine *engines; /* [engine_count] */
    size_t engine_count;
    struct arena arena; /* owns every string */
};

#undef BOOL
#undef U64
#undef F64
#undef TEXT
#undef ENUM
#undef LIST

enum config_log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum config_stream_keepalive {
    STREAM_KEEPALIVE_OFF,
    STREAM_KEEPALIVE_AFTER_STATUS,
    STREAM_KEEPALIVE_EARLY
};
enum config_on_invalid { ON_INVALID_REJECT, ON_INVALID_IGNORE };
enum config_billing_block { BILLING_BLOCK_AUTO, BILLING_BLOCK_ON, BILLING_BLOCK_OFF };

#endif
