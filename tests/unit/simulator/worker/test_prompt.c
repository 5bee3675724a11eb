/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/worker/prompt.h"

#include <stdio.h>

/* The JSON of these tests is written with ' for ". */
struct asked {
    yyjson_doc *doc;
    struct sim_ask ask;
    struct sim_refusal refusal;
    bool is_ok;
};

static struct asked ask(enum sim_api api, const char *text, const struct mem *mem)
{
    struct asked a = {0};
    char json[2048];
    size_t len = str_copy(json, sizeof(json), str_of(text));
    for (size_t i = 0; i < len; i++) {
        if (json[i] == '\'') {
            json[i] = '"';
        }
    }
    a.doc = yyjson_read(json, len, 0);
    assert_non_null(a.doc);
    a.is_ok = sim_ask_read(&a.ask, api, yyjson_doc_get_root(a.doc), STR("m"), mem, &a.refusal);
    return a;
}

static void done(struct asked *a)
{
    if (a->is_ok) {
        sim_ask_fini(&a->ask);
    }
    yyjson_doc_free(a->doc);
}

static void expect_refusal(enum sim_api api, const char *json, int status, const char *param)
{
    struct asked a = ask(api, json, mem_heap());
    assert_false(a.is_ok);
    assert_int_equal(a.refusal.status, status);
    if (param == NULL) {
        assert_null(a.refusal.param);
    } else {
        assert_string_equal(a.refusal.param, param);
    }
    done(&a);
}

/* Both prompts have the same tokens. */
static void
expect_same(enum sim_api api_a, const char *json_a, enum sim_api api_b, const char *json_b)
{
    struct asked a = ask(api_a, json_a, mem_heap());
    struct asked b = ask(api_b, json_b, mem_heap());
    assert_true(a.is_ok && b.is_ok);
    assert_int_equal(a.ask.chain.token_count, b.ask.chain.token_count);
    assert_true(sim_chain_digest(&a.ask.chain) == sim_chain_digest(&b.ask.chain));
    done(&a);
    done(&b);
}

static void ask__chat__reads_what_is_asked(void **state)
{
    (void)state;
    struct asked a = ask(SIM_API_CHAT,
                         "{'model':'m','stream':true,'stream_options':{'include_usage':true},"
                         "'max_completion_tokens':7,'seed':5,'ignore_eos':true,'min_tokens':2,"
                         "'messages':[{'role':'user','content':'hello there'}]}",
                         mem_heap());
    assert_true(a.is_ok);
    assert_true(a.ask.is_stream && a.ask.wants_usage && a.ask.ignores_eos);
    assert_false(a.ask.wants_usage_each);
    assert_int_equal(a.ask.max_tokens, 7);
    assert_int_equal(a.ask.min_tokens, 2);
    assert_int_equal(a.ask.seed, 5);
    /* user mark, 3 of text, end, assistant mark */
    assert_int_equal(a.ask.chain.token_count, 6);
    done(&a);
}

static void ask__input_that_cannot_be_served__is_refused_with_the_field(void **state)
{
    (void)state;
    expect_refusal(SIM_API_CHAT, "[]", 400, NULL);
    expect_refusal(SIM_API_CHAT, "{}", 400, "messages");
    expect_refusal(SIM_API_CHAT, "{'messages':[]}", 400, "messages");
    expect_refusal(SIM_API_CHAT, "{'messages':['x']}", 400, "messages");
    expect_refusal(SIM_API_CHAT, "{'messages':[{'role':3}]}", 400, "messages");
    expect_refusal(SIM_API_CHAT, "{'model':'x','messages':[{'role':'user'}]}", 404, "model");
    expect_refusal(SIM_API_CHAT, "{'n':2,'messages':[{'role':'user'}]}", 400, "n");
    expect_refusal(SIM_API_CHAT, "{'max_tokens':0,'messages':[{'role':'user'}]}", 400,
                   "max_tokens");
    expect_refusal(SIM_API_CHAT, "{'max_tokens':-1,'messages':[{'role':'user'}]}", 400,
                   "max_tokens");
    expect_refusal(SIM_API_CHAT, "{'cache_salt':'','messages':[{'role':'user'}]}", 400,
                   "cache_salt");
    expect_refusal(SIM_API_CHAT, "{'tools':{},'messages':[{'role':'user'}]}", 400, "tools");
    expect_refusal(SIM_API_CHAT, "{'tool_choice':'required','messages':[{'role':'user'}]}", 400,
                   "tool_choice");
    expect_refusal(SIM_API_CHAT, "{'stream_options':{},'messages':[{'role':'user'}]}", 400,
                   "stream_options");
    expect_refusal(SIM_API_COMPLETIONS, "{'prompt':''}", 400, "prompt");
    expect_refusal(SIM_API_COMPLETIONS, "{'prompt':['a','b']}", 400, "prompt");
    expect_refusal(SIM_API_RESPONSES, "{'input':4}", 400, "input");
    expect_refusal(SIM_API_RESPONSES, "{'input':'x','previous_response_id':'r'}", 404,
                   "previous_response_id");
}

