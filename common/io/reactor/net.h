/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and sockets: HOST:PORT, [IPV6]:PORT, unix:PATH. No DNS here (resolve.h).
 * THREAD: any. */
#ifndef COMMON_IO_REACTOR_NET_H
#define COMMON_IO_REACTOR_NET_H

#include "common/base/err.h"
#include "common/base/str.h"

#include <sys/socket.h>
#include <sys/un.h>

struct net_addr {
    struct sockaddr_storage sa;
    socklen_t len; /* 0 = none */
};

enum { NET_ADDR_TEXT_BYTES = 128 };

/* Reads a literal IPv4/IPv6 address with port, or unix:PATH. ST_NOTFOUND: it is a host name
 * (resolve it). ST_INVAL: malformed; err says why. */
MUST_CHECK enum status net_addr_parse(struct str text, struct net_addr *ret, struct err *err);
/* "127.0.0.1:8080", "[::1]:8080", "unix:/path". Always terminated. */
void net_addr_text(const struct net_addr *addr, char out[NET_ADDR_TEXT_BYTES]);
/* Host part is 127/8, ::1 or a unix socket. */
bool net_addr_is_loopback(const struct net_addr *addr);

/* A bound, listening, non-blocking socket. reuse_port: several loops share the address. A stale
 * unix socket file is replaced only when nobody answers on it. ST_IO with err. */
MUST_CHECK enum status
net_listen(const struct net_addr *addr, bool reuse_port, int *ret_fd, struct err *err);
/* The address a socket is really bound to. */
MUST_CHECK enum status net_local_addr(int fd, struct net_addr *ret);
/* Starts a non-blocking connect (TCP_NODELAY set). ST_OK: connecting or connected. ST_FULL: no
 * descriptor left. ST_IO otherwise (errno_out says why). */
MUST_CHECK enum status net_connect(const struct net_addr *addr, int *ret_fd, int *ret_errno);
/* Raises the soft descriptor limit to the hard one; returns the soft limit now in force. */
uint64_t net_raise_fd_limit(void);
/* Descriptors in use by this process (counts /proc/self/fd; not for hot paths). */
uint64_t net_fd_count(void);

#endif
