/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SCRATCH_BYTES ((size_t)256 * 1024)
#define MARK_BYTES    24U /* "@@R" rr "T" 16 digits "@@" */

static bool conn_open(struct client *client, struct client_conn *conn)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = conn};

    conn->fd = wire_connect(&client->to);
    conn->is_fresh = true;
    conn->is_writing = false;
    if (conn->fd < 0) {
        (void)fprintf(stderr, "bench-load: connect: %m\n");
        return false;
    }
    if (epoll_ctl(client->ep, EPOLL_CTL_ADD, conn->fd, &event) != 0) {
        perror("bench-load: epoll_ctl");
        return false;
    }
    return true;
}

bool client_init(struct client *client,
                 const struct sockaddr_in *to,
                 uint32_t conn_count,
                 const struct client_ops *ops,
                 void *ctx)
{
    memset(client, 0, sizeof(*client));
    client->to = *to;
    client->ops = ops;
    client->ctx = ctx;
    client->wake_ns = UINT64_MAX;
    client->deadline_ns = UINT64_MAX;
    client->ep = epoll_create1(EPOLL_CLOEXEC);
    client->scratch = wire_alloc(1, SCRATCH_BYTES);
    client->conns = wire_alloc(conn_count, sizeof(struct client_conn *));
    client->conn_count = conn_count;
    for (uint32_t i = 0; i < conn_count; i++) {
        struct client_conn *conn = wire_alloc(1, sizeof(*conn));

        client->conns[i] = conn;
        conn->index = i;
        if (!conn_open(client, conn)) {
            return false;
        }
    }
    return true;
}

void client_leave(struct client_conn *conn)
{
    if (conn->fd >= 0) {
        close(conn->fd);
    }
    conn->fd = -1;
    conn->is_busy = false;
}

void client_fini(struct client *client)
{
    for (uint32_t i = 0; i < client->conn_count; i++) {
        if (client->conns[i] != NULL) {
            client_leave(client->conns[i]);
        }
        free(client->conns[i]);
    }
    free(client->conns);
    free(client->scratch);
    close(client->ep);
}

static void conn_watch(struct client *client, struct client_conn *conn, bool is_writing)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (is_writing ? EPOLLOUT : 0U),
                                .data.ptr = conn};

    if (conn->is_writing != is_writing) {
        conn->is_writing = is_writing;
        if (epoll_ctl(client->ep, EPOLL_CTL_MOD, conn->fd, &event) != 0) {
            perror("bench-load: epoll_ctl");
            client->is_stopping = true;
        }
    }
}

static void conn_end(struct client *client, struct client_conn *conn, enum client_end end)
{
    conn->is_busy = false;
    conn->is_fresh = false;
    switch (end) {
    case CLIENT_OK:
        client->ok_count++;
        break;
    case CLIENT_REFUSED:
        client->refused_count++;
        client->refused_status = conn->status;
        break;
    case CLIENT_CUT:
        client->cut_count++;
        break;
    }
    client->ops->on_done(client, conn, end, wire_now_ns());
}

/* The socket broke or the other side closed it. An idle connection is simply reopened. */
static void conn_lost(struct client *client, struct client_conn *conn)
{
    bool was_busy = conn->is_busy;

    client_leave(conn);
    client->reopen_count++;
    if (client->is_stopping) {
        return;
    }
    if (!conn_open(client, conn)) {
        client->is_stopping = true;
        return;
    }
    if (was_busy) {
        bool is_whole = conn->has_head && conn->body.framing == WIRE_CLOSE && conn->status == 200;

        conn_end(client, conn, is_whole ? CLIENT_OK : CLIENT_CUT);
    }
}

static void conn_write(struct client *client, struct client_conn *conn)
{
    while (conn->iov_at < conn->iov_count) {
        struct msghdr message = {.msg_iov = conn->iov + conn->iov_at,
                                 .msg_iovlen = (size_t)(conn->iov_count - conn->iov_at)};
        ssize_t n = sendmsg(conn->fd, &message, MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            conn_watch(client, conn, true);
            return;
        }
        if (n < 0) {
            return; /* the read side finds out why, and may still find an early answer */
        }
        while (n > 0) {
            struct iovec *iov = &conn->iov[conn->iov_at];
            size_t take = (size_t)n < iov->iov_len ? (size_t)n : iov->iov_len;

            iov->iov_base = (char *)iov->iov_base + take;
            iov->iov_len -= take;
            n -= (ssize_t)take;
            if (iov->iov_len == 0) {
                conn->iov_at++;
            }
        }
    }
    conn_watch(client, conn, false);
}

