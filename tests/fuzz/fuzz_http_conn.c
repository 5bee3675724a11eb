/* SPDX-License-Identifier: Apache-2.0 */
/* A server connection fed with bytes over a socket pair, by a client that may read or not, end or
 * vanish, and a handler that answers in different ways. Each exchange must close exactly once and
 * nothing may stay behind. Input: one byte how the client behaves, two bytes that choose the
 * pieces, then what it sends. A request's target chooses how it is answered. */
#include "common/io/reactor/http_conn.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PREFIX_BYTES = 3,
    TURNS_MAX = 64,
    EXCHANGES_MAX = 4096,
    CLIENT_READS = 1,
    CLIENT_RESETS = 2,
    CLIENT_HALF_CLOSES = 4,
    LARGE_BYTES = 300000,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct seen {
    struct http_exchange *ex;
    char how;
    int close_count;
};

struct bench {
    struct loop *loop;
    struct http_server *server;
    struct seen seen[EXCHANGES_MAX];
    size_t count;
};

static char zeros[LARGE_BYTES];

static void need(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

/* Answers as the letter says. */
static void answer(struct seen *seen)
{
    struct iovec iov = {zeros, seen->how == 'L' ? LARGE_BYTES : 10};
    switch (seen->how) {
    case 'a':
        http_respond_abort(seen->ex);
        break;
    case 'c':
    case 'L':
        http_respond_begin(seen->ex, 200, STR(""), -1);
        http_respond_data(seen->ex, &iov, 1, false);
        http_respond_data(seen->ex, NULL, 0, true);
        break;
    case 's': /* a stream that never ends */
        http_respond_begin(seen->ex, 200, STR(""), -1);
        http_respond_data(seen->ex, &iov, 1, false);
        break;
    case 'x': /* fewer bytes than promised */
        http_respond_begin(seen->ex, 200, STR(""), 20);
        http_respond_data(seen->ex, &iov, 1, true);
        break;
    case 'h': /* held for ever */
        break;
    default:
        http_respond(seen->ex, seen->how == 'n' ? 204 : 200, STR(""), STR(""));
        break;
    }
    need(seen->close_count == 0);
}

static void on_body(void *ctx, const char *data, size_t len)
{
    struct seen *seen = ctx;
    need(seen->close_count == 0 && len > 0 && data != NULL);
    if (seen->how == 'b') {
        answer(seen);
    }
}

static void on_end(void *ctx)
{
    struct seen *seen = ctx;
    need(seen->close_count == 0);
    answer(seen);
}

static void on_close(void *ctx, enum http_close why)
{
    struct seen *seen = ctx;
    (void)why;
    seen->close_count++;
    need(seen->close_count == 1);
    http_respond(seen->ex, 200, STR(""), STR("too late"));
}

static void on_request(void *ctx, struct http_exchange *ex)
{
    static const struct http_exchange_ops ops = {
        .on_body = on_body, .on_end = on_end, .on_close = on_close};
    struct bench *bench = ctx;
    struct str target = http_head_target(http_exchange_head(ex));
    need(bench->count < EXCHANGES_MAX && target.len > 0);
    struct seen *seen = &bench->seen[bench->count++];
    *seen = (struct seen){
        .ex = ex,
    };
    if (target.len > 1) {
        seen->how = target.p[1];
    }
    http_exchange_take(ex, &ops, seen);
    if (target.len > 2 && target.p[2] == '!') {
        answer(seen);
    }
}

static size_t
error_body(void *ctx, int status, const char *code, const char *text, char *out, size_t cap)
{
    (void)ctx;
    (void)text;
    need(status >= 400 && code != NULL && cap >= 2);
    memcpy(out, "{}", 2);
    return 2;
}

static struct bench *bench_open(void)
{
    static const struct http_server_ops ops = {.on_request = on_request, .error_body = error_body};
    static const struct http_limits limits = {.header_bytes = 2048,
                                              .header_count = 32,
                                              .connections = 8,
                                              .header_timeout_us = 1000000000,
                                              .body_idle_us = 1000000000,
                                              .keepalive_idle_us = 1000000000,
                                              .slow_client_us = 1000000000,
                                              .client_buffer_bytes = 65536};
    static struct bench bench;
    if (bench.loop == NULL) {
        need(loop_new(&bench.loop, NULL) == ST_OK);
        need(http_server_new(&bench.server, bench.loop, &limits, &ops, &bench) == ST_OK);
    }
    bench.count = 0;
    return &bench;
}

/* One round; the client takes what has come, if it reads at all. */
static void turn(struct bench *bench, int fd, uint8_t how)
{
    char *sink = zeros;
    loop_turn(bench->loop, 0);
    if ((how & CLIENT_READS) != 0) {
        while (recv(fd, sink, LARGE_BYTES, MSG_DONTWAIT) > 0) {
        }
    }
}

static void send_all(struct bench *bench, int fd, const uint8_t *data, size_t len)
{
    uint8_t how = data[0];
    uint32_t seed = (uint32_t)data[1] | (uint32_t)data[2] << 8;
    for (size_t at = PREFIX_BYTES; at < len;) {
        seed = seed * 1664525U + 1013904223U;
        size_t piece = 1 + (seed >> 16) % ((seed >> 30) == 0 ? 7 : 4096);
        piece = piece < len - at ? piece : len - at;
        ssize_t put = send(fd, data + at, piece, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put <= 0) {
            break; /* it reads no more: held back, or gone */
        }
        at += (size_t)put;
        turn(bench, fd, how);
    }
    if ((how & CLIENT_HALF_CLOSES) != 0) {
        shutdown(fd, SHUT_WR);
    }
    if ((how & CLIENT_RESETS) == 0) {
        turn(bench, fd, how);
        turn(bench, fd, how);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < PREFIX_BYTES || len > 65536) {
        return 0;
    }
    struct bench *bench = bench_open();
    int fds[2];
    need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    http_conn_open(bench->server, fds[0], NULL);
    send_all(bench, fds[1], data, len);
    close(fds[1]);
    const struct http_server_counters *counters = http_server_counters(bench->server);
    for (int i = 0; i < TURNS_MAX && counters->open_connections > 0; i++) {
        loop_turn(bench->loop, 0);
    }
    need(counters->open_connections == 0);
    for (size_t i = 0; i < bench->count; i++) {
        need(bench->seen[i].close_count == 1);
    }
    return 0;
}
