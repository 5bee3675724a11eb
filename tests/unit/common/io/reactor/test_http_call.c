/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/upstream.h"

#include "common/io/reactor/resolve.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>

enum { SOON_US = 30000 };

static void expect_fail(struct upstream *up, enum http_fail why)
{
    UNTIL(up->loop, rig_call_is_over(&up->call));
    assert_int_equal(up->call.last_count, 0);
    assert_int_equal(up->call.why, why);
    assert_int_equal(http_client_counters(up->client)->fail_count[why], 1);
    assert_int_equal(http_client_counters(up->client)->active_calls, 0);
    assert_int_equal(http_client_counters(up->client)->open_connections, 0);
}

/* --- Reuse and stale connections */

static void call__answered__leaves_its_connection_for_the_next(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_pool_one(&up);
    rig_call_get(&up.call, up.loop, up.ep);
    UNTIL(up.loop, peer_count(&up.peer, "GET ") == 2);
    peer_send(&up.peer, ANSWER_OK);
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_true(rig_call_body_is(&up.call, "ok"));
    assert_int_equal(http_client_counters(up.client)->connect_count, 1);
    assert_int_equal(http_client_counters(up.client)->reuse_count, 1);
    upstream_close(&up);
}

static void start_another(struct rig_call *rec)
{
    struct upstream *up = rec->ctx;
    if (http_client_counters(up->client)->reuse_count < 3) {
        buf_fini(&rec->body);
        rec->last_count = 0;
        rec->head_count = 0;
        rig_call_get(rec, up->loop, up->ep);
    }
}

static void call__started_where_the_last_one_ends__uses_its_connection(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    up.call.ctx = &up;
    up.call.on_over = start_another;
    upstream_get(&up);
    for (size_t i = 1; i <= 4; i++) {
        UNTIL(up.loop, peer_count(&up.peer, "GET ") == i);
        peer_send(&up.peer, ANSWER_OK);
    }
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_int_equal(http_client_counters(up.client)->connect_count, 1);
    upstream_close(&up);
}

/* A pooled connection that the server closes as the next request arrives on it. */
static void make_stale(struct upstream *up, bool is_reset)
{
    upstream_pool_one(up);
    rig_call_post(&up->call, up->loop, up->ep, "hello", 5); /* before the loop sees the end */
    if (is_reset) {
        peer_reset(&up->peer);
    } else {
        peer_close(&up->peer);
    }
}

static void stale__no_byte_came__is_replayed_once(void **state)
{
    (void)state;
    for (int is_reset = 0; is_reset < 2; is_reset++) {
        struct upstream up;
        upstream_open(&up, NULL);
        make_stale(&up, is_reset == 1);
        upstream_take(&up, &up.peer);
        UNTIL(up.loop, peer_has(&up.peer, "\r\n\r\nhello"));
        peer_send(&up.peer, ANSWER_OK);
        UNTIL(up.loop, rig_call_is_over(&up.call));
        assert_int_equal(up.call.last_count, 1);
        assert_int_equal(http_client_counters(up.client)->stale_retry_count, 1);
        assert_int_equal(http_client_counters(up.client)->connect_count, 2);
        upstream_close(&up);
    }
}

static void stale__fresh_connection_dies_too__fails(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    make_stale(&up, false);
    upstream_take(&up, &up.peer);
    peer_close(&up.peer);
    expect_fail(&up, HTTP_FAIL_CLOSED);
    assert_int_equal(http_client_counters(up.client)->stale_retry_count, 1);
    upstream_close(&up);
}

static void stale__a_byte_had_come__is_not_replayed(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_pool_one(&up);
    rig_call_post(&up.call, up.loop, up.ep, "hello", 5);
    UNTIL(up.loop, peer_has(&up.peer, "hello"));
    peer_send(&up.peer, "HTTP/1.1 2");
    rig_turns(up.loop, 3);
    peer_close(&up.peer);
    expect_fail(&up, HTTP_FAIL_CLOSED);
    assert_int_equal(http_client_counters(up.client)->stale_retry_count, 0);
    upstream_close(&up);
}

