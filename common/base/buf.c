/* SPDX-License-Identifier: Apache-2.0 */
/* The growing half of str.h. */
#include "common/base/str.h"

#include <stdarg.h>
#include <stdio.h>

enum { BUF_MIN_CAP = 64 };

void buf_init(struct buf *buf, const struct mem *mem, size_t max_bytes)
{
    *buf = (struct buf){.mem = mem, .max_bytes = max_bytes};
}

void buf_fini(struct buf *buf)
{
    if (buf == NULL) {
        return;
    }
    if (buf->p != NULL) {
        mem_free(buf->mem, buf->p, buf->cap);
    }
    buf->p = NULL;
    buf->len = 0;
    buf->cap = 0;
}

enum status buf_reserve(struct buf *buf, size_t extra)
{
    if (buf->cap - buf->len >= extra) {
        return ST_OK;
    }
    if (buf->len > buf->max_bytes || extra > buf->max_bytes - buf->len) {
        return ST_FULL;
    }
    size_t need = buf->len + extra;
    size_t cap = buf->cap < BUF_MIN_CAP ? BUF_MIN_CAP : buf->cap;
    while (cap < need) {
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    }
    if (cap > buf->max_bytes) {
        cap = buf->max_bytes;
    }
    char *p = mem_resize(buf->mem, buf->p, buf->cap, cap);
    if (p == NULL) {
        return ST_NOMEM;
    }
    buf->p = p;
    buf->cap = cap;
    return ST_OK;
}

enum status buf_add(struct buf *buf, const void *data, size_t len)
{
    if (len == 0) {
        return ST_OK;
    }
    enum status st = buf_reserve(buf, len);
    if (st != ST_OK) {
        return st;
    }
    memcpy(buf->p + buf->len, data, len);
    buf->len += len;
    return ST_OK;
}

enum status buf_add_str(struct buf *buf, struct str s)
{
    return buf_add(buf, s.p, s.len);
}

enum status buf_add_fmt(struct buf *buf, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    enum status st = ST_INVAL;
    if (len >= 0 && (size_t)len < sizeof(text)) {
        st = buf_add(buf, text, (size_t)len);
    } else if (len >= 0) {
        /* vsnprintf wants room for a NUL, which the limit must not count. */
        char *big = mem_alloc(buf->mem, (size_t)len + 1);
        st = ST_NOMEM;
        if (big != NULL) {
            len = vsnprintf(big, (size_t)len + 1, fmt, again);
            st = len < 0 ? ST_INVAL : buf_add(buf, big, (size_t)len);
            mem_free(buf->mem, big, (size_t)len + 1);
        }
    }
    va_end(again);
    return st;
}

/* Escape of one byte inside a JSON string into out; 0 when it stands for itself. */
static size_t json_escape(unsigned char c, char out[static 6])
{
    static const char hex[] = "0123456789abcdef";
    if (c >= 0x20 && c != '"' && c != '\\') {
        return 0;
    }
    out[0] = '\\';
    switch (c) {
    case '"':
    case '\\':
        out[1] = (char)c;
        return 2;
    case '\n':
        out[1] = 'n';
        return 2;
    case '\r':
        out[1] = 'r';
        return 2;
    case '\t':
        out[1] = 't';
        return 2;
    default:
        memcpy(out + 1, "u00", 3);
        out[4] = hex[c >> 4];
        out[5] = hex[c & 15];
        return 6;
    }
}

enum status buf_add_json(struct buf *buf, struct str s)
{
    size_t old_len = buf->len;
    size_t plain_from = 0;
    enum status st = ST_OK;
    for (size_t i = 0; i < s.len && st == ST_OK; i++) {
        char esc[6];
        size_t esc_len = json_escape((unsigned char)s.p[i], esc);
        if (esc_len == 0) {
            continue;
        }
        st = buf_add(buf, s.p + plain_from, i - plain_from);
        plain_from = i + 1;
        if (st == ST_OK) {
            st = buf_add(buf, esc, esc_len);
        }
    }
    if (st == ST_OK && plain_from < s.len) {
        st = buf_add(buf, s.p + plain_from, s.len - plain_from);
    }
    if (st != ST_OK) {
        buf->len = old_len;
    }
    return st;
}

void buf_drop(struct buf *buf, size_t n)
{
    ASSERT(n <= buf->len);
    if (n == 0) {
        return;
    }
    buf->len -= n;
    if (buf->len > 0) {
        memmove(buf->p, buf->p + n, buf->len);
    }
}

struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->p, buf->len};
}
