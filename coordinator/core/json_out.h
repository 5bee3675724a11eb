/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects, each with a comma behind it, for answers that are written in rows; the
 * first error of a row is kept. PURE. */
#ifndef COORDINATOR_CORE_JSON_OUT_H
#define COORDINATOR_CORE_JSON_OUT_H

#include "common/base/str.h"

static inline void json_note(enum status *st, enum status got)
{
    if (*st == ST_OK) {
        *st = got;
    }
}

static inline void
json_add_text(enum status *st, struct buf *out, const char *name, struct str text)
{
    json_note(st, buf_add_fmt(out, "\"%s\":\"", name));
    json_note(st, buf_add_json(out, text));
    json_note(st, buf_add_str(out, STR("\",")));
}

static inline void json_add_u64(enum status *st, struct buf *out, const char *name, uint64_t value)
{
    json_note(st, buf_add_fmt(out, "\"%s\":%llu,", name, (unsigned long long)value));
}

static inline void json_add_flag(enum status *st, struct buf *out, const char *name, bool is_true)
{
    json_note(st, buf_add_fmt(out, "\"%s\":%s,", name, is_true ? "true" : "false"));
}

#endif
