/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

static struct iovec span(const char *text)
{
    return (struct iovec){(void *)(uintptr_t)text, strlen(text)};
}

/* Sends text to a server whose handler does `act` when the request is complete; what the client
 * got, to the end of the connection or until it holds `enough`. */
static void expect_answer(const char *text,
                          void (*act)(struct rig_exchange *rec),
                          const char *expected,
                          bool ends)
{
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = act;
    peer_send(&peer, text);
    UNTIL(loop, peer_has_bytes(&peer, strlen(expected)) && srv.seen[0].close_count == 1);
    if (ends) {
        UNTIL(loop, peer_is_over(&peer));
        assert_false(peer.is_reset);
    } else {
        rig_turns(loop, 5);
        assert_false(peer_is_over(&peer));
    }
    assert_string_equal(peer.in, expected);
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_DONE);
    rig_pair_close(loop, &srv, &peer);
}

#define GET        "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define GET10      "GET / HTTP/1.0\r\n\r\n"
#define GET10_KEEP "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"

static void chunked_twice(struct rig_exchange *rec)
{
    struct iovec two[] = {span("ab"), span("cde")};
    struct iovec one = span("f");
    http_respond_begin(rec->ex, 200, STR("x: y\r\n"), -1);
    http_respond_data(rec->ex, two, 2, false);
    http_respond_data(rec->ex, NULL, 0, false);
    http_respond_data(rec->ex, &one, 1, true);
}

static void answer__length_unknown__is_chunked(void **state)
{
    (void)state;
    expect_answer(GET, chunked_twice,
                  "HTTP/1.1 200 OK\r\nx: y\r\ntransfer-encoding: "
                  "chunked\r\n\r\n5\r\nabcde\r\n1\r\nf\r\n0\r\n\r\n",
                  false);
}

static void answer__length_unknown_to_http_1_0__ends_with_the_connection(void **state)
{
    (void)state;
    expect_answer(GET10, chunked_twice,
                  "HTTP/1.1 200 OK\r\nx: y\r\nconnection: close\r\n\r\nabcdef", true);
    expect_answer(GET10_KEEP, chunked_twice,
                  "HTTP/1.1 200 OK\r\nx: y\r\nconnection: close\r\n\r\nabcdef", true);
}

static void answer_empty_chunked(struct rig_exchange *rec)
{
    http_respond_begin(rec->ex, 200, STR(""), -1);
    http_respond_data(rec->ex, NULL, 0, true);
}