void client_ask(struct client *client, struct client_conn *conn, uint64_t asked_ns)
{
    conn->is_busy = true;
    conn->has_head = false;
    conn->head_len = 0;
    conn->status = 0;
    conn->events = 0;
    conn->replica = -1;
    conn->first_ns = 0;
    conn->asked_ns = asked_ns;
    conn->iov_at = 0;
    memset(&conn->scan, 0, sizeof(conn->scan));
    conn_write(client, conn);
}

/* One byte of a mark. Returns true when it completes one. */
static bool scan_mark(struct client_scan *scan, char c)
{
    static const char shape[] = "@@R00T0000000000000000@@";
    char want = shape[scan->mark_at];

    if (want == '0' ? (c < '0' || c > '9') : c != want) {
        scan->mark_at = c == '@' ? (scan->mark_at == 2 ? 2U : 1U) : 0U;
        return false;
    }
    if (scan->mark_at == 0) {
        scan->replica = 0;
        scan->sent_ns = 0;
    } else if (scan->mark_at >= 6 && scan->mark_at < 22) {
        scan->sent_ns = scan->sent_ns * 10 + (uint64_t)(c - '0');
    } else if (scan->mark_at == 3 || scan->mark_at == 4) {
        scan->replica = scan->replica * 10 + (uint32_t)(c - '0');
    }
    if (++scan->mark_at == MARK_BYTES) {
        scan->mark_at = 0;
        return true;
    }
    return false;
}

static void scan_done(struct client_scan *scan, char c)
{
    static const char word[] = "[DONE]";

    if (c == word[scan->done_at]) {
        if (++scan->done_at == sizeof(word) - 1) {
            scan->has_done = true;
            scan->done_at = 0;
        }
    } else {
        scan->done_at = c == '[' ? 1 : 0;
    }
}

static void conn_payload(
    struct client *client, struct client_conn *conn, const char *data, size_t n, uint64_t now_ns)
{
    if (conn->status != 200) {
        size_t take = n < sizeof(client->refused_text) - 1 ? n : sizeof(client->refused_text) - 1;

        memcpy(client->refused_text, data, take);
        client->refused_text[take] = '\0';
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (conn->scan.mark_at > 0 || data[i] == '@') {
            if (scan_mark(&conn->scan, data[i])) {
                conn->replica = (int)conn->scan.replica;
                conn->events++;
                client->event_count++;
                if (conn->first_ns == 0) {
                    conn->first_ns = now_ns;
                }
                if (client->ops->on_event != NULL) {
                    client->ops->on_event(client, conn, conn->scan.sent_ns, now_ns);
                }
            }
        }
        scan_done(&conn->scan, data[i]);
    }
}

/* Parses a whole answer head. False: it is none. */
static bool head_read(struct client_conn *conn)
{
    struct wire_line line;
    enum wire_framing framing = WIRE_CLOSE;
    uint64_t length = 0;
    size_t at = 0;

    if (conn->head_len < 13 || memcmp(conn->head, "HTTP/1.", 7) != 0) {
        return false;
    }
    conn->status = (unsigned)strtoul(conn->head + 9, NULL, 10);
    while (wire_line_next(conn->head, conn->head_len, &at, &line)) {
        if (wire_line_is(&line, "content-length")) {
            framing = WIRE_LENGTH;
            length = wire_line_u64(&line);
        } else if (wire_line_is(&line, "transfer-encoding")) {
            framing = WIRE_CHUNKED;
        }
    }
    wire_body_init(&conn->body, framing, length);
    conn->has_head = true;
    return true;
}

