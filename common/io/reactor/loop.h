/* SPDX-License-Identifier: Apache-2.0 */
/* One epoll loop: descriptors, timers, deferred work, and a wake-up from other threads. All else of
 * the reactor lives on one of these. THREAD: everything belongs to the thread in loop_run, except
 * loop_stop and loop_wake. OWNERSHIP: sources and timers are embedded in their owner's object; an
 * object that closes hands itself to loop_bury, so that events already fetched in this round never
 * touch freed memory. */
#ifndef COMMON_IO_REACTOR_LOOP_H
#define COMMON_IO_REACTOR_LOOP_H

#include "common/base/err.h"
#include "common/base/heap.h"
#include "common/base/list.h"

struct loop;

/* A descriptor in epoll (level-triggered). events is a mask of EPOLLIN, EPOLLOUT, EPOLLRDHUP. */
struct loop_source {
    void (*fn)(struct loop_source *src, uint32_t events);
    uint32_t armed; /* mask registered with epoll, 0 = not registered */
    int fd;
};

/* One-shot timer. A zeroed timer is not set. */
struct loop_timer {
    struct heap_node node;
    void (*fn)(struct loop_timer *timer);
};

/* Runs after the events of this round, once per loop_defer. A zeroed job is idle. */
struct loop_job {
    struct list link;
    void (*fn)(struct loop_job *job);
};

/* Memory to free after the events of this round. */
struct loop_grave {
    struct loop_grave *next;
    void (*fn)(struct loop_grave *grave);
};

/* ST_NOMEM, ST_IO (err says which call). */
MUST_CHECK enum status loop_new(struct loop **ret, struct err *err);
void loop_free(struct loop *loop);

/* Serves events until loop_stop; then returns. */
void loop_run(struct loop *loop);
/* One round of loop_run: waits for events or the next timer, at most wait_us. */
void loop_turn(struct loop *loop, uint64_t wait_us);
/* THREAD: any. Async-signal-safe. */
void loop_stop(struct loop *loop);
/* Makes the loop call the function set with loop_on_wake soon. THREAD: any. */
void loop_wake(struct loop *loop);
void loop_on_wake(struct loop *loop, void (*fn)(void *ctx), void *ctx);

/* Monotonic time at the start of this round of events, microseconds. */
uint64_t loop_now_us(const struct loop *loop);
/* The same, read afresh (for what is measured). */
uint64_t loop_now_fresh_us(struct loop *loop);

/* Registers, changes (mask differs from src->armed) or removes (events 0) a descriptor. */
MUST_CHECK enum status loop_arm(struct loop *loop, struct loop_source *src, uint32_t events);
/* Forgets a source whose descriptor is closed right after: the kernel drops it from epoll by
 * itself. */
static inline void loop_forget(struct loop_source *src)
{
    src->armed = 0;
}
/* Removes the source; the descriptor stays open. */
void loop_disarm(struct loop *loop, struct loop_source *src);

/* Sets or moves a timer. ST_NOMEM. */
MUST_CHECK enum status loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_us);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

/* Queues job for the end of this round; does nothing when it is queued already. */
void loop_defer(struct loop *loop, struct loop_job *job);
void loop_undefer(struct loop_job *job);

/* Frees an object at the end of this round. */
void loop_bury(struct loop *loop, struct loop_grave *grave);

/* Scratch that any callback may use until it returns; never across calls into other modules. */
enum { LOOP_SCRATCH_BYTES = 131072 };
char *loop_scratch(struct loop *loop);

#endif
