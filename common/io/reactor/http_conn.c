/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. bytes arrive and feed the parser; 2. the head is complete: the handler takes the
 * exchange; 3. body pieces go to the handler; 4. the request is complete: reading only watches for
 * the client leaving (and keeps what it pipelines); 5. the response has been taken by the socket:
 * the deferred job ends the exchange and the next request is parsed. Failures: malformed or over a
 * limit -> an error answer, then close; client closes or half-closes -> on_close(GONE) at once;
 * time-outs per state -> 408 where nothing was answered yet; an answer before the request was read
 * whole -> our side is shut and the rest is read and dropped for a while (LINGER), so that the
 * answer is not lost to a reset. Callbacks on_close never come from inside http_respond_*: they
 * wait for the job or the next event. */
#include "common/io/reactor/http_conn.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    PIPELINE_MAX = 65536, /* bytes kept of requests behind the one in progress */
    LINGER_US = 3000000,
    ERROR_BODY_MAX = 1024,
    ERROR_FIELDS_MAX = 256,
};

static void conn_next(struct http_conn *conn);

static void conn_bury(struct loop_grave *grave)
{
    struct http_conn *conn = LIST_OWNER(grave, struct http_conn, grave);
    http_parser_fini(&conn->parser);
    buf_fini(&conn->in);
    buf_fini(&conn->out);
    free(conn);
}

void http_conn_close(struct http_conn *conn, enum http_close why)
{
    if (conn->state == CONN_CLOSED) {
        return;
    }
    struct http_server *server = conn->server;
    conn->state = CONN_CLOSED;
    loop_forget(&conn->src);
    loop_timer_cancel(server->loop, &conn->timer);
    loop_undefer(&conn->job);
    bool ends_by_close = conn->ex.is_begun && !conn->ex.is_chunked && conn->ex.body_left < 0 &&
                         !conn->ex.has_no_body;
    bool is_reset =
        why == HTTP_CLOSE_SLOW || (conn->ex.is_active && ends_by_close && why != HTTP_CLOSE_DONE);
    list_remove(&conn->link);
    if (conn->ex.is_active) {
        conn->ex.is_active = false;
        if (conn->ex.ops != NULL) {
            conn->ex.ops->on_close(
                conn->ex.ctx, why); /* first: an engine may still be computing for this client */
        }
    }
    if (is_reset) {
        wire_reset(&conn->wire); /* an ordinary close would look like a proper end */
    } else {
        wire_close(&conn->wire);
    }
    server->conn_closed(server);
    loop_bury(server->loop, &conn->grave);
}

static uint64_t now_plus(const struct http_conn *conn, uint64_t us)
{
    return loop_now_us(conn->server->loop) + us;
}

/* From now on what the client sends is read and dropped; once our bytes are with the kernel our
 * side is shut. */
static void linger(struct http_conn *conn)
{
    conn->state = CONN_LINGER;
    if (http_conn_pending(conn) > 0 || conn->is_shut) {
        return;
    }
    conn->is_shut = true;
    wire_shut_write(&conn->wire);
    http_conn_deadline(conn, now_plus(conn, LINGER_US));
    if (loop_arm(conn->server->loop, &conn->src, EPOLLIN) != ST_OK) {
        http_conn_close(conn, HTTP_CLOSE_DONE);
    }
}

/* The exchange is over and its bytes are with the kernel. */
static void conn_finish(struct http_conn *conn)
{
    bool is_read_whole = conn->parser.is_complete;
    bool keeps_alive = conn->ex.keeps_alive && is_read_whole && !conn->server->is_draining;
    bool is_aborted = conn->ex.is_aborted;
    if (is_aborted) {
        http_conn_close(conn, HTTP_CLOSE_ABORTED);
        return;
    }
    conn->ex.is_active = false;
    if (conn->ex.ops != NULL) {
        conn->ex.ops->on_close(conn->ex.ctx, HTTP_CLOSE_DONE);
    }
    if (keeps_alive) {
        conn_next(conn);
    } else {
        linger(conn);
    }
}

