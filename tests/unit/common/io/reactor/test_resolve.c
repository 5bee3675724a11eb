/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include "common/io/reactor/resolve.h"

/* Waits for the first look-up. */
static enum status
answer_of(struct resolve_name *name, struct net_addr addrs[RESOLVE_ADDRS_MAX], size_t *ret_count)
{
    struct loop *loop = rig_loop();
    enum status st = ST_AGAIN;
    UNTIL(loop, (st = resolve_get(name, addrs, ret_count)) != ST_AGAIN);
    loop_free(loop);
    return st;
}

static void name__localhost__gives_loopback_addresses_with_the_port(void **state)
{
    (void)state;
    struct resolve_name *name = NULL;
    struct net_addr addrs[RESOLVE_ADDRS_MAX];
    size_t count = 0;
    assert_status(resolve_open(&name, "localhost", 8123), ST_OK);
    assert_status(answer_of(name, addrs, &count), ST_OK);
    assert_true(count >= 1 && count <= RESOLVE_ADDRS_MAX);
    for (size_t i = 0; i < count; i++) {
        char text[NET_ADDR_TEXT_BYTES];
        net_addr_text(&addrs[i], text);
        assert_true(net_addr_is_loopback(&addrs[i]));
        assert_non_null(strstr(text, ":8123"));
    }
    resolve_close(name);
}

static void name__unknown__is_not_found(void **state)
{
    (void)state;
    struct resolve_name *name = NULL;
    struct net_addr addrs[RESOLVE_ADDRS_MAX];
    size_t count = 77;
    assert_status(resolve_open(&name, "no-such-host.invalid", 80), ST_OK);
    assert_status(answer_of(name, addrs, &count), ST_NOTFOUND);
    assert_int_equal(count, 77);
    resolve_close(name);
}

static void names__closed_at_once__leave_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct resolve_name *name = NULL;
        assert_status(resolve_open(&name, "localhost", 80), ST_OK);
        resolve_close(name);
    }
    resolve_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name__localhost__gives_loopback_addresses_with_the_port),
        cmocka_unit_test(name__unknown__is_not_found),
        cmocka_unit_test(names__closed_at_once__leave_nothing),
    };
    return cmocka_run_group_tests(tests, rig_threads_setup, rig_threads_teardown);
}
