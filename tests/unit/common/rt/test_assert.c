/* SPDX-License-Identifier: Apache-2.0 */
/* The production assert_fail(), seen from a child process; linked without the kit. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include "common/rt/assert.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(void *ctx)
{
    const char *text = ctx;
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        _exit(3);
    }
}

static void assert_fail__in_a_child__prints_runs_the_hook_and_aborts(void **state)
{
    (void)state;
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static char hook_text[] = "from the hook\n";
        (void)dup2(pipe_fds[1], STDERR_FILENO);
        assert_set_hook(tell, hook_text);
        ASSERT(2 + 2 == 5);
        _exit(0);
    }
    (void)close(pipe_fds[1]);
    char text[1000];
    size_t len = 0;
    ssize_t n;
    while ((n = read(pipe_fds[0], text + len, sizeof(text) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    text[len] = '\0';
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "assertion failed: 2 + 2 == 5 at "));
    assert_non_null(strstr(text, "from the hook"));
    (void)close(pipe_fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assert_fail__in_a_child__prints_runs_the_hook_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
