/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the failure catalogue that meet here: B003, B007, B011, B013, B021, B067. */
#include "tests/kit/kit.h"

#include "coordinator/io/sse.h"
#include "tests/unit/coordinator/io/tools_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Feeds pieces from copies of exactly their size, so that a read past an end is seen. */
static void feed(struct sse_reader *reader, struct str piece)
{
    char *copy = malloc(piece.len > 0 ? piece.len : 1);
    assert_non_null(copy);
    memcpy(copy, piece.p, piece.len);
    sse_reader_feed(reader, copy, piece.len);
    free(copy);
}

/* Tools of the stream that was read last. */
static char seen_tools[TOOLS_TEXT_BYTES];

/* What the reader has learnt, without its tools, which are in seen_tools. */
static struct answer_facts finish(struct sse_reader *reader)
{
    struct str tools[COORD_TOOLS_MAX];
    struct answer_facts facts = reader->facts;
    tools_text(tools, tool_names_list(&facts.tools, tools), seen_tools);
    answer_facts_fini(&reader->facts);
    facts.tools = reader->facts.tools;
    sse_reader_fini(reader);
    return facts;
}

/* Cut at a and b (a <= b <= len). */
static struct answer_facts read_cut(enum coord_route route, struct str stream, size_t a, size_t b)
{
    struct sse_reader reader;
    sse_reader_init(&reader, route);
    feed(&reader, (struct str){stream.p, a});
    feed(&reader, (struct str){stream.p + a, b - a});
    feed(&reader, (struct str){stream.p + b, stream.len - b});
    sse_reader_end(&reader);
    return finish(&reader);
}

static bool is_same(const struct answer_facts *a, const struct answer_facts *b)
{
    return a->has_usage == b->has_usage && a->prompt_tokens == b->prompt_tokens &&
           a->cached_tokens == b->cached_tokens && a->output_tokens == b->output_tokens &&
           a->finish == b->finish && a->event_count == b->event_count &&
           a->has_done == b->has_done && a->has_error == b->has_error &&
           a->has_content == b->has_content && a->error_status == b->error_status;
}

/* The facts of a stream, which must be the same cut at every offset, at any two near each other,
 * and byte by byte. */
static struct answer_facts read_all_ways(enum coord_route route, const char *text)
{
    struct str stream = str_of(text);
    struct answer_facts whole = read_cut(route, stream, stream.len, stream.len);
    char tools[TOOLS_TEXT_BYTES];
    memcpy(tools, seen_tools, sizeof(tools));
    for (size_t a = 0; a <= stream.len; a++) {
        for (size_t b = a; b <= stream.len && b <= a + 3; b++) {
            struct answer_facts cut = read_cut(route, stream, a, b);
            if (!is_same(&whole, &cut) || strcmp(tools, seen_tools) != 0) {
                fail_msg("cut at %zu and %zu gives other facts: %s", a, b, text);
            }
        }
    }
    struct sse_reader reader;
    sse_reader_init(&reader, route);
    for (size_t i = 0; i < stream.len; i++) {
        feed(&reader, (struct str){stream.p + i, 1});
    }
    sse_reader_end(&reader);
    struct answer_facts bytewise = finish(&reader);
    assert_true(is_same(&whole, &bytewise));
    assert_string_equal(tools, seen_tools);
    return whole;
}

static void
expect_usage(const struct answer_facts *facts, uint32_t prompt, uint32_t cached, uint32_t output)
{
    assert_true(facts->has_usage);
    assert_int_equal(facts->prompt_tokens, prompt);
    assert_int_equal(facts->cached_tokens, cached);
    assert_int_equal(facts->output_tokens, output);
}

#define ROLE_EVENT                                                                             \
    "data: "                                                                                   \
    "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{" \
    "\"role\":\"assistant\","                                                                  \
    "\"content\":\"\"},\"finish_reason\":null}],\"usage\":null}\n\n"
