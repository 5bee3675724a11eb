/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/str.h"

#include <math.h>
#include <stdlib.h>

bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

static unsigned char lower_ascii(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 'A' && u <= 'Z' ? (unsigned char)(u | 0x20) : u;
}

bool str_ieq(struct str a, struct str b)
{
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (lower_ascii(a.p[i]) != lower_ascii(b.p[i])) {
            return false;
        }
    }
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq((struct str){s.p, prefix.len}, prefix);
}

bool str_istarts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_ieq((struct str){s.p, prefix.len}, prefix);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct str str_trim(struct str s)
{
    while (s.len > 0 && is_blank(s.p[0])) {
        s.p++;
        s.len--;
    }
    while (s.len > 0 && is_blank(s.p[s.len - 1])) {
        s.len--;
    }
    return s;
}

bool str_split(struct str *rest, char sep, struct str *ret_part)
{
    if (rest->p == NULL) {
        return false;
    }
    const char *hit = rest->len == 0 ? NULL : memchr(rest->p, sep, rest->len);
    if (hit == NULL) {
        *ret_part = *rest;
        *rest = (struct str){NULL, 0};
        return true;
    }
    size_t len = (size_t)(hit - rest->p);
    *ret_part = (struct str){rest->p, len};
    *rest = (struct str){hit + 1, rest->len - len - 1};
    return true;
}

enum status str_to_u64(struct str s, uint64_t *ret)
{
    if (s.len == 0) {
        return ST_INVAL;
    }
    uint64_t v = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return ST_INVAL;
        }
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (v > (UINT64_MAX - digit) / 10) {
            return ST_INVAL;
        }
        v = v * 10 + digit;
    }
    *ret = v;
    return ST_OK;
}

enum status str_to_f64(struct str s, double *ret)
{
    char text[256];
    if (s.len == 0 || s.len >= sizeof(text)) {
        return ST_INVAL;
    }
    for (size_t i = 0; i < s.len; i++) {
        /* Leaves out spaces, hexadecimal, inf and nan; strtod checks the grammar of the rest. */
        if (s.p[i] == '\0' || strchr("0123456789+-.eE", s.p[i]) == NULL) {
            return ST_INVAL;
        }
    }
    memcpy(text, s.p, s.len);
    text[s.len] = '\0';
    char *end = NULL;
    double v = strtod(text, &end);
    if (end != text + s.len || !isfinite(v)) {
        return ST_INVAL;
    }
    *ret = v;
    return ST_OK;
}

size_t str_copy(char *dst, size_t cap, struct str s)
{
    ASSERT(cap >= 1);
    size_t len = s.len < cap ? s.len : cap - 1;
    if (len > 0) {
        memcpy(dst, s.p, len);
    }
    dst[len] = '\0';
    return len;
}

/* Length of the well-formed sequence at p (left >= 1 bytes), 0 when there is none. RFC 3629,
 * section 4. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    unsigned char lead = p[0];
    if (lead < 0x80) {
        return 1;
    }
    size_t len = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || left < len) {
        return 0;
    }
    /* The second byte's range rules out overlong forms, surrogates and values above U+10FFFF. */
    unsigned char min = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char max = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < min || p[1] > max) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return len;
}

bool str_is_utf8(struct str s, size_t *ret_bad_at)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t i = 0;
    while (i < s.len) {
        uint64_t word;
        if (s.len - i >= sizeof(word)) {
            memcpy(&word, p + i, sizeof(word));
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof(word);
                continue;
            }
        }
        size_t len = utf8_sequence(p + i, s.len - i);
        if (len == 0) {
            if (ret_bad_at != NULL) {
                *ret_bad_at = i;
            }
            return false;
        }
        i += len;
    }
    return true;
}
