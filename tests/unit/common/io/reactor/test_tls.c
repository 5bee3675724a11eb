/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides over TLS in one loop. SIGPIPE keeps its default action here: a write that raises it
 * ends the test. */
#include "tests/unit/common/io/reactor/cert.h"
#include "tests/unit/common/io/reactor/rig.h"

#include "common/io/reactor/http_conn.h"

#include <netinet/in.h>
#include <stdio.h>

enum { SOON_US = 30000 };

struct duo {
    struct loop *loop;
    struct cert cert;
    struct tls_ctx *server_tls;
    struct tls_ctx *client_tls;
    struct rig_server srv;
    struct http_client *client;
    struct http_endpoint *ep;
    struct rig_call call;
};

static struct http_endpoint *tls_endpoint(struct duo *duo, const char *host, struct tls_ctx *tls)
{
    char url[96];
    struct http_endpoint *ep = NULL;
    struct err err = {0};
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)&duo->srv.addr.sa;
    snprintf(url, sizeof(url), "https://%s:%u", host, ntohs(in4->sin_port));
    assert_status(http_endpoint_new(&ep, duo->client, str_of(url), tls, &err), ST_OK);
    return ep;
}

static void duo_open(struct duo *duo)
{
    struct err err = {0};
    memset(duo, 0, sizeof(*duo));
    duo->loop = rig_loop();
    cert_make(&duo->cert, "DNS:localhost,IP:127.0.0.1");
    assert_status(tls_server_new(&duo->server_tls, duo->cert.cert_file, duo->cert.key_file, &err),
                  ST_OK);
    assert_status(tls_client_new(&duo->client_tls, duo->cert.cert_file, true, &err), ST_OK);
    rig_server_open_tls(&duo->srv, duo->loop, duo->server_tls);
    duo->client = rig_client(duo->loop, NULL);
    duo->ep = tls_endpoint(duo, "127.0.0.1", duo->client_tls);
}

static void duo_close(struct duo *duo)
{
    rig_call_done(&duo->call);
    http_client_free(duo->client);
    rig_server_close(&duo->srv);
    loop_free(duo->loop);
    tls_free(duo->server_tls);
    tls_free(duo->client_tls);
    cert_remove(&duo->cert);
}

static void expect_ok(struct duo *duo, const char *body)
{
    UNTIL(duo->loop, rig_call_is_over(&duo->call));
    assert_int_equal(duo->call.last_count, 1);
    assert_true(rig_call_body_is(&duo->call, body));
}

static void expect_fail(struct duo *duo, enum http_fail why)
{
    UNTIL(duo->loop, rig_call_is_over(&duo->call));
    assert_int_equal(duo->call.fail_count, 1);
    assert_int_equal(duo->call.why, why);
}

static void request__small__is_answered_and_the_connection_reused(void **state)
{
    (void)state;
    struct duo duo;
    duo_open(&duo);
    duo.srv.on_end = rig_answer_echo;
    rig_call_post(&duo.call, duo.loop, duo.ep, "hello", 5);
    expect_ok(&duo, "[/x|hello]");
    rig_call_done(&duo.call);
    duo.call = (struct rig_call){0};
    rig_call_post(&duo.call, duo.loop, duo.ep, "again", 5);
    expect_ok(&duo, "[/x|again]");
    assert_int_equal(http_client_counters(duo.client)->connect_count, 1);
    duo_close(&duo);
}

static void request__by_name__is_verified_and_answered(void **state)
{
    (void)state;
    struct duo duo;
    duo_open(&duo);
    duo.srv.on_end = rig_answer_ok;
    rig_call_get(&duo.call, duo.loop, tls_endpoint(&duo, "localhost", duo.client_tls));
    expect_ok(&duo, "ok");
    duo_close(&duo);
}

static void bodies__large_both_ways__arrive_whole(void **state)
{
    (void)state;
    enum { BODY_BYTES = 3000000 };
    struct duo duo;
    char *body = malloc(BODY_BYTES);
    assert_non_null(body);
    for (size_t i = 0; i < BODY_BYTES; i++) {
        body[i] = (char)('a' + i % 23);
    }
    duo_open(&duo);
    duo.srv.on_end = rig_answer_echo;
    rig_call_post(&duo.call, duo.loop, duo.ep, body, BODY_BYTES);
    UNTIL(duo.loop, rig_call_is_over(&duo.call));
    assert_int_equal(duo.call.body.len, BODY_BYTES + 5);
    assert_memory_equal(duo.call.body.p + 4, body, BODY_BYTES);
    free(body);
    duo_close(&duo);
}

static void pause_often(struct rig_call *rec)
{
    if (rec->call != NULL) {
        http_call_pause(rec->call);
    }
}

static void answer__paused_at_each_piece__comes_whole(void **state)
{
    (void)state;
    enum { BODY_BYTES = 1000000 };
    struct duo duo;
    char *body = calloc(1, BODY_BYTES);
    assert_non_null(body);
    duo_open(&duo);
    duo.srv.on_end = rig_answer_echo;
    duo.call.on_data = pause_often;
    rig_call_post(&duo.call, duo.loop, duo.ep, body, BODY_BYTES);
    UNTIL(duo.loop, (duo.call.call != NULL ? http_call_resume(duo.call.call) : (void)0,
                     rig_call_is_over(&duo.call)));
    assert_int_equal(duo.call.body.len, BODY_BYTES + 5);
    assert_true(duo.call.data_count > 10);
    free(body);
    duo_close(&duo);
}