static void answer__chunked_without_bytes__has_the_last_chunk_only(void **state)
{
    (void)state;
    expect_answer(GET, answer_empty_chunked,
                  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", false);
}

static void answer_ok(struct rig_exchange *rec)
{
    http_respond(rec->ex, 200, STR(""), STR("ok"));
}

static void answer__to_http_1_0__keeps_alive_only_when_asked(void **state)
{
    (void)state;
    expect_answer(GET10, answer_ok,
                  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok", true);
    expect_answer(GET10_KEEP, answer_ok,
                  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok",
                  false);
}

static void answer__client_asks_to_close__is_closed(void **state)
{
    (void)state;
    expect_answer("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n", answer_ok,
                  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok", true);
}

static void answer__to_head__has_no_body(void **state)
{
    (void)state;
    expect_answer("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", answer_ok,
                  "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", false);
    expect_answer("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", chunked_twice,
                  "HTTP/1.1 200 OK\r\nx: y\r\n\r\n", false);
}

static void answer_204(struct rig_exchange *rec)
{
    http_respond(rec->ex, 204, STR(""), STR(""));
}

static void answer_304(struct rig_exchange *rec)
{
    struct iovec iov = span("never sent");
    http_respond_begin(rec->ex, 304, STR(""), -1);
    http_respond_data(rec->ex, &iov, 1, true);
}

static void answer__204_and_304__have_no_body(void **state)
{
    (void)state;
    expect_answer(GET, answer_204, "HTTP/1.1 204 No Content\r\n\r\n", false);
    expect_answer(GET, answer_304, "HTTP/1.1 304 Not Modified\r\n\r\n", false);
}

static void answer_odd_status(struct rig_exchange *rec)
{
    http_respond(rec->ex, 529, STR(""), STR(""));
    http_respond(rec->ex, 200, STR(""), STR("second")); /* has no effect */
    http_respond_abort(rec->ex);
}

static void answer__given_twice__counts_once(void **state)
{
    (void)state;
    expect_answer(GET, answer_odd_status, "HTTP/1.1 529 Status\r\ncontent-length: 0\r\n\r\n",
                  false);
}

static void answer_many_spans(struct rig_exchange *rec)
{
    struct iovec all[200];
    for (int i = 0; i < 200; i++) {
        all[i] = span("ab");
    }
    http_respond_begin(rec->ex, 200, STR(""), 400);
    http_respond_data(rec->ex, all, 200, true);
}

static void answer__more_spans_than_one_write_takes__comes_whole(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = answer_many_spans;
    peer_send(&peer, GET);
    UNTIL(loop, peer_has(&peer, "abab") && srv.seen[0].close_count == 1);
    assert_int_equal(peer_count(&peer, "ab"), 200);
    rig_pair_close(loop, &srv, &peer);
}

static void answer_head_only(struct rig_exchange *rec)
{
    http_respond_begin(rec->ex, 200, STR("x: y\r\n"), -1);
}

static void answer__head_without_data__is_sent_at_the_end_of_the_round(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = answer_head_only;
    peer_send(&peer, GET);
    UNTIL(loop, peer_has(&peer, "x: y\r\n"));
    assert_true(http_respond_has_begun(srv.seen[0].ex));
    assert_int_equal(srv.seen[0].close_count, 0);
    rig_pair_close(loop, &srv, &peer);
}

/* --- Improper ends: a client can always tell. */

static void expect_abort(const char *text,
                         void (*act)(struct rig_exchange *rec),
                         const char *expected,
                         bool is_reset)
{
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = act;
    peer_send(&peer, text);
    UNTIL(loop, srv.count == 1 && srv.seen[0].close_count == 1 && peer_is_over(&peer));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_ABORTED);
    assert_int_equal(peer.is_reset, is_reset);
    if (!is_reset) {
        assert_string_equal(peer.in_len > 0 ? peer.in : "", expected);
    }
    rig_pair_close(loop, &srv, &peer);
}

static void abort_at_once(struct rig_exchange *rec)
{
    http_respond_abort(rec->ex);
    http_respond(rec->ex, 200, STR(""), STR("too late")); /* has no effect */
    assert_int_equal(rec->close_count, 0);
}

static void abort_in_stream(struct rig_exchange *rec)
{
    struct iovec iov = span("abc");
    http_respond_begin(rec->ex, 200, STR(""), -1);
    http_respond_data(rec->ex, &iov, 1, false);
    http_respond_abort(rec->ex);
}

static void end_too_early(struct rig_exchange *rec)
{
    struct iovec iov = span("abc");
    http_respond_begin(rec->ex, 200, STR(""), 5);
    http_respond_data(rec->ex, &iov, 1, true);
}

static void abort__nothing_sent__closes_without_a_word(void **state)
{
    (void)state;
    expect_abort(GET, abort_at_once, "", false);
}

static void abort__in_a_chunked_answer__has_no_last_chunk(void **state)
{
    (void)state;
    expect_abort(GET, abort_in_stream,
                 "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", false);
}

static void abort__answer_that_ends_with_the_connection__is_a_reset(void **state)
{
    (void)state;
    expect_abort(GET10, abort_in_stream, "", true);
}

static void answer__shorter_than_promised__closes(void **state)
{
    (void)state;
    expect_abort(GET, end_too_early, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc", false);
}

static void peer_name__tcp__is_an_address(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    char text[NET_ADDR_TEXT_BYTES];
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, GET);
    UNTIL(loop, srv.count == 1);
    http_exchange_peer(srv.seen[0].ex, text);
    assert_true(strncmp(text, "127.0.0.1:", 10) == 0);
    rig_pair_close(loop, &srv, &peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer__length_unknown__is_chunked),
        cmocka_unit_test(answer__length_unknown_to_http_1_0__ends_with_the_connection),
        cmocka_unit_test(answer__chunked_without_bytes__has_the_last_chunk_only),
        cmocka_unit_test(answer__to_http_1_0__keeps_alive_only_when_asked),
        cmocka_unit_test(answer__client_asks_to_close__is_closed),
        cmocka_unit_test(answer__to_head__has_no_body),
        cmocka_unit_test(answer__204_and_304__have_no_body),
        cmocka_unit_test(answer__given_twice__counts_once),
        cmocka_unit_test(answer__more_spans_than_one_write_takes__comes_whole),
        cmocka_unit_test(answer__head_without_data__is_sent_at_the_end_of_the_round),
        cmocka_unit_test(abort__nothing_sent__closes_without_a_word),
        cmocka_unit_test(abort__in_a_chunked_answer__has_no_last_chunk),
        cmocka_unit_test(abort__answer_that_ends_with_the_connection__is_a_reset),
        cmocka_unit_test(answer__shorter_than_promised__closes),
        cmocka_unit_test(peer_name__tcp__is_an_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
