/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include "common/rt/thread.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

struct tick {
    struct loop_timer timer;
    struct loop *loop;
    char *log; /* appended to */
    char name;
    int again; /* times it sets itself again, at the same instant */
};

static void tick_due(struct loop_timer *timer)
{
    struct tick *tick = LIST_OWNER(timer, struct tick, timer);
    size_t len = strlen(tick->log);
    tick->log[len] = tick->name;
    if (tick->again > 0) {
        tick->again--;
        assert_status(loop_timer_set(tick->loop, timer, loop_now_us(tick->loop) + 1), ST_OK);
    }
}

static void tick_set(struct tick *tick, struct loop *loop, char *log, char name, uint64_t at_us)
{
    *tick = (struct tick){.timer.fn = tick_due, .loop = loop, .name = name};
    tick->log = log;
    assert_status(loop_timer_set(loop, &tick->timer, at_us), ST_OK);
}

static void timers__set_in_any_order__fire_by_time(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    char log[16] = "";
    struct tick a;
    struct tick b;
    struct tick c;
    uint64_t now_us = loop_now_us(loop);
    tick_set(&c, loop, log, 'c', now_us + 3000);
    tick_set(&a, loop, log, 'a', now_us + 1000);
    tick_set(&b, loop, log, 'b', now_us + 2000);
    UNTIL(loop, strlen(log) == 3);
    assert_string_equal(log, "abc");
    assert_true(loop_now_us(loop) >= now_us + 3000);
    loop_free(loop);
}

static void timer__cancelled__does_not_fire(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    char log[16] = "";
    struct tick a;
    struct tick b;
    tick_set(&a, loop, log, 'a', loop_now_us(loop) + 100);
    tick_set(&b, loop, log, 'b', loop_now_us(loop) + 200);
    loop_timer_cancel(loop, &a.timer);
    loop_timer_cancel(loop, &a.timer);
    UNTIL(loop, strlen(log) == 1);
    assert_string_equal(log, "b");
    loop_free(loop);
}

static void timer__moved__fires_once_at_the_new_time(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    char log[16] = "";
    struct tick a;
    struct tick b;
    tick_set(&a, loop, log, 'a', loop_now_us(loop) + 100);
    tick_set(&b, loop, log, 'b', loop_now_us(loop) + 1000);
    assert_status(loop_timer_set(loop, &a.timer, loop_now_us(loop) + 2000), ST_OK);
    UNTIL(loop, strlen(log) == 2);
    assert_string_equal(log, "ba");
    loop_free(loop);
}

static void timer__set_again_by_its_own_function__fires_again(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    char log[16] = "";
    struct tick a;
    tick_set(&a, loop, log, 'a', loop_now_us(loop));
    a.again = 2;
    UNTIL(loop, strlen(log) == 3);
    rig_turns(loop, 3);
    assert_string_equal(log, "aaa");
    loop_free(loop);
}

struct work {
    struct loop_job job;
    struct loop_grave grave;
    struct loop *loop;
    struct work *next; /* deferred by this one */
    int runs;
    int buried;
    bool buries;
};

static void work_bury(struct loop_grave *grave)
{
    LIST_OWNER(grave, struct work, grave)->buried++;
}

static void work_run(struct loop_job *job)
{
    struct work *work = LIST_OWNER(job, struct work, job);
    work->runs++;
    if (work->next != NULL) {
        loop_defer(work->loop, &work->next->job);
    }
    if (work->buries) {
        loop_bury(work->loop, &work->grave);
        assert_int_equal(work->buried, 0);
    }
}

static struct work work_of(struct loop *loop)
{
    return (struct work){.job.fn = work_run, .grave.fn = work_bury, .loop = loop};
}

static void job__deferred_twice__runs_once(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct work work = work_of(loop);
    loop_defer(loop, &work.job);
    loop_defer(loop, &work.job);
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    assert_int_equal(work.runs, 1);
    loop_free(loop);
}

static void job__deferred_by_a_job__runs_in_the_same_round(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct work second = work_of(loop);
    struct work first = work_of(loop);
    first.next = &second;
    loop_defer(loop, &first.job);
    loop_turn(loop, 0);
    assert_int_equal(second.runs, 1);
    loop_free(loop);
}

