/* SPDX-License-Identifier: Apache-2.0 */
/* The little HTTP/1.1 that the bench's own engine and load generator need: clock, sockets, head
 * lines, body framing. Deliberately independent of common/io: what measures must not be what is
 * measured. Not a general HTTP parser: it trusts its peers. THREAD: any. */
#ifndef BENCH_LOAD_WIRE_H
#define BENCH_LOAD_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_HEAD_MAX 8192U /* bytes of one request or response head */

/* CLOCK_MONOTONIC in ns: the same clock in every process of this machine. */
uint64_t wire_now_ns(void);

/* Zeroed memory; ends the process when there is none (a bench has nothing better to do). */
void *wire_alloc(size_t count, size_t size);

/* Grows a block from wire_alloc; ends the process when there is no memory. */
void *wire_grow(void *ptr, size_t bytes);

/* Soft descriptor limit = hard limit. Returns the limit now in force. */
uint64_t wire_raise_fd_limit(void);

/* Reads "HOST:PORT" (dotted IPv4). Returns false when it is not that. */
bool wire_addr_parse(const char *text, struct sockaddr_in *ret_addr);

/* A listening, non-blocking socket on 127.0.0.1; port 0 picks a free one. Returns -1 with errno
 * set. */
int wire_listen(uint16_t port, uint16_t *ret_port);

/* A connected, non-blocking socket with TCP_NODELAY, or -1 with errno set. */
int wire_connect(const struct sockaddr_in *addr);

/* Blocking GET of a small answer over a fresh connection; the body (NUL-terminated) is written to
 * ret_body[cap]. Returns the status code, or 0 when no whole answer came. */
unsigned wire_get(const struct sockaddr_in *addr, const char *path, char *ret_body, size_t cap);

/* One head line after the first. */
struct wire_line {
    const char *name;
    const char *value;
    size_t name_len;
    size_t value_len;
};

/* The next header line at *at (an offset into the head); advances *at. False at the blank line. */
bool wire_line_next(const char *head, size_t len, size_t *at, struct wire_line *ret_line);

/* Is the line's name equal to name (without regard to case)? */
bool wire_line_is(const struct wire_line *line, const char *name);

/* The line's value as a number; 0 when there is none. */
uint64_t wire_line_u64(const struct wire_line *line);

/* Does the line's value hold the word (without regard to case)? */
bool wire_line_has(const struct wire_line *line, const char *word);

enum wire_framing {
    WIRE_NONE,    /* no body */
    WIRE_LENGTH,  /* Content-Length */
    WIRE_CHUNKED, /* Transfer-Encoding: chunked */
    WIRE_CLOSE    /* until the connection ends */
};

struct wire_body {
    enum wire_framing framing;
    unsigned phase;    /* of the chunked reader */
    unsigned line_len; /* bytes seen in the current trailer line */
    uint64_t remain;   /* bytes left of the body or of the chunk */
    bool is_done;
};

void wire_body_init(struct wire_body *body, enum wire_framing framing, uint64_t length);

/* Takes a piece of data[n] (n >= 1): returns how much it took (>= 1 unless done), and in ret_piece
 * the payload among it, if any. */
size_t wire_body_step(struct wire_body *body,
                      const char *data,
                      size_t n,
                      const char **ret_piece,
                      size_t *ret_piece_len);

#endif
