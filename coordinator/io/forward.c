/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/forward.h"

#include "coordinator/core/identity.h"

struct name_list {
    const char *const *names;
    size_t count;
};

static bool is_listed(struct str name, const struct name_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_ieq(name, str_of(list->names[i]))) {
            return true;
        }
    }
    return false;
}

/* Credentials of the client, and fields that this hop sets itself. */
static bool is_kept_from_engine(struct str name)
{
    static const char *const names[] = {
        "host",   "content-length", "authorization",   "x-api-key",    "api-key",
        "cookie", "expect",         "accept-encoding", "x-request-id", "content-encoding"};
    static const struct name_list list = {names, sizeof(names) / sizeof(names[0])};
    return is_listed(name, &list) || str_istarts(name, STR("x-saga-")) ||
           coord_identity_keeps_out(name);
}

static bool is_kept_from_client(struct str name, bool is_sse)
{
    static const char *const names[] = {"content-length", "x-request-id"};
    static const char *const sse_names[] = {"x-accel-buffering", "cache-control"};
    static const struct name_list list = {names, sizeof(names) / sizeof(names[0])};
    static const struct name_list sse_list = {sse_names, sizeof(sse_names) / sizeof(sse_names[0])};
    return is_listed(name, &list) || str_istarts(name, STR("x-saga-")) ||
           (is_sse && is_listed(name, &sse_list));
}

static enum status add_line(struct buf *out, struct str name, struct str value)
{
    enum status st = buf_reserve(out, name.len + value.len + 4);
    if (st != ST_OK) {
        return st;
    }
    memcpy(out->p + out->len, name.p, name.len);
    out->len += name.len;
    memcpy(out->p + out->len, ": ", 2);
    out->len += 2;
    if (value.len > 0) {
        memcpy(out->p + out->len, value.p, value.len);
        out->len += value.len;
    }
    memcpy(out->p + out->len, "\r\n", 2);
    out->len += 2;
    return ST_OK;
}

static enum status
add_engine_fields(const struct fleet_engine *engine, const struct forward_own *own, struct buf *out)
{
    enum status st = add_line(out, STR("host"), http_endpoint_host(engine->ep));
    if (st == ST_OK && engine->key[0] != '\0') {
        st = buf_add_fmt(out, "authorization: Bearer %s\r\n", engine->key);
    }
    if (st == ST_OK && own->session[0] != '\0') {
        st = add_line(out, STR("x-session-id"), str_of(own->session));
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out, "x-request-id: %s\r\ncontent-length: %llu\r\n\r\n", own->request,
                         (unsigned long long)own->content_length);
    }
    return st;
}

static bool is_credential(struct str param)
{
    static const char *const names[] = {"key",    "api_key", "api-key",
                                        "apikey", "token",   "access_token"};
    static const struct name_list list = {names, sizeof(names) / sizeof(names[0])};
    const char *equals = param.len == 0 ? NULL : memchr(param.p, '=', param.len);
    struct str name = {param.p, equals == NULL ? param.len : (size_t)(equals - param.p)};
    return is_listed(name, &list);
}

/* The target with the client's credentials taken out of its query. */
static enum status add_target(struct buf *out, struct str target)
{
    const char *query = memchr(target.p, '?', target.len);
    if (query == NULL) {
        return buf_add_str(out, target);
    }
    enum status st = buf_add(out, target.p, (size_t)(query - target.p));
    struct str rest = {query + 1, target.len - (size_t)(query + 1 - target.p)};
    struct str param;
    char separator = '?';
    while (st == ST_OK && str_split(&rest, '&', &param)) {
        if (is_credential(param)) {
            continue;
        }
        st = buf_add(out, &separator, 1);
        if (st == ST_OK) {
            st = buf_add_str(out, param);
        }
        separator = '&';
    }
    return st;
}

enum status forward_request(const struct http_head *head,
                            const struct fleet_engine *engine,
                            const struct forward_own *own,
                            struct buf *out)
{
    struct str prefix = http_endpoint_prefix(engine->ep);
    struct str target = http_head_target(head);
    out->len = 0;
    enum status st = buf_reserve(out, head->text.len + (size_t)head->count * 4 + 512);
    if (st == ST_OK) {
        st = buf_add_str(out, STR("POST "));
    }
    if (st == ST_OK) {
        st = buf_add_str(out, prefix);
    }
    if (st == ST_OK) {
        st = add_target(out, target);
    }
    if (st == ST_OK) {
        st = buf_add_str(out, STR(" HTTP/1.1\r\n"));
    }
    for (uint32_t i = 0; i < head->count && st == ST_OK; i++) {
        struct str name = http_head_name(head, i);
        if (!is_kept_from_engine(name) && !http_head_is_hop_by_hop(head, i)) {
            st = add_line(out, name, http_head_value(head, i));
        }
    }
    return st == ST_OK ? add_engine_fields(engine, own, out) : st;
}

enum status forward_marks(const struct forward_marks *marks, struct buf *out)
{
    enum status st = add_line(out, STR("x-request-id"), str_of(marks->request));
    if (st == ST_OK && marks->engine != NULL) {
        st = add_line(out, STR("x-saga-engine"), str_of(marks->engine));
    }
    if (st == ST_OK && marks->session != NULL && marks->session[0] != '\0') {
        st = add_line(out, STR("x-saga-session"), str_of(marks->session));
    }
    if (st == ST_OK && marks->receipt != NULL) {
        st = add_line(out, STR("x-saga-receipt"), str_of(marks->receipt));
    }
    if (st == ST_OK && marks->is_sse) {
        st = buf_add_str(out, STR("cache-control: no-cache\r\nx-accel-buffering: no\r\n"));
    }
    return st;
}

enum status
forward_response(const struct http_head *head, const struct forward_marks *marks, struct buf *out)
{
    enum status st = buf_reserve(out, head->text.len + (size_t)head->count * 4 + 256);
    for (uint32_t i = 0; i < head->count && st == ST_OK; i++) {
        struct str name = http_head_name(head, i);
        if (!is_kept_from_client(name, marks->is_sse) && !http_head_is_hop_by_hop(head, i)) {
            st = add_line(out, name, http_head_value(head, i));
        }
    }
    return st == ST_OK ? forward_marks(marks, out) : st;
}