static void stale__an_interim_answer_had_come__is_not_replayed(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_pool_one(&up);
    rig_call_post(&up.call, up.loop, up.ep, "hello", 5);
    UNTIL(up.loop, peer_has(&up.peer, "hello"));
    peer_send(&up.peer, "HTTP/1.1 100 Continue\r\n\r\n");
    rig_turns(up.loop, 3);
    peer_close(&up.peer);
    expect_fail(&up, HTTP_FAIL_CLOSED);
    upstream_close(&up);
}

static void fresh_connection__closed_without_a_byte__is_not_replayed(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_close(&up.peer);
    expect_fail(&up, HTTP_FAIL_CLOSED);
    assert_int_equal(http_client_counters(up.client)->connect_count, 1);
    upstream_close(&up);
}

static void stale__large_request_half_sent__is_sent_whole_again(void **state)
{
    (void)state;
    enum { BODY_BYTES = 3000000 };
    struct upstream up;
    char *body = malloc(BODY_BYTES);
    assert_non_null(body);
    memset(body, 'b', BODY_BYTES);
    upstream_open(&up, NULL);
    upstream_pool_one(&up);
    rig_call_post(&up.call, up.loop, up.ep, body, BODY_BYTES);
    UNTIL(up.loop, peer_has_bytes(&up.peer, 200000));
    peer_reset(&up.peer);
    upstream_take(&up, &up.peer);
    UNTIL(up.loop,
          peer_has_bytes(&up.peer, BODY_BYTES + 50) || peer_count(&up.peer, "b") == BODY_BYTES);
    assert_int_equal(peer_count(&up.peer, "b"), BODY_BYTES);
    peer_send(&up.peer, ANSWER_OK);
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_int_equal(up.call.last_count, 1);
    free(body);
    upstream_close(&up);
}

/* --- Connecting */

static void connect__refused__fails_later(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    close(up.fd);
    rig_call_get(&up.call, up.loop, up.ep);
    up.fd = dup(0);
    expect_fail(&up, HTTP_FAIL_CONNECT);
    upstream_close(&up);
}