#define TEXT_EVENT                                                                                 \
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"say \\\"usage\\\":{} " \
    "\\\"error\\\":1\"},"                                                                          \
    "\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n"
#define PLAIN_EVENT                                                                               \
    "data: "                                                                                      \
    "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"},\"finish_reason\":" \
    "null}]}\n\n"
#define STOP_EVENT \
    "data: "       \
    "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n"
#define USAGE_JSON                                                                              \
    "{\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_" \
    "details\":{\"cached_tokens\":64}}}"
#define USAGE_EVENT "data: " USAGE_JSON "\n\n"
#define DONE_EVENT  "data: [DONE]\n\n"

static void b021_chat__a_whole_stream__gives_all_facts(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(COORD_ROUTE_CHAT, ROLE_EVENT TEXT_EVENT
                                              ": ping\n\n" STOP_EVENT USAGE_EVENT DONE_EVENT);
    expect_usage(&facts, 100, 64, 7);
    assert_int_equal(facts.finish, COORD_FINISH_STOP);
    assert_int_equal(facts.event_count, 4);
    assert_true(facts.has_done);
    assert_true(facts.has_content);
    assert_false(facts.has_error);
    assert_string_equal(seen_tools, "");
}

static void chat__other_line_ends_and_a_mark__give_the_same(void **state)
{
    (void)state;
    struct answer_facts crlf = read_all_ways(
        COORD_ROUTE_CHAT,
        "\xEF\xBB\xBF"
        "data:" USAGE_JSON "\r\n\r\n: c\r\nid: 4\r\nretry: 10\r\ndata: [DONE]\r\n\r\n");
    expect_usage(&crlf, 100, 64, 7);
    assert_true(crlf.has_done);
    assert_int_equal(crlf.event_count, 1);
    struct answer_facts cr =
        read_all_ways(COORD_ROUTE_CHAT, "data: " USAGE_JSON "\r\rdata: [DONE]\r\r");
    assert_true(is_same(&crlf, &cr));
    struct answer_facts mixed =
        read_all_ways(COORD_ROUTE_CHAT, "data: " USAGE_JSON "\r\n\ndata: [DONE]\r\r\n");
    assert_true(is_same(&crlf, &mixed));
}

static void b003__usage_without_the_closing_blank_line__is_read(void **state)
{
    (void)state;
    static const char *const tails[] = {"", "\n", "\r", "\r\n"};
    for (size_t i = 0; i < 4; i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), "%sdata: %s%s", STOP_EVENT, USAGE_JSON, tails[i]);
        struct answer_facts facts = read_all_ways(COORD_ROUTE_CHAT, text);
        expect_usage(&facts, 100, 64, 7);
        assert_int_equal(facts.event_count, 2);
        assert_false(facts.has_done);
    }
}

static void b003__one_payload_on_two_data_lines__is_joined(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_CHAT, "data: {\"choices\":[],\ndata: "
                          "\"usage\":{\"prompt_tokens\":100,\r\ndata:\"completion_tokens\":7,"
                          "\"prompt_tokens_details\":{\"cached_tokens\":64}}}\n\n");
    expect_usage(&facts, 100, 64, 7);
    assert_int_equal(facts.event_count, 1);
}

static void b011__no_events_or_only_done__is_no_content(void **state)
{
    (void)state;
    struct answer_facts none =
        read_all_ways(COORD_ROUTE_CHAT, ": hello\n\n\n\ndata:\n\ndata\n\nid: 1\n\n");
    assert_false(none.has_content);
    assert_false(none.has_done);
    assert_int_equal(none.event_count, 0);
    struct answer_facts done = read_all_ways(COORD_ROUTE_CHAT, DONE_EVENT);
    assert_false(done.has_content);
    assert_true(done.has_done);
    assert_int_equal(done.event_count, 0);
}

