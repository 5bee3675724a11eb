/* SPDX-License-Identifier: Apache-2.0 */
/* What the reactor's tests share: a loop that a test drives itself, raw sockets for the other side,
 * a server whose requests and a client whose answers are recorded. Everything is on loopback with
 * ports of the system's choice. THREAD: one. */
#ifndef TESTS_UNIT_COMMON_IO_REACTOR_RIG_H
#define TESTS_UNIT_COMMON_IO_REACTOR_RIG_H

#include "tests/kit/kit.h"

#include "common/io/reactor/http_client.h"
#include "common/io/reactor/http_server.h"
#include "common/rt/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RIG_PATIENCE_US = 20000000,
    RIG_NEVER_US = 40000000,
    RIG_ROUND_US = 1000,
    RIG_EXCHANGES_MAX = 64
};

/* Drives the loop until cond holds; fails the test when it never does. */
#define UNTIL(loop, cond)                                                          \
    do {                                                                           \
        uint64_t until_end_us = clock_now_us() + RIG_PATIENCE_US;                  \
        while (!(cond)) {                                                          \
            if (clock_now_us() > until_end_us) {                                   \
                fail_msg("%s:%d: never came true: %s", __FILE__, __LINE__, #cond); \
            }                                                                      \
            loop_turn((loop), RIG_ROUND_US);                                       \
        }                                                                          \
    } while (0)

/* A few rounds, for what must not happen. */
void rig_turns(struct loop *loop, int rounds);

/* Nothing keeps the loop busy: it sleeps when it is told to. */
void rig_expect_quiet(struct loop *loop);

/* --- The other side: a raw, non-blocking socket. */
struct peer {
    int fd;   /* -1 = none */
    char *in; /* NUL-terminated, all that came */
    size_t in_len;
    size_t in_cap;
    bool is_ended; /* orderly end seen */
    bool is_reset; /* the connection broke */
};

/* A listening socket on loopback; backlog as listen(2) takes it. */
int rig_listen(struct net_addr *ret, int backlog);
void peer_connect(struct peer *peer, const struct net_addr *addr);
/* Takes one waiting connection; false = none yet. */
bool peer_accept(struct peer *peer, int listen_fd);
void peer_close(struct peer *peer);
void peer_reset(struct peer *peer);
/* Sends all of it, which must fit the socket's buffer. */
void peer_send(struct peer *peer, const char *text);
void peer_send_bytes(struct peer *peer, const char *data, size_t len);
/* Sends what the socket takes; returns how much, 0 also after the connection broke. */
size_t peer_offer(struct peer *peer, const char *data, size_t len);
/* Reads at most max bytes of what has come. */
void peer_read(struct peer *peer, size_t max);
/* Read all that has come, then ask. */
bool peer_has(struct peer *peer, const char *text);
bool peer_is_over(struct peer *peer);
bool peer_has_bytes(struct peer *peer, size_t len);
/* How often text stands in what came. */
size_t peer_count(struct peer *peer, const char *text);

/* --- A server that records. */
struct rig_server;

struct rig_exchange {
    struct rig_server *owner;
    struct http_exchange *ex;
    char target[256];
    struct buf body;
    int64_t content_length;
    int end_count;
    uint64_t announced_bytes;
    int drain_count;
    int close_count;
    enum http_close why;
};

struct rig_server {
    struct loop *loop;
    struct http_server *server;
    struct net_addr addr;
    struct rig_exchange seen[RIG_EXCHANGES_MAX];
    int count;
    void (*on_request)(struct rig_exchange *rec); /* after it was taken; NULL = none */
    void (*on_end)(struct rig_exchange *rec);     /* NULL = none */
    void (*on_drain)(struct rig_exchange *rec);
    bool is_untaken; /* answers 200 "now" inside on_request without taking */
    int error_count; /* answers of the server's own */
    struct tls_ctx *tls;
};

struct http_limits rig_server_limits(void);
/* Over limits NULL = rig_server_limits(). */
void rig_server_open(struct rig_server *srv, struct loop *loop, const struct http_limits *limits);
/* One client connected to a server with these limits (NULL as above). */
void rig_pair_open(struct loop **loop,
                   struct rig_server *srv,
                   struct peer *peer,
                   const struct http_limits *limits);
void rig_pair_close(struct loop *loop, struct rig_server *srv, struct peer *peer);
void rig_server_open_tls(struct rig_server *srv, struct loop *loop, struct tls_ctx *tls);
void rig_server_close(struct rig_server *srv);
/* Handlers for on_request / on_end. */
void rig_answer_ok(struct rig_exchange *rec);    /* 200, body "ok" */
void rig_answer_echo(struct rig_exchange *rec);  /* 200, body = target and request body */
void rig_begin_stream(struct rig_exchange *rec); /* 200, one event, no end */
void rig_fill_client(
    struct rig_exchange *rec); /* 200, more than a client that does not read can hold */

/* --- Calls that record. */
struct rig_call {
    struct http_call *call; /* NULL once it is over */
    struct loop *loop;
    int head_count;
    int status;
    int64_t content_length;
    struct buf body;
    int data_count;
    size_t largest_piece; /* bytes of one on_data */
    int last_count;
    int fail_count;
    enum http_fail why;
    void (*on_head)(struct rig_call *rec);
    void (*on_data)(struct rig_call *rec);
    void (*on_over)(struct rig_call *rec);
    void *ctx;
};

struct http_client_limits rig_client_limits(void);
struct http_client *rig_client(struct loop *loop, const struct http_client_limits *limits);
/* http://ADDR */
struct http_endpoint *rig_endpoint(struct http_client *client, const struct net_addr *addr);
void rig_call_get(struct rig_call *rec, struct loop *loop, struct http_endpoint *ep);
void rig_call_post(struct rig_call *rec,
                   struct loop *loop,
                   struct http_endpoint *ep,
                   const char *body,
                   size_t len);
void rig_call_start(struct rig_call *rec,
                    struct loop *loop,
                    struct http_endpoint *ep,
                    const struct http_request *req);
bool rig_call_is_over(const struct rig_call *rec);
bool rig_call_body_is(const struct rig_call *rec, const char *text);
void rig_call_done(struct rig_call *rec);

struct loop *rig_loop(void);

/* For test programs that resolve names: waits at the end for the threads that still do, which would
 * look like leaks. */
int rig_threads_setup(void **state);
int rig_threads_teardown(void **state);

#endif
