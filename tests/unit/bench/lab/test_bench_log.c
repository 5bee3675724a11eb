/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/lab/bench_log.h"
#include "bench/replay/trace.h"

#define SESSION(parent) \
    "{\"parent\":" parent ",\"spawn_step\":1,\"tenant\":0,\"system\":\"ab\",\"system_tokens\":10}"
#define ROW(session, step, more)                                                               \
    "{\"session\":" session ",\"step\":" step ",\"prompt_tokens\":100,\"cached_tokens\":48,"   \
    "\"output_tokens\":5,\"own_tokens\":100,\"kept_tokens\":50,\"gap_s\":0.5,\"sent_s\":1.25," \
    "\"ttft_s\":0.1," more "\"engine\":\"e1\"}"
#define STEP "\"step_s\":0.2,"

static enum status read(const char *text, struct bench_log *ret, struct err *err)
{
    return bench_log_read(ret, mem_heap(), str_of(text), err);
}

static void read__a_report__has_sessions_with_their_rows_in_order(void **state)
{
    (void)state;
    struct bench_log log;
    struct err err = {0};
    assert_status(
        read("{\"other\":1,\"sessions\":[" SESSION("-1") "," SESSION("0") "],\"rows\":[" ROW(
                 "1", "0", STEP) "," ROW("0", "1", STEP) "," ROW("0", "0", STEP) "," ROW("0", "3",
                                                                                         STEP) "]}",
             &log, &err),
        ST_OK);
    assert_int_equal(log.session_count, 2);
    assert_int_equal(log.sessions[0].parent, TRACE_NONE);
    assert_int_equal(log.sessions[1].parent, 0);
    assert_int_equal(log.sessions[1].spawn_step, 1);
    assert_int_equal(log.sessions[0].system_tokens, 10);
    /* Step 3 of session 0 comes behind a hole. */
    assert_int_equal(log.rows.count, 3);
    assert_int_equal(log.sessions[0].row_at, 0);
    assert_int_equal(log.sessions[0].row_count, 2);
    assert_int_equal(log.sessions[1].row_at, 2);
    assert_int_equal(log.sessions[1].row_count, 1);
    assert_int_equal(log.rows.rows[1].step, 1);
    assert_int_equal(log.rows.rows[1].kept_tokens, 50);
    assert_close(log.rows.rows[1].sent_s, 1.25, 1e-12);
    assert_string_equal(log.rows.rows[1].engine, "e1");
    bench_log_fini(&log);
}

static void read__what_is_no_report_with_rows__is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"sessions\":[]}",
        "{\"sessions\":[" SESSION("-1") "]}",
        "{\"sessions\":[" SESSION("-1") "],\"rows\":[]}",
        "{\"sessions\":[" SESSION("0") "],\"rows\":[" ROW("0", "0", STEP) "]}",
        "{\"sessions\":[" SESSION("-1") "],\"rows\":[" ROW("1", "0", STEP) "]}",
        "{\"sessions\":[" SESSION("-1") "],\"rows\":[" ROW("0", "-1", STEP) "]}",
        "{\"sessions\":[" SESSION("-1") "],\"rows\":[" ROW("0", "0", "") "]}",
        "{\"sessions\":[" SESSION("-1") "],\"rows\":[" ROW("0", "0", "\"step_s\":0.05,") "]}",
        "{\"sessions\":[" SESSION("-1") "],\"rows\":[7]}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct bench_log log;
        struct err err = {0};
        assert_status(read(texts[i], &log, &err), ST_PROTO);
        assert_true(err.text[0] != '\0');
    }
}

static void load__no_such_file__is_said(void **state)
{
    (void)state;
    struct bench_log log;
    struct err err = {0};
    assert_status(bench_log_load(&log, mem_heap(), "/nonexistent/b.json", &err), ST_IO);
    assert_non_null(strstr(err.text, "/nonexistent/b.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__a_report__has_sessions_with_their_rows_in_order),
        cmocka_unit_test(read__what_is_no_report_with_rows__is_refused),
        cmocka_unit_test(load__no_such_file__is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
