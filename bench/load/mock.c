/* SPDX-License-Identifier: Apache-2.0 */
/* bench-mock: very fast fake OpenAI engines for measuring gateways.
 *
 * Happy path: 1. one listening socket per replica; their ports are printed as one JSON line. 2. A
 * request is read (its body thrown away but for both ends). 3. The head goes out at once, each
 * event when it is due, in its own HTTP chunk and its own write, with its send time inside. 4. The
 * connection is kept. Failures: a caller that leaves while its request runs is recorded (id, time)
 * for GET /mock/left; a caller that does not read gets no further events until it does; a broken
 * request ends its connection. SIGTERM or SIGINT ends the process. */
#include "bench/load/mock.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SCRATCH_BYTES ((size_t)256 * 1024)

/* ---- connections ---- */

static void conn_watch(struct mock *mock, struct mock_conn *conn, uint32_t events, int op)
{
    struct epoll_event event = {.events = events, .data.ptr = conn};

    if (epoll_ctl(mock->ep, op, conn->fd, &event) != 0) {
        perror("bench-mock: epoll_ctl");
        mock->is_stopping = true;
    }
}

static void conn_close(struct mock *mock, struct mock_conn *conn)
{
    struct mock_stats *stats = &mock->stats[conn->replica];

    if (conn->state == CONN_BUSY) {
        stats->left++;
        stats->open_count--;
        if (mock->left_len < MOCK_LEFT_MAX) {
            mock->left[mock->left_len++] = (struct mock_left){.id = conn->ask.id,
                                                              .at_ns = wire_now_ns(),
                                                              .sent = conn->sent,
                                                              .replica = conn->replica};
        }
    }
    mock_timer_clear(&mock->timers, conn);
    stats->conn_count--;
    close(conn->fd);
    free(conn->out);
    free(conn);
}