static void certificate__not_trusted__fails_to_connect(void **state)
{
    (void)state;
    struct duo duo;
    struct cert other;
    struct tls_ctx *tls = NULL;
    struct err err = {0};
    duo_open(&duo);
    cert_make(&other, "DNS:localhost,IP:127.0.0.1");
    assert_status(tls_client_new(&tls, other.cert_file, true, &err), ST_OK);
    rig_call_get(&duo.call, duo.loop, tls_endpoint(&duo, "127.0.0.1", tls));
    expect_fail(&duo, HTTP_FAIL_CONNECT);
    assert_int_equal(duo.srv.count, 0);
    duo_close(&duo);
    tls_free(tls);
    cert_remove(&other);
}

static void certificate__not_trusted_but_not_verified__is_answered(void **state)
{
    (void)state;
    struct duo duo;
    struct tls_ctx *tls = NULL;
    struct err err = {0};
    duo_open(&duo);
    duo.srv.on_end = rig_answer_ok;
    assert_status(tls_client_new(&tls, "", false, &err), ST_OK);
    rig_call_get(&duo.call, duo.loop, tls_endpoint(&duo, "127.0.0.1", tls));
    expect_ok(&duo, "ok");
    duo_close(&duo);
    tls_free(tls);
}

static void certificate__of_another_host__fails_to_connect(void **state)
{
    (void)state;
    struct duo duo;
    struct cert other;
    struct tls_ctx *server_tls = NULL;
    struct tls_ctx *client_tls = NULL;
    struct err err = {0};
    int fd = -1;
    duo_open(&duo);
    cert_make(&other, "DNS:engine.example,IP:127.0.0.9");
    assert_status(tls_server_new(&server_tls, other.cert_file, other.key_file, &err), ST_OK);
    assert_status(tls_client_new(&client_tls, other.cert_file, true, &err), ST_OK);
    fd = rig_listen(&duo.srv.addr, 8);
    assert_status(http_server_listen(duo.srv.server, fd, server_tls), ST_OK);
    rig_call_get(&duo.call, duo.loop, tls_endpoint(&duo, "127.0.0.1", client_tls));
    expect_fail(&duo, HTTP_FAIL_CONNECT);
    rig_call_done(&duo.call);
    duo.call = (struct rig_call){0};
    rig_call_get(&duo.call, duo.loop, tls_endpoint(&duo, "localhost", client_tls));
    UNTIL(duo.loop, rig_call_is_over(&duo.call));
    assert_int_equal(duo.call.why, HTTP_FAIL_CONNECT);
    duo_close(&duo);
    tls_free(server_tls);
    tls_free(client_tls);
    cert_remove(&other);
}

static void context__bad_files__are_refused_by_name(void **state)
{
    (void)state;
    struct cert cert;
    struct cert other;
    struct tls_ctx *tls = NULL;
    struct err err = {0};
    cert_make(&cert, "DNS:a");
    cert_make(&other, "DNS:b");
    assert_status(tls_server_new(&tls, "/nonexistent/cert", cert.key_file, &err), ST_INVAL);
    assert_non_null(strstr(err.text, "tls.cert_file /nonexistent/cert"));
    assert_status(tls_server_new(&tls, cert.cert_file, other.key_file, &err), ST_INVAL);
    assert_non_null(strstr(err.text, "tls.key_file"));
    assert_status(tls_client_new(&tls, "/nonexistent/ca", true, &err), ST_INVAL);
    assert_non_null(strstr(err.text, "tls.upstream_ca_file /nonexistent/ca"));
    cert_remove(&cert);
    cert_remove(&other);
}

