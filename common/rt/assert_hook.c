/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rt/assert.h"

#include <stdatomic.h>

static assert_hook_fn hook;
static void *hook_ctx;
static atomic_flag is_hook_run = ATOMIC_FLAG_INIT;

void assert_set_hook(assert_hook_fn fn, void *ctx)
{
    hook = fn;
    hook_ctx = ctx;
}

void assert_run_hook(void)
{
    if (hook != NULL && !atomic_flag_test_and_set(&is_hook_run)) {
        hook(hook_ctx);
    }
}
