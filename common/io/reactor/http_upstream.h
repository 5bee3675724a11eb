/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the HTTP client: endpoints, their pooled connections, calls. http_pool keeps endpoints
 * and counters, http_call drives one call over a connection, http_link is the connection. THREAD:
 * reactor. */
#ifndef COMMON_IO_REACTOR_HTTP_UPSTREAM_H
#define COMMON_IO_REACTOR_HTTP_UPSTREAM_H

#include "common/io/reactor/http_client.h"
#include "common/io/reactor/http_parse.h"
#include "common/io/reactor/resolve.h"
#include "common/io/reactor/wire.h"

#include <stdlib.h>

enum { HTTP_HOST_BYTES = 256, HTTP_SPANS_MAX = 64 };

struct http_client {
    struct loop *loop;
    struct http_client_limits limits;
    struct http_client_counters counters;
    struct list endpoints;
    struct list links;   /* every open connection */
    struct list waiting; /* calls whose host name is being resolved, or that failed at start */
    struct iovec spans[HTTP_SPANS_MAX]; /* body pieces of the read in progress */
    int span_count;
};

struct http_endpoint {
    struct list link;
    struct http_client *client;
    struct tls_ctx *tls;
    struct resolve_name *name; /* NULL when addr is a literal */
    struct net_addr addr;
    uint32_t addr_turn; /* which resolved address is next */
    struct list idle;   /* links, newest first */
    uint32_t idle_count;
    uint32_t refs; /* owner + links + waiting calls */
    bool is_released;
    char host[HTTP_HOST_BYTES];      /* Host field */
    char host_name[HTTP_HOST_BYTES]; /* without port, for TLS */
    char prefix[HTTP_HOST_BYTES];
};

enum link_state { LINK_CONNECT, LINK_HANDSHAKE, LINK_BUSY, LINK_IDLE, LINK_CLOSED };

/* One connection to an endpoint. */
struct http_link {
    struct loop_source src;
    struct loop_timer timer;
    struct loop_grave grave;
    struct list link;      /* in client->links */
    struct list idle_link; /* in endpoint->idle */
    struct http_endpoint *ep;
    struct http_call *call; /* NULL when idle */
    struct wire wire;
    struct http_parser parser;
    uint64_t deadline_us;
    enum link_state state;
    uint8_t interim_count; /* 1xx answers to this call */
    bool was_used;         /* has carried a call before this one */
    bool has_bytes;        /* a byte of this call's answer has come */
    bool is_paused;
};

struct http_call {
    struct http_endpoint *ep;
    struct http_link *on;    /* NULL while it waits */
    struct list link;        /* in client->waiting */
    struct loop_timer timer; /* while it waits for a host name */
    struct loop_job job;     /* reports start_fail */
    const struct http_call_ops *ops;
    void *ctx;
    void (*broken)(
        struct http_call *call,
        enum http_fail why); /* its connection ended early; the call may be gone after it */
    void (*release)(struct http_call *call); /* frees it */
    struct http_request req;
    uint32_t addr_first; /* the name's address tried first */
    uint32_t addr_count; /* addresses the name has */
    uint32_t addr_tried; /* of these, how many could not be connected to */
    size_t sent_bytes;
    size_t total_bytes;
    uint64_t started_at_us;
    enum http_fail start_fail;
    bool is_replayed;   /* on its second connection after a stale one */
    bool is_write_dead; /* the peer takes no more; its answer may still come */
    bool is_head_seen;
};

/* Opens a connection for the call. On failure nothing is attached. */
MUST_CHECK enum status
http_link_open(struct http_call *call, const struct net_addr *addr, enum http_fail *ret_why);
/* Puts the call on an idle connection. */
void http_link_reuse(struct http_link *link, struct http_call *call);
/* Closes now. A call on it must have been detached. */
void http_link_close(struct http_link *link);
/* Stops or goes on reading. */
void http_link_set_paused(struct http_link *link, bool is_paused);

static inline void http_endpoint_unref(struct http_endpoint *ep)
{
    ep->refs--;
    if (ep->refs == 0) {
        resolve_close(ep->name);
        free(ep);
    }
}

#endif