static void server__spoken_to_in_the_clear__closes(void **state)
{
    (void)state;
    struct duo duo;
    struct peer peer;
    duo_open(&duo);
    peer_connect(&peer, &duo.srv.addr);
    peer_send(&peer, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    UNTIL(duo.loop, peer_is_over(&peer));
    assert_int_equal(duo.srv.count, 0);
    assert_int_equal(http_server_counters(duo.srv.server)->open_connections, 0);
    peer_close(&peer);
    duo_close(&duo);
}

static void server__silent_or_half_closed_in_the_handshake__closes(void **state)
{
    (void)state;
    struct duo duo;
    struct peer silent;
    struct peer half;
    struct http_limits limits = rig_server_limits();
    duo_open(&duo);
    limits.header_timeout_us = SOON_US;
    http_server_set_limits(duo.srv.server, &limits);
    peer_connect(&silent, &duo.srv.addr);
    peer_connect(&half, &duo.srv.addr);
    assert_int_equal(shutdown(half.fd, SHUT_WR), 0);
    UNTIL(duo.loop, peer_is_over(&silent) && peer_is_over(&half));
    peer_close(&silent);
    peer_close(&half);
    duo_close(&duo);
}

static void client__answered_in_the_clear__fails_to_connect(void **state)
{
    (void)state;
    struct duo duo;
    struct net_addr addr;
    struct peer peer = {.fd = -1};
    duo_open(&duo);
    int fd = rig_listen(&addr, 4);
    duo.srv.addr = addr;
    rig_call_get(&duo.call, duo.loop, tls_endpoint(&duo, "127.0.0.1", duo.client_tls));
    UNTIL(duo.loop, peer_accept(&peer, fd));
    peer_send(&peer, "HTTP/1.1 400 Bad Request\r\n\r\n");
    expect_fail(&duo, HTTP_FAIL_CONNECT);
    peer_close(&peer);
    close(fd);
    duo_close(&duo);
}

static void client__server_silent_in_the_handshake__times_out(void **state)
{
    (void)state;
    struct http_client_limits limits = rig_client_limits();
    struct duo duo;
    struct net_addr addr;
    duo_open(&duo);
    limits.connect_timeout_us = SOON_US;
    http_client_set_limits(duo.client, &limits);
    int fd = rig_listen(&addr, 4);
    duo.srv.addr = addr;
    rig_call_get(&duo.call, duo.loop, tls_endpoint(&duo, "127.0.0.1", duo.client_tls));
    expect_fail(&duo, HTTP_FAIL_CONNECT_TIMEOUT);
    close(fd);
    duo_close(&duo);
}

static void client__cancelled__server_is_told_and_survives_its_writes(void **state)
{
    (void)state;
    static char block[100];
    struct duo duo;
    duo_open(&duo);
    rig_call_get(&duo.call, duo.loop, duo.ep);
    UNTIL(duo.loop, duo.srv.count == 1 && duo.srv.seen[0].end_count == 1);
    struct http_exchange *ex = duo.srv.seen[0].ex;
    struct iovec iov = {block, sizeof(block)};
    http_respond_begin(ex, 200, STR(""), -1);
    rig_turns(duo.loop, 3);
    rig_call_done(&duo.call); /* the server does not know yet */
    for (int i = 0; i < 4; i++) {
        http_respond_data(ex, &iov, 1, false);
    }
    UNTIL(duo.loop, duo.srv.seen[0].close_count == 1);
    assert_int_equal(duo.srv.seen[0].why, HTTP_CLOSE_GONE);
    duo_close(&duo);
}

static void begin_until_close(struct rig_exchange *rec)
{
    struct iovec iov = {(void *)(uintptr_t) "abc", 3};
    http_respond_begin(rec->ex, 200, STR(""), -1);
    http_respond_data(rec->ex, &iov, 1, false);
}

static void call_http_1_0(struct duo *duo)
{
    struct http_request req = {.head = STR("GET /x HTTP/1.0\r\n\r\n")};
    duo->srv.on_end = begin_until_close;
    rig_call_start(&duo->call, duo->loop, duo->ep, &req);
    UNTIL(duo->loop, rig_call_body_is(&duo->call, "abc"));
    assert_int_equal(duo->call.content_length, -1);
}

static void answer__until_close__is_whole_when_tls_was_ended(void **state)
{
    (void)state;
    struct duo duo;
    duo_open(&duo);
    call_http_1_0(&duo);
    http_respond_data(duo.srv.seen[0].ex, NULL, 0, true);
    expect_ok(&duo, "abc");
    duo_close(&duo);
}

static void answer__until_close__is_cut_when_only_tcp_was_ended(void **state)
{
    (void)state;
    struct duo duo;
    duo_open(&duo);
    call_http_1_0(&duo);
    assert_int_equal(shutdown(http_conn_of(duo.srv.seen[0].ex)->wire.fd, SHUT_WR), 0);
    expect_fail(&duo, HTTP_FAIL_CUT);
    duo_close(&duo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request__small__is_answered_and_the_connection_reused),
        cmocka_unit_test(request__by_name__is_verified_and_answered),
        cmocka_unit_test(bodies__large_both_ways__arrive_whole),
        cmocka_unit_test(answer__paused_at_each_piece__comes_whole),
        cmocka_unit_test(certificate__not_trusted__fails_to_connect),
        cmocka_unit_test(certificate__not_trusted_but_not_verified__is_answered),
        cmocka_unit_test(certificate__of_another_host__fails_to_connect),
        cmocka_unit_test(context__bad_files__are_refused_by_name),
        cmocka_unit_test(server__spoken_to_in_the_clear__closes),
        cmocka_unit_test(server__silent_or_half_closed_in_the_handshake__closes),
        cmocka_unit_test(client__answered_in_the_clear__fails_to_connect),
        cmocka_unit_test(client__server_silent_in_the_handshake__times_out),
        cmocka_unit_test(client__cancelled__server_is_told_and_survives_its_writes),
        cmocka_unit_test(answer__until_close__is_whole_when_tls_was_ended),
        cmocka_unit_test(answer__until_close__is_cut_when_only_tcp_was_ended),
    };
    return cmocka_run_group_tests(tests, rig_threads_setup, rig_threads_teardown);
}