static void connect__no_descriptor_left__fails_later(void **state)
{
    (void)state;
    struct upstream up;
    struct rlimit old;
    upstream_open(&up, NULL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit none = {0, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rig_call_get(&up.call, up.loop, up.ep);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    expect_fail(&up, HTTP_FAIL_NO_FD);
    upstream_close(&up);
}

static void connect__backlog_full__times_out(void **state)
{
    (void)state;
    struct http_client_limits limits = rig_client_limits();
    struct upstream up;
    int filler[8];
    int count = 0;
    int reason = 0;
    limits.connect_timeout_us = SOON_US;
    upstream_open(&up, &limits);
    assert_int_equal(listen(up.fd, 0), 0);
    while (count < 8 && net_connect(&up.addr, &filler[count], &reason) == ST_OK) {
        count++;
    }
    rig_turns(up.loop, 5);
    rig_call_get(&up.call, up.loop, up.ep);
    expect_fail(&up, HTTP_FAIL_CONNECT_TIMEOUT);
    while (count > 0) {
        close(filler[--count]);
    }
    upstream_close(&up);
}

static void connect__unix_socket__is_answered(void **state)
{
    (void)state;
    struct upstream up;
    struct net_addr addr;
    struct err err = {0};
    struct http_endpoint *ep = NULL;
    char path[KIT_PATH_BYTES];
    char url[KIT_PATH_BYTES + 8];
    upstream_open(&up, NULL);
    kit_tmp_file(path, "", 0);
    assert_int_equal(unlink(path), 0);
    snprintf(url, sizeof(url), "unix:%s", path);
    assert_status(net_addr_parse(str_of(url), &addr, &err), ST_OK);
    close(up.fd);
    assert_status(net_listen(&addr, false, &up.fd, &err), ST_OK);
    assert_status(http_endpoint_new(&ep, up.client, str_of(url), NULL, &err), ST_OK);
    rig_call_get(&up.call, up.loop, ep);
    upstream_take(&up, &up.peer);
    peer_send(&up.peer, ANSWER_OK);
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_true(rig_call_body_is(&up.call, "ok"));
    unlink(path);
    upstream_close(&up);
}

static struct http_endpoint *named_endpoint(struct upstream *up, const char *host)
{
    char url[128];
    struct http_endpoint *ep = NULL;
    struct err err = {0};
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)&up->addr.sa;
    snprintf(url, sizeof(url), "http://%s:%u", host, ntohs(in4->sin_port));
    assert_status(http_endpoint_new(&ep, up->client, str_of(url), NULL, &err), ST_OK);
    return ep;
}

static void name__localhost__is_resolved_and_called(void **state)
{
    (void)state;
    struct upstream up; /* listens on 127.0.0.1 only, though the name may mean ::1 first */
    upstream_open(&up, NULL);
    rig_call_get(&up.call, up.loop, named_endpoint(&up, "localhost"));
    upstream_take(&up, &up.peer);
    peer_send(&up.peer, ANSWER_OK);
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_true(rig_call_body_is(&up.call, "ok"));
    upstream_close(&up);
}

/* Waits for the addresses of localhost; false when there is only one. */
static bool second_address(struct upstream *up, struct net_addr *ret)
{
    struct resolve_name *name = NULL;
    struct net_addr addrs[RESOLVE_ADDRS_MAX];
    size_t count = 0;
    enum status st = ST_AGAIN;
    assert_status(resolve_open(&name, "localhost", 0), ST_OK);
    UNTIL(up->loop, (st = resolve_get(name, addrs, &count)) != ST_AGAIN);
    resolve_close(name);
    *ret = addrs[1];
    return st == ST_OK && count > 1;
}

static void name__only_its_second_address_answers__is_called_there(void **state)
{
    (void)state;
    struct upstream up;
    struct net_addr addr;
    struct err err = {0};
    upstream_open(&up, NULL);
    if (!second_address(&up, &addr)) {
        upstream_close(&up);
        skip();
    }
    close(up.fd);
    assert_status(net_listen(&addr, false, &up.fd, &err), ST_OK);
    assert_status(net_local_addr(up.fd, &up.addr), ST_OK);
    rig_call_get(&up.call, up.loop, named_endpoint(&up, "localhost"));
    upstream_take(&up, &up.peer);
    peer_send(&up.peer, ANSWER_OK);
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_true(rig_call_body_is(&up.call, "ok"));
    upstream_close(&up);
}

static void name__unknown__fails(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    rig_call_get(&up.call, up.loop, named_endpoint(&up, "no-such-host.invalid"));
    expect_fail(&up, HTTP_FAIL_RESOLVE);
    upstream_close(&up);
}

static void name__call_cancelled_while_it_is_looked_up__says_nothing(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    rig_call_get(&up.call, up.loop, named_endpoint(&up, "localhost"));
    rig_call_done(&up.call);
    rig_turns(up.loop, 10);
    assert_int_equal(http_client_counters(up.client)->active_calls, 0);
    upstream_close(&up);
}

/* --- Cancelling */

static void expect_cancelled(struct upstream *up)
{
    rig_call_done(&up->call);
    UNTIL(up->loop, peer_is_over(&up->peer));
    rig_turns(up->loop, 3);
    assert_int_equal(up->call.fail_count + up->call.last_count, 0);
    assert_int_equal(http_client_counters(up->client)->active_calls, 0);
    assert_int_equal(http_client_counters(up->client)->open_connections, 0);
    upstream_close(up);
}

static void cancel__connecting__closes(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    rig_call_get(&up.call, up.loop, up.ep);
    UNTIL(up.loop, peer_accept(&up.peer, up.fd));
    expect_cancelled(&up);
}

static void cancel__waiting_for_the_first_byte__closes(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    expect_cancelled(&up);
}

static void cancel__on_a_reused_connection__closes(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_pool_one(&up);
    rig_call_get(&up.call, up.loop, up.ep);
    UNTIL(up.loop, peer_count(&up.peer, "GET ") == 2);
    expect_cancelled(&up);
}

static void cancel__sending_a_large_body__closes(void **state)
{
    (void)state;
    static const char body[4000000];
    struct upstream up;
    upstream_open(&up, NULL);
    rig_call_post(&up.call, up.loop, up.ep, body, sizeof(body));
    UNTIL(up.loop, peer_accept(&up.peer, up.fd));
    rig_turns(up.loop, 3);
    assert_false(http_call_is_sent(up.call.call));
    expect_cancelled(&up);
}

static void cancel__in_the_answer__closes(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok");
    UNTIL(up.loop, up.call.data_count == 1);
    expect_cancelled(&up);
}

static void cancel__paused__closes(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok");
    UNTIL(up.loop, up.call.data_count == 1);
    http_call_pause(up.call.call);
    expect_cancelled(&up);
}

static void cancel_it(struct rig_call *rec)
{
    if (rec->call != NULL) {
        http_call_cancel(rec->call);
        rec->call = NULL;
    }
}

static void cancel__inside_on_head__hears_nothing_more(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    up.call.on_head = cancel_it;
    upstream_get(&up);
    peer_send(&up.peer, ANSWER_OK);
    UNTIL(up.loop, up.call.head_count == 1);
    assert_int_equal(up.call.data_count, 0);
    expect_cancelled(&up);
}

static void cancel__inside_on_data__hears_nothing_more(void **state)
{
    (void)state;
    struct upstream up;
    upstream_open(&up, NULL);
    up.call.on_data = cancel_it;
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 300; i++) {
        peer_send(&up.peer, "1\r\nx\r\n");
    }
    UNTIL(up.loop, up.call.data_count == 1);
    rig_turns(up.loop, 3);
    assert_int_equal(up.call.data_count, 1);
    expect_cancelled(&up);
}