static void b013__an_error_first__is_an_error_with_its_status(void **state)
{
    (void)state;
    static const struct {
        enum coord_route route;
        const char *stream;
        uint16_t status;
    } cases[] = {
        {COORD_ROUTE_CHAT,
         ": c\n\ndata: "
         "{\"error\":{\"message\":\"m\",\"type\":\"x\",\"param\":null,\"code\":400}}\n\n",
         400},
        {COORD_ROUTE_CHAT, "data: {\"error\":{\"message\":\"m\",\"status\":\"503\"}}\n\n", 503},
        {COORD_ROUTE_CHAT,
         "data: {\"error\":{\"message\":\"m\",\"code\":\"rate_limit_exceeded\"}}\n\n", 429},
        {COORD_ROUTE_CHAT,
         "data: {\"error\":{\"message\":\"m\",\"type\":\"InternalServerError\",\"code\":null}}\n\n",
         500},
        {COORD_ROUTE_CHAT, "data: {\"error\":\"text\"}\n\n", 0},
        {COORD_ROUTE_CHAT,
         "data: "
         "{\"object\":\"error\",\"message\":\"m\",\"type\":\"NotFoundError\",\"code\":404}\n\n",
         404},
        {COORD_ROUTE_CHAT, "event: error\ndata: {\"message\":\"m\",\"status_code\":500}\n\n", 500},
        {COORD_ROUTE_CHAT, "event: error\ndata: went wrong\n\n", 0},
        {COORD_ROUTE_COMPLETIONS, "error: {\"code\":503,\"message\":\"m\"}\n\n", 503},
        {COORD_ROUTE_RESPONSES,
         "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"m\"}\n\n",
         500},
        {COORD_ROUTE_RESPONSES,
         "event: response.failed\ndata: "
         "{\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":"
         "\"rate_limit_exceeded\",\"message\":\"m\"},\"usage\":null}}\n\n",
         429},
        {COORD_ROUTE_MESSAGES,
         "event: error\ndata: "
         "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n",
         529},
        {COORD_ROUTE_MESSAGES,
         "data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}\n\n",
         500},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer_facts facts = read_all_ways(cases[i].route, cases[i].stream);
        if (!facts.has_error || facts.error_status != cases[i].status || facts.has_content ||
            facts.event_count != 1) {
            fail_msg("%s gave error %d, status %u, content %d", cases[i].stream, facts.has_error,
                     facts.error_status, facts.has_content);
        }
    }
}

static void chat__an_error_after_content__is_both(void **state)
{
    (void)state;
    struct answer_facts facts =
        read_all_ways(COORD_ROUTE_CHAT, TEXT_EVENT "data: {\"error\":{\"code\":500}}\n\n");
    assert_true(facts.has_content);
    assert_true(facts.has_error);
    assert_int_equal(facts.error_status, 500);
}

static void chat__null_error__is_none(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_CHAT, "data: {\"error\": null, \"choices\": [{\"delta\": {\"content\": \"x\"}, "
                          "\"finish_reason\": \"length\"}]}\n\n");
    assert_false(facts.has_error);
    assert_true(facts.has_content);
    assert_int_equal(facts.finish, COORD_FINISH_LENGTH);
}

static void chat__tool_calls__give_the_first_name(void **state)
{
    (void)state;
    struct answer_facts facts =
        read_all_ways(COORD_ROUTE_CHAT,
                      "data: "
                      "{\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":null},\"finish_"
                      "reason\":null}]}\n\n"
                      "data: "
                      "{\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":[]},\"finish_"
                      "reason\":null}]}\n\n"
                      "data: "
                      "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\","
                      "\"function\":{\"name\":\"re\\u0061d\","
                      "\"arguments\":\"\"}}]},\"finish_reason\":null}]}\n\n"
                      "data: "
                      "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{"
                      "\"name\":\"write\"}}]}}]}\n\n"
                      "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n");
    assert_string_equal(seen_tools, "read write");
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
    assert_int_equal(facts.event_count, 5);
}

