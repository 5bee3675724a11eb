/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include <dirent.h>
#include <fcntl.h>

enum {
    READ_BYTES = 65536,
    THREADS_WAIT_US = 5000000,
    QUIET_WAIT_US = 20000,
    QUIET_LEAST_US = 10000
};

struct loop *rig_loop(void)
{
    struct loop *loop = NULL;
    struct err err = {0};
    assert_status(loop_new(&loop, &err), ST_OK);
    return loop;
}

void rig_turns(struct loop *loop, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        loop_turn(loop, RIG_ROUND_US);
    }
}

void rig_expect_quiet(struct loop *loop)
{
    for (int i = 0; i < 20; i++) {
        uint64_t from_us = clock_now_us();
        loop_turn(loop, QUIET_WAIT_US);
        if (clock_now_us() - from_us >= QUIET_LEAST_US) {
            return;
        }
    }
    fail_msg("the loop does not rest");
}

int rig_listen(struct net_addr *ret, int backlog)
{
    struct err err = {0};
    struct net_addr any;
    int fd = -1;
    assert_status(net_addr_parse(STR("127.0.0.1:0"), &any, &err), ST_OK);
    assert_status(net_listen(&any, false, &fd, &err), ST_OK);
    assert_int_equal(listen(fd, backlog), 0);
    assert_status(net_local_addr(fd, ret), ST_OK);
    return fd;
}

static void peer_init(struct peer *peer, int fd)
{
    *peer = (struct peer){.fd = fd};
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

void peer_connect(struct peer *peer, const struct net_addr *addr)
{
    int fd = socket(addr->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&addr->sa, addr->len), 0);
    peer_init(peer, fd);
}

bool peer_accept(struct peer *peer, int listen_fd)
{
    int fd = accept(listen_fd, NULL, NULL);
    if (fd < 0) {
        return false;
    }
    peer_init(peer, fd);
    return true;
}

void peer_close(struct peer *peer)
{
    if (peer->fd >= 0) {
        close(peer->fd);
    }
    free(peer->in);
    *peer = (struct peer){.fd = -1};
}

void peer_reset(struct peer *peer)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    peer_close(peer);
}

size_t peer_offer(struct peer *peer, const char *data, size_t len)
{
    ssize_t put = send(peer->fd, data, len, MSG_NOSIGNAL);
    return put > 0 ? (size_t)put : 0;
}

void peer_send_bytes(struct peer *peer, const char *data, size_t len)
{
    assert_int_equal(peer_offer(peer, data, len), len);
}

void peer_send(struct peer *peer, const char *text)
{
    peer_send_bytes(peer, text, strlen(text));
}

void peer_read(struct peer *peer, size_t max)
{
    while (max > 0 && !peer->is_ended && !peer->is_reset) {
        if (peer->in_cap - peer->in_len < READ_BYTES + 1) {
            peer->in_cap = peer->in_cap * 2 + READ_BYTES + 1;
            peer->in = realloc(peer->in, peer->in_cap);
            assert_non_null(peer->in);
        }
        ssize_t got =
            recv(peer->fd, peer->in + peer->in_len, max < READ_BYTES ? max : READ_BYTES, 0);
        if (got < 0 && errno == EAGAIN) {
            break;
        }
        peer->is_ended = got == 0;
        peer->is_reset = got < 0;
        peer->in_len += got > 0 ? (size_t)got : 0;
        max -= got > 0 ? (size_t)got : 0;
        peer->in[peer->in_len] = '\0';
    }
}

size_t peer_count(struct peer *peer, const char *text)
{
    peer_read(peer, SIZE_MAX);
    size_t count = 0;
    size_t len = strlen(text);
    for (size_t at = 0; at + len <= peer->in_len; at++) {
        if (memcmp(peer->in + at, text, len) == 0) {
            count++;
            at += len - 1;
        }
    }
    return count;
}

bool peer_has(struct peer *peer, const char *text)
{
    return peer_count(peer, text) > 0;
}

bool peer_has_bytes(struct peer *peer, size_t len)
{
    peer_read(peer, SIZE_MAX);
    return peer->in_len >= len;
}

bool peer_is_over(struct peer *peer)
{
    peer_read(peer, SIZE_MAX);
    return peer->is_ended || peer->is_reset;
}

static int thread_count(void)
{
    DIR *dir = opendir("/proc/self/task");
    int count = 0;
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static int threads_before;

int rig_threads_setup(void **state)
{
    (void)state;
    threads_before = thread_count();
    return 0;
}

int rig_threads_teardown(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    uint64_t end_us = clock_now_us() + THREADS_WAIT_US; /* a sanitizer's own thread may stay */
    while (thread_count() > threads_before && clock_now_us() < end_us) {
        loop_turn(loop, RIG_ROUND_US);
    }
    loop_free(loop);
    return 0;
}
