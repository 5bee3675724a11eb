/* SPDX-License-Identifier: Apache-2.0 */
/* Alone in its file, so that a test kit's own assert_fail() can take its place. */
#include "common/rt/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void assert_fail(const char *expr, const char *file, int line)
{
    char text[512];
    int len = snprintf(text, sizeof(text), "assertion failed: %s at %s:%d\n", expr, file, line);
    if (len > 0) {
        size_t bytes = (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1;
        /* Best effort: there is nobody left to tell when even this fails. */
        if (write(STDERR_FILENO, text, bytes) < 0) {
            abort();
        }
    }
    assert_run_hook();
    abort();
}
