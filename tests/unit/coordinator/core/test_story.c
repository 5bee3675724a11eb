/* SPDX-License-Identifier: Apache-2.0 */
/* What a session's steps become: graph, gaps, sub-agents, forecasts. */
#include "tests/unit/coordinator/core/desk.h"

#include "common/base/json.h"

#include <stdio.h>

static struct desk desk;
static yyjson_doc *seen; /* the last look */

static int setup(void **state)
{
    (void)state;
    struct coord_limits limits = desk_limits();
    desk_open(&desk, &limits);
    desk_fleet(&desk, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    yyjson_doc_free(seen);
    seen = NULL;
    desk_close(&desk);
    return 0;
}

/* --- helpers --- */

/* The n-th session of the task; NULL when the label is not known. */
static yyjson_val *look(const char *label, size_t n)
{
    struct buf out;
    buf_init(&out, mem_heap(), 1 << 20);
    enum status st =
        coord_core_write_session(desk.core, desk.now_us, str_of(label), COORD_SESSION_JSON, &out);
    yyjson_doc_free(seen);
    seen = NULL;
    if (st == ST_OK) {
        seen = yyjson_read(out.p, out.len, 0);
        assert_non_null(seen);
    } else {
        assert_status(st, ST_NOTFOUND);
    }
    buf_fini(&out);
    return yyjson_arr_get(yyjson_obj_get(yyjson_doc_get_root(seen), "sessions"), n);
}

static size_t lanes(const char *label)
{
    (void)look(label, 0);
    return yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(seen), "sessions"));
}

static yyjson_val *step_of(yyjson_val *session, size_t n)
{
    yyjson_val *steps = yyjson_obj_get(yyjson_obj_get(session, "graph"), "steps");
    yyjson_val *step = yyjson_arr_get(steps, n);
    assert_non_null(step);
    return step;
}

static size_t step_count(yyjson_val *session)
{
    return yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(session, "graph"), "steps"));
}

static int64_t number(yyjson_val *obj, const char *name)
{
    yyjson_val *val = yyjson_obj_get(obj, name);
    assert_true(yyjson_is_int(val));
    return yyjson_get_sint(val);
}

static const char *text(yyjson_val *obj, const char *name)
{
    yyjson_val *val = yyjson_obj_get(obj, name);
    return yyjson_is_str(val) ? yyjson_get_str(val) : "";
}

static const char *tool(yyjson_val *step)
{
    yyjson_val *name = yyjson_arr_get(yyjson_obj_get(step, "tools"), 0);
    return yyjson_is_str(name) ? yyjson_get_str(name) : "";
}

static double chance(yyjson_val *session, const char *when)
{
    yyjson_val *val =
        yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(session, "forecast"), "return"), when);
    assert_true(yyjson_is_real(val));
    return yyjson_get_real(val);
}

/* A step that ends well after 200 ms. */
static void step(const char *session, const struct talk *talk, const char *calls)
{
    uint64_t req = desk_arrive(&desk, session, talk);
    desk_start(&desk, req, 1);
    desk.now_us += 50000;
    desk_answer(&desk, req, 1);
    desk.now_us += 150000;
    desk_done_by(&desk, req, calls);
}

static struct talk opened(const char *system)
{
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, system, 4000);
    talk_say(&talk, "do it", 400);
    return talk;
}

/* --- graph --- */

static void steps__of_one_task__are_vertices_in_order_with_their_gaps(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    step("task", &talk, "bash");
    desk.now_us += 3000000;
    talk_say(&talk, "result", 100);
    step("task", &talk, NULL);
    yyjson_val *session = look("task", 0);
    assert_int_equal(step_count(session), 2);
    yyjson_val *first = step_of(session, 0);
    yyjson_val *second = step_of(session, 1);
    assert_string_equal(text(first, "end"), "tools");
    assert_string_equal(tool(first), "bash");
    assert_string_equal(text(second, "end"), "answer");
    assert_int_equal(number(second, "from"), 0);
    assert_int_equal(number(second, "prompt_tokens"), 100);
    assert_int_equal(number(session, "steps"), 2);
}

