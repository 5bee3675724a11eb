/* SPDX-License-Identifier: Apache-2.0 */
/* Borrowed byte strings with a length, and a growing byte buffer with a cap.
 * PURE. THREAD: any / one owner. */
#ifndef COMMON_BASE_STR_H
#define COMMON_BASE_STR_H

#include "common/base/mem.h"

#include <string.h>

struct str {
    const char *p; /* may be NULL when len is 0; not NUL-terminated */
    size_t len;    /* bytes */
};

#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})

static inline struct str str_of(const char *cstr)
{
    return (struct str){cstr, cstr == NULL ? 0 : strlen(cstr)};
}

bool str_eq(struct str a, struct str b);
/* ASCII case folding only, as HTTP header names need it. */
bool str_ieq(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_istarts(struct str s, struct str prefix);
/* Without leading and trailing SP and HTAB. */
struct str str_trim(struct str s);
/* Cuts the next part before sep off *rest (no blanks trimmed); false when *rest is exhausted. */
bool str_split(struct str *rest, char sep, struct str *ret_part);
/* Decimal digits only, no sign, no space; ST_INVAL on anything else or overflow. */
MUST_CHECK enum status str_to_u64(struct str s, uint64_t *ret);
/* strtod grammar without hex, inf, nan; whole string; ST_INVAL otherwise. */
MUST_CHECK enum status str_to_f64(struct str s, double *ret);
/* Copies as much as fits and always terminates; returns bytes copied without the NUL. cap >= 1. */
size_t str_copy(char *dst, size_t cap, struct str s);
/* Well-formed UTF-8 (no surrogates, no overlong forms)? On false *ret_bad_at (may be NULL) is the
 * offset. */
bool str_is_utf8(struct str s, size_t *ret_bad_at);

struct buf {
    const struct mem *mem;
    char *p; /* NULL until the first append; not NUL-terminated */
    size_t len;
    size_t cap;
    size_t max_bytes; /* appends beyond it fail with ST_FULL */
};

void buf_init(struct buf *buf, const struct mem *mem, size_t max_bytes);
void buf_fini(struct buf *buf);
/* Makes room for at least extra more bytes. ST_OK, ST_FULL, ST_NOMEM. */
MUST_CHECK enum status buf_reserve(struct buf *buf, size_t extra);
MUST_CHECK enum status buf_add(struct buf *buf, const void *data, size_t len);
MUST_CHECK enum status buf_add_str(struct buf *buf, struct str s);
MUST_CHECK enum status buf_add_fmt(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Appends s as the inside of a JSON string: quotes, backslash and controls escaped, bytes >= 0x80
 * kept. */
MUST_CHECK enum status buf_add_json(struct buf *buf, struct str s);
/* Removes n bytes from the front. n <= len. O(len). */
void buf_drop(struct buf *buf, size_t n);
struct str buf_str(const struct buf *buf);

#endif