static void ask__completions__takes_text_a_list_of_one_or_tokens(void **state)
{
    (void)state;
    expect_same(SIM_API_COMPLETIONS, "{'prompt':'abcdefgh'}", SIM_API_COMPLETIONS,
                "{'prompt':['abcdefgh']}");
    expect_same(SIM_API_COMPLETIONS, "{'prompt':[7,8,9]}", SIM_API_COMPLETIONS,
                "{'prompt':[[7,8,9]]}");
    struct asked a = ask(SIM_API_COMPLETIONS, "{'prompt':[7,8,9]}", mem_heap());
    assert_int_equal(a.ask.chain.token_count, 3);
    assert_int_equal(a.ask.max_tokens, 16);
    done(&a);
}

static void ask__content_as_text_or_as_parts__is_the_same_prompt(void **state)
{
    (void)state;
    expect_same(SIM_API_CHAT, "{'messages':[{'role':'user','content':'hello'}]}", SIM_API_CHAT,
                "{'messages':[{'content':[{'type':'text','text':'hello'}],'role':'user'}]}");
}

static void ask__cache_control_and_billing_header__are_no_part_of_the_prompt(void **state)
{
    (void)state;
    expect_same(
        SIM_API_MESSAGES,
        "{'system':[{'type':'text','text':'x-anthropic-billing-header: "
        "v=1'},{'type':'text','text':'be'}],"
        "'tools':[{'name':'f','input_schema':{},'cache_control':{'type':'ephemeral'}}],"
        "'messages':[{'role':'user','content':[{'type':'text','text':'hi','cache_control':{}}]}]}",
        SIM_API_MESSAGES,
        "{'system':[{'type':'text','text':'x-anthropic-billing-header: "
        "v=2'},{'type':'text','text':'be'}],"
        "'tools':[{'name':'f','input_schema':{}}],'messages':[{'role':'user','content':'hi'}]}");
}

static void ask__one_conversation__is_the_same_prompt_in_each_api(void **state)
{
    (void)state;
    const char *chat =
        "{'messages':[{'role':'system','content':'be brief'},{'role':'user','content':'hi'},"
        "{'role':'assistant','content':null,'tool_calls':[{'id':'c','type':'function','function':"
        "{'name':'f','arguments':'{\\'a\\':1}'}}]},{'role':'tool','tool_call_id':'c','content':'ok'"
        "}]}";
    expect_same(SIM_API_CHAT, chat, SIM_API_RESPONSES,
                "{'instructions':'be brief','input':[{'role':'user','content':'hi'},"
                "{'type':'reasoning','summary':[]},"
                "{'type':'function_call','call_id':'c','name':'f','arguments':'{\\'a\\':1}'},"
                "{'type':'function_call_output','call_id':'c','output':'ok'}]}");
}

static void ask__call_arguments__are_equal_as_text_and_as_object(void **state)
{
    (void)state;
    expect_same(
        SIM_API_CHAT,
        "{'messages':[{'role':'assistant','content':null,'tool_calls':[{'function':"
        "{'name':'f','arguments':'{\\'a\\':1}'}}]}]}",
        SIM_API_MESSAGES,
        "{'messages':[{'role':'assistant','content':[{'type':'tool_use','id':'t','name':'f',"
        "'input':{'a': 1}}]}]}");
}

