/* SPDX-License-Identifier: Apache-2.0 */
/* A named thread that no signal of the outside reaches; main waits for those.
 * THREAD: start and join by the same owner. */
#ifndef COMMON_RT_THREAD_H
#define COMMON_RT_THREAD_H

#include "common/base/err.h"

#include <pthread.h>

enum { THREAD_NAME_BYTES = 16 };

typedef void (*thread_fn)(void *arg);

struct thread {
    pthread_t id;
    thread_fn fn;
    void *arg;
    bool is_started;
    char name[THREAD_NAME_BYTES]; /* as `top -H` shows it; cut when longer */
};

/* Starts fn(arg). All signals but those of the thread's own faults are blocked in it. t must stay
 * where it is until thread_join. ST_OK, ST_NOMEM (the system refused). */
MUST_CHECK enum status
thread_start(struct thread *t, const char *name, thread_fn fn, void *arg, struct err *err);

/* Waits for its end. Fine for a zeroed or already joined one. */
void thread_join(struct thread *t);

#endif
