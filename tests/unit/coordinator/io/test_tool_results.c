/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "coordinator/io/body.h"
#include "coordinator/io/tool_results.h"
#include "tests/unit/coordinator/io/tools_text.h"

#include <stdio.h>
#include <stdlib.h>

static struct body_parser *parser;

static int setup(void **state)
{
    (void)state;
    return body_parser_new(&parser) == ST_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    body_parser_free(parser);
    return 0;
}

/* key: "messages" or "input"; items: the inside of that array, ' for ". */
static void expect(enum coord_route route, const char *key, const char *items, const char *tools)
{
    struct buf body;
    struct body_view view;
    struct err err = {.status = ST_OK};
    char text[TOOLS_TEXT_BYTES];
    buf_init(&body, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_fmt(&body, "{'model':'m','%s':[%s]}", key, items), ST_OK);
    for (size_t i = 0; i < body.len; i++) {
        if (body.p[i] == '\'') {
            body.p[i] = '"';
        }
    }
    if (body_parse(parser, route, body.p, body.len, &view, &err) != ST_OK) {
        fail_msg("%s: %s", err.text, items);
    }
    buf_fini(&body); /* the names must not lie in it */
    tools_text(view.tools, view.tool_count, text);
    if (strcmp(text, tools) != 0) {
        fail_msg("tools are \"%s\", not \"%s\": %s", text, tools, items);
    }
}

#define CALL(id, name) "{'id':'" id "','function':{'name':'" name "','arguments':'{}'}}"
#define CALLS(calls)   "{'role':'assistant','content':null,'tool_calls':[" calls "]}"
#define RESULT(id)     "{'role':'tool','tool_call_id':'" id "','content':'ok'}"
#define USER           "{'role':'user','content':'go on'}"

