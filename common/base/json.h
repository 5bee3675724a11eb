/* SPDX-License-Identifier: Apache-2.0 */
/* Small readers over yyjson values that never fail on a wrong type: they say "absent" instead.
 * PURE. THREAD: any (documents are read only).
 * OWNERSHIP: strings are borrowed from the document. */
#ifndef COMMON_BASE_JSON_H
#define COMMON_BASE_JSON_H

#include "common/base/str.h"

#include <yyjson.h>

/* String member of an object; false when obj is no object, the key is absent or no string. */
bool json_get_str(yyjson_val *obj, const char *key, struct str *ret);
/* Unsigned integer member (a real with an integral value counts too); false otherwise or when
 * negative. */
bool json_get_u64(yyjson_val *obj, const char *key, uint64_t *ret);
bool json_get_bool(yyjson_val *obj, const char *key, bool *ret);
/* Borrowed text of a string value; {NULL, 0} for any other type. */
struct str json_str(yyjson_val *val);
/* Appends a value as compact JSON. ST_OK, ST_FULL, ST_NOMEM; ST_INVAL when it cannot be written
 * (NaN and the like). */
MUST_CHECK enum status json_add_val(struct buf *out, yyjson_val *val);

#endif
