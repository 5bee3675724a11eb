/* SPDX-License-Identifier: Apache-2.0 */
/* A small gateway in one loop: clients that send, read, leave as the dice fall; a front that relays
 * each request over the HTTP client with back-pressure; a back that answers in every manner.
 * Whatever happens, each exchange closes once, each call ends once or is cancelled, and nothing is
 * left when the clients are gone. */
#include "tests/unit/common/io/reactor/rig.h"

#include "common/base/rng.h"

#include <stdio.h>

enum {
    CLIENTS = 24,
    ROUNDS = 6000,
    ZEROS_BYTES = 262144,
    LIMIT_BYTES = 65536,
    FRONT_REQUEST_BYTES = 160
};

static char zeros[ZEROS_BYTES];

struct storm {
    struct loop *loop;
    struct rng rng;
    struct http_server *front;
    struct http_server *back;
    struct http_client *client;
    struct http_endpoint *ep;
    struct net_addr front_addr;
    uint64_t relay_count;
    uint64_t relay_open;
    uint64_t back_open;
    uint64_t done_count[HTTP_CLOSE_ABORTED + 1];
    uint64_t fail_count;
};

static uint64_t dice(struct storm *storm, uint64_t sides)
{
    return rng_below(&storm->rng, sides);
}

/* --- Back: answers in every manner. */

struct back {
    struct storm *storm;
    struct http_exchange *ex;
};

static void back_answer(struct back *back)
{
    struct storm *storm = back->storm;
    struct iovec iov = {zeros,
                        dice(storm, 4) == 0 ? dice(storm, ZEROS_BYTES) : 1 + dice(storm, 100)};
    uint64_t how = dice(storm, 12);
    if (how == 0) {
        return; /* never */
    }
    if (how == 1) {
        http_respond_abort(back->ex);
    } else if (how < 6) {
        http_respond(back->ex, how == 2 ? 204 : 200, STR(""),
                     how == 2 ? STR("") : (struct str){zeros, iov.iov_len});
    } else {
        http_respond_begin(back->ex, 200, STR(""), -1);
        for (uint64_t i = dice(storm, 6); i > 0 && !http_respond_is_full(back->ex); i--) {
            http_respond_data(back->ex, &iov, 1, false);
        }
        if (how == 7) {
            http_respond_abort(back->ex);
        } else if (how > 8) {
            http_respond_data(back->ex, NULL, 0, true);
        }
    }
}

static void back_end(void *ctx)
{
    back_answer(ctx);
}

static void back_drain(void *ctx)
{
    struct back *back = ctx;
    http_respond_data(back->ex, NULL, 0, true);
}

static void back_close(void *ctx, enum http_close why)
{
    struct back *back = ctx;
    (void)why;
    back->storm->back_open--;
    free(back);
}

static void back_request(void *ctx, struct http_exchange *ex)
{
    static const struct http_exchange_ops ops = {
        .on_end = back_end, .on_drain = back_drain, .on_close = back_close};
    struct storm *storm = ctx;
    struct back *back = calloc(1, sizeof(*back));
    assert_non_null(back);
    back->storm = storm;
    back->ex = ex;
    storm->back_open++;
    http_exchange_take(ex, &ops, back);
    if (dice(storm, 10) == 0) {
        back_answer(back); /* before the body */
    }
}

/* --- Front: relays. */

struct relay {
    struct storm *storm;
    struct http_exchange *ex;
    struct http_call *call;
    struct buf body;
    char head[FRONT_REQUEST_BYTES];
};

static void relay_head(void *ctx, const struct http_head *head, int64_t content_length)
{
    struct relay *relay = ctx;
    if (dice(relay->storm, 40) == 0) { /* it thinks better of it */
        http_call_cancel(relay->call);
        relay->call = NULL;
        http_respond(relay->ex, 503, STR(""), STR("no"));
        return;
    }
    http_respond_begin(relay->ex, head->status, STR(""), content_length);
}

static void relay_data(void *ctx, const struct iovec *iov, int n, bool is_last)
{
    struct relay *relay = ctx;
    if (is_last) {
        relay->call = NULL;
    }
    http_respond_data(relay->ex, iov, n, is_last);
    if (!is_last && http_respond_is_full(relay->ex)) {
        http_call_pause(relay->call);
    }
}

static void relay_start(struct relay *relay);

static void relay_fail(void *ctx, enum http_fail why)
{
    struct relay *relay = ctx;
    (void)why;
    relay->call = NULL;
    relay->storm->fail_count++;
    if (http_respond_has_begun(relay->ex)) {
        http_respond_abort(relay->ex);
    } else if (dice(relay->storm, 2) == 0) {
        relay_start(relay); /* once more, from inside the callback */
    } else {
        http_respond(relay->ex, 502, STR(""), STR("gone"));
    }
}

static void relay_start(struct relay *relay)
{
    static const struct http_call_ops ops = {
        .on_head = relay_head, .on_data = relay_data, .on_fail = relay_fail};
    struct http_request req = {.head = str_of(relay->head), .body_count = 1};
    req.body[0] = (struct iovec){relay->body.p, relay->body.len};
    assert_status(http_call_start(relay->storm->ep, &req, &ops, relay, &relay->call), ST_OK);
}

