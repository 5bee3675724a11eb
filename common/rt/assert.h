/* SPDX-License-Identifier: Apache-2.0 */
/* What happens when ASSERT fails: the expression is printed, the hook adds what it knows (the last
 * events of the loop), the process aborts.
 * THREAD: assert_set_hook before threads start; the rest any. */
#ifndef COMMON_RT_ASSERT_H
#define COMMON_RT_ASSERT_H

#include "common/base/status.h"

typedef void (*assert_hook_fn)(void *ctx);

/* fn must not allocate or lock; NULL = none. */
void assert_set_hook(assert_hook_fn fn, void *ctx);

/* Runs the hook once per process; a failure inside the hook does not run it again. */
void assert_run_hook(void);

#endif
