/* SPDX-License-Identifier: Apache-2.0 */
/* A byte stream on a descriptor, plain or TLS, non-blocking.
 * THREAD: reactor. OWNERSHIP: wire_close closes the descriptor. */
#ifndef COMMON_IO_REACTOR_WIRE_H
#define COMMON_IO_REACTOR_WIRE_H

#include "common/io/reactor/tls.h"

#include <sys/types.h>
#include <sys/uio.h>

struct wire {
    int fd;               /* -1 = closed */
    struct tls_conn *tls; /* NULL = plain */
};

enum { WIRE_AGAIN = TLS_AGAIN, WIRE_ERROR = TLS_ERROR };

/* tls NULL = plain. host: name to check and to send as SNI (client side), or NULL. ST_NOMEM. */
MUST_CHECK enum status wire_open(struct wire *wire, int fd, struct tls_ctx *tls, const char *host);
void wire_close(struct wire *wire);
/* Closes so that the peer gets a reset instead of an end (plain TCP). */
void wire_reset(struct wire *wire);

/* Drives the TLS handshake. ST_OK done; ST_AGAIN: wait for *ret_events (EPOLLIN or EPOLLOUT); ST_IO
 * failed. */
MUST_CHECK enum status wire_handshake(struct wire *wire, uint32_t *ret_events);

/* Bytes read (> 0), 0 = peer closed its side, WIRE_AGAIN, WIRE_ERROR. */
ssize_t wire_read(struct wire *wire, char *out, size_t cap);
/* Bytes taken (may be fewer), WIRE_AGAIN, WIRE_ERROR. Never raises SIGPIPE. */
ssize_t wire_writev(struct wire *wire, const struct iovec *iov, int n);
/* Decrypted bytes wait inside (epoll will not tell). */
bool wire_has_pending(const struct wire *wire);
/* Half-closes the sending side. */
void wire_shut_write(struct wire *wire);

#endif