static void chat__results__are_named_by_the_last_calls(void **state)
{
    (void)state;
    static const struct {
        const char *items;
        const char *tools;
    } cases[] = {
        {USER, ""},
        {USER "," CALLS(CALL("1", "ls")), ""},
        {USER "," CALLS(CALL("1", "ls")) "," RESULT("1"), "ls"},
        {CALLS(CALL("1", "ls") "," CALL("2", "cat")) "," RESULT("2") "," RESULT("1"), "cat ls"},
        {CALLS(CALL("1", "ls") "," CALL("2", "ls")) "," RESULT("1") "," RESULT("2"), "ls"},
        /* only the last turn's */
        {CALLS(CALL("1", "ls")) "," RESULT("1") "," CALLS(CALL("2", "cat")) "," RESULT("2"), "cat"},
        {CALLS(CALL("1", "ls")) "," RESULT("1") ",{'role':'assistant','content':'done'}," USER, ""},
        /* a reminder beside the result; calls told in two messages */
        {CALLS(CALL("1", "ls")) "," RESULT("1") "," USER, "ls"},
        {CALLS(CALL("1", "ls")) "," CALLS(CALL("2", "cat")) "," RESULT("1") "," RESULT("2"),
         "ls cat"},
        /* an unknown call has the name that its result has, or none */
        {CALLS(CALL("1", "ls")) "," RESULT("9"), ""},
        {CALLS(CALL("1", "ls")) ",{'role':'tool','tool_call_id':'9','name':'find'}", "find"},
        {CALLS(CALL("1", "ls")) ",{'role':'tool','tool_call_id':'1','name':'find'}", "ls"},
        {"{'role':'assistant','function_call':{'name':'f'}},{'role':'function','name':'f'}", "f"},
        {"{'role':'assistant','tool_calls':[{'id':'1','custom':{'name':'patch'}}]}," RESULT("1"),
         "patch"},
        /* text that is a tool's output for the client alone */
        {"{'role':'assistant','content':'ls'}," USER, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(COORD_ROUTE_CHAT, "messages", cases[i].items, cases[i].tools);
    }
}

#define TOOL_USE(id, name)  "{'type':'tool_use','id':'" id "','name':'" name "','input':{}}"
#define TOOL_RESULT(id)     "{'type':'tool_result','tool_use_id':'" id "','content':'ok'}"
#define SAID(role, content) "{'role':'" role "','content':[" content "]}"

static void messages__results__are_named_by_the_last_calls(void **state)
{
    (void)state;
    static const struct {
        const char *items;
        const char *tools;
    } cases[] = {
        {SAID("assistant", "{'type':'text','text':'a'}," TOOL_USE("1", "Read")) "," SAID(
             "user", TOOL_RESULT("1") ",{'type':'text','text':'b'}"),
         "Read"},
        {SAID("assistant", TOOL_USE("1", "Read") "," TOOL_USE("2", "Bash")) "," SAID(
             "user", TOOL_RESULT("1") "," TOOL_RESULT("2")),
         "Read Bash"},
        {SAID("assistant", TOOL_USE("1", "Read")) "," SAID("user", TOOL_RESULT("1")) "," SAID(
             "system", "{'type':'text','text':'note'}"),
         "Read"},
        {SAID("assistant", TOOL_USE("1", "Read")) "," SAID("user", TOOL_RESULT("1")) "," SAID(
             "assistant", "{'type':'text','text':'a'}"),
         ""},
        {SAID("assistant", "{'type':'server_tool_use','id':'1','name':'web'}") "," USER, ""},
        {"{'role':'assistant','content':'a'}," USER, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(COORD_ROUTE_MESSAGES, "messages", cases[i].items, cases[i].tools);
    }
}

#define ITEM(type, id, name) \
    "{'type':'" type "','call_id':'" id "','name':'" name "','arguments':'{}'}"
#define OUTPUT(type, id) "{'type':'" type "_output','call_id':'" id "','output':'ok'}"

static void responses__outputs__are_named_by_the_last_calls(void **state)
{
    (void)state;
    static const struct {
        const char *items;
        const char *tools;
    } cases[] = {
        {USER "," ITEM("function_call", "1", "exec") "," OUTPUT("function_call", "1"), "exec"},
        {"{'type':'reasoning'}," ITEM("function_call", "1", "exec") "," ITEM(
             "custom_tool_call", "2", "patch") "," OUTPUT("function_call", "1") "," OUTPUT("custom_"
                                                                                           "tool_"
                                                                                           "call",
                                                                                           "2"),
         "exec patch"},
        {ITEM("function_call", "1", "exec") "," OUTPUT("function_call", "1") "," ITEM(
             "function_call", "2", "plan") "," OUTPUT("function_call", "2") "," USER,
         "plan"},
        {"{'type':'local_shell_call','call_id':'1'}," OUTPUT("local_shell_call", "1"),
         "local_shell"},
        {ITEM("function_call", "1",
              "exec") "," OUTPUT("function_call", "1") ",{'role':'assistant','content':'a'}," USER,
         ""},
        {OUTPUT("function_call", "1"), ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(COORD_ROUTE_RESPONSES, "input", cases[i].items, cases[i].tools);
    }
}

static void results__odd_shapes__name_nothing(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "7,null,[],'a'",
        "{'role':'assistant','tool_calls':7},{'role':'tool','tool_call_id':7,'name':8}",
        "{'role':'assistant','tool_calls':[7,{'id':'1','function':'f'}]}," RESULT("1"),
        "{'role':'assistant','content':[7,{'type':'tool_use','id':'','name':'f'}]},{'role':'user',"
        "'content':[{'type':'tool_result','tool_use_id':''}]}",
        "{'role':['assistant'],'tool_calls':[" CALL("1", "f") "]}," RESULT("1"),
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(COORD_ROUTE_CHAT, "messages", cases[i], "");
        expect(COORD_ROUTE_MESSAGES, "messages", cases[i], "");
        expect(COORD_ROUTE_RESPONSES, "input", cases[i], "");
    }
    struct body_view view;
    struct err err = {.status = ST_OK};
    const struct str body = STR("{\"model\":\"m\",\"prompt\":\"p\",\"messages\":[{\"role\":"
                                "\"tool\",\"name\":\"f\"}]}");
    assert_status(body_parse(parser, COORD_ROUTE_COMPLETIONS, body.p, body.len, &view, &err),
                  ST_OK);
    assert_int_equal(view.tool_count, 0);
}

static void results__more_than_the_limits__are_left_out(void **state)
{
    (void)state;
    struct buf items;
    struct buf tools;
    buf_init(&items, mem_heap(), SIZE_MAX / 2);
    buf_init(&tools, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&items, STR("{'role':'assistant','tool_calls':[")), ST_OK);
    for (int i = 0; i < 40; i++) {
        assert_status(buf_add_fmt(&items, "%s{'id':'%d','function':{'name':'tool_%d'}}",
                                  i == 0 ? "" : ",", i, i),
                      ST_OK);
    }
    assert_status(buf_add_str(&items, STR("]}")), ST_OK);
    for (int i = 39; i >= 0; i--) { /* the last calls are not remembered */
        assert_status(buf_add_fmt(&items, ",{'role':'tool','tool_call_id':'%d'}", i), ST_OK);
    }
    for (int i = 0; i < COORD_TOOLS_MAX; i++) {
        assert_status(
            buf_add_fmt(&tools, "%stool_%d", i == 0 ? "" : " ", TOOL_RESULTS_CALLS - 1 - i), ST_OK);
    }
    assert_status(buf_add(&items, "\0", 1), ST_OK);
    assert_status(buf_add(&tools, "\0", 1), ST_OK);
    expect(COORD_ROUTE_CHAT, "messages", items.p, tools.p);
    items.len--;
    for (int i = 0; i < TOOL_RESULTS_BACK; i++) {
        assert_status(buf_add_str(&items, STR("," USER)), ST_OK);
    }
    assert_status(buf_add(&items, "\0", 1), ST_OK);
    expect(COORD_ROUTE_CHAT, "messages", items.p, ""); /* too far back to be seen */
    buf_fini(&tools);
    buf_fini(&items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat__results__are_named_by_the_last_calls),
        cmocka_unit_test(messages__results__are_named_by_the_last_calls),
        cmocka_unit_test(responses__outputs__are_named_by_the_last_calls),
        cmocka_unit_test(results__odd_shapes__name_nothing),
        cmocka_unit_test(results__more_than_the_limits__are_left_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