/* Runs at the end of a round: what must not happen inside a handler's or the parser's call. */
static void conn_job(struct loop_job *job)
{
    struct http_conn *conn = LIST_OWNER(job, struct http_conn, job);
    if (conn->is_broken) {
        http_conn_close(conn, HTTP_CLOSE_GONE);
        return;
    }
    if (!conn->is_blocked && http_conn_pending(conn) > 0) {
        http_conn_flush(conn);
    }
    if (conn->is_broken) {
        http_conn_close(conn, HTTP_CLOSE_GONE);
    } else if (conn->ex.is_active && conn->ex.is_ended && http_conn_pending(conn) == 0) {
        conn_finish(conn);
    } else if (conn->state == CONN_LINGER) {
        linger(conn);
    }
}

void http_conn_fail(
    struct http_conn *conn, int status, const char *code, const char *text, enum http_close why)
{
    struct http_exchange *ex = &conn->ex;
    if (ex->is_active && ex->is_ended) {
        return; /* answered already: the job ends the connection behind that answer */
    }
    conn->server->counters.bad_request_count++;
    if (ex->is_begun || conn->state == CONN_HANDSHAKE) {
        http_conn_close(conn, why);
        return;
    }
    if (ex->is_active) {
        ex->is_active = false;
        if (ex->ops != NULL) {
            ex->ops->on_close(ex->ctx, why);
        }
    }
    char body[ERROR_BODY_MAX];
    char fields[ERROR_FIELDS_MAX] = "content-type: application/json\r\n";
    const struct http_server_ops *ops = conn->server->ops;
    size_t fields_len = strlen(fields);
    if (ops->error_fields != NULL) {
        fields_len +=
            ops->error_fields(conn->server->ctx, fields + fields_len, sizeof(fields) - fields_len);
    }
    size_t len = ops->error_body(conn->server->ctx, status, code, text, body, sizeof(body));
    ex->ops = NULL;
    if (conn->parser.error == HTTP_PARSE_OK) {
        conn->parser.error = HTTP_PARSE_STOPPED; /* nothing more is parsed on this connection */
    }
    http_respond(ex, status, (struct str){fields, fields_len}, (struct str){body, len});
    conn->state = CONN_LINGER;
}

static int
parse_error_status(enum http_parse_error error, const char **ret_code, const char **ret_text)
{
    switch (error) {
    case HTTP_PARSE_HEADERS_TOO_LARGE:
        *ret_code = "headers_too_large";
        *ret_text = "request headers are too large";
        return 431;
    case HTTP_PARSE_TOO_MANY_HEADERS:
        *ret_code = "too_many_headers";
        *ret_text = "too many header fields";
        return 431;
    case HTTP_PARSE_CODING:
        *ret_code = "unsupported_transfer_encoding";
        *ret_text = "the only transfer coding accepted is chunked";
        return 501;
    case HTTP_PARSE_NOMEM:
        *ret_code = "overloaded";
        *ret_text = "out of memory";
        return 503;
    case HTTP_PARSE_OK:
    case HTTP_PARSE_MALFORMED:
    case HTTP_PARSE_STOPPED:
        break;
    }
    *ret_code = "bad_http_request";
    *ret_text = "malformed HTTP request";
    return 400;
}

static bool on_head(struct http_parser *parser)
{
    struct http_conn *conn = LIST_OWNER(parser, struct http_conn, parser);
    struct http_exchange *ex = &conn->ex;
    memset(ex, 0, sizeof(*ex));
    ex->is_active = true;
    ex->body_left = -1;
    ex->has_no_body = parser->head.method == HTTP_HEAD;
    conn->state = CONN_BODY;
    struct str expect = {0};
    bool expects = http_head_get(&parser->head, STR("expect"), &expect);
    if (expects && !str_ieq(expect, STR("100-continue"))) {
        http_conn_fail(conn, 417, "expectation_failed",
                       "the only expectation known is 100-continue", HTTP_CLOSE_BAD);
        return true;
    }
    conn->server->ops->on_request(conn->server->ctx, ex);
    if (expects && !ex->is_begun && !ex->is_ended && parser->head.minor >= 1) {
        static char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        struct iovec iov = {go_on, sizeof(go_on) - 1};
        http_conn_write(conn, &iov, 1);
    }
    return true;
}

static void on_body(struct http_parser *parser, const char *data, size_t len)
{
    struct http_conn *conn = LIST_OWNER(parser, struct http_conn, parser);
    if (conn->ex.is_active && conn->ex.ops != NULL && conn->ex.ops->on_body != NULL &&
        !conn->ex.is_ended) {
        conn->ex.ops->on_body(conn->ex.ctx, data, len);
    }
}

