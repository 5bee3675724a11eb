/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#define GET(path)      "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"
#define POST_HEAD(len) "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: " len "\r\n\r\n"
#define CHUNKED_HEAD   "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

/* --- Requests arriving */

static void request__byte_by_byte__is_answered(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = rig_answer_echo;
    const char *text = POST_HEAD("5") "hello";
    for (size_t i = 0; text[i] != '\0'; i++) {
        peer_send_bytes(&peer, text + i, 1);
        loop_turn(loop, 0);
    }
    UNTIL(loop, peer_has(&peer, "[/p|hello]"));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_DONE);
    assert_int_equal(srv.seen[0].content_length, 5);
    rig_pair_close(loop, &srv, &peer);
}

static void request__chunked_in_two_pieces__is_answered(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = rig_answer_echo;
    peer_send(&peer, CHUNKED_HEAD "3\r\nhe");
    UNTIL(loop, srv.count == 1 && srv.seen[0].body.len == 2);
    assert_int_equal(srv.seen[0].announced_bytes, 3);
    peer_send(&peer, "l\r\n2\r\nlo\r\n0\r\n\r\n");
    UNTIL(loop, peer_has(&peer, "[/p|hello]"));
    assert_int_equal(srv.seen[0].announced_bytes, 5);
    assert_int_equal(srv.seen[0].content_length, -1);
    rig_pair_close(loop, &srv, &peer);
}

static void requests__pipelined__are_answered_in_order(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = rig_answer_echo;
    peer_send(&peer, GET("/1") POST_HEAD("2") "hi" GET("/3"));
    UNTIL(loop, peer_has(&peer, "[/3|]"));
    const char *first = strstr(peer.in, "[/1|]");
    const char *second = strstr(peer.in, "[/p|hi]");
    assert_true(first != NULL && second != NULL && first < second &&
                second < strstr(peer.in, "[/3|]"));
    rig_pair_close(loop, &srv, &peer);
}

static void request__pipelined_behind_a_held_one__waits_for_its_answer(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, GET("/1"));
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    peer_send(&peer, GET("/2"));
    rig_turns(loop, 5);
    assert_int_equal(srv.count, 1);
    rig_answer_ok(&srv.seen[0]);
    assert_int_equal(srv.seen[0].close_count, 0); /* never from inside http_respond */
    UNTIL(loop, srv.count == 2 && srv.seen[1].end_count == 1);
    rig_answer_ok(&srv.seen[1]);
    UNTIL(loop, peer_count(&peer, "\r\n\r\nok") == 2);
    rig_pair_close(loop, &srv, &peer);
}

static void requests__more_pipelined_than_is_kept__get_one_answer_and_a_close(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, GET("/1"));
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    for (int i = 0; i < 3000; i++) {
        peer_send(&peer, GET("/much-too-many"));
        if (i % 100 == 0) {
            loop_turn(loop, 0);
        }
    }
    rig_turns(loop, 5);
    rig_expect_quiet(loop);
    rig_answer_ok(&srv.seen[0]);
    UNTIL(loop, peer_has(&peer, "connection: close"));
    assert_true(peer_has(&peer, "\r\n\r\nok"));
    UNTIL(loop, peer_is_over(&peer));
    assert_int_equal(peer.is_reset, false);
    assert_int_equal(srv.count, 1);
    rig_pair_close(loop, &srv, &peer);
}

static void client__leaves_behind_more_than_is_kept__is_gone(void **state)
{
    (void)state;
    static const char zeros[65536];
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, GET("/1"));
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    for (int i = 0; i < 200; i++) { /* more than the two sockets hold */
        peer_offer(&peer, zeros, sizeof(zeros));
        loop_turn(loop, 0);
    }
    peer_close(&peer);
    UNTIL(loop, srv.seen[0].close_count == 1);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_GONE);
    rig_pair_close(loop, &srv, &peer);
}

static void requests__many_in_one_packet_not_taken__are_all_answered(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.is_untaken = true;
    for (int i = 0; i < 500; i++) {
        peer_send(&peer, GET("/"));
    }
    UNTIL(loop, peer_count(&peer, "\r\n\r\nnow") == 500);
    rig_pair_close(loop, &srv, &peer);
}

/* --- Expect */

static void expect__continue__is_told_to_go_on(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = rig_answer_echo;
    peer_send(&peer,
              "POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
    UNTIL(loop, peer_has(&peer, "HTTP/1.1 100 Continue\r\n\r\n"));
    peer_send(&peer, "hi");
    UNTIL(loop, peer_has(&peer, "[/p|hi]"));
    rig_pair_close(loop, &srv, &peer);
}

static void refuse_413(struct rig_exchange *rec)
{
    http_respond(rec->ex, 413, STR(""), STR("too much"));
    assert_int_equal(rec->close_count, 0);
}

static void expect__answered_at_once__is_not_told_to_go_on(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_request = refuse_413;
    peer_send(
        &peer,
        "POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n");
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "HTTP/1.1 413 "));
    assert_false(peer_has(&peer, "100 Continue"));
    assert_false(peer.is_reset);
    rig_pair_close(loop, &srv, &peer);
}

