/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. a listener becomes readable; 2. accept in a small batch; 3. http_conn takes each
 * descriptor. Failures: no descriptor left (EMFILE, ENFILE) or the connection limit reached:
 * listeners leave epoll, so that nothing spins; they come back when a connection closes or after
 * 100 ms, whichever is first. */
#include "common/io/reactor/http_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { ACCEPT_BATCH = 64, ACCEPT_RETRY_US = 100000 };

struct listener {
    struct loop_source src;
    struct loop_grave grave;
    struct list link;
    struct http_server *server;
    struct tls_ctx *tls;
};

static void resume_accept(struct http_server *server)
{
    if (!server->is_paused || server->is_draining) {
        return;
    }
    server->is_paused = false;
    LIST_FOR_EACH(it, &server->listeners)
    {
        struct listener *listener = LIST_OWNER(it, struct listener, link);
        if (loop_arm(server->loop, &listener->src, EPOLLIN) != ST_OK) {
            server->is_paused = true;
        }
    }
}

static void pause_accept(struct http_server *server)
{
    server->is_paused = true;
    server->counters.accept_paused_count++;
    LIST_FOR_EACH(it, &server->listeners)
    {
        loop_disarm(server->loop, &LIST_OWNER(it, struct listener, link)->src);
    }
    status_ignore(loop_timer_set(server->loop, &server->retry_timer,
                                 loop_now_us(server->loop) + ACCEPT_RETRY_US),
                  "a closing connection resumes accepting too");
}

static void retry_accept(struct loop_timer *timer)
{
    struct http_server *server = LIST_OWNER(timer, struct http_server, retry_timer);
    if (server->counters.open_connections >= server->limits.connections) {
        status_ignore(
            loop_timer_set(server->loop, timer, loop_now_us(server->loop) + ACCEPT_RETRY_US),
            "a closing connection resumes accepting too");
        return;
    }
    resume_accept(server);
}

static void listener_ready(struct loop_source *src, uint32_t events)
{
    (void)events;
    struct listener *listener = LIST_OWNER(src, struct listener, src);
    struct http_server *server = listener->server;
    for (int i = 0; i < ACCEPT_BATCH; i++) {
        if (server->counters.open_connections >= server->limits.connections) {
            pause_accept(server);
            return;
        }
        int fd = accept4(src->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            bool is_short =
                errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
            if (is_short) {
                pause_accept(server);
            }
            return;
        }
        server->counters.accepted_count++;
        http_conn_open(server, fd, listener->tls);
    }
}

static void conn_closed(struct http_server *server)
{
    server->counters.open_connections--;
    if (server->is_paused && server->counters.open_connections < server->limits.connections) {
        resume_accept(server);
    }
}

enum status http_server_new(struct http_server **ret,
                            struct loop *loop,
                            const struct http_limits *limits,
                            const struct http_server_ops *ops,
                            void *ctx)
{
    struct http_server *server = calloc(1, sizeof(*server));
    if (server == NULL) {
        return ST_NOMEM;
    }
    server->loop = loop;
    server->limits = *limits;
    server->ops = ops;
    server->ctx = ctx;
    server->conn_closed = conn_closed;
    server->retry_timer.fn = retry_accept;
    list_init(&server->conns);
    list_init(&server->listeners);
    *ret = server;
    return ST_OK;
}

static void listener_bury(struct loop_grave *grave)
{
    free(LIST_OWNER(grave, struct listener, grave));
}

static void close_listeners(struct http_server *server)
{
    while (!list_is_empty(&server->listeners)) {
        struct listener *listener =
            LIST_OWNER(list_first(&server->listeners), struct listener, link);
        list_remove(&listener->link);
        loop_disarm(server->loop, &listener->src);
        close(listener->src.fd);
        loop_bury(server->loop, &listener->grave);
    }
}

void http_server_free(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    server->is_draining = true;
    close_listeners(server);
    while (!list_is_empty(&server->conns)) {
        http_conn_close(LIST_OWNER(list_first(&server->conns), struct http_conn, link),
                        HTTP_CLOSE_ABORTED);
    }
    loop_timer_cancel(server->loop, &server->retry_timer);
    free(server);
}

enum status http_server_listen(struct http_server *server, int fd, struct tls_ctx *tls)
{
    struct listener *listener = calloc(1, sizeof(*listener));
    if (listener == NULL) {
        return ST_NOMEM;
    }
    listener->src.fd = fd;
    listener->src.fn = listener_ready;
    listener->grave.fn = listener_bury;
    listener->server = server;
    listener->tls = tls;
    enum status st = loop_arm(server->loop, &listener->src, EPOLLIN);
    if (st != ST_OK) {
        free(listener);
        return st;
    }
    list_push_back(&server->listeners, &listener->link);
    return ST_OK;
}

void http_server_drain(struct http_server *server)
{
    server->is_draining = true;
    loop_timer_cancel(server->loop, &server->retry_timer);
    close_listeners(server);
    struct list *it = server->conns.next;
    while (it != &server->conns) {
        struct http_conn *conn = LIST_OWNER(it, struct http_conn, link);
        it = it->next;
        if (conn->state == CONN_IDLE && http_conn_pending(conn) == 0) {
            http_conn_close(conn, HTTP_CLOSE_ABORTED);
        }
    }
}

void http_server_set_limits(struct http_server *server, const struct http_limits *limits)
{
    server->limits = *limits;
}

const struct http_server_counters *http_server_counters(const struct http_server *server)
{
    return &server->counters;
}
