/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "coordinator/io/answer_look.h"
#include "coordinator/io/sse.h"
#include "tests/unit/coordinator/io/tools_text.h"

#include <stdlib.h>
#include <string.h>

/* The last answer that was read. */
static struct answer_facts facts;

static void read_body(enum coord_route route, const char *body)
{
    size_t len = strlen(body);
    answer_facts_fini(&facts);
    answer_facts_init(&facts, mem_heap());
    char *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, body, len);
    answer_read_body(route, copy, len, &facts);
    free(copy);
}

/* words: the names, with a blank between them. */
static void expect_tools(const char *words)
{
    struct str tools[COORD_TOOLS_MAX];
    char text[TOOLS_TEXT_BYTES];
    tools_text(tools, tool_names_list(&facts.tools, tools), text);
    assert_string_equal(text, words);
}

static int teardown(void **state)
{
    (void)state;
    answer_facts_fini(&facts);
    return 0;
}

static void expect_usage(uint32_t prompt, uint32_t cached, uint32_t output)
{
    assert_true(facts.has_usage);
    assert_int_equal(facts.prompt_tokens, prompt);
    assert_int_equal(facts.cached_tokens, cached);
    assert_int_equal(facts.output_tokens, output);
    assert_true(facts.has_content);
    assert_true(facts.has_done);
    assert_false(facts.has_error);
}

static void answer__chat_body__is_read(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_CHAT, "{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[{"
                                "\"function\":{\"name\":\"ls\"}}]},"
                                "\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_"
                                "tokens\":40,\"completion_tokens\":4,"
                                "\"prompt_tokens_details\":{\"cached_tokens\":32}}}");
    expect_usage(40, 32, 4);
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
    expect_tools("ls");
}

static void answer__old_function_call__is_a_tool(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_CHAT, "{\"choices\":[{\"message\":{\"function_call\":{\"name\":\"f\"}"
                                "},\"finish_reason\":\"function_call\"}]}");
    expect_tools("f");
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
    assert_false(facts.has_usage);
}

static void answer__completions_body__is_read_with_timings(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_COMPLETIONS,
              "{\"choices\":[{\"text\":\"x\",\"finish_reason\":\"length\"}],\"usage\":{"
              "\"prompt_tokens\":40,"
              "\"completion_tokens\":4},\"timings\":{\"cache_n\":30,\"prompt_n\":10}}");
    expect_usage(40, 30, 4);
    assert_int_equal(facts.finish, COORD_FINISH_LENGTH);
}

static void answer__responses_body__is_read(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_RESPONSES, "{\"object\":\"response\",\"status\":\"completed\","
                                     "\"error\":null,\"output\":[{\"type\":\"message\"},{"
                                     "\"type\":\"custom_tool_call\",\"name\":\"patch\"}],"
                                     "\"usage\":{\"input_tokens\":9,\"output_tokens\":1,"
                                     "\"input_tokens_details\":{\"cached_tokens\":8}}}");
    expect_usage(9, 8, 1);
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
    expect_tools("patch");
}

static void answer__messages_body__is_read(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_MESSAGES, "{\"type\":\"message\",\"content\":[{\"type\":\"text\","
                                    "\"text\":\"a\"},{\"type\":\"tool_use\",\"name\":"
                                    "\"Read\"}],\"stop_reason\":\"tool_use\",\"usage\":{"
                                    "\"cache_read_input_tokens\":28,\"input_tokens\":1,"
                                    "\"output_tokens\":3}}");
    expect_usage(29, 28, 3);
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
    expect_tools("Read");
}

static void answer__count_tokens__is_no_usage(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_COUNT_TOKENS, "{\"input_tokens\":123}");
    assert_int_equal(facts.prompt_tokens, 123);
    assert_false(facts.has_usage);
    assert_true(facts.has_content);
}

static void answer__parallel_calls__are_named_once_each(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_CHAT,
              "{\"choices\":[{\"message\":{\"tool_calls\":[{\"type\":\"function\",\"function\":{"
              "\"name\":\"read\"}},{\"type\":\"custom\",\"custom\":{\"name\":\"patch\"}},{"
              "\"function\":{\"name\":\"read\"}},{\"function\":{\"name\":\"\"}},7]}},{\"message\":{"
              "\"tool_calls\":[{\"function\":{\"name\":\"grep\"}}]}}]}");
    expect_tools("read patch grep");
    read_body(
        COORD_ROUTE_MESSAGES,
        "{\"content\":[{\"type\":\"server_tool_use\",\"name\":\"web_search\"},{\"type\":"
        "\"web_search_tool_result\",\"name\":\"no\"},{\"type\":\"tool_use\",\"name\":\"Read\"}"
        ",{\"type\":\"mcp_tool_use\",\"name\":\"ask\"},{\"type\":\"tool_use\",\"name\":"
        "\"Read\"}],\"stop_reason\":\"tool_use\"}");
    expect_tools("Read"); /* the others the engine runs */
}

