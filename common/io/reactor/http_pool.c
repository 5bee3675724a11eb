/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints and their URLs; the life of a client. */
#include "common/io/reactor/http_upstream.h"

#include <stdio.h>
#include <stdlib.h>

enum status http_client_new(struct http_client **ret,
                            struct loop *loop,
                            const struct http_client_limits *limits)
{
    struct http_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return ST_NOMEM;
    }
    client->loop = loop;
    client->limits = *limits;
    list_init(&client->endpoints);
    list_init(&client->links);
    list_init(&client->waiting);
    *ret = client;
    return ST_OK;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL) {
        return;
    }
    while (!list_is_empty(&client->waiting)) {
        http_call_cancel(LIST_OWNER(list_first(&client->waiting), struct http_call, link));
    }
    while (!list_is_empty(&client->links)) {
        struct http_link *link = LIST_OWNER(list_first(&client->links), struct http_link, link);
        if (link->call != NULL) {
            http_call_cancel(link->call);
        } else {
            http_link_close(link);
        }
    }
    while (!list_is_empty(&client->endpoints)) {
        http_endpoint_release(
            LIST_OWNER(list_first(&client->endpoints), struct http_endpoint, link));
    }
    free(client);
}

void http_client_set_limits(struct http_client *client, const struct http_client_limits *limits)
{
    client->limits = *limits;
}

const struct http_client_counters *http_client_counters(const struct http_client *client)
{
    return &client->counters;
}

/* Splits http(s)://AUTHORITY[/prefix]; query, fragment and user info are refused. */
static enum status split_url(struct str url,
                             bool *ret_tls,
                             struct str *ret_authority,
                             struct str *ret_prefix,
                             struct err *err)
{
    if (str_istarts(url, STR("http://"))) {
        *ret_tls = false;
        url = (struct str){url.p + 7, url.len - 7};
    } else if (str_istarts(url, STR("https://"))) {
        *ret_tls = true;
        url = (struct str){url.p + 8, url.len - 8};
    } else {
        return err_set(err, ST_INVAL, "engine URL must start with http://, https:// or unix:");
    }
    for (size_t i = 0; i < url.len; i++) {
        char c = url.p[i];
        if (c == '@' || c == '?' || c == '#' || c <= ' ' || c == '\\' || c == 127) {
            return err_set(err, ST_INVAL,
                           "engine URL must not hold user info, query, fragment or blanks");
        }
    }
    const char *slash = url.len == 0 ? NULL : memchr(url.p, '/', url.len);
    size_t authority_len = slash == NULL ? url.len : (size_t)(slash - url.p);
    *ret_authority = (struct str){url.p, authority_len};
    *ret_prefix = (struct str){url.p + authority_len, url.len - authority_len};
    while (ret_prefix->len > 0 && ret_prefix->p[ret_prefix->len - 1] == '/') {
        ret_prefix->len--;
    }
    if (authority_len == 0 || authority_len >= HTTP_HOST_BYTES - 6 ||
        ret_prefix->len >= HTTP_HOST_BYTES) {
        return err_set(err, ST_INVAL, "engine URL needs a host of 1 to %d bytes",
                       HTTP_HOST_BYTES - 7);
    }
    return ST_OK;
}

/* Host and port of an authority; the scheme's own port when none is given. */
static enum status
set_address(struct http_endpoint *ep, struct str authority, bool is_tls, struct err *err)
{
    ASSERT(authority.p != NULL);
    ASSERT(authority.p != NULL);
    const char *bracket = memchr(authority.p, ']', authority.len);
    size_t host_from = bracket == NULL ? 0 : (size_t)(bracket - authority.p);
    const char *colon = memchr(authority.p + host_from, ':', authority.len - host_from);
    char full[HTTP_HOST_BYTES];
    if (colon == NULL) {
        snprintf(full, sizeof(full), "%.*s:%d", (int)authority.len, authority.p, is_tls ? 443 : 80);
        colon = authority.p + authority.len;
    } else {
        str_copy(full, sizeof(full), authority);
    }
    struct str name = {authority.p, (size_t)(colon - authority.p)};
    if (name.len >= 2 && name.p[0] == '[') {
        name = (struct str){name.p + 1, name.len - 2};
    }
    str_copy(ep->host, sizeof(ep->host), authority);
    str_copy(ep->host_name, sizeof(ep->host_name), name);
    enum status st = net_addr_parse(str_of(full), &ep->addr, err);
    if (st != ST_NOTFOUND) {
        return st;
    }
    uint64_t port = 0;
    const char *last = strrchr(full, ':');
    if (last == NULL || name.len == 0 || str_to_u64(str_of(last + 1), &port) != ST_OK ||
        port == 0 || port > 65535) {
        return err_set(err, ST_INVAL, "engine URL: \"%s\" is no HOST:PORT", full);
    }
    return resolve_open(&ep->name, ep->host_name, (uint16_t)port);
}

enum status http_endpoint_new(struct http_endpoint **ret,
                              struct http_client *client,
                              struct str url,
                              struct tls_ctx *tls,
                              struct err *err)
{
    struct http_endpoint *ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        return err_set(err, ST_NOMEM, "engine endpoint");
    }
    ep->client = client;
    ep->refs = 1;
    list_init(&ep->idle);
    enum status st = ST_OK;
    if (str_starts(url, STR("unix:"))) {
        str_copy(ep->host, sizeof(ep->host), STR("localhost"));
        st = net_addr_parse(url, &ep->addr, err);
    } else {
        bool is_tls = false;
        struct str authority = STR("");
        struct str prefix = STR("");
        st = split_url(url, &is_tls, &authority, &prefix, err);
        if (st == ST_OK) {
            str_copy(ep->prefix, sizeof(ep->prefix), prefix);
            st = set_address(ep, authority, is_tls, err);
        }
        if (st == ST_OK && is_tls && tls == NULL) {
            st = err_set(err, ST_INVAL, "no TLS context for https");
        }
        ep->tls = is_tls ? tls : NULL;
    }
    if (st != ST_OK) {
        resolve_close(ep->name);
        free(ep);
        return st;
    }
    list_push_back(&client->endpoints, &ep->link);
    *ret = ep;
    return ST_OK;
}

void http_endpoint_release(struct http_endpoint *ep)
{
    if (ep == NULL || ep->is_released) {
        return;
    }
    ep->is_released = true;
    list_remove(&ep->link);
    while (!list_is_empty(&ep->idle)) {
        http_link_close(LIST_OWNER(list_first(&ep->idle), struct http_link, idle_link));
    }
    http_endpoint_unref(ep);
}

struct str http_endpoint_host(const struct http_endpoint *ep)
{
    return str_of(ep->host);
}

struct str http_endpoint_prefix(const struct http_endpoint *ep)
{
    return str_of(ep->prefix);
}
