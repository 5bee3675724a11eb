/* SPDX-License-Identifier: Apache-2.0 */
/* One client connection of the HTTP server. Internal to the reactor: http_accept accepts, http_conn
 * reads and keeps the state, http_respond frames answers, http_out sends. THREAD: reactor. */
#ifndef COMMON_IO_REACTOR_HTTP_CONN_H
#define COMMON_IO_REACTOR_HTTP_CONN_H

#include "common/io/reactor/http_parse.h"
#include "common/io/reactor/http_server.h"
#include "common/io/reactor/wire.h"

enum conn_state {
    CONN_HANDSHAKE, /* TLS */
    CONN_IDLE,      /* between requests */
    CONN_HEAD,      /* part of a request head has come */
    CONN_BODY,      /* head done, body coming */
    CONN_RESPOND,   /* request complete, response not */
    CONN_LINGER, /* our side is shut; reading what the client still sends, so that it can read our
                    answer */
    CONN_CLOSED,
};

struct http_exchange {
    const struct http_exchange_ops *ops; /* NULL until taken */
    void *ctx;
    int64_t body_left; /* response bytes still promised by Content-Length, -1 = not counted */
    bool is_active;    /* head seen, on_close not yet called */
    bool is_begun;     /* response head written to out */
    bool is_ended;     /* response complete in out */
    bool is_aborted;   /* ended without a proper end */
    bool is_chunked;
    bool has_no_body; /* HEAD, 204, 304 */
    bool keeps_alive; /* after this response */
    bool was_full;    /* on_drain is owed */
};

struct http_conn {
    struct loop_source src;
    struct loop_timer timer;
    struct loop_job job;
    struct loop_grave grave;
    struct list link; /* in server->conns */
    struct http_server *server;
    struct wire wire;
    struct http_parser parser;
    struct http_exchange ex;
    struct buf in;  /* bytes of later requests */
    struct buf out; /* response bytes the socket has not taken; out_at are gone already */
    size_t out_at;
    uint64_t deadline_us; /* 0 = none */
    enum conn_state state;
    bool is_blocked;  /* the socket is full: wait for EPOLLOUT */
    bool is_broken;   /* a write failed: client gone */
    bool is_shut;     /* our side is shut (LINGER) */
    bool drops_input; /* too much was pipelined: the rest is read and dropped, so that an end is
                         still seen */
};

struct http_server {
    struct loop *loop;
    struct http_limits limits;
    const struct http_server_ops *ops;
    void *ctx;
    struct list conns;
    struct list listeners;
    struct http_server_counters counters;
    void (*conn_closed)(struct http_server *server); /* a connection is gone: accepting may go on */
    struct loop_timer retry_timer;                   /* accepts again after a descriptor shortage */
    bool is_paused;
    bool is_draining;
};

/* Takes an accepted descriptor. On failure it is closed. */
void http_conn_open(struct http_server *server, int fd, struct tls_ctx *tls);
/* Closes at once; an active exchange gets on_close(why). */
void http_conn_close(struct http_conn *conn, enum http_close why);
/* Sends an error answer of our own where that is still possible, then ends the connection. */
void http_conn_fail(
    struct http_conn *conn, int status, const char *code, const char *text, enum http_close why);
/* Sets the time at which the connection's present state has lasted too long; 0 = never. */
void http_conn_deadline(struct http_conn *conn, uint64_t at_us);
/* Writes iov behind what is pending; keeps what the socket does not take. */
void http_conn_write(struct http_conn *conn, struct iovec *iov, int n);
/* Offers pending bytes to the socket again. */
void http_conn_flush(struct http_conn *conn);
/* Bytes pending. */
static inline size_t http_conn_pending(const struct http_conn *conn)
{
    return conn->out.len - conn->out_at;
}
static inline struct http_conn *http_conn_of(const struct http_exchange *ex)
{
    return (struct http_conn *)(void *)((char *)(uintptr_t)ex - offsetof(struct http_conn, ex));
}

#endif