static void answer__responses_calls__have_a_name_by_their_type(void **state)
{
    (void)state;
    read_body(
        COORD_ROUTE_RESPONSES,
        "{\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\"},{\"type\":\"mcp_call\","
        "\"name\":\"ask\"},{\"type\":\"web_search_call\"},{\"type\":\"function_call\"},"
        "{\"type\":\"some_call\",\"name\":\"no\"}]}");
    expect_tools("");
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS); /* the one without a name */
    read_body(COORD_ROUTE_RESPONSES,
              "{\"status\":\"completed\",\"output\":[{\"type\":\"web_search_call\"}]}");
    assert_int_equal(facts.finish, COORD_FINISH_STOP); /* nothing for the client to run */
    read_body(COORD_ROUTE_RESPONSES,
              "{\"status\":\"completed\",\"output\":[{\"type\":\"local_shell_call\"}]}");
    expect_tools("local_shell");
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
}

static bool names_scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct tool_names names;
    struct str list[COORD_TOOLS_MAX];
    char name[COORD_TOOL_BYTES + 9];
    tool_names_init(&names, mem);
    for (int i = 0; i < COORD_TOOLS_MAX + 4; i++) {
        memset(name, 'a' + i, sizeof(name));
        tool_names_add(&names, (struct str){name, sizeof(name)});
        tool_names_add(&names, (struct str){name, COORD_TOOL_BYTES + 1}); /* the same, cut */
    }
    uint32_t count = tool_names_list(&names, list);
    assert_true(count <= COORD_TOOLS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(list[i].len, COORD_TOOL_BYTES);
        assert_true(i == 0 || list[i].p[0] > list[i - 1].p[0]);
        assert_int_equal(list[i].p[COORD_TOOL_BYTES - 1], list[i].p[0]);
    }
    tool_names_fini(&names);
    return count == COORD_TOOLS_MAX;
}

static void names__no_memory__are_lost_one_by_one(void **state)
{
    (void)state;
    assert_true(kit_torture(names_scenario, NULL) > 2);
}

static void answer__finish_words__are_known(void **state)
{
    (void)state;
    static const struct {
        enum coord_route route;
        const char *body;
        enum coord_finish finish;
    } cases[] = {
        {COORD_ROUTE_CHAT, "{\"choices\":[{\"finish_reason\":\"stop\"}]}", COORD_FINISH_STOP},
        {COORD_ROUTE_CHAT, "{\"choices\":[{\"finish_reason\":\"content_filter\"}]}",
         COORD_FINISH_OTHER},
        {COORD_ROUTE_CHAT, "{\"choices\":[{\"finish_reason\":null}]}", COORD_FINISH_NONE},
        {COORD_ROUTE_CHAT, "{\"choices\":[{\"finish_reason\":7}]}", COORD_FINISH_NONE},
        {COORD_ROUTE_MESSAGES, "{\"stop_reason\":\"end_turn\"}", COORD_FINISH_STOP},
        {COORD_ROUTE_MESSAGES, "{\"stop_reason\":\"max_tokens\"}", COORD_FINISH_LENGTH},
        {COORD_ROUTE_MESSAGES, "{\"stop_reason\":\"refusal\"}", COORD_FINISH_OTHER},
        {COORD_ROUTE_RESPONSES,
         "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"}}",
         COORD_FINISH_OTHER},
        {COORD_ROUTE_RESPONSES, "{\"status\":\"incomplete\",\"incomplete_details\":null}",
         COORD_FINISH_OTHER},
        {COORD_ROUTE_RESPONSES, "{\"status\":\"in_progress\"}", COORD_FINISH_NONE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_body(cases[i].route, cases[i].body);
        if (facts.finish != cases[i].finish) {
            fail_msg("%s gave %d", cases[i].body, (int)facts.finish);
        }
    }
}

static void answer__errors__have_their_status(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_CHAT, "{\"error\":{\"message\":\"m\",\"code\":404}}");
    assert_true(facts.has_error);
    assert_false(facts.has_content);
    assert_false(facts.has_done);
    assert_int_equal(facts.error_status, 404);
    read_body(COORD_ROUTE_MESSAGES,
              "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}");
    assert_int_equal(facts.error_status, 429);
    read_body(COORD_ROUTE_RESPONSES, "{\"status\":\"failed\",\"error\":null}");
    assert_true(facts.has_error);
    assert_int_equal(facts.error_status, 0);
    read_body(COORD_ROUTE_CHAT, "{\"error\":{\"code\":7,\"status\":200,\"type\":\"unheard_of\"}}");
    assert_int_equal(facts.error_status, 0);
}

