/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void expect_text(const char *text, const char *expected, bool is_loopback)
{
    struct net_addr addr = {0};
    struct err err = {0};
    char out[NET_ADDR_TEXT_BYTES];
    if (net_addr_parse(str_of(text), &addr, &err) != ST_OK) {
        fail_msg("%s: %s", text, err.text);
    }
    net_addr_text(&addr, out);
    assert_string_equal(out, expected);
    if (net_addr_is_loopback(&addr) != is_loopback) {
        fail_msg("%s: loopback", text);
    }
}

static void addr__literals__parse_and_print(void **state)
{
    (void)state;
    expect_text("127.0.0.1:80", "127.0.0.1:80", true);
    expect_text("127.9.9.9:0", "127.9.9.9:0", true);
    expect_text("0.0.0.0:65535", "0.0.0.0:65535", false);
    expect_text("[::1]:8080", "[::1]:8080", true);
    expect_text("[2001:db8:0::1]:1", "[2001:db8::1]:1", false);
    expect_text("unix:/tmp/x.sock", "unix:/tmp/x.sock", true);
}

static void addr__host_names__are_not_found(void **state)
{
    (void)state;
    static const char *const names[] = {
        "localhost:80", "engine-1.example:8000", "256.1.1.1:80", ":80",
        "a-name-that-is-longer-than-any-literal-address-could-be.example.org:80"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct net_addr addr;
        struct err err = {0};
        if (net_addr_parse(str_of(names[i]), &addr, &err) != ST_NOTFOUND) {
            fail_msg("%s", names[i]);
        }
    }
}

static void addr__malformed__is_refused_with_words(void **state)
{
    (void)state;
    static const struct str bad[] = {
        {"", 0},        {"host", 4},   {"host:", 5}, {"host:x", 6},           {"host:65536", 10},
        {"host:-1", 7}, {"::1:80", 6}, {"unix:", 5}, {"127.0.0.1\0x:80", 14}, {"unix:/a\0b", 9}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct net_addr addr;
        struct err err = {0};
        if (net_addr_parse(bad[i], &addr, &err) != ST_INVAL || err.text[0] == '\0') {
            fail_msg("%zu: %s", i, bad[i].p);
        }
    }
}

static void addr__unix_path__too_long_is_refused(void **state)
{
    (void)state;
    char text[256];
    struct net_addr addr;
    struct err err = {0};
    memset(text, 'a', sizeof(text));
    memcpy(text, "unix:/", 6);
    assert_status(net_addr_parse((struct str){text, 5 + 108}, &addr, &err), ST_INVAL);
    assert_status(net_addr_parse((struct str){text, 5 + 107}, &addr, &err), ST_OK);
}

static void addr_text__nothing__is_unknown(void **state)
{
    (void)state;
    struct net_addr addr = {0};
    char out[NET_ADDR_TEXT_BYTES];
    net_addr_text(&addr, out);
    assert_string_equal(out, "unknown");
}

static void connect_once(const struct net_addr *addr, int listen_fd)
{
    int fd = -1;
    int reason = 0;
    struct peer peer = {.fd = -1};
    assert_status(net_connect(addr, &fd, &reason), ST_OK);
    uint64_t end_us = clock_now_us() + RIG_PATIENCE_US;
    while (!peer_accept(&peer, listen_fd)) {
        assert_true(clock_now_us() < end_us);
    }
    close(fd);
    peer_close(&peer);
}

static void listen__ipv6__takes_connections(void **state)
{
    (void)state;
    struct net_addr addr;
    struct err err = {0};
    int fd = -1;
    assert_status(net_addr_parse(STR("[::1]:0"), &addr, &err), ST_OK);
    if (net_listen(&addr, true, &fd, &err) != ST_OK) {
        skip(); /* no IPv6 here */
    }
    assert_status(net_local_addr(fd, &addr), ST_OK);
    connect_once(&addr, fd);
    close(fd);
}

static void unix_addr(struct net_addr *ret, char path[KIT_PATH_BYTES])
{
    char text[KIT_PATH_BYTES + 8];
    struct err err = {0};
    kit_tmp_file(path, "", 0);
    assert_int_equal(unlink(path), 0);
    snprintf(text, sizeof(text), "unix:%s", path);
    assert_status(net_addr_parse(str_of(text), ret, &err), ST_OK);
}

static void listen__stale_unix_socket__is_replaced(void **state)
{
    (void)state;
    struct net_addr addr;
    char path[KIT_PATH_BYTES];
    struct err err = {0};
    int fd = -1;
    unix_addr(&addr, path);
    assert_status(net_listen(&addr, false, &fd, &err), ST_OK);
    close(fd); /* the file stays */
    assert_status(net_listen(&addr, false, &fd, &err), ST_OK);
    connect_once(&addr, fd);
    close(fd);
    unlink(path);
}

