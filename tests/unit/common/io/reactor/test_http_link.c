/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/upstream.h"

#include <stdio.h>

enum { SOON_US = 30000 };

static void expect_over(struct upstream *up, const char *body)
{
    UNTIL(up->loop, rig_call_is_over(&up->call));
    assert_int_equal(up->call.last_count, 1);
    assert_true(rig_call_body_is(&up->call, body));
}

static void expect_fail(struct upstream *up, enum http_fail why)
{
    UNTIL(up->loop, rig_call_is_over(&up->call));
    assert_int_equal(up->call.fail_count, 1);
    assert_int_equal(up->call.why, why);
    UNTIL(up->loop, up->peer.fd < 0 || peer_is_over(&up->peer));
    upstream_close(up);
}

/* The peer's answer, whole, then an orderly end. */
static void answer_and_close(struct upstream *up, const char *answer)
{
    upstream_open(up, NULL);
    upstream_get(up);
    peer_send(&up->peer, answer);
    peer_close(&up->peer);
}

/* --- Answers */

static void answer__byte_by_byte__is_read(void **state)
{
    (void)state;
    const char *text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    for (size_t i = 0; text[i] != '\0'; i++) {
        peer_send_bytes(&up.peer, text + i, 1);
        loop_turn(up.loop, RIG_ROUND_US);
    }
    expect_over(&up, "abc");
    assert_int_equal(up.call.content_length, -1);
    assert_int_equal(http_client_counters(up.client)->open_connections, 1);
    upstream_close(&up);
}

static void answer__interim_ones_first__only_the_last_is_told(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer,
              "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" ANSWER_OK);
    expect_over(&up, "ok");
    assert_int_equal(up.call.status, 200);
    upstream_close(&up);
}

