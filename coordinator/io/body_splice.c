/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/body_splice.h"

static size_t skip_space(struct str s, size_t at)
{
    while (at < s.len &&
           (s.p[at] == ' ' || s.p[at] == '\t' || s.p[at] == '\n' || s.p[at] == '\r')) {
        at++;
    }
    return at;
}

/* at is the opening quote; offset after the closing one, or s.len. */
static size_t skip_string(struct str s, size_t at)
{
    size_t from = at + 1;
    while (from < s.len) {
        const char *quote = memchr(s.p + from, '"', s.len - from);
        if (quote == NULL) {
            return s.len;
        }
        size_t end = (size_t)(quote - s.p);
        size_t slashes = 0;
        while (end - slashes > at + 1 && s.p[end - slashes - 1] == '\\') {
            slashes++;
        }
        if (slashes % 2 == 0) {
            return end + 1;
        }
        from = end + 1;
    }
    return s.len;
}

/* at is the first byte of a value; offset after it, or s.len. */
static size_t skip_value(struct str s, size_t at)
{
    size_t depth = 0;
    while (at < s.len) {
        switch (s.p[at]) {
        case '"':
            at = skip_string(s, at);
            break;
        case '[':
        case '{':
            depth++;
            at++;
            break;
        case ']':
        case '}':
            if (depth == 0) {
                return at; /* the end of a number or word before a closing bracket */
            }
            depth--;
            at++;
            break;
        case ',':
        case ' ':
        case '\t':
        case '\n':
        case '\r':
            if (depth == 0) {
                return at;
            }
            at++;
            break;
        default: /* a byte of a number or word, or a colon inside */
            at++;
            continue;
        }
        if (depth == 0) {
            return at;
        }
    }
    return s.len;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes one character of a key's text at *at and moves on; 0 for anything that no ASCII name
 * holds. */
static char key_char(struct str key, size_t *at)
{
    char c = key.p[(*at)++];
    if (c != '\\') {
        return c;
    }
    if (key.len - *at < 5 || key.p[*at] != 'u') {
        return 0; /* \n, \", \/ and the like */
    }
    int value = 0;
    for (size_t i = 1; i <= 4; i++) {
        int digit = hex_digit(key.p[*at + i]);
        if (digit < 0) {
            return 0;
        }
        value = value * 16 + digit;
    }
    *at += 5;
    if (value >= 128) {
        return 0;
    }
    return (char)value;
}

static bool key_is(struct str key, struct str name)
{
    size_t at = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (at >= key.len || key_char(key, &at) != name.p[i]) {
            return false;
        }
    }
    return at == key.len;
}

bool splice_find_open(struct str object, size_t *ret_at)
{
    size_t at = skip_space(object, 0);
    if (at >= object.len || object.p[at] != '{') {
        return false;
    }
    *ret_at = at;
    return true;
}

bool splice_find_member(struct str object, struct str name, size_t *ret_at, size_t *ret_len)
{
    size_t at = 0;
    if (!splice_find_open(object, &at)) {
        return false;
    }
    at = skip_space(object, at + 1);
    while (at < object.len && object.p[at] == '"') {
        size_t key_end = skip_string(object, at);
        if (key_end < at + 2) {
            return false;
        }
        struct str key = {object.p + at + 1, key_end - at - 2};
        at = skip_space(object, key_end);
        if (at >= object.len || object.p[at] != ':') {
            return false;
        }
        at = skip_space(object, at + 1);
        size_t end = skip_value(object, at);
        if (key_is(key, name)) {
            *ret_at = at;
            *ret_len = end - at;
            return end > at;
        }
        at = skip_space(object, end);
        if (at >= object.len || object.p[at] != ',') {
            return false;
        }
        at = skip_space(object, at + 1);
    }
    return false;
}

bool splice_find_first_item(struct str array, size_t *ret_at, size_t *ret_len)
{
    size_t at = skip_space(array, 0);
    if (at >= array.len || array.p[at] != '[') {
        return false;
    }
    at = skip_space(array, at + 1);
    size_t end = skip_value(array, at);
    size_t next = skip_space(array, end);
    if (end == at || next >= array.len) {
        return false;
    }
    *ret_at = at;
    *ret_len = (array.p[next] == ',' ? skip_space(array, next + 1) : end) - at;
    return true;
}