/* Sends, or keeps what the socket does not take. False: the caller is gone. */
static bool conn_send(struct mock *mock, struct mock_conn *conn, const char *data, size_t len)
{
    if (conn->out == NULL) {
        ssize_t n = send(conn->fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    if (len > 0) {
        if (conn->out == NULL) {
            conn->out_len = 0;
            conn->out_at = 0;
            conn_watch(mock, conn, EPOLLIN | EPOLLRDHUP | EPOLLOUT, EPOLL_CTL_MOD);
        }
        conn->out = wire_grow(conn->out, conn->out_len + len);
        memcpy(conn->out + conn->out_len, data, len);
        conn->out_len += len;
    }
    return true;
}

static bool conn_flush(struct mock *mock, struct mock_conn *conn)
{
    while (conn->out != NULL && conn->out_at < conn->out_len) {
        ssize_t n =
            send(conn->fd, conn->out + conn->out_at, conn->out_len - conn->out_at, MSG_NOSIGNAL);

        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        conn->out_at += (size_t)n;
    }
    free(conn->out);
    conn->out = NULL;
    conn_watch(mock, conn, EPOLLIN | EPOLLRDHUP, EPOLL_CTL_MOD);
    if (conn->state == CONN_HEAD && conn->ask.is_close) {
        return false;
    }
    if (conn->state == CONN_BUSY && conn->ask.is_stream && conn->ask.silence != MOCK_HEAD_ONLY &&
        conn->sent < conn->ask.chunk_count) {
        mock_timer_set(&mock->timers, conn, wire_now_ns());
    }
    return true;
}

/* ---- answers ---- */

static void answer_done(struct mock *mock, struct mock_conn *conn)
{
    struct mock_stats *stats = &mock->stats[conn->replica];

    stats->finished++;
    stats->open_count--;
    conn->state = CONN_HEAD;
    conn->head_len = 0;
}

/* One whole answer with a length. False also when it is out and the caller wants the connection
 * closed. */
static bool answer_text(
    struct mock *mock, struct mock_conn *conn, const char *type, const char *text, size_t len)
{
    static char whole[MOCK_TEXT_MAX + 512];
    int head = snprintf(
        whole, 512,
        "HTTP/1.1 200 OK\r\nserver: mock\r\ncontent-type: %s\r\ncontent-length: %zu\r\n\r\n", type,
        len);

    memcpy(whole + head, text, len);
    if (!conn_send(mock, conn, whole, (size_t)head + len)) {
        return false;
    }
    return !conn->ask.is_close || conn->out != NULL;
}

static bool answer_whole(struct mock *mock, struct mock_conn *conn)
{
    static char text[MOCK_EVENT_MAX];
    size_t len = mock_text_answer(text, conn->ask.chunk_bytes, conn->replica, wire_now_ns());

    answer_done(mock, conn);
    return answer_text(mock, conn, "application/json", text, len);
}

static bool event_send(struct mock *mock, struct mock_conn *conn)
{
    static char whole[MOCK_EVENT_MAX];
    char *text = whole + 16;
    uint64_t now_ns = wire_now_ns();
    size_t len = mock_text_event(text, conn->ask.chunk_bytes, conn->replica, now_ns);
    char size[16];
    int size_len = 0;
    bool is_last = ++conn->sent == conn->ask.chunk_count && conn->ask.silence == MOCK_TALKS;

    mock->stats[conn->replica].events++;
    size_len = snprintf(size, sizeof(size), "%zx\r\n", len);
    memcpy(text - size_len, size, (size_t)size_len);
    memcpy(text + len, "\r\n", 2);
    len += 2;
    if (is_last) {
        char tail[1024];
        size_t tail_len =
            mock_text_finish(tail, sizeof(tail), conn->ask.wants_usage, conn->ask.chunk_count);

        len += (size_t)snprintf(text + len, 2048, "%zx\r\n%.*s\r\n0\r\n\r\n", tail_len,
                                (int)tail_len, tail);
        answer_done(mock, conn);
    }
    return conn_send(mock, conn, text - size_len, (size_t)size_len + len);
}

/* An event is due: send it, and say when the next one is. A late mock slows down, it never bursts.
 */
static bool event_due(struct mock *mock, struct mock_conn *conn, uint64_t now_ns)
{
    uint64_t late_ns = now_ns - conn->due_ns;
    uint64_t interval_ns = conn->ask.interval_us * 1000U;
    uint64_t next_ns = conn->due_ns + interval_ns;

    if (late_ns > mock->late_max_ns) {
        mock->late_max_ns = late_ns;
    }
    if (late_ns > interval_ns) {
        next_ns = now_ns + interval_ns;
    }
    mock_timer_clear(&mock->timers, conn);
    if (!conn->ask.is_stream) {
        return answer_whole(mock, conn);
    }
    if (!event_send(mock, conn)) {
        return false;
    }
    if (conn->state == CONN_BUSY && conn->sent < conn->ask.chunk_count && conn->out == NULL) {
        mock_timer_set(&mock->timers, conn, next_ns);
    }
    return conn->state != CONN_HEAD || !conn->ask.is_close || conn->out != NULL;
}

static bool stream_start(struct mock *mock, struct mock_conn *conn)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nserver: mock\r\n"
                               "content-type: text/event-stream; charset=utf-8\r\n"
                               "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

    if (conn->ask.silence == MOCK_SAYS_NOTHING) {
        return true;
    }
    if (!conn_send(mock, conn, head, sizeof(head) - 1)) {
        return false;
    }
    if (conn->ask.silence != MOCK_HEAD_ONLY && conn->ask.chunk_count > 0) {
        uint64_t now_ns = wire_now_ns();

        mock_timer_set(&mock->timers, conn, now_ns + conn->ask.delay_us * 1000U);
        if (conn->ask.delay_us == 0) {
            return event_due(mock, conn, now_ns);
        }
    }
    return true;
}

static bool control_answer(struct mock *mock, struct mock_conn *conn)
{
    static char text[MOCK_TEXT_MAX];
    const char *path = conn->ask.path;
    size_t len = 0;

    if (strcmp(path, "/mock/left") == 0) {
        len = mock_left_write(mock, text, sizeof(text));
        return answer_text(mock, conn, "text/plain", text, len);
    }
    if (strcmp(path, "/mock/reset") == 0) {
        mock_stats_reset(mock);
    }
    if (strncmp(path, "/mock/", 6) == 0) {
        len = mock_stats_write(mock, text, sizeof(text));
    } else if (strcmp(path, "/v1/models") == 0) {
        len =
            (size_t)snprintf(text, sizeof(text),
                             "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\","
                             "\"created\":1700000000,\"owned_by\":\"vllm\",\"root\":\"mock\","
                             "\"max_model_len\":1000000}]}");
    } else if (strcmp(path, "/version") == 0) {
        len = (size_t)snprintf(text, sizeof(text), "{\"version\":\"0.11.0\"}");
    }
    return answer_text(mock, conn, "application/json", text, len);
}

static bool request_ready(struct mock *mock, struct mock_conn *conn)
{
    struct mock_stats *stats = &mock->stats[conn->replica];

    conn->sent = 0;
    if (conn->ask.is_get) { /* questions about the work are not work: not counted */
        conn->state = CONN_HEAD;
        conn->head_len = 0;
        return control_answer(mock, conn);
    }
    conn->state = CONN_BUSY;
    stats->requests++;
    stats->open_count++;
    if (stats->open_count > stats->open_max) {
        stats->open_max = stats->open_count;
    }
    mock_ask_look(&conn->ask, conn->first, conn->first_len);
    mock_ask_look(&conn->ask, conn->last, conn->last_len);
    if (conn->ask.is_stream) {
        return stream_start(mock, conn);
    }
    if (conn->ask.silence != MOCK_TALKS) {
        return true;
    }
    if (conn->ask.delay_us > 0) {
        mock_timer_set(&mock->timers, conn, wire_now_ns() + conn->ask.delay_us * 1000U);
        return true;
    }
    return answer_whole(mock, conn);
}

/* ---- reading ---- */

/* Keeps the first and the last MOCK_EDGE bytes of the body. */
static void body_keep(struct mock_conn *conn, const char *data, size_t len)
{
    if (conn->first_len < MOCK_EDGE) {
        size_t room = MOCK_EDGE - conn->first_len;
        size_t take = len < room ? len : room;

        memcpy(conn->first + conn->first_len, data, take);
        conn->first_len += take;
    }
    if (len >= MOCK_EDGE) {
        memcpy(conn->last, data + len - MOCK_EDGE, MOCK_EDGE);
        conn->last_len = MOCK_EDGE;
        return;
    }
    if (conn->last_len + len > MOCK_EDGE) {
        size_t drop = conn->last_len + len - MOCK_EDGE;

        memmove(conn->last, conn->last + drop, conn->last_len - drop);
        conn->last_len -= drop;
    }
    memcpy(conn->last + conn->last_len, data, len);
    conn->last_len += len;
}

/* Takes bytes of a request head; *ret_used of them belong to it. */
static bool
head_take(struct mock *mock, struct mock_conn *conn, const char *data, size_t n, size_t *ret_used)
{
    size_t before = conn->head_len;
    size_t room = WIRE_HEAD_MAX - before;
    size_t take = n < room ? n : room;
    size_t from = before < 3 ? 0 : before - 3;
    const char *end = NULL;

    memcpy(conn->head + before, data, take);
    conn->head_len += take;
    *ret_used = take;
    end = memmem(conn->head + from, conn->head_len - from, "\r\n\r\n", 4);
    if (end == NULL) {
        return conn->head_len < WIRE_HEAD_MAX;
    }
    conn->head_len = (size_t)(end - conn->head) + 4;
    *ret_used = conn->head_len - before;
    if (!mock_ask_read(conn->head, conn->head_len, &conn->ask, &conn->body)) {
        return false;
    }
    conn->state = CONN_BODY;
    conn->first_len = 0;
    conn->last_len = 0;
    if (conn->ask.wants_continue) {
        return conn_send(mock, conn, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    }
    return true;
}

/* False: the connection must be closed. Bytes that come while an answer runs are not expected. */
static bool conn_take(struct mock *mock, struct mock_conn *conn, const char *data, size_t n)
{
    while (n > 0 || (conn->state == CONN_BODY && conn->body.is_done)) {
        const char *piece = NULL;
        size_t piece_len = 0;
        size_t used = 0;

        if (conn->state == CONN_BUSY) {
            return false;
        }
        if (conn->state == CONN_HEAD) {
            if (!head_take(mock, conn, data, n, &used)) {
                return false;
            }
        } else if (conn->body.is_done) {
            if (!request_ready(mock, conn)) {
                return false;
            }
        } else {
            used = wire_body_step(&conn->body, data, n, &piece, &piece_len);
            mock->stats[conn->replica].body_bytes += piece_len;
            if (piece_len > 0) {
                body_keep(conn, piece, piece_len);
            }
        }
        data += used;
        n -= used;
    }
    return true;
}

static bool conn_read(struct mock *mock, struct mock_conn *conn)
{
    for (unsigned turn = 0; turn < 8; turn++) {
        ssize_t n = recv(conn->fd, mock->scratch, SCRATCH_BYTES, 0);

        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        if (n == 0 || !conn_take(mock, conn, mock->scratch, (size_t)n)) {
            return false;
        }
        if ((size_t)n < SCRATCH_BYTES) {
            break;
        }
    }
    return true;
}

static void conn_accept(struct mock *mock, const struct mock_conn *listener)
{
    for (;;) {
        int one = 1;
        struct mock_conn *conn = NULL;
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0) {
            return;
        }
        if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0) {
            close(fd);
            continue;
        }
        conn = wire_alloc(1, sizeof(*conn));
        conn->fd = fd;
        conn->replica = listener->replica;
        mock->stats[conn->replica].conn_count++;
        conn_watch(mock, conn, EPOLLIN | EPOLLRDHUP, EPOLL_CTL_ADD);
    }
}

