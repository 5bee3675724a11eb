/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include <stdio.h>
#include <sys/resource.h>

#define GET "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

static uint64_t open_count(const struct rig_server *srv)
{
    return http_server_counters(srv->server)->open_connections;
}

static void connections__limit_reached__later_ones_wait_until_one_closes(void **state)
{
    (void)state;
    struct http_limits limits = rig_server_limits();
    struct rig_server srv;
    struct peer peers[4];
    struct loop *loop = rig_loop();
    limits.connections = 2;
    rig_server_open(&srv, loop, &limits);
    srv.on_end = rig_answer_ok;
    for (int i = 0; i < 4; i++) {
        peer_connect(&peers[i], &srv.addr);
        peer_send(&peers[i], GET);
    }
    UNTIL(loop, peer_has(&peers[0], "ok") && peer_has(&peers[1], "ok"));
    rig_turns(loop, 5);
    rig_expect_quiet(loop);
    assert_int_equal(open_count(&srv), 2);
    assert_false(peer_has(&peers[2], "ok"));
    peer_close(&peers[0]);
    UNTIL(loop, peer_has(&peers[2], "ok"));
    assert_false(peer_has(&peers[3], "ok"));
    peer_close(&peers[1]);
    UNTIL(loop, peer_has(&peers[3], "ok"));
    assert_true(http_server_counters(srv.server)->accept_paused_count > 0);
    rig_server_close(&srv);
    loop_free(loop);
    peer_close(&peers[2]);
    peer_close(&peers[3]);
}

static void connections__limit_raised__waiting_ones_are_served(void **state)
{
    (void)state;
    struct http_limits limits = rig_server_limits();
    struct rig_server srv;
    struct peer peers[2];
    struct loop *loop = rig_loop();
    limits.connections = 1;
    rig_server_open(&srv, loop, &limits);
    srv.on_end = rig_answer_ok;
    for (int i = 0; i < 2; i++) {
        peer_connect(&peers[i], &srv.addr);
        peer_send(&peers[i], GET);
    }
    UNTIL(loop, peer_has(&peers[0], "ok"));
    limits.connections = 2;
    http_server_set_limits(srv.server, &limits);
    UNTIL(loop, peer_has(&peers[1], "ok"));
    rig_server_close(&srv);
    loop_free(loop);
    peer_close(&peers[0]);
    peer_close(&peers[1]);
}

static void accept__no_descriptor_left__rests_and_recovers(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct rlimit old;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = rig_answer_ok;
    peer_send(&peer, GET);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit none = {0, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rig_turns(loop, 3);
    rig_expect_quiet(loop);
    uint64_t paused = http_server_counters(srv.server)->accept_paused_count;
    uint64_t accepted = http_server_counters(srv.server)->accepted_count;
    UNTIL(loop, http_server_counters(srv.server)->accept_paused_count >
                    paused); /* it tries now and then */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(accepted, 0);
    UNTIL(loop, peer_has(&peer, "ok"));
    rig_pair_close(loop, &srv, &peer);
}

static void drain__idle_connections_and_listeners__are_closed(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    srv.on_end = rig_answer_ok;
    peer_send(&peer, GET);
    UNTIL(loop, peer_has(&peer, "ok") && srv.seen[0].close_count == 1);
    http_server_drain(srv.server);
    UNTIL(loop, peer_is_over(&peer));
    assert_false(peer.is_reset);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&srv.addr.sa, srv.addr.len), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    http_server_drain(srv.server);
    rig_pair_close(loop, &srv, &peer);
}

static void drain__running_exchange__ends_and_says_close(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    rig_pair_open(&loop, &srv, &peer, NULL);
    peer_send(&peer, GET GET);
    UNTIL(loop, srv.count == 1 && srv.seen[0].end_count == 1);
    http_server_drain(srv.server);
    rig_turns(loop, 3);
    assert_int_equal(srv.seen[0].close_count, 0);
    rig_answer_ok(&srv.seen[0]);
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "connection: close\r\n\r\nok"));
    assert_int_equal(srv.seen[0].why, HTTP_CLOSE_DONE);
    assert_int_equal(srv.count, 1);
    rig_pair_close(loop, &srv, &peer);
}