static void cancel_and_start(struct rig_call *rec)
{
    struct upstream *up = rec->ctx;
    rec->on_head = NULL;
    http_call_cancel(rec->call);
    rec->head_count = 0;
    buf_fini(&rec->body);
    rig_call_get(rec, up->loop, up->ep);
}

static void cancel__inside_on_head_and_another_started__that_one_is_served(void **state)
{
    (void)state;
    struct upstream up;
    struct peer second;
    upstream_open(&up, NULL);
    up.call.on_head = cancel_and_start;
    up.call.ctx = &up;
    upstream_get(&up);
    peer_send(&up.peer, "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno");
    upstream_take(&up, &second);
    peer_send(&second, ANSWER_OK);
    UNTIL(up.loop, rig_call_is_over(&up.call));
    assert_true(rig_call_body_is(&up.call, "ok"));
    UNTIL(up.loop, peer_is_over(&up.peer));
    peer_close(&second);
    upstream_close(&up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__answered__leaves_its_connection_for_the_next),
        cmocka_unit_test(call__started_where_the_last_one_ends__uses_its_connection),
        cmocka_unit_test(stale__no_byte_came__is_replayed_once),
        cmocka_unit_test(stale__fresh_connection_dies_too__fails),
        cmocka_unit_test(stale__a_byte_had_come__is_not_replayed),
        cmocka_unit_test(stale__an_interim_answer_had_come__is_not_replayed),
        cmocka_unit_test(stale__large_request_half_sent__is_sent_whole_again),
        cmocka_unit_test(fresh_connection__closed_without_a_byte__is_not_replayed),
        cmocka_unit_test(connect__refused__fails_later),
        cmocka_unit_test(connect__no_descriptor_left__fails_later),
        cmocka_unit_test(connect__backlog_full__times_out),
        cmocka_unit_test(connect__unix_socket__is_answered),
        cmocka_unit_test(name__localhost__is_resolved_and_called),
        cmocka_unit_test(name__only_its_second_address_answers__is_called_there),
        cmocka_unit_test(name__unknown__fails),
        cmocka_unit_test(name__call_cancelled_while_it_is_looked_up__says_nothing),
        cmocka_unit_test(cancel__connecting__closes),
        cmocka_unit_test(cancel__waiting_for_the_first_byte__closes),
        cmocka_unit_test(cancel__on_a_reused_connection__closes),
        cmocka_unit_test(cancel__sending_a_large_body__closes),
        cmocka_unit_test(cancel__in_the_answer__closes),
        cmocka_unit_test(cancel__paused__closes),
        cmocka_unit_test(cancel__inside_on_head__hears_nothing_more),
        cmocka_unit_test(cancel__inside_on_data__hears_nothing_more),
        cmocka_unit_test(cancel__inside_on_head_and_another_started__that_one_is_served),
    };
    return cmocka_run_group_tests(tests, rig_threads_setup, rig_threads_teardown);
}
