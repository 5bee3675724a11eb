/* SPDX-License-Identifier: Apache-2.0 */
/* Checks across keys, comparison of two configurations, and what the environment must not do. */
#define _GNU_SOURCE /* environ */
#include "common/rt/config_schema.h"

#include "common/rt/log.h"

#include <stdio.h>
#include <unistd.h>

static const char name_bytes[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
static const char path_bytes[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-~%+,:@!$&'()*;=/";
static const char ipv6_bytes[] = "0123456789abcdefABCDEF:.%";

static bool consists_of(struct str s, const char *allowed)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\0' || strchr(allowed, s.p[i]) == NULL) {
            return false;
        }
    }
    return true;
}

enum status config_check_name(struct str name, struct err *err)
{
    if (name.len < 1 || name.len > 63 || !consists_of(name, name_bytes)) {
        return err_set(err, ST_INVAL, "a name is 1 to 63 of A-Z a-z 0-9 . _ -");
    }
    return ST_OK;
}

/* Splits HOST:PORT or [IPV6]:PORT; the port is 0..65535. */
static enum status split_host_port(struct str text, struct str *ret_host, uint64_t *ret_port)
{
    size_t colon = text.len;
    while (colon > 0 && text.p[colon - 1] != ':') {
        colon--;
    }
    if (colon < 2) {
        return ST_INVAL; /* no colon, or nothing before it */
    }
    struct str host = {text.p, colon - 1};
    struct str port = {text.p + colon, text.len - colon};
    if (host.p[0] == '[') {
        if (host.len < 4 || host.p[host.len - 1] != ']') {
            return ST_INVAL;
        }
        host = (struct str){host.p + 1, host.len - 2};
        if (!consists_of(host, ipv6_bytes)) {
            return ST_INVAL;
        }
    } else if (!consists_of(host, name_bytes)) {
        return ST_INVAL; /* an IPv6 address without brackets, a path, a user name */
    }
    uint64_t number;
    if (port.len > 5 || str_to_u64(port, &number) != ST_OK || number > 65535) {
        return ST_INVAL;
    }
    *ret_host = host;
    *ret_port = number;
    return ST_OK;
}

enum { UNIX_PATH_BYTES = 107 };

static bool is_unix_path(struct str text, struct str *ret_path)
{
    if (!str_starts(text, STR("unix:"))) {
        return false;
    }
    *ret_path = (struct str){text.p + 5, text.len - 5};
    return true;
}

/* A host without a port: 80 or 443 is meant. */
static bool is_bare_host(struct str text)
{
    if (text.len >= 4 && text.p[0] == '[' && text.p[text.len - 1] == ']') {
        return consists_of((struct str){text.p + 1, text.len - 2}, ipv6_bytes);
    }
    return text.len > 0 && consists_of(text, name_bytes);
}

enum status config_check_url(struct str url, struct err *err)
{
    struct str rest;
    if (is_unix_path(url, &rest)) {
        if (rest.len == 0 || rest.len > UNIX_PATH_BYTES) {
            return err_set(err, ST_INVAL, "unix: needs a path of 1 to %d bytes", UNIX_PATH_BYTES);
        }
        return ST_OK;
    }
    if (url.p == NULL) {
        return err_set(err, ST_INVAL, "is empty");
    }
    size_t scheme = str_starts(url, STR("http://")) ? 7 : str_starts(url, STR("https://")) ? 8 : 0;
    if (scheme == 0) {
        return err_set(err, ST_INVAL, "must start with http://, https:// or unix:");
    }
    rest = (struct str){url.p + scheme, url.len - scheme};
    struct str authority = rest;
    const char *slash = rest.len == 0 ? NULL : memchr(rest.p, '/', rest.len);
    if (slash != NULL) {
        authority.len = (size_t)(slash - rest.p);
    }
    struct str prefix = {rest.p + authority.len, rest.len - authority.len};
    if (!consists_of(prefix, path_bytes)) {
        return err_set(err, ST_INVAL, "has a path that is no plain one (no query, no spaces)");
    }
    if (prefix.len > 0 && prefix.p[prefix.len - 1] == '/') {
        prefix.len--;
    }
    if (prefix.len >= 3 && memcmp(prefix.p + prefix.len - 3, "/v1", 3) == 0) {
        return err_set(err, ST_INVAL, "must not end in /v1: the paths of the API are added to it");
    }
    struct str host;
    uint64_t port = 0;
    enum status st = is_bare_host(authority) ? ST_OK : split_host_port(authority, &host, &port);
    if (st != ST_OK || (port == 0 && !is_bare_host(authority))) {
        return err_set(err, ST_INVAL, "must be http://HOST:PORT with a port from 1 to 65535");
    }
    return ST_OK;
}

