/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include "common/io/reactor/http_conn.h"

#define GET "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

enum { SOON_US = 30000, PIECE_BYTES = 16384, HIGH_BYTES = 262144 };

static void send_piece(struct rig_exchange *rec, size_t len)
{
    static char zeros[HIGH_BYTES];
    struct iovec iov = {zeros, len};
    http_respond_data(rec->ex, &iov, 1, false);
}

/* As a gateway does: feeds until the exchange is full. */
static void send_until_full(struct rig_exchange *rec)
{
    if (!http_respond_has_begun(rec->ex)) {
        http_respond_begin(rec->ex, 200, STR(""), -1);
    }
    while (!http_respond_is_full(rec->ex)) {
        send_piece(rec, PIECE_BYTES);
    }
}

static void client__does_not_read__holds_a_bounded_amount(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = send_until_full;
    srv.on_drain = send_until_full;
    peer_send(&peer, GET);
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    rig_turns(loop, 20);
    struct http_exchange *ex = srv.seen[0].ex;
    assert_true(http_respond_is_full(ex));
    assert_true(http_respond_pending(ex) <=
                rig_server_limits().client_buffer_bytes / 2 + PIECE_BYTES + 64);
    rig_expect_quiet(loop);
    rig_pair_close(loop, &srv, &peer);
}

static void client__reads_again__is_fed_again(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = send_until_full;
    peer_send(&peer, GET);
    UNTIL(loop, srv.count == 1 && http_respond_is_full(srv.seen[0].ex));
    rig_turns(loop, 5);
    assert_int_equal(srv.seen[0].drain_count, 0);
    UNTIL(loop, (peer_read(&peer, SIZE_MAX), srv.seen[0].drain_count == 1));
    assert_false(http_respond_is_full(srv.seen[0].ex));
    send_until_full(&srv.seen[0]);
    UNTIL(loop, (peer_read(&peer, SIZE_MAX), srv.seen[0].drain_count == 2));
    http_respond_data(srv.seen[0].ex, NULL, 0, true);
    UNTIL(loop, peer_has(&peer, "\r\n0\r\n\r\n"));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_DONE);
    rig_pair_close(loop, &srv, &peer);
}

static void client__slow_but_steady__holds_no_more_than_twice_what_is_pending(void **state)
{
    (void)state;
    enum { TOTAL_BYTES = 8000000, SOCKET_BYTES = 65536 };
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, GET);
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    struct rig_exchange *rec = &srv.seen[0];
    const struct http_conn *conn = http_conn_of(rec->ex);
    int small = SOCKET_BYTES;
    assert_int_equal(setsockopt(conn->wire.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    http_respond_begin(rec->ex, 200, STR(""), -1);
    send_piece(rec, HIGH_BYTES);
    size_t read_bytes = 0;
    uint64_t end_us = clock_now_us() + RIG_PATIENCE_US;
    while (read_bytes < TOTAL_BYTES && clock_now_us() < end_us) {
        peer.in_len = 0;
        peer_read(&peer, 65536);
        read_bytes += peer.in_len;
        loop_turn(loop, RIG_ROUND_US);
        while (http_respond_pending(rec->ex) < HIGH_BYTES) { /* never quite drained */
            send_piece(rec, PIECE_BYTES);
        }
        assert_true(conn->out.cap <= 4UL * HIGH_BYTES);
    }
    assert_true(read_bytes >= TOTAL_BYTES);
    rig_pair_close(loop, &srv, &peer);
}

static void client__takes_nothing__is_cut(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.slow_client_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    srv.on_end = send_until_full;
    srv.on_drain = send_until_full;
    peer_send(&peer, GET);
    UNTIL(loop, srv.count == 1 && srv.seen[0].close_count == 1);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_SLOW);
    assert_int_equal(http_server_counters(srv.server)->slow_client_count, 1);
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer.is_reset);
    rig_pair_close(loop, &srv, &peer);
}

