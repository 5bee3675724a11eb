/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/sample.h"
#include "bench/replay/trace.h"

#include <stdio.h>
#include <stdlib.h>

static enum status load(struct trace *ret, const struct mem *mem, const char *text, struct err *err)
{
    struct lines *lines = NULL;
    assert_status(lines_open_mem(&lines, str_of(text), err), ST_OK);
    enum status st = trace_load(ret, mem, lines, err);
    lines_close(lines);
    return st;
}

static void load_fine(struct trace *ret, const char *text)
{
    struct err err = {0};
    enum status st = load(ret, mem_heap(), text, &err);
    if (st != ST_OK) {
        fail_msg("%s", err.text);
    }
}

static void trace_load__two_interleaved_sessions__are_grouped_in_order(void **state)
{
    (void)state;
    struct trace trace;
    load_fine(&trace, "{\"src\":\"x\",\"s\":\"a\",\"in\":1000,\"new\":1000,\"out\":10,\"gap\":1.5,"
                      "\"kind\":\"user\",\"tool\":\"Read+Grep\"}\n"
                      "{\"src\":\"x\",\"s\":\"b\",\"in\":500,\"out\":5}\n"
                      "\n"
                      "{\"src\":\"x\",\"s\":\"a\",\"in\":1200,\"new\":200,\"out\":20,\"kind\":"
                      "\"tool\",\"gap\":-0.1}\n");
    assert_int_equal(trace_step_at(&trace, 0, 1)->gap_us, 0);
    assert_int_equal(trace.session_count, 2);
    assert_int_equal(trace.root_count, 2);
    assert_int_equal(trace.step_count, 3);
    assert_int_equal(trace.line_count, 4);
    assert_string_equal(trace.sessions[0].id, "a");
    assert_int_equal(trace.sessions[0].step_count, 2);
    assert_int_equal(trace_step_at(&trace, 0, 0)->gap_us, 1500000);
    assert_false(trace_step_at(&trace, 0, 0)->is_tool);
    assert_string_equal(trace_step_at(&trace, 0, 0)->tools, "Read+Grep");
    assert_string_equal(trace_step_at(&trace, 0, 1)->tools, "");
    assert_true(trace_step_at(&trace, 0, 0)->has_gap);
    assert_false(trace_step_at(&trace, 1, 0)->has_gap);
    assert_int_equal(trace_step_at(&trace, 0, 1)->reuse_tokens, 1000);
    assert_true(trace_step_at(&trace, 0, 1)->is_tool);
    assert_int_equal(trace_step_at(&trace, 1, 0)->in_tokens, 500);
    trace_fini(&trace);
}

static void trace_load__reuse_short_of_the_prompt__is_kept_unless_within_block_slack(void **state)
{
    (void)state;
    struct trace trace;
    load_fine(&trace,
              "{\"s\":\"a\",\"in\":1000,\"out\":1}\n"
              "{\"s\":\"a\",\"in\":1100,\"new\":164,\"out\":1}\n" /* 936 of 1000: a block of 64 */
              "{\"s\":\"a\",\"in\":1200,\"new\":700,\"out\":1}\n" /* 500 of 1100 */
              "{\"s\":\"a\",\"in\":600,\"new\":50,\"out\":1}\n"   /* compaction: 550 of 1200 */
              "{\"s\":\"a\",\"in\":700,\"new\":0,\"out\":1}\n");  /* more than there was */
    assert_int_equal(trace_step_at(&trace, 0, 0)->reuse_tokens, 0);
    assert_int_equal(trace_step_at(&trace, 0, 1)->reuse_tokens, 1000);
    assert_int_equal(trace_step_at(&trace, 0, 2)->reuse_tokens, 500);
    assert_int_equal(trace_step_at(&trace, 0, 3)->reuse_tokens, 550);
    assert_int_equal(trace_step_at(&trace, 0, 4)->reuse_tokens, 600);
    trace_fini(&trace);
}

static void trace_load__cache_report_source__growing_prompt_keeps_all(void **state)
{
    (void)state;
    struct trace trace;
    load_fine(&trace, "{\"src\":\"agentcgroup\",\"s\":\"a\",\"in\":1000,\"out\":1}\n"
                      "{\"src\":\"agentcgroup\",\"s\":\"a\",\"in\":1100,\"new\":1100,\"out\":1}\n");
    assert_int_equal(trace_step_at(&trace, 0, 1)->reuse_tokens, 1000);
    trace_fini(&trace);
}

