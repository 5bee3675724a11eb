/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/rt/metric.h"
#include "common/rt/thread.h"

enum { RENDER_BYTES = 1 << 20 };

static char *render(struct buf *out)
{
    buf_init(out, mem_heap(), RENDER_BYTES);
    assert_status(metric_render(out), ST_OK);
    assert_status(buf_add(out, "", 1), ST_OK);
    return out->p;
}

static void metric_inc__labels__count_apart(void **state)
{
    (void)state;
    metric_inc(METRIC_REQUESTS, METRIC_ROUTE_CHAT, METRIC_OUTCOME_OK);
    metric_add(METRIC_REQUESTS, METRIC_ROUTE_OTHER, METRIC_OUTCOME_CLIENT_CANCEL, 5);
    assert_int_equal(metric_read(METRIC_REQUESTS, METRIC_ROUTE_CHAT, METRIC_OUTCOME_OK), 1);
    assert_int_equal(metric_read(METRIC_REQUESTS, METRIC_ROUTE_OTHER, METRIC_OUTCOME_CLIENT_CANCEL),
                     5);
    assert_int_equal(metric_read(METRIC_REQUESTS, METRIC_ROUTE_CHAT, METRIC_OUTCOME_CLIENT_CANCEL),
                     0);
    struct buf out;
    char *text = render(&out);
    assert_non_null(strstr(text, "# TYPE saga_requests_total counter\n"));
    assert_non_null(strstr(text, "saga_requests_total{route=\"chat\",outcome=\"ok\"} 1\n"));
    assert_non_null(
        strstr(text, "saga_requests_total{route=\"other\",outcome=\"client_cancel\"} 5\n"));
    buf_fini(&out);
}

static void metric_inc__value_out_of_the_set__is_our_bug(void **state)
{
    (void)state;
    expect_assert_failure(metric_inc(METRIC_REJECTED, METRIC_REASON_COUNT, 0));
    expect_assert_failure(metric_inc(METRIC_CLIENT_CANCELS, 0, 1));
    expect_assert_failure(metric_observe(METRIC_CLIENT_CANCELS, 0, 0, 1));
}

static void metric_set__gauge__shows_the_last_value(void **state)
{
    (void)state;
    metric_set(METRIC_FDS, 0, 0, 12);
    metric_set(METRIC_FDS, 0, 0, 10);
    struct buf out;
    assert_non_null(strstr(render(&out), "\nsaga_fds 10\n"));
    buf_fini(&out);
}

static void metric_observe__edges__are_cumulative_and_in_seconds(void **state)
{
    (void)state;
    metric_observe(METRIC_QUEUE_WAIT, 0, 0, 500); /* le 0.0005 holds its bound */
    metric_observe(METRIC_QUEUE_WAIT, 0, 0, 501);
    metric_observe(METRIC_QUEUE_WAIT, 0, 0, UINT64_C(7200000000));
    assert_int_equal(metric_read(METRIC_QUEUE_WAIT, 0, 0), 3);
    struct buf out;
    char *text = render(&out);
    assert_non_null(strstr(text, "# TYPE saga_queue_wait_seconds histogram\n"));
    assert_non_null(strstr(text, "saga_queue_wait_seconds_bucket{le=\"0.0005\"} 1\n"));
    assert_non_null(strstr(text, "saga_queue_wait_seconds_bucket{le=\"0.001\"} 2\n"));
    assert_non_null(strstr(text, "saga_queue_wait_seconds_bucket{le=\"3600\"} 2\n"));
    assert_non_null(strstr(text, "saga_queue_wait_seconds_bucket{le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(text, "saga_queue_wait_seconds_sum 7200.001001\n"));
    assert_non_null(strstr(text, "saga_queue_wait_seconds_count 3\n"));
    buf_fini(&out);
    metric_observe(METRIC_TTFT, METRIC_ROUTE_MESSAGES, 0, 3);
    text = render(&out);
    assert_non_null(strstr(text, "saga_ttft_seconds_bucket{route=\"messages\",le=\"0.0005\"} 1\n"));
    buf_fini(&out);
}

enum { THREADS = 4, EACH = 10000 };

static void count_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH; i++) {
        metric_inc(METRIC_STALE_CONN_RETRIES, 0, 0);
        metric_move(METRIC_STREAMS, 0, 0, 2);
    }
}

static void count_down(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2 * EACH * THREADS; i++) {
        metric_move(METRIC_STREAMS, 0, 0, -1);
    }
    metric_move(METRIC_STREAMS, 0, 0, -3);
}

static void metric__many_threads__sums_are_exact(void **state)
{
    (void)state;
    struct thread threads[THREADS];
    struct thread down;
    for (int i = 0; i < THREADS; i++) {
        assert_status(thread_start(&threads[i], "count", count_many, NULL, NULL), ST_OK);
    }
    assert_status(thread_start(&down, "down", count_down, NULL, NULL), ST_OK);
    for (int i = 0; i < THREADS; i++) {
        thread_join(&threads[i]);
    }
    thread_join(&down);
    assert_int_equal(metric_read(METRIC_STALE_CONN_RETRIES, 0, 0), THREADS * EACH);
    assert_true((int64_t)metric_read(METRIC_STREAMS, 0, 0) == -3);
    struct buf out;
    assert_non_null(strstr(render(&out), "\nsaga_streams -3\n"));
    buf_fini(&out);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct buf out;
    buf_init(&out, mem, RENDER_BYTES);
    bool is_done = metric_render(&out) == ST_OK;
    buf_fini(&out);
    return is_done;
}

static void metric_render__each_allocation_fails__nothing_leaks(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metric_inc__labels__count_apart),
        cmocka_unit_test(metric_inc__value_out_of_the_set__is_our_bug),
        cmocka_unit_test(metric_set__gauge__shows_the_last_value),
        cmocka_unit_test(metric_observe__edges__are_cumulative_and_in_seconds),
        cmocka_unit_test(metric__many_threads__sums_are_exact),
        cmocka_unit_test(metric_render__each_allocation_fails__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