static void step__sent_again_after_its_client_left__is_no_other_step(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    uint64_t req = desk_arrive(&desk, "task", &talk);
    desk_start(&desk, req, 1);
    desk.now_us += 1000000;
    desk_gone(&desk, req);
    step("task", &talk, "bash");
    yyjson_val *session = look("task", 0);
    assert_int_equal(step_count(session), 1);
    assert_int_equal(number(step_of(session, 0), "attempts"), 2);
    assert_int_equal(number(session, "steps"), 1);
}

static void step__sent_again_after_its_answer__is_no_other_step(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    step("task", &talk, "bash");
    talk_say(&talk, "result", 100);
    step("task", &talk, "bash");
    desk.now_us += 1000000;
    step("task", &talk, "bash");
    yyjson_val *session = look("task", 0);
    assert_int_equal(step_count(session), 2);
    assert_int_equal(number(step_of(session, 1), "attempts"), 2);
}

static void request__of_another_prompt_in_a_gap__is_beside_the_line(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    struct talk title;
    desk.opening = 7;
    step("task", &talk, "bash");
    desk.now_us += 1000000;
    talk_begin(&title);
    talk_say(&title, "make a title", 200);
    desk.opening = 8;
    step("task", &title, NULL);
    assert_true(yyjson_obj_get(look("task", 0), "gap_ms") != NULL); /* still the first one's */
    desk.now_us += 1000000;
    talk_say(&talk, "result", 100);
    desk.opening = 7;
    step("task", &talk, NULL);
    yyjson_val *session = look("task", 0);
    assert_int_equal(step_count(session), 3);
    assert_true(yyjson_get_bool(yyjson_obj_get(step_of(session, 1), "aside")));
    assert_int_equal(number(step_of(session, 2), "from"), 0);
}

static void request__small_before_the_task__turns_out_to_be_beside_it(void **state)
{
    (void)state;
    struct talk title;
    struct talk talk = opened("system");
    talk_begin(&title);
    talk_say(&title, "make a title", 200);
    desk.opening = 8;
    step("task", &title, NULL);
    desk.opening = 7;
    step("task", &talk, "bash");
    yyjson_val *session = look("task", 0);
    assert_true(yyjson_get_bool(yyjson_obj_get(step_of(session, 0), "aside")));
    assert_true(yyjson_is_null(yyjson_obj_get(step_of(session, 1), "from")));
    assert_false(yyjson_get_bool(yyjson_obj_get(step_of(session, 1), "aside")));
}

static void step__refused_by_its_only_engine__has_failed_with_its_status(void **state)
{
    (void)state;
    struct buf out;
    uint64_t req = desk_arrive(&desk, "task", NULL);
    for (uint32_t attempt = 1; attempt <= 2; attempt++) {
        desk_start(&desk, req, attempt);
        desk_fail(&desk, req, attempt, COORD_FAIL_STATUS, 503);
    }
    assert_string_equal(text(step_of(look("task", 0), 0), "end"), "failed");
    buf_init(&out, mem_heap(), 65536);
    assert_status(coord_core_write_receipt(desk.core, STR("req-1"), &out), ST_OK);
    assert_status(buf_add(&out, "", 1), ST_OK);
    assert_non_null(strstr(out.p, "\"result\":\"engine_error\",\"http_status\":503"));
    buf_fini(&out);
}

static void prompt__compacted__goes_on_from_the_last_step(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    desk.opening = 7;
    step("task", &talk, "bash");
    talk_say(&talk, "result", 40000);
    step("task", &talk, "bash");
    talk = opened("system");
    talk_say(&talk, "summary of what was", 400);
    talk.chain[1] = 99;
    talk.chain[2] = 100;
    step("task", &talk, NULL);
    yyjson_val *session = look("task", 0);
    assert_int_equal(number(step_of(session, 2), "from"), 1);
    assert_false(yyjson_get_bool(yyjson_obj_get(step_of(session, 2), "aside")));
}

static void tools__named_only_by_their_results__name_the_gap_before(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    step("task", &talk, NULL);
    talk_say(&talk, "result", 100);
    desk.result = "late";
    step("task", &talk, NULL);
    assert_string_equal(tool(step_of(look("task", 0), 0)), "late");
}

/* --- families --- */