static void trace_load__sub_agents__are_tied_to_the_step_before_the_one_that_waited(void **state)
{
    (void)state;
    struct trace trace;
    load_fine(&trace,
              "{\"s\":\"p\",\"in\":10,\"out\":1,\"t\":0,\"llm_s\":1}\n"
              "{\"s\":\"p\",\"in\":20,\"out\":1,\"t\":10,\"llm_s\":1}\n"
              "{\"s\":\"p\",\"in\":30,\"out\":1,\"t\":20,\"llm_s\":1,\"subs\":[\"p/1\",\"gone\"]}\n"
              "{\"s\":\"p/1\",\"par\":\"p\",\"in\":5,\"out\":1,\"t\":0}\n"
              "{\"s\":\"p/2\",\"par\":\"p\",\"in\":5,\"out\":1,\"t\":2.5}\n"
              "{\"s\":\"lost\",\"par\":\"nobody\",\"in\":5,\"out\":1}\n");
    assert_int_equal(trace.root_count, 2);
    assert_int_equal(trace.orphan_count, 1);
    assert_int_equal(trace.sessions[0].child_first, 1);
    assert_int_equal(trace.sessions[1].parent, 0);
    assert_int_equal(trace.sessions[1].spawn_step, 1); /* named by step 2 */
    assert_int_equal(trace.sessions[1].sibling_next, 2);
    assert_int_equal(trace.sessions[2].spawn_step, 0); /* by its time */
    assert_int_equal(trace.sessions[2].sibling_next, TRACE_NONE);
    assert_int_equal(trace.sessions[3].parent, TRACE_NONE);
    trace_fini(&trace);
}

static void trace_load__sub_agents_in_a_circle__are_refused(void **state)
{
    (void)state;
    struct trace trace;
    struct err err = {0};
    assert_status(load(&trace, mem_heap(),
                       "{\"s\":\"a\",\"par\":\"b\",\"in\":5,\"out\":1}\n"
                       "{\"s\":\"b\",\"par\":\"a\",\"in\":5,\"out\":1}\n",
                       &err),
                  ST_PROTO);
    assert_non_null(strstr(err.text, "circle"));
}

static void trace_load__system_prompts__get_recorded_or_inferred_lengths(void **state)
{
    (void)state;
    struct trace trace;
    load_fine(&trace, "{\"s\":\"a\",\"in\":1000,\"out\":1,\"sys\":\"recorded\",\"sys_tok\":700}\n"
                      "{\"s\":\"b\",\"in\":400,\"out\":1,\"sys\":\"unknown\"}\n"
                      "{\"s\":\"c\",\"in\":300,\"out\":1,\"sys\":\"unknown\"}\n"
                      "{\"s\":\"d\",\"in\":1000,\"new\":1000,\"out\":1,\"sys\":\"seen\"}\n"
                      "{\"s\":\"e\",\"in\":1000,\"new\":200,\"out\":1,\"sys\":\"seen\"}\n"
                      "{\"s\":\"f\",\"in\":1000,\"out\":1}\n");
    assert_int_equal(trace.sessions[0].sys_tokens, 700);
    assert_int_equal(trace.sessions[1].sys_tokens, 150); /* half of the shortest */
    assert_int_equal(trace.sessions[2].sys_tokens, 150);
    assert_int_equal(trace.sessions[3].sys_tokens, 800); /* what a first step reused */
    assert_int_equal(trace.sessions[5].sys_tokens, 0);
    trace_fini(&trace);
}

struct bad_line {
    const char *line;
    const char *complaint;
};