static void job__undeferred__does_not_run(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct work work = work_of(loop);
    loop_defer(loop, &work.job);
    loop_undefer(&work.job);
    loop_undefer(&work.job);
    loop_turn(loop, 0);
    assert_int_equal(work.runs, 0);
    loop_free(loop);
}

static void grave__buried_in_a_round__is_freed_at_its_end(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct work work = work_of(loop);
    work.buries = true;
    loop_defer(loop, &work.job);
    loop_turn(loop, 0);
    assert_int_equal(work.buried, 1);
    loop_free(loop);
}

static void grave__buried_outside_a_round__is_freed_by_loop_free(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct work work = work_of(loop);
    loop_bury(loop, &work.grave);
    loop_free(loop);
    assert_int_equal(work.buried, 1);
}

struct pair_source {
    struct loop_source src;
    struct loop *loop;
    struct pair_source *other;
    int count;
};

static void pair_ready(struct loop_source *src, uint32_t events)
{
    struct pair_source *self = LIST_OWNER(src, struct pair_source, src);
    assert_true((events & EPOLLIN) != 0);
    self->count++;
    loop_disarm(self->loop, &self->other->src);
    loop_disarm(self->loop, &self->src);
}

static void source__disarmed_by_an_earlier_event_of_the_round__is_not_called(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct pair_source a = {.src.fn = pair_ready, .loop = loop};
    struct pair_source b = {.src.fn = pair_ready, .loop = loop, .other = &a};
    a.other = &b;
    a.src.fd = eventfd(1, EFD_NONBLOCK);
    b.src.fd = eventfd(1, EFD_NONBLOCK);
    assert_status(loop_arm(loop, &a.src, EPOLLIN), ST_OK);
    assert_status(loop_arm(loop, &b.src, EPOLLIN), ST_OK);
    UNTIL(loop, a.count + b.count > 0);
    rig_turns(loop, 3);
    assert_int_equal(a.count + b.count, 1);
    close(a.src.fd);
    close(b.src.fd);
    loop_free(loop);
}

static void source__bad_descriptor__is_refused_and_stays_unarmed(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct pair_source a = {.src.fn = pair_ready, .src.fd = -1};
    assert_status(loop_arm(loop, &a.src, EPOLLIN), ST_IO);
    assert_int_equal(a.src.armed, 0);
    loop_free(loop);
}

static void on_wake(void *ctx)
{
    int *count = ctx;
    (*count)++;
}

static void wake_many(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        loop_wake(arg);
    }
}

static void wake__from_another_thread__calls_the_function(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct thread thread = {0};
    struct err err = {0};
    int count = 0;
    loop_on_wake(loop, on_wake, &count);
    assert_status(thread_start(&thread, "waker", wake_many, loop, &err), ST_OK);
    UNTIL(loop, count > 0);
    thread_join(&thread);
    rig_turns(loop, 2);
    assert_true(count <= 1000);
    loop_free(loop);
}

static void run_loop(void *arg)
{
    loop_run(arg);
}

static void stop__from_another_thread__ends_loop_run(void **state)
{
    (void)state;
    struct loop *loop = rig_loop();
    struct thread thread = {0};
    struct err err = {0};
    assert_status(thread_start(&thread, "runner", run_loop, loop, &err), ST_OK);
    loop_stop(loop);
    thread_join(&thread);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers__set_in_any_order__fire_by_time),
        cmocka_unit_test(timer__cancelled__does_not_fire),
        cmocka_unit_test(timer__moved__fires_once_at_the_new_time),
        cmocka_unit_test(timer__set_again_by_its_own_function__fires_again),
        cmocka_unit_test(job__deferred_twice__runs_once),
        cmocka_unit_test(job__deferred_by_a_job__runs_in_the_same_round),
        cmocka_unit_test(job__undeferred__does_not_run),
        cmocka_unit_test(grave__buried_in_a_round__is_freed_at_its_end),
        cmocka_unit_test(grave__buried_outside_a_round__is_freed_by_loop_free),
        cmocka_unit_test(source__disarmed_by_an_earlier_event_of_the_round__is_not_called),
        cmocka_unit_test(source__bad_descriptor__is_refused_and_stays_unarmed),
        cmocka_unit_test(wake__from_another_thread__calls_the_function),
        cmocka_unit_test(stop__from_another_thread__ends_loop_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
