/* SPDX-License-Identifier: Apache-2.0 */
/* The sending half of a client connection: bytes go out at once; what the socket does not take is
 * kept and offered again when it is writable. A client that takes nothing for slow_client_us is cut
 * by the connection's timer. Failures: a write error marks the connection broken; the deferred job
 * of http_conn ends it. */
#include "common/io/reactor/http_conn.h"

#include <sys/epoll.h>

enum { OUT_KEEP_BYTES = 4096 /* a larger out buffer is freed when it is empty */ };

void http_conn_deadline(struct http_conn *conn, uint64_t at_us)
{
    conn->deadline_us = at_us;
    bool is_set = heap_node_is_linked(&conn->timer.node);
    if (at_us == 0 || (is_set && conn->timer.node.key <= at_us)) {
        return; /* the timer that is set looks at deadline_us when it fires */
    }
    status_ignore(loop_timer_set(conn->server->loop, &conn->timer, at_us),
                  "out of memory: this connection has no time-out");
}

static uint64_t now_plus(const struct http_conn *conn, uint64_t us)
{
    return loop_now_us(conn->server->loop) + us;
}

static void out_clear(struct http_conn *conn)
{
    conn->out.len = 0;
    conn->out_at = 0;
    if (conn->out.cap > OUT_KEEP_BYTES) {
        buf_fini(&conn->out);
        buf_init(&conn->out, mem_heap(), SIZE_MAX / 2);
    }
}

static void mark_broken(struct http_conn *conn)
{
    conn->is_broken = true;
    loop_defer(conn->server->loop, &conn->job);
}

/* When the connection has lasted too long in its state, sending left aside. */
static uint64_t unblocked_deadline(const struct http_conn *conn)
{
    return conn->state == CONN_BODY ? now_plus(conn, conn->server->limits.body_idle_us) : 0;
}

static void set_blocked(struct http_conn *conn, bool is_blocked)
{
    if (conn->is_blocked == is_blocked) {
        return;
    }
    conn->is_blocked = is_blocked;
    uint32_t events = conn->src.armed;
    events = is_blocked ? events | EPOLLOUT : events & ~(uint32_t)EPOLLOUT;
    if (loop_arm(conn->server->loop, &conn->src, events) != ST_OK) {
        mark_broken(conn);
    }
    http_conn_deadline(conn, is_blocked ? now_plus(conn, conn->server->limits.slow_client_us)
                                        : unblocked_deadline(conn));
}

/* Keeps the part of iov behind the first `put` bytes. What has gone already is cut off first when
 * it is the larger part, so that a stream that is never quite drained holds no more than twice what
 * is pending. */
static void keep_rest(struct http_conn *conn, const struct iovec *iov, int n, size_t put)
{
    if (conn->out_at > conn->out.len / 2) {
        buf_drop(&conn->out, conn->out_at);
        conn->out_at = 0;
    }
    for (int i = 0; i < n; i++) {
        if (put >= iov[i].iov_len) {
            put -= iov[i].iov_len;
            continue;
        }
        if (buf_add(&conn->out, (const char *)iov[i].iov_base + put, iov[i].iov_len - put) !=
            ST_OK) {
            mark_broken(conn);
            return;
        }
        put = 0;
    }
}

void http_conn_write(struct http_conn *conn, struct iovec *iov, int n)
{
    if (conn->is_broken || conn->state == CONN_CLOSED) {
        return;
    }
    if (conn->is_blocked) {
        keep_rest(conn, iov, n, 0);
        return;
    }
    size_t pending = http_conn_pending(conn);
    struct iovec all[72];
    int count = 0;
    if (pending > 0) {
        all[count++] = (struct iovec){conn->out.p + conn->out_at, pending};
    }
    for (int i = 0; i < n; i++) {
        all[count++] = iov[i];
    }
    ssize_t put = wire_writev(&conn->wire, all, count);
    if (put == WIRE_ERROR) {
        mark_broken(conn);
        return;
    }
    size_t done = put > 0 ? (size_t)put : 0;
    conn->server->counters.bytes_out += done;
    if (done < pending) {
        conn->out_at += done;
        keep_rest(conn, iov, n, 0);
    } else {
        out_clear(conn);
        keep_rest(conn, iov, n, done - pending);
    }
    if (http_conn_pending(conn) > 0) {
        set_blocked(conn, true);
    }
}

void http_conn_flush(struct http_conn *conn)
{
    size_t pending = http_conn_pending(conn);
    if (pending > 0) {
        struct iovec iov = {conn->out.p + conn->out_at, pending};
        ssize_t put = wire_writev(&conn->wire, &iov, 1);
        if (put == WIRE_ERROR) {
            mark_broken(conn);
            return;
        }
        if (put > 0) {
            conn->server->counters.bytes_out += (uint64_t)put;
            conn->out_at += (size_t)put;
        }
        if (put > 0 && http_conn_pending(conn) > 0) {
            http_conn_deadline(conn, now_plus(conn, conn->server->limits.slow_client_us));
        }
    }
    pending = http_conn_pending(conn);
    if (pending == 0) {
        out_clear(conn);
    }
    set_blocked(conn, pending > 0);
    struct http_exchange *ex = &conn->ex;
    if (ex->was_full && pending <= conn->server->limits.client_buffer_bytes / 4) {
        ex->was_full = false;
        if (ex->is_active && ex->ops != NULL && ex->ops->on_drain != NULL) {
            ex->ops->on_drain(ex->ctx);
        }
    }
}
