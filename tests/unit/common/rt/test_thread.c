/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pthread_getname_np */
#include "tests/kit/kit.h"

#include "common/rt/thread.h"

#include <signal.h>
#include <string.h>

struct seen {
    sigset_t blocked;
    char name[THREAD_NAME_BYTES];
};

static void look(void *arg)
{
    struct seen *seen = arg;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked);
    (void)pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
}

static void thread_start__new_thread__has_its_name_and_no_signals(void **state)
{
    (void)state;
    struct thread t;
    struct seen seen;
    assert_status(thread_start(&t, "a-name-longer-than-15", look, &seen, NULL), ST_OK);
    thread_join(&t);
    assert_string_equal(seen.name, "a-name-longer-t");
    static const int outside[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE, SIGCHLD};
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        assert_int_equal(sigismember(&seen.blocked, outside[i]), 1);
    }
    assert_int_equal(sigismember(&seen.blocked, SIGSEGV), 0);
}

static void thread_start__caller__keeps_its_signal_mask(void **state)
{
    (void)state;
    struct thread t;
    struct seen seen;
    sigset_t after;
    assert_status(thread_start(&t, "x", look, &seen, NULL), ST_OK);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), 0);
    thread_join(&t);
    thread_join(&t); /* twice is fine */
    struct thread zeroed = {0};
    thread_join(&zeroed);
    thread_join(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_start__new_thread__has_its_name_and_no_signals),
        cmocka_unit_test(thread_start__caller__keeps_its_signal_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
