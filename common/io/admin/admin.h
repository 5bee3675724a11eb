/* SPDX-License-Identifier: Apache-2.0 */
/* The admin port: a small HTTP server (libmicrohttpd) on a thread of its own, for metrics, health
 * and control. It answers even when the data loops do not: a handler never waits, it answers at
 * once or later by ticket.
 *
 * THREAD: handlers run on the admin thread; admin_answer any; start and stop the owner.
 * LIMITS: ADMIN_CONNECTIONS_MAX connections, ADMIN_BODY_BYTES per request body, ADMIN_ANSWER_US per
 * answer. */
#ifndef COMMON_IO_ADMIN_ADMIN_H
#define COMMON_IO_ADMIN_ADMIN_H

#include "common/base/err.h"
#include "common/io/admin/admin_route.h"
#include "common/io/reactor/net.h"

enum {
    ADMIN_CONNECTIONS_MAX = 64,
    ADMIN_BODY_BYTES = 262144,
    ADMIN_ANSWER_US = 5000000,
    ADMIN_ROUTES_MAX = 64,
};

struct admin;

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
