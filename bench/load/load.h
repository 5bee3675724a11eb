/* SPDX-License-Identifier: Apache-2.0 */
/* What the modes of bench-load share: the command line, request texts, and one entry per mode.
 * Each mode prints one JSON object and returns the exit status. THREAD: main. */
#ifndef BENCH_LOAD_LOAD_H
#define BENCH_LOAD_LOAD_H

#include "bench/load/client.h"
#include "bench/load/samples.h"

struct load_args {
    struct sockaddr_in to;   /* the gateway */
    struct sockaddr_in mock; /* the mock's control port (mode leave) */
    bool has_mock;
    uint64_t seed;
    uint64_t deadline_s;     /* give up after this long */
    uint64_t connections;    /* small */
    uint64_t requests;       /* small */
    uint64_t rate;           /* small: requests per second, open loop; 0 = closed loop */
    uint64_t streams;        /* streams, leave, silent */
    uint64_t rounds;         /* streams: answers per stream, one after the other */
    uint64_t chunks;         /* events per stream */
    uint64_t interval_us;    /* between events */
    uint64_t chunk_bytes;    /* size of an event (stream) or a body (small) */
    uint64_t delay_us;       /* the engine's time to its first event */
    uint64_t sessions;       /* agent */
    uint64_t steps;          /* agent: steps per session */
    uint64_t in_flight;      /* agent */
    uint64_t common_bytes;   /* agent: system prompt that all sessions share */
    uint64_t session_header; /* agent: 1 = send x-session-id */
    uint64_t same_prompt;    /* small, streams: 1 = all requests carry one prompt */
    uint64_t before_any;     /* leave: 1 = before any byte, 0 = after the first event */
    uint64_t hold_s;         /* silent: hold at most this long */
};

/* Writes the request head for a JSON body of length bytes into conn->ask_head and sets iov[0].
 * extra: more header lines, each with its CRLF, or "". */
void load_head(struct client_conn *conn,
               const struct load_args *args,
               size_t length,
               const char *extra);

/* A short chat request of about 1 KB with a prompt of its own (serial), in iov[0] and iov[1]. */
void load_chat(struct client_conn *conn,
               const struct load_args *args,
               bool is_stream,
               uint64_t serial,
               const char *extra);

/* xorshift64*: the next number; *state must not be 0. */
uint64_t load_random(uint64_t *state);

int load_small(const struct load_args *args);
int load_streams(const struct load_args *args);
int load_agent(const struct load_args *args);
int load_leave(const struct load_args *args);
int load_silent(const struct load_args *args);

#endif
