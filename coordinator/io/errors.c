/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/errors.h"

#include <stdio.h>

/* Bytes after escaping, at most. */
enum { CODE_BYTES = 96, REQUEST_BYTES = 260, TAIL_BYTES = 600 };

/* Writes into out[cap] and never beyond; the last byte stays free for a NUL. */
struct writer {
    char *out;
    size_t cap;
    size_t len;
};

static void put(struct writer *w, struct str s)
{
    size_t room = w->cap - 1 - w->len;
    size_t len = s.len < room ? s.len : room;
    if (len > 0) {
        memcpy(w->out + w->len, s.p, len);
    }
    w->len += len;
    w->out[w->len] = '\0';
}

/* Bytes of the character at s, well-formed; 0 when it is none. */
static size_t char_len(struct str s)
{
    for (size_t len = 1; len <= 4 && len <= s.len; len++) {
        if (str_is_utf8((struct str){s.p, len}, NULL)) {
            return len;
        }
    }
    return 0;
}

/* The character at s as the inside of a JSON string, into text; *ret_len what it takes of s. */
static struct str json_char(struct str s, char text[8], size_t *ret_len)
{
    unsigned char c = (unsigned char)s.p[0];
    *ret_len = 1;
    if (c < 0x20) {
        int len = snprintf(text, 8, "\\u%04x", c);
        return (struct str){text, len > 0 ? (size_t)len : 0};
    }
    if (c == '"' || c == '\\') {
        text[0] = '\\';
        text[1] = (char)c;
        return (struct str){text, 2};
    }
    size_t len = char_len(s);
    if (len == 0) {
        return STR("\xEF\xBF\xBD"); /* U+FFFD for a byte that is no UTF-8 */
    }
    *ret_len = len;
    return (struct str){s.p, len};
}

/* s escaped, cut before the first character that does not leave keep bytes free. */
static void put_json(struct writer *w, struct str s, size_t keep)
{
    while (s.len > 0) {
        char text[8];
        size_t used = 0;
        struct str escaped = json_char(s, text, &used);
        if (w->cap - 1 - w->len < keep + escaped.len) {
            return;
        }
        put(w, escaped);
        s.p += used;
        s.len -= used;
    }
}

static const char *openai_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 429:
        return "rate_limit_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

static const char *anthropic_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    case 503:
    case 529:
        return "overloaded_error";
    case 504:
        return "timeout_error";
    default:
        return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

static bool is_anthropic(enum coord_route route)
{
    return route == COORD_ROUTE_MESSAGES || route == COORD_ROUTE_COUNT_TOKENS;
}

/* ,"name":"s" with s cut to max_bytes after escaping. */
static void put_member(struct writer *w, struct str name, struct str s, size_t max_bytes)
{
    put(w, STR(",\""));
    put(w, name);
    put(w, STR("\":\""));
    size_t room = w->cap - 1 - w->len;
    put_json(w, s, room > max_bytes ? room - max_bytes : 0);
    put(w, STR("\""));
}

/* What follows the message in OpenAI's error object, the object's end included. */
static void put_openai_rest(struct writer *w, const struct error_info *info)
{
    put_member(w, STR("type"), str_of(openai_type(info->status)), CODE_BYTES);
    put(w, STR(",\"param\":null"));
    put_member(w, STR("code"), str_of(info->code), CODE_BYTES);
    put(w, STR("}"));
}

static void
put_head(struct writer *w, enum coord_route route, bool is_event, const struct error_info *info)
{
    bool is_response_event = is_event && route == COORD_ROUTE_RESPONSES;
    if (is_response_event || (is_event && is_anthropic(route))) {
        put(w, STR("event: error\n"));
    }
    put(w, is_event ? STR("data: {") : STR("{"));
    if (is_anthropic(route)) {
        put(w, STR("\"type\":\"error\",\"error\":{\"type\":\""));
        put(w, str_of(anthropic_type(info->status)));
        put(w, STR("\",\"message\":\""));
    } else {
        put(w, is_response_event ? STR("\"type\":\"error\",\"sequence_number\":0,") : STR(""));
        put(w, STR("\"error\":{\"message\":\""));
    }
}

static void put_tail(struct writer *w, bool is_event, const struct error_info *info)
{
    if (info->request.len > 0) {
        put_member(w, STR("request_id"), info->request, REQUEST_BYTES);
    }
    put(w, is_event ? STR("}\n\n") : STR("}"));
}

/* In an event of responses the API's own fields are the flat ones, but SDKs raise only when they
 * find `error`: so both are there, and the message twice. */
static size_t
write_error(enum coord_route route, bool is_event, const struct error_info *info, struct writer *w)
{
    char rest_text[TAIL_BYTES] = "";
    char tail_text[TAIL_BYTES] = "";
    struct writer rest = {.out = rest_text, .cap = sizeof(rest_text)};
    struct writer tail = {.out = tail_text, .cap = sizeof(tail_text)};
    bool is_twice = is_event && route == COORD_ROUTE_RESPONSES;
    put(&rest, STR("\""));
    if (is_anthropic(route)) {
        put(&rest, STR("}"));
    } else {
        put_openai_rest(&rest, info);
    }
    if (is_twice) {
        put(&rest, STR(",\"param\":null"));
        put_member(&rest, STR("code"), str_of(info->code), CODE_BYTES);
        put(&rest, STR(",\"message\":\""));
        put(&tail, STR("\""));
    }
    put_tail(&tail, is_event, info);
    put_head(w, route, is_event, info);
    size_t after = rest.len + tail.len;
    if (w->cap - 1 - w->len < after) {
        w->len = 0; /* no room for a whole error */
        w->out[0] = '\0';
        return 0;
    }
    size_t room = w->cap - 1 - w->len - after;
    put_json(w, info->message, is_twice ? after + room / 2 : after);
    put(w, (struct str){rest.out, rest.len});
    if (is_twice) {
        put_json(w, info->message, tail.len);
    }
    put(w, (struct str){tail.out, tail.len});
    return w->len;
}

size_t
error_write_body(enum coord_route route, const struct error_info *info, char *out, size_t cap)
{
    ASSERT(cap >= 1);
    struct writer w = {.out = out, .cap = cap};
    out[0] = '\0';
    return write_error(route, false, info, &w);
}

size_t
error_write_event(enum coord_route route, const struct error_info *info, char *out, size_t cap)
{
    ASSERT(cap >= 1);
    struct writer w = {.out = out, .cap = cap};
    out[0] = '\0';
    return write_error(route, true, info, &w);
}