static void trace_load__bad_line__is_refused_with_number_and_key(void **state)
{
    (void)state;
    const struct bad_line cases[] = {
        {"{", "not JSON"},
        {"[1]", "not a JSON object"},
        {"{\"in\":1,\"out\":1}", "\"s\" is missing"},
        {"{\"s\":\"\",\"in\":1,\"out\":1}", "\"s\""},
        {"{\"s\":7,\"in\":1,\"out\":1}", "\"s\""},
        {"{\"s\":\"a\\u0000b\",\"in\":1,\"out\":1}", "\"s\""},
        {"{\"s\":\"a\",\"out\":1}", "\"in\" is missing"},
        {"{\"s\":\"a\",\"in\":1}", "\"out\" is missing"},
        {"{\"s\":\"a\",\"in\":-1,\"out\":1}", "\"in\""},
        {"{\"s\":\"a\",\"in\":1.5,\"out\":1}", "\"in\""},
        {"{\"s\":\"a\",\"in\":99999999,\"out\":1}", "\"in\""},
        {"{\"s\":\"a\",\"in\":1,\"new\":2,\"out\":1}", "\"new\""},
        {"{\"s\":\"a\",\"in\":1,\"out\":1,\"gap\":-2}", "\"gap\""},
        {"{\"s\":\"a\",\"in\":1,\"out\":1,\"gap\":1e300}", "\"gap\""},
        {"{\"s\":\"a\",\"in\":1,\"out\":1,\"gap\":\"1\"}", "\"gap\""},
        {"{\"s\":\"a\",\"in\":1,\"out\":1,\"subs\":\"x\"}", "\"subs\""},
        {"{\"s\":\"a\",\"in\":1,\"out\":1,\"subs\":[1]}", "\"subs\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trace trace;
        struct err err = {0};
        char text[256];
        (void)snprintf(text, sizeof(text), "{\"s\":\"ok\",\"in\":1,\"out\":1}\n%s\n",
                       cases[i].line);
        enum status st = load(&trace, mem_heap(), text, &err);
        if (st != ST_PROTO || strstr(err.text, "line 2") == NULL ||
            strstr(err.text, cases[i].complaint) == NULL) {
            fail_msg("%s: %s, %s", cases[i].line, status_name(st), err.text);
        }
    }
}

static void trace_load__no_step__is_refused(void **state)
{
    (void)state;
    struct trace trace;
    struct err err = {0};
    assert_status(load(&trace, mem_heap(), "\n\n", &err), ST_INVAL);
}

static void trace_load__the_built_in_sample__has_what_its_readme_says(void **state)
{
    (void)state;
    struct trace trace;
    struct lines *lines = NULL;
    struct err err = {0};
    assert_true(sample_data().len < (size_t)200 * 1024);
    assert_status(lines_open_mem(&lines, sample_data(), &err), ST_OK);
    assert_status(trace_load(&trace, mem_heap(), lines, &err), ST_OK);
    lines_close(lines);
    assert_int_equal(trace.root_count, 100);
    assert_int_equal(trace.session_count, 115);
    assert_int_equal(trace.step_count, 3823);
    assert_int_equal(trace.orphan_count, 0);
    trace_fini(&trace);
}

/* The whole data set is not part of the project: SAGA_TRACES says where it is. */
static void trace_load__the_full_trace__loads(void **state)
{
    (void)state;
    const char *folder = getenv("SAGA_TRACES");
    char path[512];
    struct trace trace;
    struct err err = {0};
    if (folder == NULL) {
        print_message("SKIPPED, THE FULL TRACE IS ABSENT: set SAGA_TRACES to the folder with "
                      "agent_steps.jsonl.gz\n");
        skip();
    }
    (void)snprintf(path, sizeof(path), "%s/agent_steps.jsonl.gz", folder);
    if (trace_load_file(&trace, mem_heap(), path, &err) != ST_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(trace.step_count, 61484);
    assert_int_equal(trace.session_count, 1380);
    assert_int_equal(trace.root_count, 1380 - 79);
    assert_int_equal(trace.orphan_count, 0);
    trace_fini(&trace);
}

static bool load_scenario(void *ctx, const struct mem *mem)
{
    struct trace trace;
    struct err err = {0};
    enum status st = load(&trace, mem, ctx, &err);
    if (st != ST_OK) {
        assert_status(st, ST_NOMEM);
        return false;
    }
    trace_fini(&trace);
    return true;
}

static void trace_load__each_allocation_fails__leaves_nothing_behind(void **state)
{
    (void)state;
    static char text[] =
        "{\"src\":\"x\",\"s\":\"p\",\"in\":10,\"out\":1,\"sys\":\"y\"}\n"
        "{\"src\":\"x\",\"s\":\"p\",\"in\":20,\"out\":1,\"subs\":[\"q\"]}\n"
        "{\"src\":\"x\",\"s\":\"q\",\"par\":\"p\",\"in\":5,\"out\":1,\"sys\":\"z\"}\n";
    assert_true(kit_torture(load_scenario, text) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_load__two_interleaved_sessions__are_grouped_in_order),
        cmocka_unit_test(trace_load__reuse_short_of_the_prompt__is_kept_unless_within_block_slack),
        cmocka_unit_test(trace_load__cache_report_source__growing_prompt_keeps_all),
        cmocka_unit_test(trace_load__sub_agents__are_tied_to_the_step_before_the_one_that_waited),
        cmocka_unit_test(trace_load__sub_agents_in_a_circle__are_refused),
        cmocka_unit_test(trace_load__system_prompts__get_recorded_or_inferred_lengths),
        cmocka_unit_test(trace_load__bad_line__is_refused_with_number_and_key),
        cmocka_unit_test(trace_load__no_step__is_refused),
        cmocka_unit_test(trace_load__the_built_in_sample__has_what_its_readme_says),
        cmocka_unit_test(trace_load__the_full_trace__loads),
        cmocka_unit_test(trace_load__each_allocation_fails__leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