static void check_listen(const char *key, const char *text, struct config_errors *errors)
{
    struct str path;
    if (is_unix_path(str_of(text), &path)) {
        if (path.len == 0 || path.len > UNIX_PATH_BYTES) {
            config_complain(errors, "%s: unix: needs a path of 1 to %d bytes", key,
                            UNIX_PATH_BYTES);
        }
        return;
    }
    struct str host;
    uint64_t port;
    if (split_host_port(str_of(text), &host, &port) != ST_OK) {
        config_complain(errors, "%s: '%.60s' must be HOST:PORT, [IPV6]:PORT or unix:PATH", key,
                        text);
    }
}

static bool is_loopback(const char *text)
{
    struct str host;
    uint64_t port;
    if (str_starts(str_of(text), STR("unix:"))) {
        return true;
    }
    if (split_host_port(str_of(text), &host, &port) != ST_OK) {
        return true; /* complained about already */
    }
    return str_starts(host, STR("127.")) || str_eq(host, STR("::1")) ||
           str_ieq(host, STR("localhost"));
}

static void check_readable(const char *key, const char *path, struct config_errors *errors)
{
    if (path[0] == '\0') {
        return;
    }
    FILE *f = fopen(path, "rbe");
    /* A folder can be opened but not read. */
    bool is_good = f != NULL && (fgetc(f) != EOF || !ferror(f));
    if (f != NULL) {
        (void)fclose(f);
    }
    if (!is_good) {
        config_complain(errors, "%s: %s: cannot be read", key, path);
    }
}

static void check_pair(const char *key_a,
                       const char *a,
                       const char *key_b,
                       const char *b,
                       struct config_errors *errors)
{
    if (a[0] != '\0' && b[0] == '\0') {
        config_complain(errors, "%s: is set, so %s must be too", key_a, key_b);
    } else if (a[0] == '\0' && b[0] != '\0') {
        config_complain(errors, "%s: is set, so %s must be too", key_b, key_a);
    }
}

/* Names the unnamed e0, e1, ... by position. */
static enum status name_engines(struct config *cfg)
{
    for (size_t i = 0; i < cfg->engine_count; i++) {
        if (cfg->engines[i].name[0] == '\0') {
            char name[24];
            int len = snprintf(name, sizeof(name), "e%zu", i);
            ASSERT(len > 0);
            cfg->engines[i].name = arena_copy(&cfg->arena, name, (size_t)len);
            if (cfg->engines[i].name == NULL) {
                cfg->engines[i].name = "";
                return ST_NOMEM;
            }
        }
    }
    return ST_OK;
}

static void check_engine(const struct config *cfg, size_t idx, struct config_errors *errors)
{
    const struct config_engine *engine = &cfg->engines[idx];
    struct err err = {.status = ST_OK};
    if (config_check_url(str_of(engine->url), &err) != ST_OK) {
        config_complain(errors, "engines[%zu].url: '%.100s' %s", idx, engine->url, err.text);
    }
    if (config_check_name(str_of(engine->name), &err) != ST_OK) {
        config_complain(errors, "engines[%zu].name: '%s': %s", idx, engine->name, err.text);
    }
    for (size_t i = 0; i < idx; i++) {
        if (strcmp(cfg->engines[i].name, engine->name) == 0) {
            config_complain(errors, "engines[%zu].name: %s is also the name of engines[%zu]", idx,
                            engine->name, i);
            break;
        }
    }
    char key[48];
    int len = snprintf(key, sizeof(key), "engines[%zu].api_key_file", idx);
    ASSERT(len > 0);
    check_readable(key, engine->api_key_file, errors);
}

