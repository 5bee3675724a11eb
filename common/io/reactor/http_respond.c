/* SPDX-License-Identifier: Apache-2.0 */
/* The response half of an exchange: head, body in the framing the client can read, proper and
 * improper ends. */
#include "common/io/reactor/http_conn.h"

#include <stdio.h>

enum { SPANS_MAX = 64, HEAD_FRAME_BYTES = 160, CHUNK_LINE_BYTES = 24 };

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {{200, "OK"},
                   {204, "No Content"},
                   {304, "Not Modified"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {408, "Request Timeout"},
                   {409, "Conflict"},
                   {413, "Content Too Large"},
                   {415, "Unsupported Media Type"},
                   {417, "Expectation Failed"},
                   {422, "Unprocessable Content"},
                   {429, "Too Many Requests"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {501, "Not Implemented"},
                   {502, "Bad Gateway"},
                   {503, "Service Unavailable"},
                   {504, "Gateway Timeout"}};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].status == status) {
            return reasons[i].text;
        }
    }
    return "Status";
}

const struct http_head *http_exchange_head(const struct http_exchange *ex)
{
    return &http_conn_of(ex)->parser.head;
}

int64_t http_exchange_content_length(const struct http_exchange *ex)
{
    return http_parser_content_length(&http_conn_of(ex)->parser);
}

void http_exchange_take(struct http_exchange *ex, const struct http_exchange_ops *ops, void *ctx)
{
    ex->ops = ops;
    ex->ctx = ctx;
}

void http_exchange_peer(const struct http_exchange *ex, char out[NET_ADDR_TEXT_BYTES])
{
    struct net_addr addr = {.len = sizeof(addr.sa)};
    if (getpeername(http_conn_of(ex)->wire.fd, (struct sockaddr *)&addr.sa, &addr.len) != 0) {
        addr.len = 0;
    }
    net_addr_text(&addr, out);
}

/* May the connection serve another request after this answer? Known only from what has been read so
 * far. */
static bool may_keep_alive(const struct http_conn *conn)
{
    if (conn->server->is_draining || conn->parser.error != HTTP_PARSE_OK ||
        conn->server->limits.keepalive_idle_us == 0) {
        return false;
    }
    if (conn->parser.is_complete) {
        return conn->parser.keeps_alive;
    }
    return http_parser_content_length(&conn->parser) == 0 &&
           llhttp_should_keep_alive(&conn->parser.ll) == 1;
}

void http_respond_begin(struct http_exchange *ex,
                        int status,
                        struct str fields,
                        int64_t content_length)
{
    struct http_conn *conn = http_conn_of(ex);
    if (ex->is_begun || ex->is_ended || conn->state == CONN_CLOSED) {
        return;
    }
    bool is_old = conn->parser.is_head_done && conn->parser.head.minor == 0;
    ex->is_begun = true;
    ex->has_no_body = ex->has_no_body || status == 204 || status == 304 || status < 200;
    ex->is_chunked = content_length < 0 && !is_old && !ex->has_no_body;
    ex->body_left = content_length;
    ex->keeps_alive =
        may_keep_alive(conn) && (content_length >= 0 || ex->is_chunked || ex->has_no_body);
    char line[HEAD_FRAME_BYTES];
    int len = snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n", status, reason_of(status));
    enum status st = buf_add(&conn->out, line, (size_t)len);
    if (st == ST_OK) {
        st = buf_add_str(&conn->out, fields);
    }
    len = 0;
    if (ex->is_chunked) {
        len = snprintf(line, sizeof(line), "transfer-encoding: chunked\r\n");
    } else if (content_length >= 0 && status != 204 && status >= 200) {
        len = snprintf(line, sizeof(line), "content-length: %lld\r\n", (long long)content_length);
    }
    const char *connection = !ex->keeps_alive ? "connection: close\r\n"
                             : is_old         ? "connection: keep-alive\r\n"
                                              : "";
    len += snprintf(line + len, sizeof(line) - (size_t)len, "%s\r\n", connection);
    if (st == ST_OK) {
        st = buf_add(&conn->out, line, (size_t)len);
    }
    if (st != ST_OK) {
        conn->is_broken = true;
    }
    loop_defer(conn->server->loop, &conn->job);
}

