/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON value as text for people: objects as `key  value` lines, lists of objects as tables.
 * THREAD: any.
 * LIMITS: nesting JSON_TABLE_DEPTH_MAX (deeper is shown as JSON), JSON_TABLE_COLUMNS_MAX. */
#ifndef CLI_JSON_TABLE_H
#define CLI_JSON_TABLE_H

#include "common/base/str.h"

#include <yyjson.h>

enum { JSON_TABLE_DEPTH_MAX = 6, JSON_TABLE_COLUMNS_MAX = 24 };

/* Appends the value. Control bytes of strings are shown as '?'. ST_OK, ST_FULL, ST_NOMEM. */
MUST_CHECK enum status json_table(struct buf *out, yyjson_val *val);

#endif