enum status config_check(struct config *cfg, struct config_errors *errors)
{
    size_t complaints_before = errors->total_count;
    enum status st = name_engines(cfg);
    if (st != ST_OK) {
        return st;
    }
    if (cfg->listen.count == 0) {
        config_complain(errors, "listen: needs at least one address");
    }
    for (size_t i = 0; i < cfg->listen.count; i++) {
        check_listen("listen", cfg->listen.items[i], errors);
    }
    if (cfg->admin_listen[0] != '\0') {
        check_listen("admin.listen", cfg->admin_listen, errors);
        if (!is_loopback(cfg->admin_listen) && cfg->admin_key_file[0] == '\0') {
            config_complain(errors,
                            "admin.listen: %s is not loopback, so admin.key_file must be set",
                            cfg->admin_listen);
        }
    }
    for (size_t i = 0; i < cfg->identity_headers.count; i++) {
        if (!consists_of(str_of(cfg->identity_headers.items[i]), name_bytes)) {
            config_complain(errors, "identity.headers: '%.60s' is no name of a header field",
                            cfg->identity_headers.items[i]);
        }
    }
    check_readable("admin.key_file", cfg->admin_key_file, errors);
    check_pair("tls.cert_file", cfg->tls_cert_file, "tls.key_file", cfg->tls_key_file, errors);
    check_readable("tls.cert_file", cfg->tls_cert_file, errors);
    check_readable("tls.key_file", cfg->tls_key_file, errors);
    check_readable("tls.upstream_ca_file", cfg->tls_upstream_ca_file, errors);
    for (size_t i = 0; i < cfg->engine_count; i++) {
        check_engine(cfg, i, errors);
    }
    return errors->total_count > complaints_before ? ST_INVAL : ST_OK;
}

static bool is_same_list(const struct config_list *a, const struct config_list *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->items[i], b->items[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool
is_same_value(const struct config *a, const struct config *b, const struct config_key *key)
{
    const char *pa = (const char *)a + key->offset;
    const char *pb = (const char *)b + key->offset;
    switch (key->kind) {
    case CONFIG_KIND_BOOL:
        return *(const bool *)(const void *)pa == *(const bool *)(const void *)pb;
    case CONFIG_KIND_U64:
        return *(const uint64_t *)(const void *)pa == *(const uint64_t *)(const void *)pb;
    case CONFIG_KIND_F64:
        return memcmp(pa, pb, sizeof(double)) == 0;
    case CONFIG_KIND_TEXT:
        return strcmp(*(const char *const *)(const void *)pa,
                      *(const char *const *)(const void *)pb) == 0;
    case CONFIG_KIND_ENUM:
        return *(const int *)(const void *)pa == *(const int *)(const void *)pb;
    case CONFIG_KIND_LIST:
        return is_same_list((const void *)pa, (const void *)pb);
    }
    return true;
}

size_t config_diff_not_reloadable(const struct config *old_cfg,
                                  const struct config *new_cfg,
                                  config_report_fn report,
                                  void *ctx)
{
    const struct config_table *table = config_main_table();
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct config_key *key = &table->keys[i];
        if (!key->is_reloadable && !is_same_value(old_cfg, new_cfg, key)) {
            count++;
            report(ctx, key->key);
        }
    }
    return count;
}

size_t config_env_check(void)
{
    size_t count = 0;
    for (char **var = environ; var != NULL && *var != NULL; var++) {
        struct str rest = str_of(*var);
        struct str name;
        if (str_starts(rest, STR("SAGA_")) && str_split(&rest, '=', &name) &&
            !str_eq(name, STR("SAGA_TRACES"))) {
            count++;
            log_warn("config",
                     "environment variable changes nothing, use the file or a flag name=%s",
                     log_quote(name).text);
        }
    }
    return count;
}
