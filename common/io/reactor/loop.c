/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. wait for events or the next timer; 2. run each source's function; 3. run timers
 * that are due;
 * 4. run deferred jobs (more may be queued meanwhile); 5. free what was buried; again.
 * Failures: epoll_wait only fails by EINTR, which is a round without events. */
#include "common/io/reactor/loop.h"

#include "common/rt/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ROUND_EVENTS = 256, WAIT_MAX_US = 60000000 };

struct loop {
    int epoll_fd;
    struct loop_source wake_src;
    void (*on_wake)(void *ctx);
    void *wake_ctx;
    atomic_bool is_stopping;
    uint64_t now_us;
    struct heap timers;
    struct list jobs;
    struct loop_grave *graves;
    struct epoll_event events[ROUND_EVENTS];
    char scratch[LOOP_SCRATCH_BYTES];
};

static struct loop *loop_of_wake(struct loop_source *src)
{
    return LIST_OWNER(src, struct loop, wake_src);
}

static void wake_ready(struct loop_source *src, uint32_t events)
{
    (void)events;
    struct loop *loop = loop_of_wake(src);
    uint64_t count = 0;
    ssize_t got = read(src->fd, &count, sizeof(count));
    if (got > 0 && loop->on_wake != NULL) {
        loop->on_wake(loop->wake_ctx);
    }
}

enum status loop_new(struct loop **ret, struct err *err)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    if (loop == NULL) {
        return err_set(err, ST_NOMEM, "event loop");
    }
    enum status st = ST_OK;
    list_init(&loop->jobs);
    heap_init(&loop->timers, mem_heap(), 1U << 30);
    loop->wake_src.fd = -1;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) {
        st = err_set(err, ST_IO, "epoll_create1: errno %d", errno);
        goto out;
    }
    loop->wake_src.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake_src.fd < 0) {
        st = err_set(err, ST_IO, "eventfd: errno %d", errno);
        goto out;
    }
    loop->wake_src.fn = wake_ready;
    st = loop_arm(loop, &loop->wake_src, EPOLLIN);
    loop->now_us = clock_now_us();
out:
    if (st != ST_OK) {
        loop_free(loop);
        return st;
    }
    *ret = loop;
    return ST_OK;
}

static void bury_all(struct loop *loop)
{
    while (loop->graves != NULL) {
        struct loop_grave *grave = loop->graves;
        loop->graves = grave->next;
        grave->fn(grave);
    }
}

void loop_free(struct loop *loop)
{
    if (loop == NULL) {
        return;
    }
    bury_all(loop);
    if (loop->wake_src.fd >= 0) {
        close(loop->wake_src.fd);
    }
    if (loop->epoll_fd >= 0) {
        close(loop->epoll_fd);
    }
    heap_fini(&loop->timers);
    free(loop);
}

static void run_timers(struct loop *loop)
{
    struct heap_node *node = heap_min(&loop->timers);
    while (node != NULL && node->key <= loop->now_us) {
        struct loop_timer *timer = LIST_OWNER(node, struct loop_timer, node);
        heap_remove(&loop->timers, node);
        timer->fn(timer);
        node = heap_min(&loop->timers);
    }
}

static void run_jobs(struct loop *loop)
{
    for (struct list *link = list_first(&loop->jobs); link != NULL;
         link = list_first(&loop->jobs)) {
        list_remove(link);
        struct loop_job *job = LIST_OWNER(link, struct loop_job, link);
        job->fn(job);
    }
}

/* Milliseconds epoll may sleep, -1 = no end; rounded up so that a timer is never polled for. */
static int sleep_ms(const struct loop *loop, uint64_t wait_us)
{
    const struct heap_node *node = heap_min(&loop->timers);
    if (node != NULL) {
        uint64_t now_us = clock_now_us();
        uint64_t timer_us = node->key <= now_us ? 0 : node->key - now_us;
        wait_us = timer_us < wait_us ? timer_us : wait_us;
    } else if (wait_us == UINT64_MAX) {
        return -1;
    }
    return wait_us > WAIT_MAX_US ? WAIT_MAX_US / 1000 : (int)((wait_us + 999) / 1000);
}

void loop_turn(struct loop *loop, uint64_t wait_us)
{
    int count = epoll_wait(loop->epoll_fd, loop->events, ROUND_EVENTS, sleep_ms(loop, wait_us));
    loop->now_us = clock_now_us();
    for (int i = 0; i < count; i++) {
        struct loop_source *src = loop->events[i].data.ptr;
        if (src->armed != 0) { /* not closed by an earlier event of this round */
            src->fn(src, loop->events[i].events);
        }
    }
    run_timers(loop);
    run_jobs(loop);
    bury_all(loop);
}

void loop_run(struct loop *loop)
{
    while (!atomic_load_explicit(&loop->is_stopping, memory_order_relaxed)) {
        loop_turn(loop, UINT64_MAX);
    }
}

static void kick(struct loop *loop)
{
    uint64_t one = 1;
    ssize_t put = write(loop->wake_src.fd, &one, sizeof(one));
    (void)put; /* EAGAIN: a wake-up is pending already */
}

void loop_stop(struct loop *loop)
{
    atomic_store_explicit(&loop->is_stopping, true, memory_order_relaxed);
    kick(loop);
}

void loop_wake(struct loop *loop)
{
    kick(loop);
}

void loop_on_wake(struct loop *loop, void (*fn)(void *ctx), void *ctx)
{
    loop->on_wake = fn;
    loop->wake_ctx = ctx;
}

uint64_t loop_now_us(const struct loop *loop)
{
    return loop->now_us;
}

uint64_t loop_now_fresh_us(struct loop *loop)
{
    loop->now_us = clock_now_us();
    return loop->now_us;
}

enum status loop_arm(struct loop *loop, struct loop_source *src, uint32_t events)
{
    if (src->armed == events) {
        return ST_OK;
    }
    if (events == 0) {
        loop_disarm(loop, src);
        return ST_OK;
    }
    struct epoll_event ev = {.events = events, .data.ptr = src};
    int op = src->armed == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(loop->epoll_fd, op, src->fd, &ev) != 0) {
        return errno == ENOMEM ? ST_NOMEM : errno == ENOSPC ? ST_FULL : ST_IO;
    }
    src->armed = events;
    return ST_OK;
}

void loop_disarm(struct loop *loop, struct loop_source *src)
{
    if (src->armed == 0) {
        return;
    }
    struct epoll_event ev = {0};
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, src->fd, &ev);
    src->armed = 0;
}

enum status loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_us)
{
    if (heap_node_is_linked(&timer->node)) {
        heap_update(&loop->timers, &timer->node, at_us, 0);
        return ST_OK;
    }
    return heap_insert(&loop->timers, &timer->node, at_us, 0);
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    if (heap_node_is_linked(&timer->node)) {
        heap_remove(&loop->timers, &timer->node);
    }
}

void loop_defer(struct loop *loop, struct loop_job *job)
{
    if (!list_is_linked(&job->link)) {
        list_push_back(&loop->jobs, &job->link);
    }
}

void loop_undefer(struct loop_job *job)
{
    if (list_is_linked(&job->link)) {
        list_remove(&job->link);
    }
}

void loop_bury(struct loop *loop, struct loop_grave *grave)
{
    grave->next = loop->graves;
    loop->graves = grave;
}

char *loop_scratch(struct loop *loop)
{
    return loop->scratch;
}