static void chat__a_tool_name_that_is_too_long__is_cut(void **state)
{
    (void)state;
    char text[512];
    char name[200];
    memset(name, 'n', sizeof(name));
    name[199] = '\0';
    (void)snprintf(
        text, sizeof(text),
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"%s\"}}]}}]}\n\n",
        name);
    struct answer_facts facts = read_all_ways(COORD_ROUTE_CHAT, text);
    assert_int_equal(strlen(seen_tools), COORD_TOOL_BYTES);
    assert_false(facts.has_error);
}

static void b067__several_choices__do_not_confuse(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_CHAT,
        "data: "
        "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"},\"finish_reason\":null},{"
        "\"index\":0,\"delta\":{\"content\":"
        "\"a\"},\"finish_reason\":\"stop\"}]}\n\n"
        "data: {\"choices\":[{\"index\":2,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
        "data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
    assert_int_equal(facts.event_count, 3);
}

static void chat__usage_in_every_event__keeps_the_last(void **state)
{
    (void)state;
    struct answer_facts facts =
        read_all_ways(COORD_ROUTE_CHAT, "data: "
                                        "{\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{"
                                        "\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n"
                                        "data: "
                                        "{\"choices\":[{\"delta\":{\"content\":\"b\"}}],\"usage\":{"
                                        "\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n");
    expect_usage(&facts, 9, 0, 2);
}

static void chat__llama_cpp_timings__fill_what_usage_lacks(void **state)
{
    (void)state;
    struct answer_facts facts =
        read_all_ways(COORD_ROUTE_CHAT, "data: "
                                        "{\"choices\":[],\"usage\":{\"prompt_tokens\":50,"
                                        "\"completion_tokens\":3},\"timings\":{\"cache_n\":40,"
                                        "\"prompt_n\":10,\"predicted_n\":3}}\n\n");
    expect_usage(&facts, 50, 40, 3);
    facts = read_all_ways(COORD_ROUTE_COMPLETIONS,
                          "data: "
                          "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}],\"timings\":{"
                          "\"cache_n\":40,\"prompt_n\":10,"
                          "\"predicted_n\":3}}\n\n");
    expect_usage(&facts, 50, 40, 3);
    facts =
        read_all_ways(COORD_ROUTE_CHAT, "data: "
                                        "{\"choices\":[],\"usage\":{\"prompt_tokens\":50,"
                                        "\"completion_tokens\":3,\"prompt_tokens_details\":{"
                                        "\"cached_tokens\":0}},\"timings\":{\"cache_n\":40}}\n\n");
    expect_usage(&facts, 50, 0, 3);
}

static void chat__counts_out_of_range__are_clamped(void **state)
{
    (void)state;
    struct answer_facts facts =
        read_all_ways(COORD_ROUTE_CHAT, "data: "
                                        "{\"usage\":{\"prompt_tokens\":1e18,\"completion_tokens\":-"
                                        "5,\"prompt_tokens_details\":null}}\n\n");
    expect_usage(&facts, UINT32_MAX, 0, 0);
}

static void completions__text_events__are_read(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_COMPLETIONS,
        "data: "
        "{\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":null}],\"usage\":null}\n\n"
        "data: "
        "{\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n" USAGE_EVENT
            DONE_EVENT);
    expect_usage(&facts, 100, 64, 7);
    assert_int_equal(facts.finish, COORD_FINISH_LENGTH);
}

#define RESPONSE_TAIL                                                                            \
    "\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\"},{\"type\":\"function_call\"," \
    "\"name\":\"shell\","                                                                        \
    "\"arguments\":\"{}\"}],\"usage\":{\"input_tokens\":200,\"input_tokens_details\":{\"cached_" \
    "tokens\":128},\"output_tokens\":9}"