static void answer__odd_bodies__leave_everything_unset(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "", "x", "[]", "null", "\"usage\"", "{\"usage\":{\"prompt_tokens\":1}", "\x1F\x8B\x08"};
    static const enum coord_route routes[] = {COORD_ROUTE_CHAT, COORD_ROUTE_RESPONSES,
                                              COORD_ROUTE_MESSAGES, COORD_ROUTE_COUNT_TOKENS};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        for (size_t k = 0; k < 4; k++) {
            read_body(routes[k], bodies[i]);
            assert_int_equal(facts.prompt_tokens + facts.output_tokens + facts.event_count, 0);
            assert_false(facts.has_usage || facts.has_error || facts.has_done || facts.has_content);
            expect_tools("");
        }
    }
}

static void answer__wrong_types__are_stepped_over(void **state)
{
    (void)state;
    read_body(COORD_ROUTE_CHAT, "{\"choices\":[7,null,{\"message\":[],\"finish_reason\":"
                                "\"stop\"},{\"message\":{\"tool_calls\":[{\"function\":{"
                                "\"name\":5}}]}}],\"usage\":{\"prompt_tokens\":\"5\","
                                "\"completion_tokens\":2.5,\"prompt_tokens_details\":[]},"
                                "\"logprob\":NaN}");
    expect_usage(0, 0, 0);
    assert_int_equal(facts.finish, COORD_FINISH_STOP);
    expect_tools("");
    read_body(COORD_ROUTE_RESPONSES, "{\"output\":{},\"usage\":7,\"status\":1}");
    assert_false(facts.has_usage);
    read_body(COORD_ROUTE_MESSAGES, "{\"content\":\"x\",\"usage\":null}");
    assert_false(facts.has_usage);
}

static void look__text_that_speaks_of_members__is_plain(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "{\"choices\":[{\"delta\":{\"content\":\"\\\"usage\\\":{}\"},\"finish_reason\":null}],"
        "\"usage\":null}",
        "{\"choices\":[{\"delta\":{\"content\":\"\\\\\\\"error\\\":1\"},\"finish_reason\": null}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\" : [] "
        "},\"finish_reason\":null},{\"finish_reason\":null}]}",
        "{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{\\\"name\\\":1}\"}}]}",
        "{\"tool_calls\":[{\"function\":{\"name\":null,\"arguments\":\"a\"}}]}",
        "{\"tool_calls\":[{\"function\":{\"name\":\"\",\"arguments\":\"a\"}}]}",
        "{\"name\":\"who\",\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":null}}]}",
    };
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (!answer_is_plain(COORD_ROUTE_CHAT, STR(""), str_of(plain[i]))) {
            fail_msg("not plain: %s", plain[i]);
        }
    }
    static const char *const telling[] = {
        "{\"finish_reason\":null,\"finish_reason\":\"stop\"}",
        "{\"usage\":{}}",
        "{\"usage\" :\n{}}",
        "{\"usage\":nul",
        "{\"object\": \"error\"}",
        "{\"tool_calls\":[{\"name\":\"f\"}]}",
        "{\"function_call\":{\"name\" : \"f\"}}",
        "{\"a\":{\"error\":1}}",
    };
    for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
        if (answer_is_plain(COORD_ROUTE_CHAT, STR(""), str_of(telling[i]))) {
            fail_msg("plain: %s", telling[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer__chat_body__is_read),
        cmocka_unit_test(answer__old_function_call__is_a_tool),
        cmocka_unit_test(answer__completions_body__is_read_with_timings),
        cmocka_unit_test(answer__responses_body__is_read),
        cmocka_unit_test(answer__messages_body__is_read),
        cmocka_unit_test(answer__count_tokens__is_no_usage),
        cmocka_unit_test(answer__parallel_calls__are_named_once_each),
        cmocka_unit_test(answer__responses_calls__have_a_name_by_their_type),
        cmocka_unit_test(names__no_memory__are_lost_one_by_one),
        cmocka_unit_test(answer__finish_words__are_known),
        cmocka_unit_test(answer__errors__have_their_status),
        cmocka_unit_test(answer__odd_bodies__leave_everything_unset),
        cmocka_unit_test(answer__wrong_types__are_stepped_over),
        cmocka_unit_test(look__text_that_speaks_of_members__is_plain),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