static void relay_body(void *ctx, const char *data, size_t len)
{
    struct relay *relay = ctx;
    assert_status(buf_add(&relay->body, data, len), ST_OK);
}

static void relay_end(void *ctx)
{
    struct relay *relay = ctx;
    snprintf(relay->head, sizeof(relay->head),
             "POST / HTTP/1.1\r\nhost: b\r\ncontent-length: %zu\r\n\r\n", relay->body.len);
    relay_start(relay);
}

static void relay_drain(void *ctx)
{
    struct relay *relay = ctx;
    if (relay->call != NULL) {
        http_call_resume(relay->call);
    }
}

static void relay_close(void *ctx, enum http_close why)
{
    struct relay *relay = ctx;
    if (relay->call != NULL) {
        http_call_cancel(relay->call);
    }
    relay->storm->done_count[why]++;
    relay->storm->relay_open--;
    buf_fini(&relay->body);
    free(relay);
}

static void front_request(void *ctx, struct http_exchange *ex)
{
    static const struct http_exchange_ops ops = {.on_body = relay_body,
                                                 .on_end = relay_end,
                                                 .on_drain = relay_drain,
                                                 .on_close = relay_close};
    struct storm *storm = ctx;
    struct relay *relay = calloc(1, sizeof(*relay));
    assert_non_null(relay);
    relay->storm = storm;
    relay->ex = ex;
    buf_init(&relay->body, mem_heap(), SIZE_MAX / 2);
    storm->relay_open++;
    storm->relay_count++;
    http_exchange_take(ex, &ops, relay);
}

static size_t
error_body(void *ctx, int status, const char *code, const char *text, char *out, size_t cap)
{
    (void)ctx;
    (void)text;
    return (size_t)snprintf(out, cap, "%d %s", status, code);
}

/* --- Clients. */

static const char *const pieces[] = {
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\nhel",
    "GET / HT",
    "TP/1.1\r\nHost: h\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
};

static void client_step(struct storm *storm, struct peer *peer)
{
    static const char body[30000];
    if (peer->fd < 0) {
        peer_connect(peer, &storm->front_addr);
    }
    uint64_t what = dice(storm, 20);
    if (what < 8) {
        const char *text = pieces[dice(storm, sizeof(pieces) / sizeof(pieces[0]))];
        peer_offer(peer, text, strlen(text));
    } else if (what < 10) {
        peer_offer(peer, body, sizeof(body));
    } else if (what < 15) {
        peer->in_len = 0;
        peer_read(peer, 1 + dice(storm, 200000));
    } else if (what == 15) {
        shutdown(peer->fd, SHUT_WR);
    } else if (what == 16) {
        peer_reset(peer);
    } else if (what == 17) {
        peer_close(peer);
    }
}

static struct http_server *
open_server(struct storm *storm, struct net_addr *ret_addr, const struct http_server_ops *ops)
{
    struct http_limits limits = rig_server_limits();
    struct http_server *server = NULL;
    limits.client_buffer_bytes = LIMIT_BYTES;
    limits.connections = CLIENTS * 2;
    int fd = rig_listen(ret_addr, CLIENTS * 2);
    assert_status(http_server_new(&server, storm->loop, &limits, ops, storm), ST_OK);
    assert_status(http_server_listen(server, fd, NULL), ST_OK);
    return server;
}

static void storm_run(uint64_t seed)
{
    static const struct http_server_ops front_ops = {.on_request = front_request,
                                                     .error_body = error_body};
    static const struct http_server_ops back_ops = {.on_request = back_request,
                                                    .error_body = error_body};
    struct storm storm = {.loop = rig_loop()};
    struct net_addr back_addr;
    struct peer peers[CLIENTS];
    print_message("seed %llu\n", (unsigned long long)seed);
    rng_init(&storm.rng, seed);
    storm.front = open_server(&storm, &storm.front_addr, &front_ops);
    storm.back = open_server(&storm, &back_addr, &back_ops);
    storm.client = rig_client(storm.loop, NULL);
    storm.ep = rig_endpoint(storm.client, &back_addr);
    for (int i = 0; i < CLIENTS; i++) {
        peers[i] = (struct peer){.fd = -1};
    }
    for (int i = 0; i < ROUNDS; i++) {
        client_step(&storm, &peers[dice(&storm, CLIENTS)]);
        loop_turn(storm.loop, 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        peer_close(&peers[i]);
    }
    UNTIL(storm.loop, http_server_counters(storm.front)->open_connections == 0);
    assert_int_equal(storm.relay_open, 0);
    assert_int_equal(http_client_counters(storm.client)->active_calls, 0);
    assert_true(storm.done_count[HTTP_CLOSE_DONE] > 10 && storm.done_count[HTTP_CLOSE_GONE] > 10);
    UNTIL(storm.loop, storm.back_open == 0);
    http_server_free(storm.front);
    http_client_free(storm.client);
    http_server_free(storm.back);
    rig_turns(storm.loop, 1);
    loop_free(storm.loop);
}

static void gateway__clients_behave_at_random__nothing_is_left(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        storm_run(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gateway__clients_behave_at_random__nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
