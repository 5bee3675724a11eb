/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/wire.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum wire_phase { PHASE_SIZE, PHASE_SIZE_LINE, PHASE_DATA, PHASE_DATA_END, PHASE_TRAILER };

uint64_t wire_now_ns(void)
{
    struct timespec ts;

    if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0) {
        return 0;
    }
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

void *wire_alloc(size_t count, size_t size)
{
    void *ptr = calloc(count == 0 ? 1 : count, size);

    if (ptr == NULL) {
        (void)fputs("out of memory\n", stderr);
        _exit(1);
    }
    return ptr;
}

void *wire_grow(void *ptr, size_t bytes)
{
    void *grown = realloc(ptr, bytes);

    if (grown == NULL) {
        (void)fputs("out of memory\n", stderr);
        _exit(1);
    }
    return grown;
}

uint64_t wire_raise_fd_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    return limit.rlim_cur;
}

bool wire_addr_parse(const char *text, struct sockaddr_in *ret_addr)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    unsigned long port = 0;

    if (colon == NULL || (size_t)(colon - text) >= sizeof(host)) {
        return false;
    }
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    port = strtoul(colon + 1, &end, 10);
    if (*end != '\0' || port == 0 || port > 65535) {
        return false;
    }
    memset(ret_addr, 0, sizeof(*ret_addr));
    ret_addr->sin_family = AF_INET;
    ret_addr->sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &ret_addr->sin_addr) == 1;
}

int wire_listen(uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof(addr);
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0) {
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&addr, &len) != 0) {
        int saved = errno;

        close(fd);
        errno = saved;
        return -1;
    }
    *ret_port = ntohs(addr.sin_port);
    return fd;
}

int wire_connect(const struct sockaddr_in *addr)
{
    int one = 1;
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -1;
    }
    /* Connect blocking: on loopback that is one short call, and the set-up stays simple. */
    if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
        ioctl(fd, FIONBIO, &on) != 0) {
        int saved = errno;

        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static size_t read_whole(int fd, char *buf, size_t cap)
{
    size_t len = 0;

    while (len + 1 < cap) {
        ssize_t n = recv(fd, buf + len, cap - 1 - len, 0);

        if (n <= 0) {
            break;
        }
        len += (size_t)n;
    }
    buf[len] = '\0';
    return len;
}

unsigned wire_get(const struct sockaddr_in *addr, const char *path, char *ret_body, size_t cap)
{
    char ask[256];
    struct timeval patience = {.tv_sec = 5};
    unsigned status = 0;
    int len = snprintf(ask, sizeof(ask),
                       "GET %s HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n", path);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ret_body[0] = '\0';
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
        connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 &&
        send(fd, ask, (size_t)len, MSG_NOSIGNAL) == len) {
        size_t got = read_whole(fd, ret_body, cap);
        char *body = strstr(ret_body, "\r\n\r\n");

        if (body != NULL && got > 12) {
            status = (unsigned)strtoul(ret_body + 9, NULL, 10);
            body += 4;
            memmove(ret_body, body, got - (size_t)(body - ret_body) + 1);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

bool wire_line_next(const char *head, size_t len, size_t *at, struct wire_line *ret_line)
{
    const char *line = NULL;
    const char *end = NULL;
    const char *colon = NULL;

    if (*at == 0) { /* step over the first line */
        end = memchr(head, '\n', len);
        if (end == NULL) {
            return false;
        }
        *at = (size_t)(end - head) + 1;
    }
    line = head + *at;
    end = memchr(line, '\n', len - *at);
    if (end == NULL || end - line < 2) {
        return false;
    }
    *at = (size_t)(end - head) + 1;
    if (end[-1] == '\r') {
        end--;
    }
    colon = memchr(line, ':', (size_t)(end - line));
    if (colon == NULL) {
        return false;
    }
    ret_line->name = line;
    ret_line->name_len = (size_t)(colon - line);
    for (colon++; colon < end && *colon == ' ';) {
        colon++;
    }
    ret_line->value = colon;
    ret_line->value_len = (size_t)(end - colon);
    return true;
}

bool wire_line_is(const struct wire_line *line, const char *name)
{
    return strlen(name) == line->name_len && strncasecmp(line->name, name, line->name_len) == 0;
}

uint64_t wire_line_u64(const struct wire_line *line)
{
    uint64_t value = 0;

    for (size_t i = 0; i < line->value_len && i < 19; i++) {
        if (!isdigit((unsigned char)line->value[i])) {
            break;
        }
        value = value * 10 + (uint64_t)(line->value[i] - '0');
    }
    return value;
}

bool wire_line_has(const struct wire_line *line, const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; i + len <= line->value_len; i++) {
        if (strncasecmp(line->value + i, word, len) == 0) {
            return true;
        }
    }
    return false;
}

void wire_body_init(struct wire_body *body, enum wire_framing framing, uint64_t length)
{
    memset(body, 0, sizeof(*body));
    body->framing = framing;
    body->phase = PHASE_SIZE;
    body->remain = framing == WIRE_LENGTH ? length : 0;
    body->is_done = framing == WIRE_NONE || (framing == WIRE_LENGTH && length == 0);
}

/* Bytes of plain payload. Returns how many it took. */
static size_t take_data(struct wire_body *body,
                        const char *data,
                        size_t n,
                        const char **ret_piece,
                        size_t *ret_piece_len)
{
    size_t take = n < body->remain ? n : (size_t)body->remain;

    *ret_piece = data;
    *ret_piece_len = take;
    body->remain -= take;
    if (body->remain == 0 && body->framing == WIRE_CHUNKED) {
        body->phase = PHASE_DATA_END;
    } else if (body->remain == 0) {
        body->is_done = true;
    }
    return take;
}

static void take_size_char(struct wire_body *body, char c)
{
    if (c == '\n') {
        body->phase = body->remain > 0 ? PHASE_DATA : PHASE_TRAILER;
        body->line_len = 0;
    } else if (body->phase == PHASE_SIZE && isxdigit((unsigned char)c)) {
        unsigned digit =
            isdigit((unsigned char)c) ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10U;

        body->remain = body->remain * 16 + digit;
    } else {
        body->phase = PHASE_SIZE_LINE; /* an extension or the CR: skip to the end of the line */
    }
}

static void take_trailer_char(struct wire_body *body, char c)
{
    if (c == '\n') {
        body->is_done = body->line_len == 0;
        body->line_len = 0;
    } else if (c != '\r') {
        body->line_len++;
    }
}

size_t wire_body_step(struct wire_body *body,
                      const char *data,
                      size_t n,
                      const char **ret_piece,
                      size_t *ret_piece_len)
{
    size_t used = 0;

    *ret_piece = NULL;
    *ret_piece_len = 0;
    if (body->is_done) {
        return 0;
    }
    if (body->framing == WIRE_CLOSE) {
        *ret_piece = data;
        *ret_piece_len = n;
        return n;
    }
    if (body->framing == WIRE_LENGTH) {
        return take_data(body, data, n, ret_piece, ret_piece_len);
    }
    while (used < n && !body->is_done) {
        if (body->phase == PHASE_DATA) {
            return used + take_data(body, data + used, n - used, ret_piece, ret_piece_len);
        }
        if (body->phase == PHASE_TRAILER) {
            take_trailer_char(body, data[used]);
        } else if (body->phase == PHASE_DATA_END) {
            if (data[used] == '\n') {
                body->phase = PHASE_SIZE;
            }
        } else {
            take_size_char(body, data[used]);
        }
        used++;
    }
    return used;
}