static void child__named_with_its_parent__is_a_lane_of_that_task(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    struct talk other = opened("explore");
    step("task", &talk, "spawn");
    desk.now_us += 10000;
    desk.parent = "task";
    step("child", &other, NULL);
    desk.parent = NULL;
    talk_say(&talk, "result", 100);
    step("task", &talk, NULL);
    assert_int_equal(lanes("task"), 2);
    yyjson_val *child = look("task", 1);
    assert_string_equal(text(child, "session"), "child");
    assert_string_equal(text(child, "parent"), "task");
    assert_int_equal(number(child, "spawned_by_step"), 0);
    assert_int_equal(number(child, "joined_by_step"), 1);
    assert_int_equal(lanes("child"), 1);
}

static void child__of_another_model__is_linked_too(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    desk_probed(&desk, 3, true, "small");
    step("task", &talk, "spawn");
    desk.parent = "task";
    uint64_t req = desk_arrive_as(&desk, "child", &talk, "small", COORD_ROUTE_CHAT);
    desk_done_by(&desk, req, NULL);
    assert_int_equal(lanes("task"), 2);
}

static void parent__forgotten__its_child_lives_on_as_a_root(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    step("task", &talk, "spawn");
    desk.parent = "task";
    step("child", &talk, NULL);
    const struct coord_event release = {.kind = COORD_EV_SESSION_RELEASED,
                                        .u.released = {.label = STR("task")}};
    desk_event(&desk, &release);
    assert_null(look("task", 0));
    assert_null(yyjson_obj_get(look("child", 0), "parent"));
}

static void fork__of_a_chain__is_a_child(void **state)
{
    (void)state;
    char label[COORD_LABEL_BYTES];
    struct talk talk = opened("system");
    uint64_t req = desk_arrive(&desk, NULL, &talk);
    desk_label(&desk, label);
    desk_done_by(&desk, req, "bash");
    struct talk left = talk;
    talk_say(&left, "left", 100);
    req = desk_arrive(&desk, NULL, &left);
    talk_say(&talk, "right", 100); /* while that runs: it goes on from where the other left */
    uint64_t right = desk_arrive(&desk, NULL, &talk);
    desk_done_by(&desk, req, NULL);
    desk_done_by(&desk, right, NULL);
    assert_int_equal(lanes(label), 2);
}

/* --- release --- */

static void release__while_a_step_runs__forgets_at_its_end(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    uint64_t req = desk_arrive(&desk, "task", &talk);
    const struct coord_event release = {.kind = COORD_EV_SESSION_RELEASED,
                                        .u.released = {.label = STR("task")}};
    desk_event(&desk, &release);
    assert_true(coord_core_has_session(desk.core, STR("task")));
    desk_done_by(&desk, req, "bash");
    assert_false(coord_core_has_session(desk.core, STR("task")));
    assert_int_equal(coord_core_session_count(desk.core), 0);
    step("task", &talk, "bash"); /* and it may come again */
    assert_true(coord_core_has_session(desk.core, STR("task")));
}

static void session__said_to_be_over__shows_no_open_gap(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    desk.is_final = true;
    step("task", &talk, NULL);
    yyjson_val *session = look("task", 0);
    assert_true(yyjson_get_bool(yyjson_obj_get(session, "ended")));
    assert_null(yyjson_obj_get(session, "gap_ms"));
}

/* --- forecasts --- */

/* Many tasks whose tool takes that long. */
static void teach(const char *name, uint64_t gap_us, unsigned tasks)
{
    char id[32];
    for (unsigned i = 0; i < tasks; i++) {
        struct talk talk = opened("system");
        (void)snprintf(id, sizeof(id), "%s-%u", name, i);
        step(id, &talk, name);
        desk.now_us += gap_us;
        talk_say(&talk, "result", 100);
        step(id, &talk, NULL);
    }
}

static void forecast__after_a_known_tool__knows_when_its_session_returns(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    desk.opening = 7;
    teach("fast", 200000, 30);
    teach("slow", 100000000, 30);
    step("a", &talk, "fast");
    assert_true(chance(look("a", 0), "1s") > 0.7);
    step("b", &talk, "slow");
    assert_true(chance(look("b", 0), "10s") < 0.3);
    assert_true(chance(look("b", 0), "300s") > 0.7);
}

