/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask for what on the admin port. Nothing of libmicrohttpd in here.
 * THREAD: any. */
#ifndef COMMON_IO_ADMIN_ADMIN_ROUTE_H
#define COMMON_IO_ADMIN_ADMIN_ROUTE_H

#include "common/io/admin/admin_resp.h"

/* Names one request that waits for its answer; a late answer to one that is gone is dropped. */
struct admin_ticket {
    uint32_t slot;
    uint32_t generation;
};

/* All borrowed for the handler's call. */
struct admin_req {
    struct str method;
    struct str path;   /* percent-decoded, without the query */
    struct str tail;   /* what follows a prefix route's path; else empty */
    struct str format; /* value of ?format=; empty = none */
    struct str body;
    struct admin_ticket ticket;
};

enum admin_verdict {
    /* resp is the answer */
    ADMIN_NOW,
    /* admin_answer(req->ticket) will come; 504 when it has not in time */
    ADMIN_LATER,
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

/* What is served, and to whom. */
struct admin_rules {
    const struct admin_route *routes; /* [route_count] */
    size_t route_count;
    struct str key; /* bearer key; empty = none asked for (loopback only) */
};

/* What of a request decides. Absent headers are {NULL, 0}. */
struct admin_ask {
    struct str method;
    struct str path;
    struct str host;
    struct str origin;
    struct str authorization;
    bool is_framing_doubtful; /* Content-Length and Transfer-Encoding both */
};

/* The route of a request that may go on (*ret_tail is set), or NULL with the refusal in resp. */
const struct admin_route *admin_route_find(const struct admin_rules *rules,
                                           const struct admin_ask *ask,
                                           struct str *ret_tail,
                                           struct admin_resp *resp);

#endif
