/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 server side of the reactor: listeners, connections, one exchange (request + response) at
 * a time on each connection, pipelined requests answered in order. Framing and smuggling rules are
 * enforced here. THREAD: reactor (the loop it was made for). */
#ifndef COMMON_IO_REACTOR_HTTP_SERVER_H
#define COMMON_IO_REACTOR_HTTP_SERVER_H

#include "common/io/reactor/http_head.h"
#include "common/io/reactor/loop.h"
#include "common/io/reactor/net.h"

#include <sys/uio.h>

struct http_server;
struct http_exchange;
struct tls_ctx;

/* Why an exchange ended. */
enum http_close {
    HTTP_CLOSE_DONE,    /* response sent whole */
    HTTP_CLOSE_GONE,    /* client closed, half-closed or reset */
    HTTP_CLOSE_SLOW,    /* client took no byte for slow_client_us */
    HTTP_CLOSE_TIMEOUT, /* request body stalled; 408 was sent when still possible */
    HTTP_CLOSE_BAD,     /* malformed request body framing; 400 was sent when still possible */
    HTTP_CLOSE_ABORTED, /* http_respond_abort, or server stopped */
};

/* Set by whoever takes the request. All may be NULL but on_close. */
struct http_exchange_ops {
    /* A piece of the request body; borrowed for the call. */
    void (*on_body)(void *ctx, const char *data, size_t len);
    /* This many more body bytes are announced (the head of a chunk), before any of them is read. */
    void (*on_announce)(void *ctx, uint64_t bytes);
    /* The request is complete. */
    void (*on_end)(void *ctx);
    /* Response bytes held for the client fell under the low-water mark. */
    void (*on_drain)(void *ctx);
    /* Exactly once, last; the exchange must not be used after it. */
    void (*on_close)(void *ctx, enum http_close why);
};

/* Limits; may be changed between requests (reload). */
struct http_limits {
    size_t header_bytes;
    uint32_t header_count;
    uint32_t connections; /* open connections of this server */
    uint64_t header_timeout_us;
    uint64_t body_idle_us;
    uint64_t keepalive_idle_us;
    uint64_t slow_client_us;
    size_t client_buffer_bytes; /* above it http_respond_is_full() is true */
};

struct http_server_counters {
    uint64_t accepted_count;
    uint64_t open_connections;
    uint64_t bad_request_count;   /* refused before a handler saw them */
    uint64_t accept_paused_count; /* descriptor or connection limit reached */
    uint64_t timeout_count;
    uint64_t slow_client_count;
    uint64_t bytes_in;
    uint64_t bytes_out;
};

struct http_server_ops {
    /* A request head is complete. Take it with http_exchange_take, or answer it with http_respond
     * (the body, if any, is then discarded). */
    void (*on_request)(void *ctx, struct http_exchange *ex);
    /* Writes the body of an error answer that no handler gave (bad framing, limits, time-outs):
     * JSON text into out [cap]; returns its length. code is a short word such as
     * "headers_too_large". */
    size_t (*error_body)(
        void *ctx, int status, const char *code, const char *text, char *out, size_t cap);
    /* Writes extra header lines of such an answer, called before error_body; returns their length.
     * May be NULL. */
    size_t (*error_fields)(void *ctx, char *out, size_t cap);
};

MUST_CHECK enum status http_server_new(struct http_server **ret,
                                       struct loop *loop,
                                       const struct http_limits *limits,
                                       const struct http_server_ops *ops,
                                       void *ctx);
/* Closes everything at once (exchanges get HTTP_CLOSE_ABORTED). */
void http_server_free(struct http_server *server);
/* Serves a listening socket (ownership of fd passes on ST_OK). tls may be NULL. */
MUST_CHECK enum status http_server_listen(struct http_server *server, int fd, struct tls_ctx *tls);
/* Closes the listeners and idle connections; running exchanges go on, their responses say
 * connection: close. */
void http_server_drain(struct http_server *server);
void http_server_set_limits(struct http_server *server, const struct http_limits *limits);
const struct http_server_counters *http_server_counters(const struct http_server *server);

/* The request. Valid until on_close. */
const struct http_head *http_exchange_head(const struct http_exchange *ex);
/* Content-Length, -1 when chunked, 0 without a body. */
int64_t http_exchange_content_length(const struct http_exchange *ex);
/* Makes ops/ctx the handler. To be called inside on_request. */
void http_exchange_take(struct http_exchange *ex, const struct http_exchange_ops *ops, void *ctx);
/* Peer address as text, for logs. */
void http_exchange_peer(const struct http_exchange *ex, char out[NET_ADDR_TEXT_BYTES]);

/* A whole response. fields: extra header lines, each ending in CRLF (no framing or connection
 * fields); body is copied as far as it cannot be written at once. on_close follows (maybe later).
 */
void http_respond(struct http_exchange *ex, int status, struct str fields, struct str body);
/* Head of a response. content_length -1: unknown (chunked, or until close for HTTP/1.0). Not sent
 * before the end of this round or the first data, whichever is earlier. status 204/304 and HEAD
 * have no body whatever is said. */
void http_respond_begin(struct http_exchange *ex,
                        int status,
                        struct str fields,
                        int64_t content_length);
/* Body bytes: written now, what does not fit is copied. is_last: nothing follows. n may be 0. */
void http_respond_data(struct http_exchange *ex, const struct iovec *iov, int n, bool is_last);
/* Ends without a proper end of the message: the connection is closed so that a client can tell. */
void http_respond_abort(struct http_exchange *ex);
/* Response begun? */
bool http_respond_has_begun(const struct http_exchange *ex);
/* Bytes held for the client. */
size_t http_respond_pending(const struct http_exchange *ex);
/* Over client_buffer_bytes / 2: stop feeding until on_drain. */
bool http_respond_is_full(const struct http_exchange *ex);

#endif