static void conn_event(struct mock *mock, struct mock_conn *conn, uint32_t events)
{
    bool is_ok = true;

    if (conn->is_listener) {
        conn_accept(mock, conn);
        return;
    }
    if ((events & (EPOLLERR | EPOLLHUP)) != 0 ||
        ((events & EPOLLRDHUP) != 0 && conn->state == CONN_BUSY)) {
        is_ok = false; /* gone, in whole or by half: no gateway half-closes on purpose */
    }
    if (is_ok && (events & EPOLLOUT) != 0) {
        is_ok = conn_flush(mock, conn);
    }
    if (is_ok && (events & EPOLLIN) != 0) {
        is_ok = conn_read(mock, conn);
    }
    if (!is_ok) {
        conn_close(mock, conn);
    }
}

/* ---- the loop ---- */

static void timers_run(struct mock *mock)
{
    uint64_t now_ns = wire_now_ns();

    while (mock->timers.len > 0 && mock->timers.heap[0]->due_ns <= now_ns) {
        struct mock_conn *conn = mock->timers.heap[0];

        if (!event_due(mock, conn, now_ns)) {
            conn_close(mock, conn);
        }
    }
}

static void mock_loop(struct mock *mock)
{
    struct epoll_event events[256];

    while (!mock->is_stopping) {
        struct timespec wait = {0};
        struct timespec *timeout = NULL;
        int n = 0;

        if (mock->timers.len > 0) {
            uint64_t now_ns = wire_now_ns();
            uint64_t due_ns = mock->timers.heap[0]->due_ns;
            uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;

            wait.tv_sec = (time_t)(left_ns / 1000000000U);
            wait.tv_nsec = (long)(left_ns % 1000000000U);
            timeout = &wait;
        }
        n = epoll_pwait2(mock->ep, events, 256, timeout, NULL);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == mock) {
                mock->is_stopping = true;
            } else {
                conn_event(mock, events[i].data.ptr, events[i].events);
            }
        }
        timers_run(mock);
    }
}