static void on_chunk(struct http_parser *parser, uint64_t bytes)
{
    struct http_conn *conn = LIST_OWNER(parser, struct http_conn, parser);
    if (conn->ex.is_active && conn->ex.ops != NULL && conn->ex.ops->on_announce != NULL &&
        !conn->ex.is_ended) {
        conn->ex.ops->on_announce(conn->ex.ctx, bytes);
    }
}

static const struct http_parser_ops *parser_ops(void)
{
    static const struct http_parser_ops ops = {
        .on_head = on_head, .on_body = on_body, .on_chunk = on_chunk};
    return &ops;
}

static void after_feed(struct http_conn *conn)
{
    const struct http_limits *limits = &conn->server->limits;
    if (conn->state == CONN_HEAD && conn->deadline_us == 0) {
        http_conn_deadline(conn, now_plus(conn, limits->header_timeout_us));
    } else if (conn->state == CONN_BODY && !conn->is_blocked) {
        http_conn_deadline(conn, now_plus(conn, limits->body_idle_us));
    }
}

/* Feeds bytes of requests; what belongs to later requests is kept. */
static void conn_feed(struct http_conn *conn, const char *data, size_t len)
{
    if (conn->state == CONN_IDLE) {
        conn->state = CONN_HEAD;
        conn->deadline_us = 0;
    }
    if (conn->state == CONN_HEAD || conn->state == CONN_BODY) {
        size_t used = http_parser_feed(&conn->parser, data, len);
        if (conn->state == CONN_LINGER) {
            return; /* refused from inside a callback */
        }
        if (conn->parser.error != HTTP_PARSE_OK) {
            const char *code = NULL;
            const char *text = NULL;
            int status = parse_error_status(conn->parser.error, &code, &text);
            http_conn_fail(conn, status, code, text, HTTP_CLOSE_BAD);
            return;
        }
        data += used;
        len -= used;
        if (conn->parser.is_complete) {
            conn->state = CONN_RESPOND;
            if (!conn->is_blocked) { /* else the time-out for slow clients is running */
                http_conn_deadline(conn, 0);
            }
            if (conn->ex.is_active && conn->ex.ops != NULL && conn->ex.ops->on_end != NULL &&
                !conn->ex.is_ended) {
                conn->ex.ops->on_end(conn->ex.ctx);
            }
        }
    }
    if (conn->state == CONN_CLOSED || len == 0) {
        return;
    }
    if (conn->in.len + len > PIPELINE_MAX || buf_add(&conn->in, data, len) != ST_OK) {
        conn->ex.keeps_alive =
            false; /* too much behind the request in progress: answer it, then close */
        conn->parser.keeps_alive = false;
        conn->drops_input = true;
        buf_fini(&conn->in);
    }
}

static void conn_next(struct http_conn *conn)
{
    http_parser_next(&conn->parser);
    http_parser_set_limits(&conn->parser, conn->server->limits.header_bytes,
                           conn->server->limits.header_count);
    memset(&conn->ex, 0, sizeof(conn->ex));
    conn->state = CONN_IDLE;
    if (conn->in.len > 0) {
        struct buf in = conn->in;
        buf_init(&conn->in, mem_heap(), PIPELINE_MAX);
        conn_feed(conn, in.p, in.len);
        buf_fini(&in);
    }
    if (conn->state == CONN_IDLE) {
        http_conn_deadline(conn, now_plus(conn, conn->server->limits.keepalive_idle_us));
    }
    if (conn->state != CONN_CLOSED) {
        after_feed(conn);
    }
}

static void conn_read(struct http_conn *conn)
{
    struct http_server *server = conn->server;
    do {
        char *scratch = loop_scratch(server->loop);
        ssize_t got = wire_read(&conn->wire, scratch, LOOP_SCRATCH_BYTES);
        if (got == WIRE_AGAIN) {
            return;
        }
        if (got <= 0) {
            http_conn_close(conn, HTTP_CLOSE_GONE);
            return;
        }
        server->counters.bytes_in += (uint64_t)got;
        if (conn->state == CONN_LINGER || conn->drops_input) {
            continue; /* read and dropped */
        }
        conn_feed(conn, scratch, (size_t)got);
        if (conn->state != CONN_CLOSED) {
            after_feed(conn);
        }
    } while (conn->state != CONN_CLOSED && wire_has_pending(&conn->wire));
}