static void listen__unix_socket_in_use__is_refused_and_left(void **state)
{
    (void)state;
    struct net_addr addr;
    char path[KIT_PATH_BYTES];
    struct err err = {0};
    int fd = -1;
    int second = -1;
    unix_addr(&addr, path);
    assert_status(net_listen(&addr, false, &fd, &err), ST_OK);
    assert_status(net_listen(&addr, false, &second, &err), ST_IO);
    assert_non_null(strstr(err.text, path));
    connect_once(&addr, fd);
    close(fd);
    unlink(path);
}

static void listen__unix_socket_with_a_full_backlog__is_refused_without_waiting(void **state)
{
    (void)state;
    struct net_addr addr;
    char path[KIT_PATH_BYTES];
    struct err err = {0};
    int fd = -1;
    int second = -1;
    int queued[8];
    int count = 0;
    int reason = 0;
    unix_addr(&addr, path);
    assert_status(net_listen(&addr, false, &fd, &err), ST_OK);
    assert_int_equal(listen(fd, 0), 0);
    while (count < 8 && net_connect(&addr, &queued[count], &reason) == ST_OK) {
        count++;
    }
    assert_true(count < 8);
    alarm(10); /* waiting would end the test */
    assert_status(net_listen(&addr, false, &second, &err), ST_IO);
    alarm(0);
    while (count > 0) {
        close(queued[--count]);
    }
    close(fd);
    unlink(path);
}

static void listen__plain_file_at_a_unix_path__is_left(void **state)
{
    (void)state;
    char path[KIT_PATH_BYTES];
    char text[KIT_PATH_BYTES + 8];
    struct net_addr addr;
    struct err err = {0};
    int fd = -1;
    struct stat info;
    kit_tmp_file(path, "mine", 4);
    snprintf(text, sizeof(text), "unix:%s", path);
    assert_status(net_addr_parse(str_of(text), &addr, &err), ST_OK);
    assert_status(net_listen(&addr, false, &fd, &err), ST_IO);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 4);
    kit_tmp_remove(path);
}

static void listen__port_in_use__is_refused_with_the_address(void **state)
{
    (void)state;
    struct net_addr addr;
    struct err err = {0};
    int second = -1;
    char text[NET_ADDR_TEXT_BYTES];
    int fd = rig_listen(&addr, 8);
    net_addr_text(&addr, text);
    assert_status(net_listen(&addr, false, &second, &err), ST_IO);
    assert_non_null(strstr(err.text, text));
    close(fd);
}

static void listen__reuse_port__is_shared(void **state)
{
    (void)state;
    struct net_addr addr;
    struct err err = {0};
    int fd = -1;
    int second = -1;
    assert_status(net_addr_parse(STR("127.0.0.1:0"), &addr, &err), ST_OK);
    assert_status(net_listen(&addr, true, &fd, &err), ST_OK);
    assert_status(net_local_addr(fd, &addr), ST_OK);
    assert_status(net_listen(&addr, true, &second, &err), ST_OK);
    close(fd);
    close(second);
}

static void connect__no_descriptor_left__is_full(void **state)
{
    (void)state;
    struct net_addr addr;
    struct rlimit old;
    int out = -1;
    int reason = 0;
    int fd = rig_listen(&addr, 8);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit none = {0, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum status st = net_connect(&addr, &out, &reason);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(st, ST_FULL);
    assert_int_equal(reason, EMFILE);
    close(fd);
}

static void fd_count__one_more_open__counts_it(void **state)
{
    (void)state;
    uint64_t before = net_fd_count();
    int fd = dup(0);
    assert_true(fd >= 0);
    assert_int_equal(net_fd_count(), before + 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addr__literals__parse_and_print),
        cmocka_unit_test(addr__host_names__are_not_found),
        cmocka_unit_test(addr__malformed__is_refused_with_words),
        cmocka_unit_test(addr__unix_path__too_long_is_refused),
        cmocka_unit_test(addr_text__nothing__is_unknown),
        cmocka_unit_test(listen__ipv6__takes_connections),
        cmocka_unit_test(listen__stale_unix_socket__is_replaced),
        cmocka_unit_test(listen__unix_socket_in_use__is_refused_and_left),
        cmocka_unit_test(listen__unix_socket_with_a_full_backlog__is_refused_without_waiting),
        cmocka_unit_test(listen__plain_file_at_a_unix_path__is_left),
        cmocka_unit_test(listen__port_in_use__is_refused_with_the_address),
        cmocka_unit_test(listen__reuse_port__is_shared),
        cmocka_unit_test(connect__no_descriptor_left__is_full),
        cmocka_unit_test(fd_count__one_more_open__counts_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