static void drain_it(struct rig_exchange *rec)
{
    http_server_drain(rec->owner->server);
    rig_answer_ok(rec);
}

/* The listener's event was fetched in the same round in which a handler closes it. */
static void drain__inside_a_handler__spares_the_events_of_the_round(void **state)
{
    (void)state;
    struct loop *loop;
    struct rig_server srv;
    struct peer peer;
    struct peer late;
    rig_pair_open(&loop, &srv, &peer, NULL);
    UNTIL(loop, open_count(&srv) == 1);
    rig_turns(loop, 3); /* so that the connection is in front of the listener among what is ready */
    srv.on_end = drain_it;
    peer_send(&peer, GET);
    peer_connect(&late, &srv.addr);
    UNTIL(loop, peer_is_over(&peer));
    assert_true(peer_has(&peer, "connection: close\r\n\r\nok"));
    UNTIL(loop, peer_is_over(&late));
    peer_close(&late);
    rig_pair_close(loop, &srv, &peer);
}

static void free__exchanges_in_every_state__are_aborted_once(void **state)
{
    (void)state;
    struct rig_server srv;
    struct peer peers[5];
    struct loop *loop = rig_loop();
    rig_server_open(&srv, loop, NULL);
    static const char two[] = GET GET;
    const char *texts[5] = {"", "GET / HT",
                            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel", GET, two};
    for (int i = 0; i < 5; i++) {
        peer_connect(&peers[i], &srv.addr);
        peer_send(&peers[i], texts[i]);
    }
    UNTIL(loop, srv.count == 3 && open_count(&srv) == 5);
    /* The job of this one is still due when all is closed. */
    http_respond_begin(srv.seen[1].ex, 200, STR(""), -1);
    http_server_free(srv.server);
    for (int i = 0; i < srv.count; i++) {
        assert_int_equal(srv.seen[i].close_count, 1);
        assert_int_equal(srv.seen[i].why, HTTP_CLOSE_ABORTED);
        buf_fini(&srv.seen[i].body);
    }
    for (int i = 0; i < 5; i++) {
        UNTIL(loop, peer_is_over(&peers[i]));
        peer_close(&peers[i]);
    }
    rig_turns(loop, 3);
    loop_free(loop);
}

static void listen__unix_socket__serves(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct rig_server srv;
    struct peer peer;
    struct net_addr addr;
    struct err err = {0};
    char path[KIT_PATH_BYTES];
    char text[KIT_PATH_BYTES + 8];
    int fd = -1;
    rig_server_open(&srv, loop, NULL);
    srv.on_end = rig_answer_ok;
    kit_tmp_file(path, "", 0);
    assert_int_equal(unlink(path), 0);
    snprintf(text, sizeof(text), "unix:%s", path);
    assert_status(net_addr_parse(str_of(text), &addr, &err), ST_OK);
    assert_status(net_listen(&addr, false, &fd, &err), ST_OK);
    assert_status(http_server_listen(srv.server, fd, NULL), ST_OK);
    peer_connect(&peer, &addr);
    peer_send(&peer, GET);
    UNTIL(loop, peer_has(&peer, "ok"));
    unlink(path);
    rig_pair_close(loop, &srv, &peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections__limit_reached__later_ones_wait_until_one_closes),
        cmocka_unit_test(connections__limit_raised__waiting_ones_are_served),
        cmocka_unit_test(accept__no_descriptor_left__rests_and_recovers),
        cmocka_unit_test(drain__idle_connections_and_listeners__are_closed),
        cmocka_unit_test(drain__running_exchange__ends_and_says_close),
        cmocka_unit_test(drain__inside_a_handler__spares_the_events_of_the_round),
        cmocka_unit_test(free__exchanges_in_every_state__are_aborted_once),
        cmocka_unit_test(listen__unix_socket__serves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
