/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include <stdio.h>

#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void expect_endpoint(const char *url, const char *host, const char *prefix)
{
    struct loop *loop = rig_loop();
    struct http_client *client = rig_client(loop, NULL);
    struct http_endpoint *ep = NULL;
    struct err err = {0};
    if (http_endpoint_new(&ep, client, str_of(url), NULL, &err) != ST_OK) {
        fail_msg("%s: %s", url, err.text);
    }
    if (!str_eq(http_endpoint_host(ep), str_of(host)) ||
        !str_eq(http_endpoint_prefix(ep), str_of(prefix))) {
        fail_msg("%s: host %s prefix %s", url, http_endpoint_host(ep).p,
                 http_endpoint_prefix(ep).p);
    }
    http_endpoint_release(ep);
    http_client_free(client);
    loop_free(loop);
}

static void endpoint__urls__give_host_and_prefix(void **state)
{
    (void)state;
    expect_endpoint("http://127.0.0.1:8000", "127.0.0.1:8000", "");
    expect_endpoint("HTTP://127.0.0.1", "127.0.0.1", "");
    expect_endpoint("http://[::1]:8000/", "[::1]:8000", "");
    expect_endpoint("http://[::1]", "[::1]", "");
    expect_endpoint("http://127.0.0.1:8000/v1/x//", "127.0.0.1:8000", "/v1/x");
    expect_endpoint("http://localhost:8000", "localhost:8000", "");
    expect_endpoint("unix:/tmp/x.sock", "localhost", "");
}

static void endpoint__bad_urls__are_refused_with_words(void **state)
{
    (void)state;
    static const char *const urls[] = {"",
                                       "127.0.0.1:80",
                                       "ftp://a",
                                       "http://",
                                       "http:///x",
                                       "http://a b",
                                       "http://u@h",
                                       "http://h?x",
                                       "http://h#x",
                                       "http://h:port",
                                       "http://h:70000",
                                       "http://h:0",
                                       "http://:80",
                                       "http://::1:80",
                                       "http://h\r\nx",
                                       "unix:",
                                       "https://127.0.0.1"};
    struct loop *loop = rig_loop();
    struct http_client *client = rig_client(loop, NULL);
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct http_endpoint *ep = NULL;
        struct err err = {0};
        if (http_endpoint_new(&ep, client, str_of(urls[i]), NULL, &err) != ST_INVAL ||
            err.text[0] == '\0') {
            fail_msg("\"%s\" was not refused", urls[i]);
        }
    }
    http_client_free(client);
    loop_free(loop);
}

static void endpoint__long_host__is_refused(void **state)
{
    (void)state;
    char url[1024];
    struct loop *loop = rig_loop();
    struct http_client *client = rig_client(loop, NULL);
    struct http_endpoint *ep = NULL;
    struct err err = {0};
    memset(url, 'a', sizeof(url));
    memcpy(url, "http://", 7);
    assert_status(http_endpoint_new(&ep, client, (struct str){url, sizeof(url)}, NULL, &err),
                  ST_INVAL);
    http_client_free(client);
    loop_free(loop);
}

static void client__freed_with_calls_in_every_phase__calls_nobody_back(void **state)
{
    (void)state;
    struct net_addr addr;
    struct net_addr dead;
    struct peer peer = {.fd = -1};
    struct rig_call idle = {0};
    struct rig_call answering = {0};
    struct rig_call waiting = {0};
    struct rig_call refused = {0};
    struct loop *loop = rig_loop();
    struct http_client *client = rig_client(loop, NULL);
    int fd = rig_listen(&addr, 8);
    int dead_fd = rig_listen(&dead, 1);
    close(dead_fd);
    struct http_endpoint *ep = rig_endpoint(client, &addr);
    struct http_endpoint *dead_ep = rig_endpoint(client, &dead);
    rig_call_get(&idle, loop, ep);
    UNTIL(loop, peer_accept(&peer, fd));
    UNTIL(loop, peer_has(&peer, "\r\n\r\n"));
    peer_send(&peer, ANSWER);
    UNTIL(loop, rig_call_is_over(&idle));
    rig_call_get(&answering, loop, ep);
    UNTIL(loop, peer_count(&peer, "GET ") == 2);
    peer_send(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    UNTIL(loop, answering.data_count == 1);
    rig_call_get(&waiting, loop, ep);
    rig_call_get(&refused, loop, dead_ep);
    http_client_free(client);
    rig_turns(loop, 3);
    assert_int_equal(answering.fail_count + waiting.fail_count + refused.fail_count, 0);
    UNTIL(loop, peer_is_over(&peer));
    answering.call = NULL;
    waiting.call = NULL;
    refused.call = NULL;
    rig_call_done(&idle);
    rig_call_done(&answering);
    rig_call_done(&waiting);
    rig_call_done(&refused);
    peer_close(&peer);
    close(fd);
    loop_free(loop);
}

static void endpoint__released__idle_connections_close_and_running_calls_go_on(void **state)
{
    (void)state;
    struct net_addr addr;
    struct peer first = {.fd = -1};
    struct peer second = {.fd = -1};
    struct rig_call a = {0};
    struct rig_call b = {0};
    struct loop *loop = rig_loop();
    struct http_client *client = rig_client(loop, NULL);
    int fd = rig_listen(&addr, 8);
    struct http_endpoint *ep = rig_endpoint(client, &addr);
    rig_call_get(&a, loop, ep);
    UNTIL(loop, peer_accept(&first, fd));
    rig_call_get(&b, loop, ep);
    UNTIL(loop, peer_accept(&second, fd));
    UNTIL(loop, peer_has(&first, "\r\n\r\n") && peer_has(&second, "\r\n\r\n"));
    peer_send(&first, ANSWER);
    UNTIL(loop, rig_call_is_over(&a));
    assert_false(peer_is_over(&first));
    http_endpoint_release(ep);
    UNTIL(loop, peer_is_over(&first));
    peer_send(&second, ANSWER);
    UNTIL(loop, rig_call_is_over(&b));
    assert_true(rig_call_body_is(&b, "ok"));
    UNTIL(loop, peer_is_over(&second));
    assert_int_equal(http_client_counters(client)->open_connections, 0);
    assert_int_equal(http_client_counters(client)->active_calls, 0);
    rig_call_done(&a);
    rig_call_done(&b);
    http_client_free(client);
    loop_free(loop);
    peer_close(&first);
    peer_close(&second);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoint__urls__give_host_and_prefix),
        cmocka_unit_test(endpoint__bad_urls__are_refused_with_words),
        cmocka_unit_test(endpoint__long_host__is_refused),
        cmocka_unit_test(client__freed_with_calls_in_every_phase__calls_nobody_back),
        cmocka_unit_test(endpoint__released__idle_connections_close_and_running_calls_go_on),
    };
    return cmocka_run_group_tests(tests, rig_threads_setup, rig_threads_teardown);
}
