/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/lab/played.h"

/* Session 0 has two steps and starts 2 behind the first; 1 was never answered; 3 would start behind
 * a step of 0 that never came; 4 is a later root. */
static struct log_session sessions[] = {
    {.parent = TRACE_NONE, .system_id = 5, .system_tokens = 40, .row_at = 0, .row_count = 2},
    {.parent = TRACE_NONE},
    {.parent = 0, .spawn_step = 0, .row_at = 2, .row_count = 1},
    {.parent = 0, .spawn_step = 2, .row_at = 3, .row_count = 1},
    {.parent = TRACE_NONE, .tenant = 3, .row_at = 4, .row_count = 1},
};
static struct row rows[] = {
    {.prompt_tokens = 200, .output_tokens = 9, .own_tokens = 100, .kept_tokens = 7, .sent_s = 8},
    {.prompt_tokens = 300, .output_tokens = 5, .own_tokens = 150, .kept_tokens = 209, .gap_s = 0.5},
    {.prompt_tokens = 50, .output_tokens = 0, .own_tokens = 50},
    {.prompt_tokens = 60, .output_tokens = 1, .own_tokens = 60},
    {.prompt_tokens = 30, .output_tokens = 2, .own_tokens = 30, .sent_s = 2},
};
static const struct bench_log bench = {
    .sessions = sessions, .session_count = 5, .rows = {.rows = rows, .count = 5}};

static void workload__a_log__is_what_was_played(void **state)
{
    (void)state;
    struct workload workload;
    struct err err = {0};
    assert_status(played_workload(&workload, mem_heap(), &bench, &err), ST_OK);
    assert_int_equal(workload.session_count, 3);
    assert_int_equal(workload.tree_count, 2);
    const struct lab_session *root = &workload.sessions[workload.trees[0].first];
    assert_int_equal(root->step_count, 2);
    assert_int_equal(root->parent, LAB_NONE);
    /* The engine counted twice the bench's tokens. */
    assert_int_equal(root->system_tokens, 80);
    assert_int_equal(root->steps[0].kept_tokens, 0);
    assert_int_equal(root->steps[1].kept_tokens, 209);
    assert_int_equal(root->steps[1].gap_us, 500000);
    assert_false(root->steps[1].is_human);
    const struct lab_session *child = &workload.sessions[1];
    assert_int_equal(child->parent, 0);
    assert_int_equal(child->steps[0].output_tokens, 1);
    assert_int_equal(workload.sessions[workload.trees[1].first].tenant, 3);
    workload_fini(&workload);
}

static void draw__a_log__has_its_arrivals_by_time(void **state)
{
    (void)state;
    struct workload workload;
    struct draw draw;
    struct err err = {0};
    assert_status(played_workload(&workload, mem_heap(), &bench, &err), ST_OK);
    assert_status(played_draw(&draw, mem_heap(), &bench, &workload), ST_OK);
    assert_int_equal(draw.arrival_count, 2);
    assert_int_equal(draw.arrivals[0].at_us, 2000000);
    assert_int_equal(draw.arrivals[0].session, workload.trees[1].first);
    assert_int_equal(draw.arrivals[1].at_us, 8000000);
    assert_int_equal(draw.arrivals[1].session, workload.trees[0].first);
    assert_close(played_rate_per_s(&draw), 1.0 / 6, 1e-9);
    draw_fini(&draw);
    workload_fini(&workload);
}

static void workload__nothing_answered__is_refused(void **state)
{
    (void)state;
    struct workload workload;
    struct err err = {0};
    const struct bench_log none = {.sessions = &sessions[1], .session_count = 1};
    assert_status(played_workload(&workload, mem_heap(), &none, &err), ST_INVAL);
    assert_true(err.text[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workload__a_log__is_what_was_played),
        cmocka_unit_test(draw__a_log__has_its_arrivals_by_time),
        cmocka_unit_test(workload__nothing_answered__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