static void b007_responses__completed__is_done_without_a_marker(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_RESPONSES,
        "event: response.created\ndata: "
        "{\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\",\"error\":null,"
        "\"usage\":"
        "null}}\n\n"
        "event: response.output_text.delta\ndata: "
        "{\"type\":\"response.output_text.delta\",\"delta\":\"response.failed\"}\n\n"
        "event: response.completed\ndata: "
        "{\"type\":\"response.completed\",\"response\":{\"error\":null," RESPONSE_TAIL "}}\n\n");
    expect_usage(&facts, 200, 128, 9);
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
    assert_string_equal(seen_tools, "shell");
    assert_true(facts.has_done);
    assert_true(facts.has_content);
    assert_false(facts.has_error);
    assert_int_equal(facts.event_count, 3);
}

static void responses__without_event_lines__are_read_by_type(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_RESPONSES,
        "data: {\"type\": \"response.output_text.delta\", \"delta\": \"a\"}\n\n"
        "data: "
        "{\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"name\":"
        "\"first\"}}\n\n"
        "data: {\"response\":{" RESPONSE_TAIL "},\"type\":\"response.completed\"}\n\n");
    expect_usage(&facts, 200, 128, 9);
    assert_string_equal(seen_tools, "first shell");
    assert_true(facts.has_done);
}

static void responses__incomplete__has_its_reason(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_RESPONSES, "event: response.incomplete\ndata: "
                               "{\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{"
                               "\"reason\":\"max_output_tokens\"},\"usage\":{\"input_tokens\":1,"
                               "\"output_tokens\":2}}}\n\n");
    expect_usage(&facts, 1, 0, 2);
    assert_int_equal(facts.finish, COORD_FINISH_LENGTH);
    assert_true(facts.has_done);
}

static void messages__a_whole_stream__sums_the_prompt(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_MESSAGES,
        "event: message_start\ndata: "
        "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_"
        "input_tokens\":"
        "300,\"cache_creation_input_tokens\":20,\"output_tokens\":1}}}\n\n"
        "event: ping\ndata: {\"type\":\"ping\"}\n\n"
        "event: content_block_start\ndata: "
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
        "\"text\":"
        "\"\"}}\n\n"
        "event: content_block_delta\ndata: "
        "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"
        "event: content_block_start\ndata: "
        "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\","
        "\"id\":"
        "\"t\",\"name\":\"Bash\",\"input\":{}}}\n\n"
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
        "event: message_delta\ndata: "
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_"
        "tokens\":"
        "55}}\n\n"
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    expect_usage(&facts, 330, 300, 55);
    assert_int_equal(facts.finish, COORD_FINISH_TOOLS);
    assert_string_equal(seen_tools, "Bash");
    assert_true(facts.has_done);
    assert_int_equal(facts.event_count, 8);
}

static void messages__usage_only_at_the_end__is_taken(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_MESSAGES, "data: "
                              "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_"
                              "tokens\":0,\"output_tokens\":0}}}\n\n"
                              "data: "
                              "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}"
                              ",\"usage\":{\"input_tokens\":12,\"output_tokens\":3}}\n\n"
                              "data: {\"type\":\"message_stop\"}\n\n");
    expect_usage(&facts, 12, 0, 3);
    assert_int_equal(facts.finish, COORD_FINISH_STOP);
}

static void messages__cut_before_the_end__has_no_usage(void **state)
{
    (void)state;
    struct answer_facts facts =
        read_all_ways(COORD_ROUTE_MESSAGES, "data: "
                                            "{\"type\":\"message_start\",\"message\":{\"usage\":{"
                                            "\"input_tokens\":12,\"output_tokens\":1}}}\n\n");
    assert_false(facts.has_usage);
    assert_int_equal(facts.prompt_tokens, 12);
    assert_true(facts.has_content);
}

