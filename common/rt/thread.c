/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pthread_setname_np */
#include "common/rt/thread.h"

#include "common/base/str.h"

#include <signal.h>
#include <stdio.h>

static void *thread_main(void *arg)
{
    struct thread *t = arg;
    /* Only a label for people; a refusal changes nothing. */
    (void)pthread_setname_np(pthread_self(), t->name);
    t->fn(t->arg);
    return NULL;
}

enum status
thread_start(struct thread *t, const char *name, thread_fn fn, void *arg, struct err *err)
{
    *t = (struct thread){.fn = fn, .arg = arg};
    (void)str_copy(t->name, sizeof(t->name), str_of(name));
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked;
    sigset_t before;
    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        (void)sigdelset(&blocked, faults[i]);
    }
    int rc = pthread_sigmask(SIG_BLOCK, &blocked, &before);
    ASSERT(rc == 0);
    rc = pthread_create(&t->id, NULL, thread_main, t);
    int mask_rc = pthread_sigmask(SIG_SETMASK, &before, NULL);
    ASSERT(mask_rc == 0);
    if (rc != 0) {
        return err_set(err, ST_NOMEM, "cannot start thread %s: error %d", name, rc);
    }
    t->is_started = true;
    return ST_OK;
}

void thread_join(struct thread *t)
{
    if (t == NULL || !t->is_started) {
        return;
    }
    int rc = pthread_join(t->id, NULL);
    ASSERT(rc == 0);
    t->is_started = false;
}
