/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/reactor/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum status wire_open(struct wire *wire, int fd, struct tls_ctx *tls, const char *host)
{
    wire->fd = fd;
    wire->tls = NULL;
    return tls == NULL ? ST_OK : tls_conn_new(&wire->tls, tls, fd, host);
}

void wire_close(struct wire *wire)
{
    if (wire->tls != NULL) {
        tls_conn_free(wire->tls);
        wire->tls = NULL;
    }
    if (wire->fd >= 0) {
        close(wire->fd);
        wire->fd = -1;
    }
}

void wire_reset(struct wire *wire)
{
    if (wire->fd >= 0) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(wire->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    wire_close(wire);
}

enum status wire_handshake(struct wire *wire, uint32_t *ret_events)
{
    return wire->tls == NULL ? ST_OK : tls_conn_handshake(wire->tls, ret_events);
}

ssize_t wire_read(struct wire *wire, char *out, size_t cap)
{
    if (wire->tls != NULL) {
        return tls_conn_read(wire->tls, out, cap);
    }
    ssize_t got = recv(wire->fd, out, cap, 0);
    if (got >= 0) {
        return got;
    }
    return errno == EAGAIN || errno == EINTR ? WIRE_AGAIN : WIRE_ERROR;
}

ssize_t wire_writev(struct wire *wire, const struct iovec *iov, int n)
{
    if (wire->tls != NULL) {
        return tls_conn_writev(wire->tls, iov, n);
    }
    struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};
    ssize_t put = sendmsg(wire->fd, &msg, MSG_NOSIGNAL);
    if (put >= 0) {
        return put;
    }
    return errno == EAGAIN || errno == EINTR ? WIRE_AGAIN : WIRE_ERROR;
}

bool wire_has_pending(const struct wire *wire)
{
    return wire->tls != NULL && tls_conn_has_pending(wire->tls);
}

void wire_shut_write(struct wire *wire)
{
    if (wire->tls != NULL) {
        tls_conn_shut(wire->tls);
    }
    shutdown(wire->fd, SHUT_WR);
}
