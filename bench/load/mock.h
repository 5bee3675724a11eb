/* SPDX-License-Identifier: Apache-2.0 */
/* The bench's fake OpenAI engines: what one connection is, and the texts it sends.
 * One process, one thread, one epoll; each listening port is one replica.
 * OWNERSHIP: struct mock owns connections, timers and records. THREAD: main. */
#ifndef BENCH_LOAD_MOCK_H
#define BENCH_LOAD_MOCK_H

#include "bench/load/wire.h"

#define MOCK_PORTS_MAX 64U
#define MOCK_EDGE      2048U /* bytes kept of each end of a request body, to look for flags in */
#define MOCK_TEXT_MAX  ((size_t)4 * 1024 * 1024) /* longest control answer, bytes */
#define MOCK_EVENT_MAX ((size_t)65536)           /* largest event a request may ask for */
#define MOCK_LEFT_MAX  65536U                    /* departures remembered until /mock/reset */

/* Values of x-mock-silent. */
enum mock_silence {
    MOCK_TALKS = 0,
    MOCK_SAYS_NOTHING = 1, /* not even a response head, until the caller leaves */
    MOCK_HEAD_ONLY = 2,    /* the head, then nothing */
    MOCK_HOLDS = 3         /* the asked chunks, then nothing: the stream stays open */
};

/* What a request asked for: x-mock-* headers and a look into its body. */
struct mock_ask {
    uint64_t id;          /* x-mock-id, for the departure records */
    uint64_t delay_us;    /* x-mock-delay-us: from the whole request to the first event */
    uint64_t interval_us; /* x-mock-interval-us: between events */
    uint32_t chunk_count; /* x-mock-chunks */
    uint32_t chunk_bytes; /* x-mock-chunk-bytes: size of an event, or of a whole answer's body */
    unsigned silence;     /* enum mock_silence */
    bool is_stream;
    bool wants_usage;
    bool wants_continue; /* expect: 100-continue */
    bool is_get;
    bool is_close;
    char path[64];
};

enum mock_state { CONN_HEAD, CONN_BODY, CONN_BUSY };

/* A connection of a gateway, or a listening socket. */
struct mock_conn {
    int fd;
    uint32_t replica;
    bool is_listener;
    enum mock_state state;
    struct mock_ask ask;
    struct wire_body body;
    uint32_t sent;   /* events of the running answer */
    uint64_t due_ns; /* when the next one goes out */
    size_t heap_at;  /* place in the timer heap + 1; 0 = not there */
    size_t head_len;
    size_t first_len; /* of the body's start */
    size_t last_len;  /* of the body's end */
    char *out;        /* bytes the socket did not take yet */
    size_t out_len;
    size_t out_at;
    char head[WIRE_HEAD_MAX];
    char first[MOCK_EDGE];
    char last[MOCK_EDGE];
};

/* A caller that went while its request ran. */
struct mock_left {
    uint64_t id;
    uint64_t at_ns;
    uint32_t sent;
    uint32_t replica;
};

struct mock_stats {
    uint64_t requests;
    uint64_t body_bytes;
    uint64_t finished;
    uint64_t left; /* callers gone before the end */
    uint64_t events;
    uint32_t open_count; /* requests in progress */
    uint32_t open_max;
    uint32_t conn_count;
};

/* Connections that wait for a time: a binary heap by due_ns. */
struct mock_timers {
    struct mock_conn **heap; /* [len] */
    size_t len;
    size_t cap;
};

struct mock {
    int ep;
    int signals;
    uint32_t replica_count;
    struct mock_conn *listeners[MOCK_PORTS_MAX];
    struct mock_stats stats[MOCK_PORTS_MAX];
    uint64_t late_max_ns; /* worst lateness of an event: the mock's own overload */
    struct mock_timers timers;
    struct mock_left *left;
    size_t left_len;
    char *scratch; /* SCRATCH_BYTES for reading */
    bool is_stopping;
};

/* The text of one content event (no chunk framing) with the send time and the replica's number.
 * ret_text[MOCK_EVENT_MAX]; returns its length (bytes, or more when the frame alone is larger). */
size_t mock_text_event(char *ret_text, size_t bytes, uint32_t replica, uint64_t now_ns);

/* The end of a stream: finish reason, usage when wanted, [DONE]. Returns its length. */
size_t mock_text_finish(char *ret_text, size_t cap, bool wants_usage, uint32_t chunk_count);

/* A whole non-stream answer's body of about bytes. Returns its length. */
size_t mock_text_answer(char *ret_text, size_t bytes, uint32_t replica, uint64_t now_ns);

/* Reads the request line and headers of head[len] into ret_ask and ret_body. False: not a request.
 */
bool mock_ask_read(const char *head,
                   size_t len,
                   struct mock_ask *ret_ask,
                   struct wire_body *ret_body);

/* Adds what the two ends of the body say: "stream": true, "include_usage": true. */
void mock_ask_look(struct mock_ask *ask, const char *edge, size_t len);

/* Wakes conn at due_ns (instead of at an earlier set time). O(log n). */
void mock_timer_set(struct mock_timers *timers, struct mock_conn *conn, uint64_t due_ns);

/* No wake-up for conn any more. O(log n). */
void mock_timer_clear(struct mock_timers *timers, struct mock_conn *conn);

/* The counters as one JSON object. Returns its length. */
size_t mock_stats_write(const struct mock *mock, char *ret_text, size_t cap);

/* One departure a line: id, time in ns, events sent, replica. Returns the length. */
size_t mock_left_write(const struct mock *mock, char *ret_text, size_t cap);

/* All counters to zero, but those of what is open now. */
void mock_stats_reset(struct mock *mock);

#endif