static void messages__only_pings__is_no_content(void **state)
{
    (void)state;
    struct answer_facts facts =
        read_all_ways(COORD_ROUTE_MESSAGES, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
    assert_false(facts.has_content);
    assert_int_equal(facts.event_count, 1);
}

static void reader__broken_json__is_content_and_no_more(void **state)
{
    (void)state;
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_CHAT,
        "data: {\"usage\":{\"prompt_tokens\":1\n\ndata: \"usage\"\n\ndata: \xFF\"error\"\n\n");
    assert_true(facts.has_content);
    assert_false(facts.has_usage);
    assert_false(facts.has_error);
    assert_int_equal(facts.event_count, 3);
}

/* --- limits and memory --- */

static void reader__an_event_over_the_limit__is_skipped_and_the_next_one_read(void **state)
{
    (void)state;
    static const size_t steps[] = {1000, 16384, SSE_EVENT_MAX, SSE_EVENT_MAX + 1,
                                   (size_t)4 * SSE_EVENT_MAX};
    size_t len = SSE_EVENT_MAX + 5000;
    char *stream = malloc(len + 512);
    assert_non_null(stream);
    memset(stream, 'x', len);
    static const char head[] =
        "event: response.completed\ndata: {\"type\":\"response.completed\",\"a\":\"";
    memcpy(stream, head, sizeof(head) - 1);
    static const char tail[] = "\"}\n\nevent: response.output_item.done\ndata: "
                               "{\"type\":\"response.output_item.done\",\"item\":{\"type\":"
                               "\"function_call\",\"name\":\"f\"}}\n\n";
    memcpy(stream + len, tail, sizeof(tail) - 1);
    len += sizeof(tail) - 1;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct sse_reader reader;
        sse_reader_init(&reader, COORD_ROUTE_RESPONSES);
        for (size_t at = 0; at < len; at += steps[i]) {
            sse_reader_feed(&reader, stream + at, len - at < steps[i] ? len - at : steps[i]);
            assert_true(reader.partial.cap <= SSE_EVENT_MAX);
        }
        sse_reader_end(&reader);
        assert_int_equal(reader.skipped_count, 1);
        assert_int_equal(reader.facts.event_count, 2);
        assert_true(reader.facts.has_done);
        assert_int_equal(reader.partial.cap, 0);
        (void)finish(&reader);
        assert_string_equal(seen_tools, "f");
    }
    free(stream);
}

static void reader__whole_events__take_only_the_memory_of_one_shape(void **state)
{
    (void)state;
    struct kit_mem km;
    struct sse_reader reader;
    static const char stream[] =
        ROLE_EVENT PLAIN_EVENT PLAIN_EVENT STOP_EVENT USAGE_EVENT DONE_EVENT;
    kit_mem_init(&km);
    sse_reader_init(&reader, COORD_ROUTE_CHAT);
    reader.partial.mem = &km.mem;
    reader.shape.around.mem = &km.mem;
    for (int i = 0; i < 10; i++) {
        sse_reader_feed(&reader, stream, sizeof(stream) - 1);
    }
    sse_reader_end(&reader);
    assert_true(km.call_count <= 3);
    assert_true(km.live_bytes <= SSE_SHAPE_MAX);
    assert_int_equal(reader.facts.event_count, 50);
    expect_usage(&reader.facts, 100, 64, 7);
    sse_reader_fini(&reader);
}

static void reader__no_memory_for_a_part__loses_only_that_event(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 6; n++) {
        struct kit_mem km;
        struct sse_reader reader;
        static const char stream[] = PLAIN_EVENT STOP_EVENT USAGE_EVENT DONE_EVENT;
        kit_mem_init(&km);
        km.fail_at = n;
        sse_reader_init(&reader, COORD_ROUTE_CHAT);
        reader.partial.mem = &km.mem;
        reader.shape.around.mem = &km.mem;
        for (size_t at = 0; at < sizeof(stream) - 1; at++) {
            sse_reader_feed(&reader, stream + at, 1);
        }
        sse_reader_end(&reader);
        assert_int_equal(reader.facts.event_count, 3);
        assert_true(reader.facts.has_done);
        assert_true(reader.skipped_count <= 1);
        sse_reader_fini(&reader);
        kit_mem_expect_empty(&km);
    }
}

