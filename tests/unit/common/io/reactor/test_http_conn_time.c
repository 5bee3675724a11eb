/* SPDX-License-Identifier: Apache-2.0 */
/* Time-outs of a client connection in each of its states. */
#include "tests/unit/common/io/reactor/rig.h"

#define GET(path)      "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"
#define POST_HEAD(len) "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: " len "\r\n\r\n"

enum { SOON_US = 20000 };

static void answer_and_body(struct rig_exchange *rec)
{
    http_respond_begin(rec->ex, 200, STR(""), -1);
}

static void timeout__head_not_whole__is_408(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.header_timeout_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    peer_send(&peer, "GET / HTT");
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "HTTP/1.1 408 "));
    assert_int_equal(http_server_counters(srv.server)->timeout_count, 1);
    rig_pair_close(loop, &srv, &peer);
}

static void timeout__bytes_keep_coming_in_a_head__is_408(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.header_timeout_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    peer_send(&peer, "GET /");
    UNTIL(loop, (peer_offer(&peer, "a", 1), peer_is_over(&peer)));
    assert_true(peer_has(&peer, "HTTP/1.1 408 "));
    rig_pair_close(loop, &srv, &peer);
}

static void timeout__nothing_sent__closes_without_a_word(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.header_timeout_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    UNTIL(loop, peer_is_over(&peer));
    assert_int_equal(peer.in_len, 0);
    rig_pair_close(loop, &srv, &peer);
}

static void timeout__body_stalls__is_408_and_told(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.body_idle_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    peer_send(&peer, POST_HEAD("5") "hel");
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "HTTP/1.1 408 "));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_TIMEOUT);
    rig_pair_close(loop, &srv, &peer);
}

static void timeout__body_stalls_after_the_answer_began__is_told(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.body_idle_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    srv.on_request = rig_begin_stream;
    peer_send(&peer, POST_HEAD("5") "hel");
    UNTIL(loop, srv.count == 1 && srv.seen[0].close_count == 1);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_TIMEOUT);
    rig_pair_close(loop, &srv, &peer);
}

static void timeout__body_stalls_after_a_head_was_flushed__is_told(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.body_idle_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    srv.on_request = answer_and_body;
    peer_send(&peer, POST_HEAD("5") "hel");
    UNTIL(loop, srv.count == 1 && srv.seen[0].close_count == 1);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_TIMEOUT);
    rig_pair_close(loop, &srv, &peer);
}

static void timeout__body_stalls_after_a_blocked_answer_was_read__is_told(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.body_idle_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    srv.on_request = rig_fill_client;
    peer_send(&peer, POST_HEAD("5") "hel");
    UNTIL(loop, srv.count == 1);
    UNTIL(loop, (peer_read(&peer, SIZE_MAX), srv.seen[0].close_count == 1));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_TIMEOUT);
    rig_pair_close(loop, &srv, &peer);
}

static void timeout__answer_takes_long__does_not_count(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.body_idle_us = 1;
    limits.header_timeout_us = 100000;
    limits.keepalive_idle_us = 1;
    rig_pair_open(&loop, &srv, &peer, &limits);
    peer_send(&peer, POST_HEAD("2") "hi");
    UNTIL(loop, srv.count == 1);
    uint64_t from_us = clock_now_us();
    UNTIL(loop, clock_now_us() - from_us > 150000);
    assert_int_equal(srv.seen[0].close_count, 0);
    rig_answer_ok(&srv.seen[0]);
    UNTIL(loop, peer_has(&peer, "\r\n\r\nok"));
    rig_pair_close(loop, &srv, &peer);
}

static void timeout__idle_between_requests__closes_without_a_word(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.keepalive_idle_us = SOON_US;
    rig_pair_open(&loop, &srv, &peer, &limits);
    srv.on_end = rig_answer_ok;
    peer_send(&peer, GET("/"));
    UNTIL(loop, peer_is_over(&peer));
    assert_int_equal(peer_count(&peer, "HTTP/1.1 "), 1);
    assert_false(peer.is_reset);
    rig_pair_close(loop, &srv, &peer);
}

static void keepalive__set_to_nothing__says_close(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct http_limits limits = rig_server_limits();
    limits.keepalive_idle_us = 0;
    rig_pair_open(&loop, &srv, &peer, &limits);
    srv.on_end = rig_answer_ok;
    peer_send(&peer, GET("/"));
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "connection: close\r\n\r\nok"));
    rig_pair_close(loop, &srv, &peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeout__head_not_whole__is_408),
        cmocka_unit_test(timeout__bytes_keep_coming_in_a_head__is_408),
        cmocka_unit_test(timeout__nothing_sent__closes_without_a_word),
        cmocka_unit_test(timeout__body_stalls__is_408_and_told),
        cmocka_unit_test(timeout__body_stalls_after_the_answer_began__is_told),
        cmocka_unit_test(timeout__body_stalls_after_a_head_was_flushed__is_told),
        cmocka_unit_test(timeout__body_stalls_after_a_blocked_answer_was_read__is_told),
        cmocka_unit_test(timeout__answer_takes_long__does_not_count),
        cmocka_unit_test(timeout__idle_between_requests__closes_without_a_word),
        cmocka_unit_test(keepalive__set_to_nothing__says_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