static bool mock_listen(struct mock *mock, uint16_t port)
{
    struct mock_conn *conn = wire_alloc(1, sizeof(*conn));
    uint16_t got = 0;

    conn->is_listener = true;
    conn->replica = mock->replica_count;
    conn->fd = wire_listen(port, &got);
    if (conn->fd < 0) {
        (void)fprintf(stderr, "bench-mock: cannot listen on 127.0.0.1:%u: %m\n", port);
        free(conn);
        return false;
    }
    printf("%s%u", mock->replica_count == 0 ? "{\"ports\":[" : ",", got);
    mock->listeners[mock->replica_count++] = conn;
    conn_watch(mock, conn, EPOLLIN, EPOLL_CTL_ADD);
    return true;
}

/* "4" = four free ports; "9001,9002" = these ports. */
static bool mock_listen_all(struct mock *mock, const char *spec, bool is_list)
{
    unsigned long count = is_list ? MOCK_PORTS_MAX : strtoul(spec, NULL, 10);

    for (unsigned long i = 0; i < count && i < MOCK_PORTS_MAX; i++) {
        char *end = NULL;
        unsigned long port = is_list ? strtoul(spec, &end, 10) : 0;

        if (port > 65535 || !mock_listen(mock, (uint16_t)port)) {
            return false;
        }
        if (is_list) {
            if (*end != ',') {
                break;
            }
            spec = end + 1;
        }
    }
    printf("],\"pid\":%d}\n", (int)getpid());
    return mock->replica_count > 0 && fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    static struct mock mock;
    sigset_t stop;
    bool is_list = argc == 3 && strcmp(argv[1], "--ports") == 0;

    if (argc != 3 || (!is_list && strcmp(argv[1], "--replicas") != 0)) {
        (void)fputs(
            "usage: bench-mock --replicas N | --ports P1,P2,...\n"
            "Fake OpenAI engines on 127.0.0.1, one per port, driven by x-mock-* request headers.\n",
            stderr);
        return 2;
    }
    (void)wire_raise_fd_limit();
    if (prctl(PR_SET_TIMERSLACK, 1) != 0 || sigemptyset(&stop) != 0 ||
        sigaddset(&stop, SIGTERM) != 0 || sigaddset(&stop, SIGINT) != 0 ||
        pthread_sigmask(SIG_BLOCK, &stop, NULL) != 0) {
        perror("bench-mock");
        return 1;
    }
    mock.ep = epoll_create1(EPOLL_CLOEXEC);
    mock.signals = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    mock.scratch = wire_alloc(1, SCRATCH_BYTES);
    mock.left = wire_alloc(MOCK_LEFT_MAX, sizeof(*mock.left));
    if (mock.ep < 0 || mock.signals < 0) {
        perror("bench-mock");
        return 1;
    }
    if (epoll_ctl(mock.ep, EPOLL_CTL_ADD, mock.signals,
                  &(struct epoll_event){.events = EPOLLIN, .data.ptr = &mock}) != 0) {
        perror("bench-mock");
        return 1;
    }
    if (!mock_listen_all(&mock, argv[2], is_list)) {
        return 1;
    }
    mock_loop(&mock);
    return 0;
}