static void forecast__of_sessions_that_never_return__learns_from_their_silence(void **state)
{
    (void)state;
    char id[32];
    struct talk talk = opened("system");
    desk.opening = 7;
    teach("bash", 1000000, 5);
    step("before", &talk, "bash");
    double before = chance(look("before", 0), "10s");
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(id, sizeof(id), "silent-%u", i);
        step(id, &talk, "bash");
    }
    for (unsigned i = 0; i < 20; i++) {
        desk_tick(&desk, 60000000);
    }
    step("after", &talk, "bash");
    assert_true(chance(look("after", 0), "10s") < before - 0.2);
}

static void classes__by_what_clients_call_them__are_apart(void **state)
{
    (void)state;
    struct talk talk = opened("system");
    desk.opening = 7;
    desk.agent = "coder";
    step("a", &talk, "bash");
    step("b", &talk, "bash");
    desk.agent = "reviewer";
    step("c", &talk, "bash");
    char class_a[32];
    (void)snprintf(class_a, sizeof(class_a), "%s", text(look("a", 0), "class"));
    assert_string_equal(text(look("b", 0), "class"), class_a);
    assert_string_not_equal(text(look("c", 0), "class"), class_a);
    assert_string_equal(text(look("c", 0), "agent"), "reviewer");
}

/* --- drawings and limits --- */

static void drawing__of_a_task__has_its_tools_escaped(void **state)
{
    (void)state;
    static const enum coord_session_format formats[] = {COORD_SESSION_DOT, COORD_SESSION_SVG};
    struct talk talk = opened("system");
    step("task", &talk, "<script>\"");
    talk_say(&talk, "result", 10);
    desk.now_us += 60000000;
    step("task", &talk, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct buf out;
        buf_init(&out, mem_heap(), 1 << 20);
        assert_status(
            coord_core_write_session(desk.core, desk.now_us, STR("task"), formats[i], &out), ST_OK);
        assert_status(buf_add(&out, "", 1), ST_OK);
        assert_non_null(strstr(out.p, i == 0 ? "digraph" : "<svg"));
        assert_true(i == 0 || strstr(out.p, "<script>") == NULL);
        buf_fini(&out);
    }
}

static void memory__of_endless_new_ids_tools_and_prompts__is_bounded(void **state)
{
    (void)state;
    char id[32];
    char name[32];
    size_t at_first = 0;
    for (unsigned i = 0; i < 40000; i++) {
        struct talk talk = opened(id);
        (void)snprintf(id, sizeof(id), "id-%u", i);
        (void)snprintf(name, sizeof(name), "tool-%u", i);
        desk.opening = i * UINT64_C(0x9E3779B97F4A7C15) + 1;
        step(id, &talk, name);
        at_first = i == 10000 ? desk.km.live_bytes : at_first;
    }
    assert_int_equal(coord_core_session_count(desk.core), 1000);
    assert_true(desk.km.live_bytes <= at_first + at_first / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(steps__of_one_task__are_vertices_in_order_with_their_gaps),
        T(step__sent_again_after_its_client_left__is_no_other_step),
        T(step__sent_again_after_its_answer__is_no_other_step),
        T(request__of_another_prompt_in_a_gap__is_beside_the_line),
        T(request__small_before_the_task__turns_out_to_be_beside_it),
        T(step__refused_by_its_only_engine__has_failed_with_its_status),
        T(prompt__compacted__goes_on_from_the_last_step),
        T(tools__named_only_by_their_results__name_the_gap_before),
        T(child__named_with_its_parent__is_a_lane_of_that_task),
        T(child__of_another_model__is_linked_too),
        T(parent__forgotten__its_child_lives_on_as_a_root),
        T(fork__of_a_chain__is_a_child),
        T(release__while_a_step_runs__forgets_at_its_end),
        T(session__said_to_be_over__shows_no_open_gap),
        T(forecast__after_a_known_tool__knows_when_its_session_returns),
        T(forecast__of_sessions_that_never_return__learns_from_their_silence),
        T(classes__by_what_clients_call_them__are_apart),
        T(drawing__of_a_task__has_its_tools_escaped),
        T(memory__of_endless_new_ids_tools_and_prompts__is_bounded),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