static void answer__flood_of_interim_ones__fails(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    for (int i = 0; i < 100; i++) {
        peer_offer(&up.peer, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    }
    expect_fail(&up, HTTP_FAIL_MALFORMED);
}

static void answer__switching_protocols__fails(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
    expect_fail(&up, HTTP_FAIL_MALFORMED);
}

static void answer__to_head__has_no_body(void **state)
{
    (void)state;
    struct http_request req = {.head = STR("HEAD /x HTTP/1.1\r\nhost: a\r\n\r\n"), .is_head = true};
    struct upstream up;
    upstream_open(&up, NULL);
    rig_call_start(&up.call, up.loop, up.ep, &req);
    upstream_take(&up, &up.peer);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
    expect_over(&up, "");
    assert_int_equal(http_client_counters(up.client)->open_connections, 1);
    upstream_close(&up);
}

static void answer__until_close__is_whole_at_the_end(void **state)
{
    (void)state;
    struct upstream up;
    answer_and_close(&up, "HTTP/1.1 200 OK\r\n\r\nabc");
    expect_over(&up, "abc");
    assert_int_equal(http_client_counters(up.client)->open_connections, 0);
    upstream_close(&up);
}

static void answer__until_close_and_reset__is_cut(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\n\r\nabc");
    UNTIL(up.loop, up.call.data_count == 1);
    peer_reset(&up.peer);
    expect_fail(&up, HTTP_FAIL_CUT);
}

static void answer__shorter_than_its_length__is_cut(void **state)
{
    (void)state;
    struct upstream up;
    answer_and_close(&up, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
    expect_fail(&up, HTTP_FAIL_CUT);
}

static void answer__chunks_without_the_last__is_cut(void **state)
{
    (void)state;
    struct upstream up;
    answer_and_close(&up, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    expect_fail(&up, HTTP_FAIL_CUT);
}

static void answer__bad_chunk_behind_good_ones__is_cut_after_them(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n");
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_true(rig_call_body_is(&up.call, "abc"));
    expect_fail(&up, HTTP_FAIL_CUT);
}

static void answer__head_cut__is_closed(void **state)
{
    (void)state;
    struct upstream up;
    answer_and_close(&up, "HTTP/1.1 200 OK\r\nContent-Le");
    expect_fail(&up, HTTP_FAIL_CLOSED);
}

static void answer__not_http__fails(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "SSH-2.0-OpenSSH_9\r\n");
    expect_fail(&up, HTTP_FAIL_MALFORMED);
}

static void answer__header_over_the_limit__fails(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 1000; i++) {
        peer_offer(&up.peer, "X-Field: 0123456789\r\n", 21);
    }
    expect_fail(&up, HTTP_FAIL_MALFORMED);
}

static void answer__bytes_behind_it__closes_the_connection(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, ANSWER_OK "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    expect_over(&up, "ok");
    assert_int_equal(http_client_counters(up.client)->open_connections, 0);
    upstream_close(&up);
}

static void idle_connection__server_speaks__is_closed(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_pool_one(&up);
    peer_send(&up.peer, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
    UNTIL(up.loop, http_client_counters(up.client)->open_connections == 0);
    upstream_close(&up);
}

static void idle_connection__time_is_up__is_closed(void **state)
{
    (void)state;
    struct http_client_limits limits = rig_client_limits();
    struct upstream up;
    limits.keepalive_idle_us = SOON_US;
    upstream_open(&up, &limits);
    upstream_pool_one(&up);
    UNTIL(up.loop, peer_is_over(&up.peer));
    assert_int_equal(http_client_counters(up.client)->open_connections, 0);
    upstream_close(&up);
}

static void answer__connection_close__is_not_pooled(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    expect_over(&up, "ok");
    assert_int_equal(http_client_counters(up.client)->open_connections, 0);
    upstream_close(&up);
}

static void answer__many_pieces_in_one_read__all_come(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    char expected[1001] = "";
    for (int i = 0; i < 1000; i++) {
        char piece[16];
        snprintf(piece, sizeof(piece), "1\r\n%c\r\n", 'a' + i % 26);
        peer_send(&up.peer, piece);
        expected[i] = (char)('a' + i % 26);
    }
    peer_send(&up.peer, "0\r\n\r\n");
    expect_over(&up, expected);
    upstream_close(&up);
}

static void answer__large__comes_whole(void **state)
{
    (void)state;
    enum { BODY_BYTES = 10000000 };
    struct upstream up;
    char *body = malloc(BODY_BYTES);
    assert_non_null(body);
    for (size_t i = 0; i < BODY_BYTES; i++) {
        body[i] = (char)('a' + i % 23);
    }
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n");
    size_t sent = 0;
    UNTIL(up.loop,
          (sent += peer_offer(&up.peer, body + sent, BODY_BYTES - sent), sent == BODY_BYTES));
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_int_equal(up.call.body.len, BODY_BYTES);
    assert_memory_equal(up.call.body.p, body, BODY_BYTES);
    assert_true(up.call.largest_piece <= LOOP_SCRATCH_BYTES);
    free(body);
    upstream_close(&up);
}

/* --- Sending */

static void early_answer__while_uploading__is_read(void **state)
{
    (void)state;
    static const char body[8000000];
    struct upstream up;
    upstream_open(&up, NULL);
    rig_call_post(&up.call, up.loop, up.ep, body, sizeof(body));
    UNTIL(up.loop, peer_accept(&up.peer, up.fd));
    rig_turns(up.loop, 3);
    peer_send(&up.peer, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    expect_over(&up, "no");
    assert_int_equal(up.call.status, 413);
    assert_int_equal(http_client_counters(up.client)->open_connections,
                     0); /* the request was not whole */
    upstream_close(&up);
}

static void early_answer__server_closes_without_reading_the_rest__is_read(void **state)
{
    (void)state;
    static const char body[8000000];
    struct upstream up;
    upstream_open(&up, NULL);
    rig_call_post(&up.call, up.loop, up.ep, body, sizeof(body));
    UNTIL(up.loop, peer_accept(&up.peer, up.fd));
    rig_turns(up.loop, 3);
    peer_send(&up.peer, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    peer_close(&up.peer); /* a reset, with our bytes unread */
    expect_over(&up, "no");
    upstream_close(&up);
}

static void request__large__arrives_whole(void **state)
{
    (void)state;
    enum { BODY_BYTES = 5000000 };
    struct upstream up;
    char *body = malloc(BODY_BYTES);
    assert_non_null(body);
    memset(body, 'q', BODY_BYTES);
    upstream_open(&up, NULL);
    struct http_request req = {
        .head = STR("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 5000000\r\n\r\n"),
        .body_count = 4};
    req.body[0] = (struct iovec){body, 1000000};
    req.body[1] = (struct iovec){body, 0};
    req.body[2] = (struct iovec){body, 1};
    req.body[3] = (struct iovec){body, 3999999};
    rig_call_start(&up.call, up.loop, up.ep, &req);
    upstream_take(&up, &up.peer);
    UNTIL(up.loop, peer_count(&up.peer, "q") == BODY_BYTES);
    peer_send(&up.peer, ANSWER_OK);
    expect_over(&up, "ok");
    assert_int_equal(http_client_counters(up.client)->open_connections, 1);
    free(body);
    upstream_close(&up);
}

/* --- Time-outs */

static void timeout__no_first_byte__fails(void **state)
{
    (void)state;
    struct http_client_limits limits = rig_client_limits();
    struct upstream up;
    limits.first_byte_timeout_us = SOON_US;
    upstream_open(&up, &limits);
    upstream_get(&up);
    expect_fail(&up, HTTP_FAIL_FIRST_BYTE_TIMEOUT);
}

static void timeout__no_first_byte_on_a_reused_connection__is_not_replayed(void **state)
{
    (void)state;
    struct http_client_limits limits = rig_client_limits();
    struct upstream up;
    limits.first_byte_timeout_us = SOON_US;
    upstream_open(&up, &limits);
    upstream_pool_one(&up);
    rig_call_get(&up.call, up.loop, up.ep);
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_int_equal(http_client_counters(up.client)->stale_retry_count, 0);
    expect_fail(&up, HTTP_FAIL_FIRST_BYTE_TIMEOUT);
}

static void timeout__first_byte_of_one_request__overrides_the_limit(void **state)
{
    (void)state;
    struct http_request req = {.head = STR("GET /x HTTP/1.1\r\nhost: a\r\n\r\n"),
                               .first_byte_timeout_us = SOON_US};
    struct upstream up;
    upstream_open(&up, NULL);
    rig_call_start(&up.call, up.loop, up.ep, &req);
    upstream_take(&up, &up.peer);
    expect_fail(&up, HTTP_FAIL_FIRST_BYTE_TIMEOUT);
}

static void timeout__answer_falls_silent__fails(void **state)
{
    (void)state;
    struct http_client_limits limits = rig_client_limits();
    struct upstream up;
    limits.idle_timeout_us = SOON_US;
    upstream_open(&up, &limits);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    expect_fail(&up, HTTP_FAIL_IDLE_TIMEOUT);
}

static void timeout__paused__does_not_count(void **state)
{
    (void)state;
    struct http_client_limits limits = rig_client_limits();
    struct upstream up;
    limits.idle_timeout_us = SOON_US;
    upstream_open(&up, &limits);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    UNTIL(up.loop, up.call.data_count == 1);
    http_call_pause(up.call.call);
    uint64_t from_us = clock_now_us();
    UNTIL(up.loop, clock_now_us() - from_us > 3UL * SOON_US);
    assert_int_equal(up.call.fail_count, 0);
    http_call_resume(up.call.call);
    expect_fail(&up, HTTP_FAIL_IDLE_TIMEOUT);
}

/* --- Back-pressure */

static void pause_it(struct rig_call *rec)
{
    if (rec->call != NULL) {
        http_call_pause(rec->call);
    }
}

static void pause__nothing_is_read_until_resumed(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    up.call.on_head = pause_it;
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n");
    UNTIL(up.loop, up.call.head_count == 1);
    peer_send(&up.peer, "abc");
    rig_turns(up.loop, 5);
    rig_expect_quiet(up.loop);
    assert_int_equal(up.call.data_count, 0);
    http_call_resume(up.call.call);
    UNTIL(up.loop, rig_call_body_is(&up.call, "abc"));
    peer_send(&up.peer, "def");
    expect_over(&up, "abcdef");
    upstream_close(&up);
}

static void pause__peer_holds_back(void **state)
{
    (void)state;
    static const char block[65536];
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nx");
    UNTIL(up.loop, up.call.data_count == 1);
    http_call_pause(up.call.call);
    size_t sent = 0;
    for (int i = 0; i < 2000; i++) {
        sent += peer_offer(&up.peer, block, sizeof(block));
    }
    rig_turns(up.loop, 5);
    assert_true(sent < 64000000);
    assert_int_equal(up.call.body.len, 1);
    upstream_close(&up);
}

static void pause__peer_leaves__rests_and_tells_when_resumed(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    UNTIL(up.loop, up.call.data_count == 1);
    http_call_pause(up.call.call);
    peer_reset(&up.peer);
    rig_turns(up.loop, 5);
    rig_expect_quiet(up.loop);
    assert_int_equal(up.call.fail_count, 0);
    http_call_resume(up.call.call);
    expect_fail(&up, HTTP_FAIL_CUT);
}

static void pause__while_uploading__goes_on_with_the_upload_when_resumed(void **state)
{
    (void)state;
    enum { BODY_BYTES = 8000000 };
    struct upstream up;
    char *body = malloc(BODY_BYTES);
    assert_non_null(body);
    memset(body, 'q', BODY_BYTES);
    upstream_open(&up, NULL);
    up.call.on_head = pause_it;
    rig_call_post(&up.call, up.loop, up.ep, body, BODY_BYTES);
    upstream_take(&up, &up.peer);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    UNTIL(up.loop, up.call.head_count == 1);
    http_call_resume(up.call.call);
    UNTIL(up.loop, peer_count(&up.peer, "q") == BODY_BYTES);
    peer_send(&up.peer, "ok");
    expect_over(&up, "ok");
    free(body);
    upstream_close(&up);
}

static void pause__in_the_last_piece__connection_is_pooled_all_the_same(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    up.call.on_head = pause_it; /* the body comes in the same read */
    upstream_get(&up);
    peer_send(&up.peer, ANSWER_OK);
    expect_over(&up, "ok");
    assert_int_equal(http_client_counters(up.client)->open_connections, 1);
    upstream_again(&up);
    rig_call_get(&up.call, up.loop, up.ep);
    UNTIL(up.loop, peer_count(&up.peer, "GET ") == 2);
    peer_send(&up.peer, ANSWER_OK);
    expect_over(&up, "ok");
    peer_close(&up.peer);
    UNTIL(up.loop, http_client_counters(up.client)->open_connections == 0); /* its end is seen */
    upstream_close(&up);
}

static void pool__full__closes_what_is_too_much(void **state)
{
    (void)state;
    struct http_client_limits limits = rig_client_limits();
    struct upstream up;
    limits.pool_idle_max = 0;
    upstream_open(&up, &limits);
    upstream_get(&up);
    peer_send(&up.peer, ANSWER_OK);
    expect_over(&up, "ok");
    assert_int_equal(http_client_counters(up.client)->open_connections, 0);
    upstream_close(&up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer__byte_by_byte__is_read),
        cmocka_unit_test(answer__interim_ones_first__only_the_last_is_told),
        cmocka_unit_test(answer__flood_of_interim_ones__fails),
        cmocka_unit_test(answer__switching_protocols__fails),
        cmocka_unit_test(answer__to_head__has_no_body),
        cmocka_unit_test(answer__until_close__is_whole_at_the_end),
        cmocka_unit_test(answer__until_close_and_reset__is_cut),
        cmocka_unit_test(answer__shorter_than_its_length__is_cut),
        cmocka_unit_test(answer__chunks_without_the_last__is_cut),
        cmocka_unit_test(answer__bad_chunk_behind_good_ones__is_cut_after_them),
        cmocka_unit_test(answer__head_cut__is_closed),
        cmocka_unit_test(answer__not_http__fails),
        cmocka_unit_test(answer__header_over_the_limit__fails),
        cmocka_unit_test(answer__bytes_behind_it__closes_the_connection),
        cmocka_unit_test(idle_connection__server_speaks__is_closed),
        cmocka_unit_test(idle_connection__time_is_up__is_closed),
        cmocka_unit_test(answer__connection_close__is_not_pooled),
        cmocka_unit_test(answer__many_pieces_in_one_read__all_come),
        cmocka_unit_test(answer__large__comes_whole),
        cmocka_unit_test(early_answer__while_uploading__is_read),
        cmocka_unit_test(early_answer__server_closes_without_reading_the_rest__is_read),
        cmocka_unit_test(request__large__arrives_whole),
        cmocka_unit_test(timeout__no_first_byte__fails),
        cmocka_unit_test(timeout__no_first_byte_on_a_reused_connection__is_not_replayed),
        cmocka_unit_test(timeout__first_byte_of_one_request__overrides_the_limit),
        cmocka_unit_test(timeout__answer_falls_silent__fails),
        cmocka_unit_test(timeout__paused__does_not_count),
        cmocka_unit_test(pause__nothing_is_read_until_resumed),
        cmocka_unit_test(pause__peer_holds_back),
        cmocka_unit_test(pause__peer_leaves__rests_and_tells_when_resumed),
        cmocka_unit_test(pause__while_uploading__goes_on_with_the_upload_when_resumed),
        cmocka_unit_test(pause__in_the_last_piece__connection_is_pooled_all_the_same),
        cmocka_unit_test(pool__full__closes_what_is_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
