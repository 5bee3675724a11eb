/* SPDX-License-Identifier: Apache-2.0 */
/* The load generator's client side: n keep-alive connections to one address in one epoll loop, each
 * with at most one request in progress. Answers are decoded and searched for the mock's marks
 * (replica, send time), wherever a read cuts them. Modes plug in as a struct client_ops. OWNERSHIP:
 * struct client owns its connections; request bytes are borrowed until on_done. THREAD: main. */
#ifndef BENCH_LOAD_CLIENT_H
#define BENCH_LOAD_CLIENT_H

#include "bench/load/wire.h"

#include <sys/uio.h>

#define CLIENT_IOV_MAX 6

/* Reads "@@RrrTdddddddddddddddd@@" and "[DONE]" out of a byte stream, byte by byte. */
struct client_scan {
    unsigned mark_at; /* bytes of a mark seen so far */
    unsigned done_at; /* bytes of "[DONE]" seen so far */
    uint32_t replica;
    uint64_t sent_ns;
    bool has_done;
};

struct client_conn {
    int fd; /* -1 = closed */
    uint32_t index;
    bool is_busy;
    bool is_fresh;   /* no answer came over this connection yet */
    bool is_writing; /* EPOLLOUT is on */
    bool has_head;
    unsigned status;
    uint32_t events;   /* content events of this answer */
    int replica;       /* which one answered; -1 = not known yet */
    uint64_t asked_ns; /* when the request was (or should have been) sent */
    uint64_t first_ns; /* when the first event was read; 0 = not yet */
    uint64_t tag;      /* the mode's own */
    struct iovec iov[CLIENT_IOV_MAX];
    int iov_count;
    int iov_at;
    size_t head_len;
    struct wire_body body;
    struct client_scan scan;
    char head[2048];     /* of the answer */
    char ask_head[1024]; /* the mode's request head */
    char ask_body[1280]; /* the mode's small request body */
};

enum client_end {
    CLIENT_OK,      /* a whole answer with status 200 */
    CLIENT_REFUSED, /* a whole answer with another status */
    CLIENT_CUT      /* the connection ended inside the answer */
};

struct client;

struct client_ops {
    /* A mark was read: sent by replica at sent_ns, read at now_ns. */
    void (*on_event)(struct client *client,
                     struct client_conn *conn,
                     uint64_t sent_ns,
                     uint64_t now_ns);
    /* The answer ended; the connection is idle (or closed and reopened) and may be used at once. */
    void (*on_done)(struct client *client,
                    struct client_conn *conn,
                    enum client_end end,
                    uint64_t now_ns);
    /* wake_ns has come; NULL when the mode never sets it. */
    void (*on_wake)(struct client *client, uint64_t now_ns);
};

struct client {
    struct sockaddr_in to;
    const struct client_ops *ops;
    void *ctx;                  /* the mode's own */
    struct client_conn **conns; /* [conn_count] */
    uint32_t conn_count;
    uint64_t wake_ns;     /* call on_wake then; UINT64_MAX = never */
    uint64_t deadline_ns; /* the loop ends then, whatever happens */
    bool is_stopping;
    int ep;
    char *scratch;
    uint64_t read_count; /* reads that held at least one event */
    uint64_t event_count;
    uint64_t ok_count;
    uint64_t refused_count;
    uint64_t cut_count;
    uint64_t no_done_count; /* streams that ended well but without [DONE] */
    uint64_t reopen_count;
    unsigned refused_status; /* one of them */
    char refused_text[160];  /* how that answer began */
};

/* Opens conn_count connections. False (and a message on stderr) when one cannot be opened. */
bool client_init(struct client *client,
                 const struct sockaddr_in *to,
                 uint32_t conn_count,
                 const struct client_ops *ops,
                 void *ctx);

void client_fini(struct client *client);

/* Starts a request: conn->iov[0 .. iov_count) must be set. asked_ns is what delays are counted
 * from. */
void client_ask(struct client *client, struct client_conn *conn, uint64_t asked_ns);

/* Closes a connection without ceremony (the client leaves). */
void client_leave(struct client_conn *conn);

/* Runs until is_stopping or the deadline. Returns false at the deadline. */
bool client_run(struct client *client);

/* Writes the common counters as JSON members, each followed by a comma. */
void client_print(const struct client *client);

#endif
