/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. address found, connected; 2. request sent as HTTP/1.0, so that the answer is not
 * chunked; 3. answer read to the end of the connection; 4. head split off, the body's length
 * compared with the one promised. Failures: each step ends at the deadline; the text in err says
 * which one and why. */
#define _GNU_SOURCE /* memmem, strerror_r */
#include "cli/http_ask.h"

#include "common/io/reactor/net.h"
#include "common/rt/clock.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 16384, HOST_BYTES = 256, ADDRS_MAX = 8, REQUEST_BYTES = 256 << 10 };

static struct str why_errno(int number, char *text, size_t cap)
{
    return str_of(strerror_r(number, text, cap));
}

/* Waits for events on fd; ST_TIMEOUT at the deadline. */
static enum status wait_fd(int fd, short events, uint64_t deadline_us, struct err *err)
{
    for (;;) {
        uint64_t now_us = clock_now_us();
        if (now_us >= deadline_us) {
            return err_set(err, ST_TIMEOUT, "no answer in time");
        }
        struct pollfd p = {.fd = fd, .events = events};
        uint64_t left_ms = (deadline_us - now_us) / 1000 + 1;
        int n = poll(&p, 1, left_ms > 60000 ? 60000 : (int)left_ms);
        if (n > 0) {
            return ST_OK;
        }
        if (n < 0 && errno != EINTR) {
            return err_set(err, ST_IO, "poll failed");
        }
    }
}

static enum status
dial_one(const struct net_addr *addr, uint64_t deadline_us, int *ret_fd, struct err *err)
{
    int fd = -1;
    int why = 0;
    char name[NET_ADDR_TEXT_BYTES];
    char text[128];
    net_addr_text(addr, name);
    enum status st = net_connect(addr, &fd, &why);
    if (st == ST_OK) {
        st = wait_fd(fd, POLLOUT, deadline_us, err);
        if (st != ST_OK) {
            (void)close(fd);
            return err_set(err, st, "%s: cannot be reached in time", name);
        }
        socklen_t len = sizeof(why);
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) == 0 && why == 0) {
            *ret_fd = fd;
            return ST_OK;
        }
        (void)close(fd);
    }
    return err_set(err, ST_IO, "%s: %s", name, why_errno(why, text, sizeof(text)).p);
}

/* HOST:PORT whose host is a name. */
static enum status
resolve(struct str authority, struct net_addr *ret, size_t cap, size_t *ret_count, struct err *err)
{
    char host[HOST_BYTES];
    size_t len = str_copy(host, sizeof(host), authority);
    char *colon = strrchr(host, ':');
    if (len != authority.len || colon == NULL) {
        return err_set(err, ST_INVAL, "'%s' must be HOST:PORT", host);
    }
    *colon = '\0';
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, colon + 1, &hints, &list);
    if (rc != 0) {
        return err_set(err, ST_IO, "%s: %s", host, gai_strerror(rc));
    }
    size_t count = 0;
    for (struct addrinfo *ai = list; ai != NULL && count < cap; ai = ai->ai_next) {
        if (ai->ai_addrlen <= sizeof(ret->sa)) {
            memcpy(&ret[count].sa, ai->ai_addr, ai->ai_addrlen);
            ret[count].len = ai->ai_addrlen;
            count++;
        }
    }
    freeaddrinfo(list);
    *ret_count = count;
    return ST_OK;
}

/* Connects to the url; *ret_host is what the Host header says. */
static enum status
dial(struct str url, uint64_t deadline_us, int *ret_fd, struct str *ret_host, struct err *err)
{
    struct str where = url;
    if (str_starts(url, STR("http://"))) {
        where = (struct str){url.p + 7, url.len - 7};
        if (where.len > 0 && where.p[where.len - 1] == '/') {
            where.len--;
        }
        *ret_host = where;
    } else if (str_starts(url, STR("unix:"))) {
        *ret_host = STR("localhost");
    } else if (str_starts(url, STR("https://"))) {
        return err_set(err, ST_INVAL, "the admin port speaks http:// only");
    } else {
        *ret_host = where; /* HOST:PORT is fine too */
    }
    struct net_addr addrs[ADDRS_MAX];
    size_t count = 1;
    enum status st = net_addr_parse(where, &addrs[0], err);
    if (st == ST_NOTFOUND) {
        st = resolve(where, addrs, ADDRS_MAX, &count, err);
    }
    if (st != ST_OK) {
        return st;
    }
    st = ST_IO;
    for (size_t i = 0; i < count && st != ST_OK; i++) {
        st = dial_one(&addrs[i], deadline_us, ret_fd, err);
    }
    return st;
}