static size_t total(const struct iovec *iov, int n)
{
    size_t len = 0;
    for (int i = 0; i < n; i++) {
        len += iov[i].iov_len;
    }
    return len;
}

/* "1a2b" CR LF at the end of out. By hand: snprintf is a tenth of our own work per event. */
static struct iovec chunk_line(char out[CHUNK_LINE_BYTES], size_t len)
{
    size_t at = CHUNK_LINE_BYTES - 2;
    memcpy(out + at, "\r\n", 2);
    do {
        out[--at] = "0123456789abcdef"[len & 15];
        len >>= 4;
    } while (len != 0);
    return (struct iovec){out + at, CHUNK_LINE_BYTES - at};
}

/* Writes at most SPANS_MAX spans in the exchange's framing. */
static void write_spans(struct http_exchange *ex, const struct iovec *iov, int n, bool is_last)
{
    static char crlf[] = "\r\n";
    static char crlf_end[] = "\r\n0\r\n\r\n";
    static char end[] = "0\r\n\r\n";
    struct iovec all[SPANS_MAX + 2];
    int count = 0;
    char size_line[CHUNK_LINE_BYTES];
    size_t len = total(iov, n);
    if (ex->is_chunked && len > 0) {
        all[count++] = chunk_line(size_line, len);
    }
    for (int i = 0; i < n; i++) {
        all[count++] = iov[i];
    }
    if (ex->is_chunked && len > 0) {
        all[count++] =
            is_last ? (struct iovec){crlf_end, sizeof(crlf_end) - 1} : (struct iovec){crlf, 2};
    } else if (ex->is_chunked && is_last) {
        all[count++] = (struct iovec){end, sizeof(end) - 1};
    }
    if (count > 0 || http_conn_pending(http_conn_of(ex)) > 0) {
        http_conn_write(http_conn_of(ex), all, count);
    }
}

void http_respond_data(struct http_exchange *ex, const struct iovec *iov, int n, bool is_last)
{
    struct http_conn *conn = http_conn_of(ex);
    if (conn->state == CONN_CLOSED || ex->is_ended) {
        return;
    }
    ASSERT(ex->is_begun);
    size_t len = total(iov, n);
    if (ex->body_left >= 0 && !ex->has_no_body) {
        ASSERT((int64_t)len <= ex->body_left);
        ex->body_left -= (int64_t)len;
    }
    if (!ex->has_no_body) {
        while (n > SPANS_MAX) {
            write_spans(ex, iov, SPANS_MAX, false);
            iov += SPANS_MAX;
            n -= SPANS_MAX;
        }
        write_spans(ex, iov, n, is_last);
    }
    if (http_conn_pending(conn) > conn->server->limits.client_buffer_bytes / 2) {
        ex->was_full = true;
    }
    if (is_last) {
        ex->is_ended = true;
        ex->is_aborted = ex->is_aborted || (ex->body_left > 0 && !ex->has_no_body);
        loop_defer(conn->server->loop, &conn->job);
    }
}

void http_respond(struct http_exchange *ex, int status, struct str fields, struct str body)
{
    http_respond_begin(ex, status, fields, (int64_t)body.len);
    struct iovec iov = {(void *)(uintptr_t)body.p, body.len};
    http_respond_data(ex, &iov, body.len > 0 ? 1 : 0, true);
}

void http_respond_abort(struct http_exchange *ex)
{
    struct http_conn *conn = http_conn_of(ex);
    if (conn->state == CONN_CLOSED || ex->is_ended) {
        return;
    }
    ex->is_ended = true;
    ex->is_aborted = true;
    loop_defer(conn->server->loop, &conn->job);
}

bool http_respond_has_begun(const struct http_exchange *ex)
{
    return ex->is_begun;
}

size_t http_respond_pending(const struct http_exchange *ex)
{
    return http_conn_pending(http_conn_of(ex));
}

bool http_respond_is_full(const struct http_exchange *ex)
{
    return ex->was_full;
}
