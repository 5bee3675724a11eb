/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/rt/mailbox.h"
#include "common/rt/thread.h"

#include <poll.h>
#include <sched.h>

struct msg {
    uint32_t from;
    uint32_t number;
    char fill[5];
};

static bool is_readable(const struct mailbox *mb, int timeout_ms)
{
    struct pollfd p = {.fd = mailbox_fd(mb), .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

static void mailbox__messages__come_out_in_order_around_the_end(void **state)
{
    (void)state;
    struct kit_mem km;
    struct mailbox *mb = NULL;
    kit_mem_init(&km);
    assert_status(mailbox_new(&km.mem, sizeof(struct msg), 5, &mb), ST_OK);
    uint32_t sent = 0;
    uint32_t got = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 4; i++) {
            struct msg m = {.number = sent++};
            assert_status(mailbox_post(mb, &m), ST_OK);
        }
        struct msg out[3];
        for (int part = 0; part < 2; part++) {
            assert_true(is_readable(mb, 0));
            uint32_t n = mailbox_drain(mb, out, 3);
            assert_int_equal(n, part == 0 ? 3 : 1);
            for (uint32_t i = 0; i < n; i++) {
                assert_int_equal(out[i].number, got++);
            }
        }
        assert_false(is_readable(mb, 0));
    }
    struct msg none;
    assert_int_equal(mailbox_drain(mb, &none, 1), 0);
    mailbox_free(mb);
    mailbox_free(NULL);
    kit_mem_expect_empty(&km);
}

static void mailbox_post__full__is_refused_and_counted(void **state)
{
    (void)state;
    struct mailbox *mb = NULL;
    assert_status(mailbox_new(mem_heap(), sizeof(int), 2, &mb), ST_OK);
    int m = 1;
    assert_status(mailbox_post(mb, &m), ST_OK);
    assert_status(mailbox_post(mb, &m), ST_OK);
    assert_status(mailbox_post(mb, &m), ST_FULL);
    assert_int_equal(mailbox_full_count(mb), 1);
    int out[2];
    assert_int_equal(mailbox_drain(mb, out, 2), 2);
    assert_status(mailbox_post(mb, &m), ST_OK);
    mailbox_free(mb);
}

enum { SENDERS = 3, EACH = 20000, CAP = 64 };

struct sender {
    struct mailbox *mb;
    uint32_t id;
};

static void send_all(void *arg)
{
    const struct sender *s = arg;
    for (uint32_t i = 0; i < EACH; i++) {
        struct msg m = {.from = s->id, .number = i};
        while (mailbox_post(s->mb, &m) != ST_OK) {
            (void)sched_yield();
        }
    }
}

static void mailbox__many_senders__nothing_is_lost_or_reordered(void **state)
{
    (void)state;
    struct mailbox *mb = NULL;
    struct thread threads[SENDERS];
    struct sender senders[SENDERS];
    uint32_t next[SENDERS] = {0};
    assert_status(mailbox_new(mem_heap(), sizeof(struct msg), CAP, &mb), ST_OK);
    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){mb, i};
        assert_status(thread_start(&threads[i], "sender", send_all, &senders[i], NULL), ST_OK);
    }
    uint32_t total = 0;
    while (total < SENDERS * EACH) {
        struct msg out[16];
        /* A lost wake-up shows as a hang here, ended by the timeout. */
        assert_true(is_readable(mb, 60000));
        uint32_t n = mailbox_drain(mb, out, 16);
        for (uint32_t i = 0; i < n; i++) {
            assert_in_range(out[i].from, 0, SENDERS - 1);
            assert_int_equal(out[i].number, next[out[i].from]++);
        }
        total += n;
    }
    for (int i = 0; i < SENDERS; i++) {
        thread_join(&threads[i]);
    }
    mailbox_free(mb);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct mailbox *mb = NULL;
    enum status st = mailbox_new(mem, 8, 8, &mb);
    assert_int_equal(mb == NULL, st != ST_OK);
    mailbox_free(mb);
    return st == ST_OK;
}

static void mailbox_new__each_allocation_fails__nothing_leaks(void **state)
{
    (void)state;
    assert_int_equal(kit_torture(scenario, NULL), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mailbox__messages__come_out_in_order_around_the_end),
        cmocka_unit_test(mailbox_post__full__is_refused_and_counted),
        cmocka_unit_test(mailbox__many_senders__nothing_is_lost_or_reordered),
        cmocka_unit_test(mailbox_new__each_allocation_fails__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
