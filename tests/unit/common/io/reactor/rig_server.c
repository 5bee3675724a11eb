/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include <stdio.h>

enum {
    BODY_MAX = 64 << 20,
    UNREAD_BYTES = 8000000, /* more than the system takes for a client that does not read */
};

struct http_limits rig_server_limits(void)
{
    return (struct http_limits){
        .header_bytes = 8192,
        .header_count = 32,
        .connections = 64,
        .header_timeout_us = RIG_NEVER_US,
        .body_idle_us = RIG_NEVER_US,
        .keepalive_idle_us = RIG_NEVER_US,
        .slow_client_us = RIG_NEVER_US,
        .client_buffer_bytes = 65536,
    };
}

static void on_body(void *ctx, const char *data, size_t len)
{
    struct rig_exchange *rec = ctx;
    assert_int_equal(rec->close_count, 0);
    assert_int_equal(rec->end_count, 0);
    assert_status(buf_add(&rec->body, data, len), ST_OK);
}

static void on_announce(void *ctx, uint64_t bytes)
{
    struct rig_exchange *rec = ctx;
    assert_int_equal(rec->close_count, 0);
    rec->announced_bytes += bytes;
}

static void on_end(void *ctx)
{
    struct rig_exchange *rec = ctx;
    assert_int_equal(rec->close_count, 0);
    rec->end_count++;
    if (rec->owner->on_end != NULL) {
        rec->owner->on_end(rec);
    }
}

static void on_drain(void *ctx)
{
    struct rig_exchange *rec = ctx;
    assert_int_equal(rec->close_count, 0);
    rec->drain_count++;
    if (rec->owner->on_drain != NULL) {
        rec->owner->on_drain(rec);
    }
}

static void on_close(void *ctx, enum http_close why)
{
    struct rig_exchange *rec = ctx;
    rec->close_count++;
    rec->why = why;
    rec->ex = NULL;
}

static void on_request(void *ctx, struct http_exchange *ex)
{
    static const struct http_exchange_ops ops = {.on_body = on_body,
                                                 .on_announce = on_announce,
                                                 .on_end = on_end,
                                                 .on_drain = on_drain,
                                                 .on_close = on_close};
    struct rig_server *srv = ctx;
    if (srv->is_untaken) {
        srv->count++;
        http_respond(ex, 200, STR(""), STR("now"));
        return;
    }
    assert_true(srv->count < RIG_EXCHANGES_MAX);
    struct rig_exchange *rec = &srv->seen[srv->count++];
    rec->owner = srv;
    rec->ex = ex;
    rec->content_length = http_exchange_content_length(ex);
    str_copy(rec->target, sizeof(rec->target), http_head_target(http_exchange_head(ex)));
    buf_init(&rec->body, mem_heap(), BODY_MAX);
    http_exchange_take(ex, &ops, rec);
    if (srv->on_request != NULL) {
        srv->on_request(rec);
    }
}

static size_t
error_body(void *ctx, int status, const char *code, const char *text, char *out, size_t cap)
{
    struct rig_server *srv = ctx;
    srv->error_count++;
    int len =
        snprintf(out, cap, "{\"code\":\"%s\",\"status\":%d,\"text\":\"%s\"}", code, status, text);
    return (size_t)len;
}

static const struct http_server_ops server_ops = {.on_request = on_request,
                                                  .error_body = error_body};

static void open_it(struct rig_server *srv, struct loop *loop, const struct http_limits *limits)
{
    srv->loop = loop;
    srv->count = 0;
    int fd = rig_listen(&srv->addr, 128);
    assert_status(http_server_new(&srv->server, loop, limits, &server_ops, srv), ST_OK);
    assert_status(http_server_listen(srv->server, fd, srv->tls), ST_OK);
}

void rig_server_open(struct rig_server *srv, struct loop *loop, const struct http_limits *limits)
{
    struct http_limits usual = rig_server_limits();
    memset(srv, 0, sizeof(*srv));
    open_it(srv, loop, limits != NULL ? limits : &usual);
}

void rig_pair_open(struct loop **loop,
                   struct rig_server *srv,
                   struct peer *peer,
                   const struct http_limits *limits)
{
    *loop = rig_loop();
    rig_server_open(srv, *loop, limits);
    peer_connect(peer, &srv->addr);
}

void rig_pair_close(struct loop *loop, struct rig_server *srv, struct peer *peer)
{
    rig_server_close(srv);
    loop_free(loop);
    peer_close(peer);
}

void rig_server_open_tls(struct rig_server *srv, struct loop *loop, struct tls_ctx *tls)
{
    struct http_limits usual = rig_server_limits();
    memset(srv, 0, sizeof(*srv));
    srv->tls = tls;
    open_it(srv, loop, &usual);
}

void rig_server_close(struct rig_server *srv)
{
    http_server_free(srv->server);
    for (int i = 0; i < srv->count && !srv->is_untaken; i++) {
        assert_int_equal(srv->seen[i].close_count, 1);
        buf_fini(&srv->seen[i].body);
    }
}

void rig_answer_ok(struct rig_exchange *rec)
{
    http_respond(rec->ex, 200, STR("x-test: 1\r\n"), STR("ok"));
}

void rig_answer_echo(struct rig_exchange *rec)
{
    struct buf text;
    buf_init(&text, mem_heap(), BODY_MAX);
    assert_status(buf_add_fmt(&text, "[%s|", rec->target), ST_OK);
    assert_status(buf_add_str(&text, buf_str(&rec->body)), ST_OK);
    assert_status(buf_add_str(&text, STR("]")), ST_OK);
    http_respond(rec->ex, 200, STR(""), buf_str(&text));
    buf_fini(&text);
}

void rig_begin_stream(struct rig_exchange *rec)
{
    struct iovec iov = {(void *)(uintptr_t) "data: x\n\n", 9};
    http_respond_begin(rec->ex, 200, STR(""), -1);
    http_respond_data(rec->ex, &iov, 1, false);
}

void rig_fill_client(struct rig_exchange *rec)
{
    static char block[65536];
    struct iovec iov = {block, sizeof(block)};
    http_respond_begin(rec->ex, 200, STR(""), -1);
    while (http_respond_pending(rec->ex) < UNREAD_BYTES) {
        http_respond_data(rec->ex, &iov, 1, false);
    }
}
