/* SPDX-License-Identifier: Apache-2.0 */
/* The admin port: a small HTTP server (libmicrohttpd) on a thread of its own, for metrics, health
 * and control. It answers even when the data loops do not: a handler never waits, it answers at
 * once or later by ticket. THREAD: handlers run on the admin thread; admin_answer any; start and
 * stop the owner. LIMITS: ADMIN_CONNECTIONS_MAX connections, ADMIN_BODY_BYTES per request body,
 * ADMIN_ANSWER_US per answer. */
#ifndef COMMON_IO_ADMIN_ADMIN_H
#define COMMON_IO_ADMIN_ADMIN_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/io/reactor/net.h"

enum {
    ADMIN_CONNECTIONS_MAX = 64,
    ADMIN_BODY_BYTES = 65536,
    ADMIN_RESP_BYTES = 16 << 20,
    ADMIN_ANSWER_US = 5000000,
    ADMIN_ROUTES_MAX = 64,
};

struct admin;

/* Names one request that waits for its answer; a late answer to a request that is gone is dropped.
 */
struct admin_ticket {
    uint32_t slot;
    uint32_t generation;
};

/* All borrowed for the handler's call. */
struct admin_req {
    struct str method;
    struct str path; /* percent-decoded, without the query */
    struct str tail; /* what follows a prefix route's path; else empty */
    struct str body;
    struct admin_ticket ticket;
};

/* Starts as 200, application/json, empty. */
struct admin_resp {
    int status;
    const char *content_type; /* static text */
    struct buf body;          /* on mem_heap() */
};

void admin_resp_init(struct admin_resp *resp);
void admin_resp_fini(struct admin_resp *resp);

/* Makes resp an error: {"error":{"message":...,"type":...}}. Forgets what was in the body. */
void admin_resp_error(struct admin_resp *resp, int status, const char *type, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

enum admin_verdict {
    ADMIN_NOW,   /* resp is the answer */
    ADMIN_LATER, /* admin_answer(req->ticket) will come; 504 when it has not after ADMIN_ANSWER_US
                  */
};

typedef enum admin_verdict (*admin_handler_fn)(void *ctx,
                                               const struct admin_req *req,
                                               struct admin_resp *resp);

struct admin_route {
    const char *method; /* GET (serves HEAD too), POST, DELETE, PUT */
    const char *path;   /* whole path, or a prefix when it ends in '/' */
    bool is_open;       /* needs no key: /health and /ready only */
    admin_handler_fn handler;
    void *ctx;
};

struct admin_config {
    struct net_addr listen;           /* port 0: see admin_local_addr */
    struct str key;                   /* bearer key; empty = none asked for (loopback only) */
    const struct admin_route *routes; /* [route_count], borrowed until admin_stop */
    size_t route_count;
    uint64_t answer_us; /* 0: ADMIN_ANSWER_US */
};

/* Listens and starts the thread. ST_OK; ST_DENIED (not loopback and no key); ST_IO, ST_NOMEM, with
 * err. */
MUST_CHECK enum status
admin_start(const struct admin_config *config, struct admin **ret, struct err *err);

/* Stops listening, answers what waits with 503, ends the thread. NULL is fine. No admin_answer may
 * run during it. */
void admin_stop(struct admin *admin);

/* The address it really listens on. */
const struct net_addr *admin_local_addr(const struct admin *admin);

/* The answer to a request that was put off. Takes over resp, whose body is dropped when nobody
 * waits any more. */
void admin_answer(struct admin *admin, struct admin_ticket ticket, struct admin_resp *resp);

#endif