/* Events like the one before but for a text that is no plain text: each must be seen for what it
 * is. */
static void reader__events_that_nearly_match_the_last__are_not_taken_for_it(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x\"},\"finish_reason\":\"stop\"},{\"delta\":{\"content\":\"y", /* ends the string early */
        "\"},\"error\":1},{\"a\":{\"b\":\"",
    };
    for (size_t i = 0; i < 2; i++) {
        char text[1024];
        (void)snprintf(text, sizeof(text),
                       PLAIN_EVENT PLAIN_EVENT "data: "
                                               "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{"
                                               "\"content\":\"%s\"},\"finish_reason\":null}]}\n\n",
                       texts[i]);
        struct answer_facts facts = read_all_ways(COORD_ROUTE_CHAT, text);
        assert_int_equal(facts.event_count, 3);
        assert_int_equal(facts.finish, i == 0 ? COORD_FINISH_STOP : COORD_FINISH_NONE);
        assert_int_equal(facts.has_error, false);
    }
    struct answer_facts facts = read_all_ways(
        COORD_ROUTE_CHAT, PLAIN_EVENT
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"},"
        "\"finish_reason\":\"length\"}]}\n\n");
    assert_int_equal(facts.finish, COORD_FINISH_LENGTH);
}

static void reader__end_without_a_stream__is_empty(void **state)
{
    (void)state;
    struct sse_reader reader;
    sse_reader_init(&reader, COORD_ROUTE_CHAT);
    sse_reader_feed(&reader, NULL, 0);
    sse_reader_end(&reader);
    assert_int_equal(reader.facts.event_count, 0);
    sse_reader_fini(&reader);
    sse_reader_fini(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(b021_chat__a_whole_stream__gives_all_facts),
        cmocka_unit_test(chat__other_line_ends_and_a_mark__give_the_same),
        cmocka_unit_test(b003__usage_without_the_closing_blank_line__is_read),
        cmocka_unit_test(b003__one_payload_on_two_data_lines__is_joined),
        cmocka_unit_test(b011__no_events_or_only_done__is_no_content),
        cmocka_unit_test(b013__an_error_first__is_an_error_with_its_status),
        cmocka_unit_test(chat__an_error_after_content__is_both),
        cmocka_unit_test(chat__null_error__is_none),
        cmocka_unit_test(chat__tool_calls__give_the_first_name),
        cmocka_unit_test(chat__a_tool_name_that_is_too_long__is_cut),
        cmocka_unit_test(b067__several_choices__do_not_confuse),
        cmocka_unit_test(chat__usage_in_every_event__keeps_the_last),
        cmocka_unit_test(chat__llama_cpp_timings__fill_what_usage_lacks),
        cmocka_unit_test(chat__counts_out_of_range__are_clamped),
        cmocka_unit_test(completions__text_events__are_read),
        cmocka_unit_test(b007_responses__completed__is_done_without_a_marker),
        cmocka_unit_test(responses__without_event_lines__are_read_by_type),
        cmocka_unit_test(responses__incomplete__has_its_reason),
        cmocka_unit_test(messages__a_whole_stream__sums_the_prompt),
        cmocka_unit_test(messages__usage_only_at_the_end__is_taken),
        cmocka_unit_test(messages__cut_before_the_end__has_no_usage),
        cmocka_unit_test(messages__only_pings__is_no_content),
        cmocka_unit_test(reader__broken_json__is_content_and_no_more),
        cmocka_unit_test(reader__an_event_over_the_limit__is_skipped_and_the_next_one_read),
        cmocka_unit_test(reader__whole_events__take_only_the_memory_of_one_shape),
        cmocka_unit_test(reader__no_memory_for_a_part__loses_only_that_event),
        cmocka_unit_test(reader__events_that_nearly_match_the_last__are_not_taken_for_it),
        cmocka_unit_test(reader__end_without_a_stream__is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