static bool head_take(struct client_conn *conn, const char *data, size_t n, size_t *ret_used)
{
    size_t before = conn->head_len;
    size_t room = sizeof(conn->head) - before;
    size_t take = n < room ? n : room;
    const char *end = NULL;

    memcpy(conn->head + before, data, take);
    conn->head_len += take;
    *ret_used = take;
    end = memmem(conn->head, conn->head_len, "\r\n\r\n", 4);
    if (end == NULL) {
        return conn->head_len < sizeof(conn->head);
    }
    conn->head_len = (size_t)(end - conn->head) + 4;
    *ret_used = conn->head_len - before;
    return head_read(conn);
}

/* False: the answer makes no sense; the connection is given up. */
static bool conn_take(
    struct client *client, struct client_conn *conn, const char *data, size_t n, uint64_t now_ns)
{
    while (n > 0 && conn->is_busy) {
        const char *piece = NULL;
        size_t piece_len = 0;
        size_t used = 0;

        if (!conn->has_head) {
            if (!head_take(conn, data, n, &used)) {
                return false;
            }
        } else {
            used = wire_body_step(&conn->body, data, n, &piece, &piece_len);
            if (piece_len > 0) {
                conn_payload(client, conn, piece, piece_len, now_ns);
            }
        }
        data += used;
        n -= used;
        if (conn->has_head && conn->body.is_done) {
            if (conn->body.framing == WIRE_CHUNKED && conn->status == 200 && !conn->scan.has_done) {
                client->no_done_count++;
            }
            conn_end(client, conn, conn->status == 200 ? CLIENT_OK : CLIENT_REFUSED);
        }
    }
    return n == 0;
}

static void conn_read(struct client *client, struct client_conn *conn)
{
    uint64_t events_before = client->event_count;
    ssize_t n = recv(conn->fd, client->scratch, SCRATCH_BYTES, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        conn_lost(client, conn);
        return;
    }
    if (!conn_take(client, conn, client->scratch, (size_t)n, wire_now_ns())) {
        conn_lost(client, conn);
        return;
    }
    client->read_count += client->event_count > events_before ? 1 : 0;
}

bool client_run(struct client *client)
{
    struct epoll_event events[256];

    while (!client->is_stopping) {
        uint64_t now_ns = wire_now_ns();
        uint64_t until_ns =
            client->wake_ns < client->deadline_ns ? client->wake_ns : client->deadline_ns;
        uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
        struct timespec wait = {.tv_sec = (time_t)(left_ns / 1000000000U % 86400U),
                                .tv_nsec = (long)(left_ns % 1000000000U)};
        int n = epoll_pwait2(client->ep, events, 256, &wait, NULL);

        for (int i = 0; i < n && !client->is_stopping; i++) {
            struct client_conn *conn = events[i].data.ptr;

            if (conn->fd >= 0 && (events[i].events & EPOLLOUT) != 0) {
                conn_write(client, conn);
            }
            if (conn->fd >= 0 && (events[i].events & ~(uint32_t)EPOLLOUT) != 0) {
                conn_read(client, conn);
            }
        }
        now_ns = wire_now_ns();
        if (now_ns >= client->deadline_ns) {
            return client->is_stopping;
        }
        if (!client->is_stopping && client->ops->on_wake != NULL && now_ns >= client->wake_ns) {
            client->wake_ns = UINT64_MAX;
            client->ops->on_wake(client, now_ns);
        }
    }
    return true;
}

/* The first line of a refusal, with what JSON cannot hold replaced. */
static void print_text(const char *text)
{
    putchar('"');
    for (; *text != '\0' && *text != '\n'; text++) {
        putchar(*text == '"' || *text == '\\' ? '\'' : (unsigned char)*text < 32 ? ' ' : *text);
    }
    putchar('"');
}

void client_print(const struct client *client)
{
    printf("\"ok\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"refused_status\":%u,\"refused_text\":",
           client->ok_count, client->refused_count, client->refused_status);
    print_text(client->refused_text);
    printf(",\"cut\":%" PRIu64 ",\"no_done\":%" PRIu64 ",\"reopened\":%" PRIu64
           ",\"events\":%" PRIu64 ",\"reads_with_events\":%" PRIu64 ",",
           client->cut_count, client->no_done_count, client->reopen_count, client->event_count,
           client->read_count);
}