static void abort_it(struct rig_exchange *rec)
{
    http_respond_abort(rec->ex);
}

static void expect__aborted_at_once__is_not_told_to_go_on(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_request = abort_it;
    peer_send(&peer,
              "POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    UNTIL(loop, peer_is_over(&peer));
    assert_int_equal(peer.in_len, 0);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_ABORTED);
    rig_pair_close(loop, &srv, &peer);
}

static void expect__something_else__is_417(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, "POST /p HTTP/1.1\r\nHost: h\r\nExpect: money\r\nContent-Length: 2\r\n\r\nhi");
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "HTTP/1.1 417 "));
    assert_true(peer_has(&peer, "expectation_failed"));
    assert_int_equal(srv.count, 0);
    rig_pair_close(loop, &srv, &peer);
}

/* --- Answers before the request is whole */

static void early_answer__client_goes_on_sending__can_read_it(void **state)
{
    (void)state;
    static const char zeros[65536];
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_request = refuse_413;
    peer_send(&peer, POST_HEAD("100000000"));
    size_t sent = 0;
    while (sent < 8000000) {
        sent += peer_offer(&peer, zeros, sizeof(zeros));
        loop_turn(loop, 0);
    }
    UNTIL(loop, peer_is_over(&peer));
    assert_false(peer.is_reset);
    assert_true(peer_has(&peer, "HTTP/1.1 413 "));
    assert_true(peer_has(&peer, "connection: close"));
    assert_true(peer_has(&peer, "too much"));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_DONE);
    assert_int_equal(srv.seen[0].body.len, 0);
    peer_close(&peer);
    UNTIL(loop, http_server_counters(srv.server)->open_connections == 0);
    rig_pair_close(loop, &srv, &peer);
}

static void early_answer__bad_chunk_in_the_same_packet__is_not_lost(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_request = refuse_413;
    peer_send(&peer, CHUNKED_HEAD "5\r\nhello\r\nzz\r\n");
    UNTIL(loop, peer_is_over(&peer));
    assert_false(peer.is_reset);
    assert_true(peer_has(&peer, "too much"));
    assert_int_equal(srv.error_count, 0);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_DONE);
    rig_pair_close(loop, &srv, &peer);
}

static void answer_and_body(struct rig_exchange *rec)
{
    http_respond_begin(rec->ex, 200, STR(""), -1);
}

static void bad_chunk__answer_begun__closes_without_a_second_answer(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_request = answer_and_body;
    peer_send(&peer, CHUNKED_HEAD "5\r\nhello\r\n");
    UNTIL(loop, peer_has(&peer, "chunked\r\n"));
    peer_send(&peer, "zz\r\n");
    UNTIL(loop, peer_is_over(&peer));
    assert_int_equal(peer_count(&peer, "HTTP/1.1 "), 1);
    assert_false(peer_has(&peer, "0\r\n\r\n"));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_BAD);
    rig_pair_close(loop, &srv, &peer);
}

static void bad_chunk__nothing_answered__is_400(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, CHUNKED_HEAD "5\r\nhello\r\nzz\r\n");
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "HTTP/1.1 400 "));
    assert_true(peer_has(&peer, "bad_http_request"));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_BAD);
    rig_pair_close(loop, &srv, &peer);
}

static void bad_chunk__handler_aborted_before__gets_nothing(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_request = abort_it;
    peer_send(&peer, CHUNKED_HEAD "zz\r\n");
    UNTIL(loop, peer_is_over(&peer));
    assert_int_equal(peer.in_len, 0);
    rig_pair_close(loop, &srv, &peer);
}

static void bad_request__pipelined_behind_a_good_one__is_refused_in_its_turn(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = rig_answer_ok;
    peer_send(&peer, GET("/1") "GET /2 HTTP/1.1\r\n\r\n" GET("/3"));
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "\r\n\r\nokHTTP/1.1 400 "));
    assert_int_equal(srv.count, 1);
    assert_int_equal(http_server_counters(srv.server)->bad_request_count, 1);
    rig_pair_close(loop, &srv, &peer);
}

static void expect_refusal(const struct http_limits *limits,
                           const char *text,
                           const char *status,
                           const char *code)
{
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, limits);
    peer_send(&peer, text);
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, status));
    assert_true(peer_has(&peer, code));
    assert_int_equal(srv.count, 0);
    rig_pair_close(loop, &srv, &peer);
}

static void request__over_a_limit__is_431(void **state)
{
    (void)state;
    struct http_limits limits = rig_server_limits();
    limits.header_bytes = 100;
    limits.header_count = 3;
    expect_refusal(&limits, "GET /p HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", " 431 ",
                   "too_many_headers");
    expect_refusal(&limits,
                   "GET /p HTTP/1.1\r\nHost: h\r\nA: 0123456789012345678901234567890123456789"
                   "0123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n",
                   " 431 ", "headers_too_large");
}