static enum status send_all(int fd, struct str data, uint64_t deadline_us, struct err *err)
{
    while (data.len > 0) {
        ssize_t n = send(fd, data.p, data.len, MSG_NOSIGNAL);
        if (n > 0) {
            data = (struct str){data.p + n, data.len - (size_t)n};
        } else if (errno == EAGAIN) {
            enum status st = wait_fd(fd, POLLOUT, deadline_us, err);
            if (st != ST_OK) {
                return st;
            }
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return ST_OK; /* the answer may say why it did not want the rest */
        } else if (errno != EINTR) {
            return err_set(err, ST_IO, "sending failed");
        }
    }
    return ST_OK;
}

static enum status read_all(int fd, struct buf *answer, uint64_t deadline_us, struct err *err)
{
    for (;;) {
        enum status st = buf_reserve(answer, READ_BYTES);
        if (st != ST_OK) {
            return err_set(err, st, "the answer is too large");
        }
        ssize_t n = recv(fd, answer->p + answer->len, READ_BYTES, 0);
        if (n > 0) {
            answer->len += (size_t)n;
        } else if (n == 0 || errno == ECONNRESET) {
            return ST_OK;
        } else if (errno == EAGAIN) {
            st = wait_fd(fd, POLLIN, deadline_us, err);
            if (st != ST_OK) {
                return st;
            }
        } else if (errno != EINTR) {
            return err_set(err, ST_IO, "reading failed");
        }
    }
}

/* Value of a header in a head that ends with an empty line; false when it is not there. */
static bool find_header(struct str head, struct str name, struct str *ret)
{
    struct str line;
    while (str_split(&head, '\n', &line)) {
        if (str_istarts(line, name) && line.len > name.len && line.p[name.len] == ':') {
            struct str value = {line.p + name.len + 1, line.len - name.len - 1};
            if (value.len > 0 && value.p[value.len - 1] == '\r') {
                value.len--;
            }
            *ret = str_trim(value);
            return true;
        }
    }
    return false;
}

/* Splits answer in place: only the body stays. */
static enum status split_answer(struct buf *answer, int *ret_status, struct err *err)
{
    struct str all = buf_str(answer);
    char *end = all.len == 0 ? NULL : memmem(all.p, all.len, "\r\n\r\n", 4);
    uint64_t code;
    if (end == NULL || !str_starts(all, STR("HTTP/1.")) || all.len < 12 ||
        str_to_u64((struct str){all.p + 9, 3}, &code) != ST_OK || code < 200) {
        return err_set(err, ST_PROTO,
                       all.len == 0 ? "the connection was closed without an answer"
                                    : "no HTTP answer");
    }
    struct str head = {all.p, (size_t)(end - all.p) + 2};
    size_t body_len = all.len - head.len - 2;
    struct str length;
    uint64_t promised;
    if (find_header(head, STR("Content-Length"), &length)) {
        if (str_to_u64(length, &promised) != ST_OK || promised > body_len) {
            return err_set(err, ST_PROTO, "the answer was cut");
        }
        body_len = (size_t)promised;
    }
    *ret_status = (int)code;
    buf_drop(answer, head.len + 2);
    answer->len = body_len;
    return ST_OK;
}

static enum status make_request(const struct http_ask *ask, struct str host, struct buf *request)
{
    enum status st = buf_add_fmt(request, "%s %s HTTP/1.0\r\nHost: %.*s\r\nConnection: close\r\n",
                                 ask->method, ask->path, (int)host.len, host.p);
    if (st == ST_OK && ask->key.len > 0) {
        st = buf_add_fmt(request, "Authorization: Bearer %.*s\r\n", (int)ask->key.len, ask->key.p);
    }
    if (st == ST_OK && ask->body.len > 0) {
        st = buf_add_fmt(request, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                         ask->body.len);
    }
    st = st == ST_OK ? buf_add_str(request, STR("\r\n")) : st;
    return st == ST_OK ? buf_add_str(request, ask->body) : st;
}

enum status
http_ask(const struct http_ask *ask, int *ret_status, struct buf *ret_body, struct err *err)
{
    uint64_t deadline_us = clock_now_us() + ask->timeout_us;
    struct str host = {NULL, 0};
    struct buf request;
    int fd = -1;
    buf_init(&request, mem_heap(), REQUEST_BYTES);
    enum status st = dial(ask->url, deadline_us, &fd, &host, err);
    if (st != ST_OK) {
        goto out;
    }
    st = make_request(ask, host, &request);
    if (st != ST_OK) {
        st = err_set(err, st, "request: %s", status_text(st));
        goto out;
    }
    st = send_all(fd, buf_str(&request), deadline_us, err);
    st = st == ST_OK ? read_all(fd, ret_body, deadline_us, err) : st;
    st = st == ST_OK ? split_answer(ret_body, ret_status, err) : st;
out:
    if (fd >= 0) {
        (void)close(fd);
    }
    buf_fini(&request);
    return st;
}
