/* SPDX-License-Identifier: Apache-2.0 */
/* A client with one endpoint whose server is a raw socket that the test plays.
 * THREAD: one. */
#ifndef TESTS_UNIT_COMMON_IO_REACTOR_UPSTREAM_H
#define TESTS_UNIT_COMMON_IO_REACTOR_UPSTREAM_H

#include "tests/unit/common/io/reactor/rig.h"

struct upstream {
    struct loop *loop;
    struct http_client *client;
    struct http_endpoint *ep;
    struct net_addr addr;
    int fd;           /* listens */
    struct peer peer; /* the connection accepted last by upstream_take */
    struct rig_call call;
};

void upstream_open(struct upstream *up, const struct http_client_limits *limits);
void upstream_close(struct upstream *up);
/* A GET on up->call, accepted and read by the peer. */
void upstream_get(struct upstream *up);
/* The next connection, once its request has come. */
void upstream_take(struct upstream *up, struct peer *ret);
/* up->call again, from nothing. */
void upstream_again(struct upstream *up);
/* One GET answered in full, so that its connection lies in the pool. */
void upstream_pool_one(struct upstream *up);

#define ANSWER_OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

#endif