static void request__odd_coding__is_501(void **state)
{
    (void)state;
    expect_refusal(
        NULL, "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        " 501 ", "unsupported_transfer_encoding");
}

/* --- The client leaves */

enum leave { LEAVE_CLOSE, LEAVE_HALF, LEAVE_RESET };

static void leave(struct peer *peer, enum leave how)
{
    switch (how) {
    case LEAVE_CLOSE:
        peer_close(peer);
        break;
    case LEAVE_HALF:
        assert_int_equal(shutdown(peer->fd, SHUT_WR), 0);
        break;
    case LEAVE_RESET:
        peer_reset(peer);
        break;
    }
}

/* The request `text` is sent, `act` done once it was seen, then the client leaves: GONE, once. */
static void expect_gone(const char *name,
                        const char *text,
                        void (*act)(struct rig_exchange *rec),
                        enum leave how)
{
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    print_message("%s, %d\n", name, (int)how);
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, text);
    UNTIL(loop, srv.count == 1);
    if (act != NULL) {
        act(&srv.seen[0]);
        rig_turns(loop, 3);
    }
    leave(&peer, how);
    UNTIL(loop, srv.seen[0].close_count == 1);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_GONE);
    UNTIL(loop, http_server_counters(srv.server)->open_connections == 0);
    rig_pair_close(loop, &srv, &peer);
}

static void fill_and_end(struct rig_exchange *rec)
{
    rig_fill_client(rec);
    http_respond_data(rec->ex, NULL, 0, true);
}

static void client__leaves_in_any_phase__is_gone_once(void **state)
{
    (void)state;
    for (int how = LEAVE_CLOSE; how <= LEAVE_RESET; how++) {
        expect_gone("before the body", POST_HEAD("5"), NULL, (enum leave)how);
        expect_gone("inside the body", POST_HEAD("5") "hel", NULL, (enum leave)how);
        expect_gone("inside a chunk", CHUNKED_HEAD "5\r\nhel", NULL, (enum leave)how);
        expect_gone("before the answer", GET("/"), NULL, (enum leave)how);
        expect_gone("with a request behind", GET("/1") GET("/2"), NULL, (enum leave)how);
        expect_gone("in the answer", GET("/"), rig_begin_stream, (enum leave)how);
        expect_gone("in the answer, body coming", POST_HEAD("5") "hel", rig_begin_stream,
                    (enum leave)how);
        expect_gone("not reading", GET("/"), rig_fill_client, (enum leave)how);
        expect_gone("not reading, answer over", GET("/"), fill_and_end, (enum leave)how);
    }
}

static void client__leaves_inside_a_head__is_dropped_without_an_exchange(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, "GET / HTT");
    UNTIL(loop, http_server_counters(srv.server)->bytes_in > 0);
    leave(&peer, LEAVE_HALF);
    UNTIL(loop, peer_is_over(&peer));
    assert_int_equal(peer.in_len, 0);
    assert_int_equal(srv.count, 0);
    rig_pair_close(loop, &srv, &peer);
}

static void client__reset_before_the_answer_is_written__is_closed_outside_the_write(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, GET("/"));
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    peer_reset(&peer); /* not seen yet: the write fails */
    rig_answer_ok(&srv.seen[0]);
    assert_int_equal(srv.seen[0].close_count, 0);
    UNTIL(loop, srv.seen[0].close_count == 1);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_GONE);
    rig_pair_close(loop, &srv, &peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__byte_by_byte__is_answered),
        cmocka_unit_test(request__chunked_in_two_pieces__is_answered),
        cmocka_unit_test(requests__pipelined__are_answered_in_order),
        cmocka_unit_test(request__pipelined_behind_a_held_one__waits_for_its_answer),
        cmocka_unit_test(requests__more_pipelined_than_is_kept__get_one_answer_and_a_close),
        cmocka_unit_test(client__leaves_behind_more_than_is_kept__is_gone),
        cmocka_unit_test(requests__many_in_one_packet_not_taken__are_all_answered),
        cmocka_unit_test(expect__continue__is_told_to_go_on),
        cmocka_unit_test(expect__answered_at_once__is_not_told_to_go_on),
        cmocka_unit_test(expect__aborted_at_once__is_not_told_to_go_on),
        cmocka_unit_test(expect__something_else__is_417),
        cmocka_unit_test(early_answer__client_goes_on_sending__can_read_it),
        cmocka_unit_test(early_answer__bad_chunk_in_the_same_packet__is_not_lost),
        cmocka_unit_test(bad_chunk__answer_begun__closes_without_a_second_answer),
        cmocka_unit_test(bad_chunk__nothing_answered__is_400),
        cmocka_unit_test(bad_chunk__handler_aborted_before__gets_nothing),
        cmocka_unit_test(bad_request__pipelined_behind_a_good_one__is_refused_in_its_turn),
        cmocka_unit_test(request__over_a_limit__is_431),
        cmocka_unit_test(request__odd_coding__is_501),
        cmocka_unit_test(client__leaves_in_any_phase__is_gone_once),
        cmocka_unit_test(client__leaves_inside_a_head__is_dropped_without_an_exchange),
        cmocka_unit_test(client__reset_before_the_answer_is_written__is_closed_outside_the_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
