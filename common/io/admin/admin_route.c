/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/admin/admin_route.h"

#include "common/rt/secret.h"

static bool is_path(const struct admin_route *route, struct str path, struct str *ret_tail)
{
    struct str own = str_of(route->path);
    *ret_tail = (struct str){path.p + path.len, 0};
    if (own.len > 1 && own.p[own.len - 1] == '/') {
        if (!str_starts(path, own) || path.len == own.len) {
            return false;
        }
        *ret_tail = (struct str){path.p + own.len, path.len - own.len};
        return true;
    }
    return str_eq(path, own);
}

/* HEAD is a GET whose body is not sent. */
static bool is_method(const struct admin_route *route, struct str method)
{
    return str_eq(method, str_of(route->method)) ||
           (str_eq(method, STR("HEAD")) && strcmp(route->method, "GET") == 0);
}

static bool has_key(const struct admin_rules *rules, struct str authorization)
{
    static const struct str scheme = {"Bearer ", 7};
    if (!str_istarts(authorization, scheme)) {
        return false;
    }
    struct str key = {authorization.p + scheme.len, authorization.len - scheme.len};
    return secret_equal(str_trim(key), rules->key);
}

/* "127.0.0.1:8081", "[::1]:8081", "localhost": a name that no foreign DNS server can point here. */
static bool is_local_host(struct str host)
{
    struct str name = host;
    if (host.len > 0 && host.p[0] == '[') {
        return true;
    }
    const char *colon = host.len == 0 ? NULL : memchr(host.p, ':', host.len);
    if (colon != NULL) {
        name.len = (size_t)(colon - host.p);
    }
    bool is_numeric = name.len > 0;
    for (size_t i = 0; i < name.len; i++) {
        is_numeric = is_numeric && ((name.p[i] >= '0' && name.p[i] <= '9') || name.p[i] == '.');
    }
    return is_numeric || str_ieq(name, STR("localhost"));
}

/* Without a key the port trusts whoever reaches loopback; a web page that somebody looks at on this
 * machine must not be among them: neither by a cross-site request nor by a DNS name that changes
 * its address. */
static bool is_from_web_page(const struct admin_ask *ask)
{
    if (ask->host.len > 0 && !is_local_host(ask->host)) {
        return true;
    }
    static const struct str scheme = {"http://", 7};
    return ask->origin.len > 0 &&
           !(str_starts(ask->origin, scheme) &&
             str_eq((struct str){ask->origin.p + scheme.len, ask->origin.len - scheme.len},
                    ask->host));
}

static bool
is_admitted(const struct admin_rules *rules, const struct admin_ask *ask, struct admin_resp *resp)
{
    if (rules->key.len > 0) {
        if (!has_key(rules, ask->authorization)) {
            admin_resp_error(resp, 401, "authentication_error",
                             "the admin key is missing or wrong");
            return false;
        }
    } else if (is_from_web_page(ask)) {
        admin_resp_error(
            resp, 403, "permission_error",
            "without an admin key only this machine's own programs are served, not web pages");
        return false;
    }
    return true;
}

const struct admin_route *admin_route_find(const struct admin_rules *rules,
                                           const struct admin_ask *ask,
                                           struct str *ret_tail,
                                           struct admin_resp *resp)
{
    const struct admin_route *found = NULL;
    bool is_known = false;
    for (size_t i = 0; i < rules->route_count && found == NULL; i++) {
        const struct admin_route *route = &rules->routes[i];
        struct str tail;
        if (is_path(route, ask->path, &tail)) {
            is_known = true;
            if (is_method(route, ask->method)) {
                found = route;
                *ret_tail = tail;
            }
        }
    }
    if (ask->is_framing_doubtful) {
        admin_resp_error(resp, 400, "invalid_request_error",
                         "the length of the body is said twice");
        return NULL;
    }
    /* Without the key nobody learns which paths there are. */
    if (!(found != NULL && found->is_open) && !is_admitted(rules, ask, resp)) {
        return NULL;
    }
    if (found == NULL) {
        if (is_known) {
            admin_resp_error(resp, 405, "invalid_request_error",
                             "this path does not take that method");
        } else {
            admin_resp_error(resp, 404, "not_found_error", "no such path on the admin port");
        }
    }
    return found;
}