static void conn_shake(struct http_conn *conn)
{
    uint32_t events = 0;
    enum status st = wire_handshake(&conn->wire, &events);
    if (st == ST_AGAIN) {
        if (loop_arm(conn->server->loop, &conn->src, events | EPOLLRDHUP) != ST_OK) {
            http_conn_close(conn, HTTP_CLOSE_ABORTED);
        }
        return;
    }
    if (st != ST_OK || loop_arm(conn->server->loop, &conn->src, EPOLLIN | EPOLLRDHUP) != ST_OK) {
        http_conn_close(conn, HTTP_CLOSE_BAD);
        return;
    }
    conn->state = CONN_IDLE;
    conn_read(conn);
}

static void conn_ready(struct loop_source *src, uint32_t events)
{
    struct http_conn *conn = LIST_OWNER(src, struct http_conn, src);
    bool hears_no_more = conn->state == CONN_HANDSHAKE || conn->state == CONN_RESPOND;
    if ((events & (EPOLLERR | EPOLLHUP)) != 0 || ((events & EPOLLRDHUP) != 0 && hears_no_more)) {
        http_conn_close(conn, HTTP_CLOSE_GONE);
        return;
    }
    if (conn->state == CONN_HANDSHAKE) {
        conn_shake(conn);
        return;
    }
    if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) {
        conn_read(conn);
    }
    if (conn->state != CONN_CLOSED && (events & EPOLLOUT) != 0) {
        http_conn_flush(conn);
        loop_defer(conn->server->loop, &conn->job);
    }
}

static void conn_timeout(struct loop_timer *timer)
{
    struct http_conn *conn = LIST_OWNER(timer, struct http_conn, timer);
    uint64_t now_us = loop_now_us(conn->server->loop);
    if (conn->deadline_us == 0) {
        return;
    }
    if (now_us < conn->deadline_us) {
        http_conn_deadline(conn, conn->deadline_us);
        return;
    }
    conn->deadline_us = 0;
    if (conn->is_blocked) {
        conn->server->counters.slow_client_count++;
        http_conn_close(conn, HTTP_CLOSE_SLOW);
        return;
    }
    switch (conn->state) {
    case CONN_BODY:
        conn->server->counters.timeout_count++;
        http_conn_fail(conn, 408, "body_timeout", "the request body did not arrive in time",
                       HTTP_CLOSE_TIMEOUT);
        break;
    case CONN_HEAD:
        conn->server->counters.timeout_count++;
        http_conn_fail(conn, 408, "request_timeout", "the request did not arrive in time",
                       HTTP_CLOSE_TIMEOUT);
        break;
    case CONN_HANDSHAKE:
    case CONN_IDLE:
    case CONN_LINGER:
        http_conn_close(conn, HTTP_CLOSE_DONE);
        break;
    case CONN_RESPOND:
    case CONN_CLOSED:
        break;
    }
}

void http_conn_open(struct http_server *server, int fd, struct tls_ctx *tls)
{
    struct http_conn *conn = calloc(1, sizeof(*conn));
    if (conn == NULL) {
        close(fd);
        return;
    }
    conn->server = server;
    conn->src.fd = fd;
    conn->src.fn = conn_ready;
    conn->timer.fn = conn_timeout;
    conn->job.fn = conn_job;
    conn->grave.fn = conn_bury;
    conn->state = tls == NULL ? CONN_IDLE : CONN_HANDSHAKE;
    http_parser_init(&conn->parser, false, parser_ops());
    http_parser_set_limits(&conn->parser, server->limits.header_bytes, server->limits.header_count);
    buf_init(&conn->in, mem_heap(), PIPELINE_MAX);
    buf_init(&conn->out, mem_heap(), SIZE_MAX / 2);
    list_push_back(&server->conns, &conn->link);
    server->counters.open_connections++;
    if (wire_open(&conn->wire, fd, tls, NULL) != ST_OK ||
        loop_arm(server->loop, &conn->src, EPOLLIN | EPOLLRDHUP) != ST_OK) {
        http_conn_close(conn, HTTP_CLOSE_ABORTED);
        return;
    }
    http_conn_deadline(conn, now_plus(conn, server->limits.header_timeout_us));
}