static void ask__tool_choice__is_read_in_every_spelling(void **state)
{
    (void)state;
    static const struct {
        enum sim_api api;
        const char *choice;
        enum sim_tool_choice expected;
        const char *name;
    } cases[] = {
        {SIM_API_CHAT, "'auto'", SIM_TOOL_AUTO, ""},
        {SIM_API_CHAT, "'none'", SIM_TOOL_NEVER, ""},
        {SIM_API_CHAT, "'required'", SIM_TOOL_REQUIRED, ""},
        {SIM_API_CHAT, "{'type':'function','function':{'name':'f'}}", SIM_TOOL_REQUIRED, "f"},
        {SIM_API_CHAT, "{'type':'function','name':'f'}", SIM_TOOL_REQUIRED, "f"},
        {SIM_API_MESSAGES, "{'type':'auto'}", SIM_TOOL_AUTO, ""},
        {SIM_API_MESSAGES, "{'type':'any'}", SIM_TOOL_REQUIRED, ""},
        {SIM_API_MESSAGES, "{'type':'tool','name':'f'}", SIM_TOOL_REQUIRED, "f"},
        {SIM_API_MESSAGES, "{'type':'none'}", SIM_TOOL_NEVER, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char json[256];
        (void)snprintf(json, sizeof(json),
                       "{'messages':[{'role':'user','content':'x'}],'tools':[{'name':'f'}],"
                       "'tool_choice':%s}",
                       cases[i].choice);
        print_message("case %s\n", cases[i].choice);
        struct asked a = ask(cases[i].api, json, mem_heap());
        assert_true(a.is_ok);
        assert_int_equal(a.ask.tool_choice, cases[i].expected);
        assert_true(str_eq(a.ask.tool_name, str_of(cases[i].name)));
        done(&a);
    }
}

static void ask__nesting_without_end__is_bounded(void **state)
{
    (void)state;
    struct sim_out json;
    sim_out_init(&json, mem_heap());
    sim_out_str(&json, STR("{'messages':[{'role':'user','content':"));
    for (int i = 0; i < 20; i++) {
        sim_out_str(&json, STR("[{'type':'tool_result','content':"));
    }
    sim_out_str(&json, STR("1"));
    for (int i = 0; i < 20; i++) {
        sim_out_str(&json, STR("}]"));
    }
    sim_out_str(&json, STR("}]}"));
    assert_status(buf_add(&json.buf, "", 1), ST_OK);
    struct asked a = ask(SIM_API_MESSAGES, json.buf.p, mem_heap());
    sim_out_fini(&json);
    assert_true(a.is_ok);
    assert_true(a.ask.chain.token_count < 20);
    done(&a);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct asked a =
        ask(SIM_API_CHAT,
            "{'messages':[{'role':'user','content':[{'type':'text','text':"
            "'0123456789012345678901234567890123456789012345678901234567890123456789'},"
            "{'type':'image_url','image_url':{'url':'data:'}}]}],"
            "'tools':[{'type':'function','function':{'name':'f','parameters':{}}}]}",
            mem);
    bool is_ok = a.is_ok;
    assert_true(is_ok || a.refusal.status == 503);
    done(&a);
    return is_ok;
}

static void ask__any_allocation_fails__is_refused_as_busy(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ask__chat__reads_what_is_asked),
        cmocka_unit_test(ask__input_that_cannot_be_served__is_refused_with_the_field),
        cmocka_unit_test(ask__completions__takes_text_a_list_of_one_or_tokens),
        cmocka_unit_test(ask__content_as_text_or_as_parts__is_the_same_prompt),
        cmocka_unit_test(ask__cache_control_and_billing_header__are_no_part_of_the_prompt),
        cmocka_unit_test(ask__one_conversation__is_the_same_prompt_in_each_api),
        cmocka_unit_test(ask__call_arguments__are_equal_as_text_and_as_object),
        cmocka_unit_test(ask__tool_choice__is_read_in_every_spelling),
        cmocka_unit_test(ask__nesting_without_end__is_bounded),
        cmocka_unit_test(ask__any_allocation_fails__is_refused_as_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