static void client__takes_nothing_of_an_answer_that_is_over__is_cut(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.slow_client_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    peer_send(&peer, GET);
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    http_respond_begin(srv.seen[0].ex, 200, STR(""), -1);
    for (int i = 0; i < 64; i++) {
        send_piece(&srv.seen[0], HIGH_BYTES);
    }
    http_respond_data(srv.seen[0].ex, NULL, 0, true);
    UNTIL(loop, srv.seen[0].close_count == 1);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_SLOW);
    rig_pair_close(loop, &srv, &peer);
}

static void send_much(struct rig_exchange *rec)
{
    http_respond_begin(rec->ex, 200, STR(""), -1);
    for (int i = 0; i < 64; i++) {
        send_piece(rec, HIGH_BYTES);
    }
}

static void client__ends_its_body_while_it_does_not_read__is_cut(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.slow_client_us = 4UL * SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    srv.on_request = send_much;
    peer_send(&peer, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel");
    UNTIL(loop, srv.count == 1);
    peer_send(&peer, "lo");
    UNTIL(loop, srv.seen[0].end_count == 1);
    UNTIL(loop, srv.seen[0].close_count == 1);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_SLOW);
    rig_pair_close(loop, &srv, &peer);
}

/* How much a reader must take before it is seen to take anything: else a slow one is cut though it
 * reads. */
static void client__reads_a_little__is_soon_seen_to_take_bytes(void **state)
{
    (void)state;
    enum { STEP_BYTES = 16384, SEEN_BYTES = 1000000 };
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = send_much;
    peer_send(&peer, GET);
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    const struct http_server_counters *counters = http_server_counters(srv.server);
    size_t longest = 0;
    size_t since = 0;
    uint64_t out = 0;
    while (counters->bytes_out < 16000000) {
        peer.in_len = 0;
        peer_read(&peer, STEP_BYTES);
        since += peer.in_len;
        longest = since > longest ? since : longest;
        rig_turns(loop, 1);
        since = counters->bytes_out > out ? 0 : since;
        out = counters->bytes_out;
    }
    print_message("seen after %zu bytes\n", longest);
    assert_true(longest <= SEEN_BYTES);
    rig_pair_close(loop, &srv, &peer);
}

static void answer__large__comes_whole(void **state)
{
    (void)state;
    enum { BODY_BYTES = 20000000 };
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    char *body = malloc(BODY_BYTES);
    assert_non_null(body);
    for (size_t i = 0; i < BODY_BYTES; i++) {
        body[i] = (char)('a' + i % 23);
    }
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, GET);
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    http_respond(srv.seen[0].ex, 200, STR(""), (struct str){body, BODY_BYTES});
    UNTIL(loop, peer_has_bytes(&peer, BODY_BYTES) && srv.seen[0].close_count == 1);
    UNTIL(loop, strstr(peer.in, "\r\n\r\n") != NULL &&
                    peer_has_bytes(&peer, (size_t)(strstr(peer.in, "\r\n\r\n") + 4 - peer.in) +
                                              BODY_BYTES));
    assert_memory_equal(strstr(peer.in, "\r\n\r\n") + 4, body, BODY_BYTES);
    assert_int_equal(http_server_counters(srv.server)->bytes_out, peer.in_len);
    free(body);
    rig_pair_close(loop, &srv, &peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client__does_not_read__holds_a_bounded_amount),
        cmocka_unit_test(client__reads_again__is_fed_again),
        cmocka_unit_test(client__slow_but_steady__holds_no_more_than_twice_what_is_pending),
        cmocka_unit_test(client__takes_nothing__is_cut),
        cmocka_unit_test(client__takes_nothing_of_an_answer_that_is_over__is_cut),
        cmocka_unit_test(client__ends_its_body_while_it_does_not_read__is_cut),
        cmocka_unit_test(client__reads_a_little__is_soon_seen_to_take_bytes),
        cmocka_unit_test(answer__large__comes_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
