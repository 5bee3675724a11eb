/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 client side of the reactor: endpoints with a keep-alive pool each, and calls on them. A
 * POST on a pooled connection that turns out stale is replayed once on a fresh one (counted).
 * Cancelling closes the connection at once. THREAD: reactor (the loop it was made for). */
#ifndef COMMON_IO_REACTOR_HTTP_CLIENT_H
#define COMMON_IO_REACTOR_HTTP_CLIENT_H

#include "common/io/reactor/http_head.h"
#include "common/io/reactor/loop.h"
#include "common/io/reactor/net.h"

#include <sys/uio.h>

struct http_client;
struct http_endpoint;
struct http_call;
struct tls_ctx;

enum http_fail {
    HTTP_FAIL_RESOLVE, /* host name unknown */
    HTTP_FAIL_CONNECT, /* refused, unreachable, TLS handshake failed */
    HTTP_FAIL_CONNECT_TIMEOUT,
    HTTP_FAIL_NO_FD,  /* our descriptor limit */
    HTTP_FAIL_CLOSED, /* closed or reset before the head */
    HTTP_FAIL_FIRST_BYTE_TIMEOUT,
    HTTP_FAIL_IDLE_TIMEOUT,
    HTTP_FAIL_MALFORMED, /* not HTTP, or over the header limits */
    HTTP_FAIL_CUT,       /* head seen, body ended early */
};

struct http_call_ops {
    /* Final head (1xx are skipped). Borrowed for the call. */
    void (*on_head)(void *ctx, const struct http_head *head, int64_t content_length);
    /* Body bytes of one read, borrowed for the call. is_last: complete; the call is over and must
     * not be used. n may be 0 when is_last. */
    void (*on_data)(void *ctx, const struct iovec *iov, int n, bool is_last);
    /* The call is over and must not be used. */
    void (*on_fail)(void *ctx, enum http_fail why);
};

struct http_client_limits {
    size_t header_bytes;
    uint64_t connect_timeout_us;
    uint64_t first_byte_timeout_us;
    uint64_t idle_timeout_us;
    uint64_t keepalive_idle_us;
    uint32_t pool_idle_max;
};

struct http_client_counters {
    uint64_t connect_count;
    uint64_t reuse_count;
    uint64_t stale_retry_count; /* replays on a fresh connection */
    uint64_t fail_count[HTTP_FAIL_CUT + 1];
    uint64_t open_connections;
    uint64_t active_calls;
};

/* What to send. head: request line and header lines up to and with the empty line. Both head and
 * body are borrowed until the call is over or http_call_is_sent() is true. */
struct http_request {
    struct str head;
    struct iovec body[4];
    int body_count;
    bool is_head;                   /* method HEAD: the answer has no body */
    uint64_t first_byte_timeout_us; /* 0 = the client's limit */
};

MUST_CHECK enum status http_client_new(struct http_client **ret,
                                       struct loop *loop,
                                       const struct http_client_limits *limits);
/* Calls in progress end without a callback. */
void http_client_free(struct http_client *client);
void http_client_set_limits(struct http_client *client, const struct http_client_limits *limits);
const struct http_client_counters *http_client_counters(const struct http_client *client);

/* url: http://HOST[:PORT], https://..., unix:PATH, with an optional path prefix for http(s). Host
 * names are resolved on a thread of their own and again every 30 s. ctx may be NULL for http.
 * ST_INVAL with err. */
MUST_CHECK enum status http_endpoint_new(struct http_endpoint **ret,
                                         struct http_client *client,
                                         struct str url,
                                         struct tls_ctx *tls,
                                         struct err *err);
/* Idle connections close now; calls in progress go on; memory goes with the last call. */
void http_endpoint_release(struct http_endpoint *ep);
/* Text for the Host field, and the path prefix ("" or "/x" without trailing slash). */
struct str http_endpoint_host(const struct http_endpoint *ep);
struct str http_endpoint_prefix(const struct http_endpoint *ep);

/* Starts a call. Callbacks never come from inside this function. ST_NOMEM. */
MUST_CHECK enum status http_call_start(struct http_endpoint *ep,
                                       const struct http_request *req,
                                       const struct http_call_ops *ops,
                                       void *ctx,
                                       struct http_call **ret);
/* Ends the call now: connection closed, no callback. */
void http_call_cancel(struct http_call *call);
/* Stops / goes on reading the answer (back-pressure). */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);
/* The whole request has been handed to the kernel and a byte of the answer has come: head and body
 * are no longer needed. */
bool http_call_is_sent(const struct http_call *call);

#endif
