/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the failure catalogue that meet here: B056, B057, B059, B061, B064, B068. */
#include "tests/kit/kit.h"

#include "coordinator/io/body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

static struct body_parser *parser;
static struct err err;

static int setup(void **state)
{
    (void)state;
    err = (struct err){.status = ST_OK};
    return body_parser_new(&parser) == ST_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    body_parser_free(parser);
    parser = NULL;
    return 0;
}

/* From a copy of exactly that size, so that a read past its end is seen. */
static enum status parse_str(enum coord_route route, struct str body, struct body_view *ret)
{
    char *copy = malloc(body.len > 0 ? body.len : 1);
    assert_non_null(copy);
    if (body.len > 0) {
        memcpy(copy, body.p, body.len);
    }
    enum status st = body_parse(parser, route, copy, body.len, ret, &err);
    free(copy);
    return st;
}

static enum status parse(enum coord_route route, const char *body, struct body_view *ret)
{
    return parse_str(route, str_of(body), ret);
}

static void expect_refused(enum coord_route route, const char *body, const char *word)
{
    struct body_view view = {.max_output_tokens = 77};
    err.text[0] = '\0';
    enum status st = parse(route, body, &view);
    if (st != ST_INVAL || strstr(err.text, word) == NULL) {
        fail_msg("%s gave %s, \"%s\" without \"%s\"", body, status_name(st), err.text, word);
    }
    assert_int_equal(view.max_output_tokens, 77);
}

static void expect_taken(enum coord_route route, const char *body)
{
    struct body_view view;
    enum status st = parse(route, body, &view);
    if (st != ST_OK) {
        fail_msg("%s gave %s, \"%s\"", body, status_name(st), err.text);
    }
}

/* --- view --- */

static void body__all_fields__are_in_the_view(void **state)
{
    (void)state;
    struct body_view view;
    assert_status(parse(COORD_ROUTE_CHAT,
                        "{\"model\":\"org/"
                        "m\\u0031\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
                        "\"max_tokens\":10,\"max_completion_tokens\":20,\"messages\":[{\"role\":"
                        "\"user\",\"content\":"
                        "\"hi\"}]}",
                        &view),
                  ST_OK);
    assert_true(str_eq(view.model, STR("org/m1")));
    assert_true(view.is_stream);
    assert_true(view.has_stream_options);
    assert_true(view.asks_usage);
    assert_int_equal(view.usage_splice.len, 0);
    assert_int_equal(view.max_output_tokens, 20);
    assert_int_equal(view.chain_count, 1);
    assert_int_equal(view.chain_is_end[0], 1);
    assert_int_equal(view.chain_bytes[0], view.prompt_bytes);
    assert_true(view.chain[0] != 0);
}

static void body__nothing_said__is_empty(void **state)
{
    (void)state;
    struct body_view view;
    assert_status(parse(COORD_ROUTE_CHAT, "{}", &view), ST_OK);
    assert_int_equal(view.model.len, 0);
    assert_false(view.is_stream);
    assert_false(view.has_stream_options);
    assert_int_equal(view.max_output_tokens, 0);
    assert_int_equal(view.chain_count, 0);
    assert_int_equal(view.prompt_bytes, 0);
    assert_int_equal(view.usage_splice.len, 0);
}

static void body__nulls__are_the_same_as_nothing(void **state)
{
    (void)state;
    struct body_view view;
    assert_status(parse(COORD_ROUTE_CHAT,
                        "{\"stream\":null,\"stream_options\":null,\"max_tokens\":null,\"n\":null,"
                        "\"messages\":null,"
                        "\"tools\":null,\"cache_salt\":null}",
                        &view),
                  ST_OK);
    assert_false(view.is_stream);
    assert_int_equal(view.chain_count, 0);
}

static void body__token_limits__take_the_largest_and_clamp(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        uint32_t tokens;
    } cases[] = {
        {"{\"max_tokens\":5,\"max_output_tokens\":7}", 7},
        {"{\"max_tokens\":-1}", 0},
        {"{\"max_tokens\":1e3}", 1000},
        {"{\"max_tokens\":99999999999999999999}", UINT32_MAX},
        {"{\"max_tokens\":0}", 0},
        {"{\"max_tokens\":4.9}", 4},
        {"{\"max_tokens\":1e999}", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct body_view view;
        assert_status(parse(COORD_ROUTE_CHAT, cases[i].body, &view), ST_OK);
        if (view.max_output_tokens != cases[i].tokens) {
            fail_msg("%s gave %u", cases[i].body, view.max_output_tokens);
        }
    }
}

static void body__each_route__reads_its_own_prompt(void **state)
{
    (void)state;
    struct body_view view;
    static const char all[] =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\","
        "\"content\":\"b\"}],\"input\":\"x\",\"prompt\":[\"1\",\"2\",\"3\"],\"system\":\"s\","
        "\"instructions\":\"i\",\"tools\":[{\"name\":\"f\"}]}";
    static const struct {
        enum coord_route route;
        uint32_t count;
    } cases[] = {
        {COORD_ROUTE_CHAT, 3},        /* tools, 2 messages */
        {COORD_ROUTE_COMPLETIONS, 3}, /* 3 prompts */
        {COORD_ROUTE_RESPONSES, 3},   /* tools, instructions, input */
        {COORD_ROUTE_MESSAGES, 4},    /* tools, system, 2 messages */
        {COORD_ROUTE_COUNT_TOKENS, 4},
    };
    uint64_t last = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_status(parse(cases[i].route, all, &view), ST_OK);
        if (view.chain_count != cases[i].count) {
            fail_msg("route %d gave %u boundaries", (int)cases[i].route, view.chain_count);
        }
        assert_true(i == 4 ? view.chain[3] == last : view.chain[view.chain_count - 1] != last);
        last = view.chain[view.chain_count - 1];
    }
}

static void body__a_conversation__shares_its_chain_from_request_to_request(void **state)
{
    (void)state;
    struct body_view view;
    uint64_t first[2];
    assert_status(parse(COORD_ROUTE_CHAT,
                        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{"
                        "\"role\":\"user\",\"content\":"
                        "\"a\"}],\"stream\":true}",
                        &view),
                  ST_OK);
    assert_int_equal(view.chain_count, 2);
    memcpy(first, view.chain, sizeof(first));
    assert_status(parse(COORD_ROUTE_CHAT,
                        "{\"temperature\":0.5, "
                        "\"messages\":[{\"content\":\"s\",\"role\":\"system\"},{\"role\":\"user\","
                        "\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},{\"role\":\"assistant\","
                        "\"content\":\"b\"}],"
                        "\"model\":\"m\"}",
                        &view),
                  ST_OK);
    assert_int_equal(view.chain_count, 3);
    assert_memory_equal(first, view.chain, sizeof(first));
}

/* --- refused --- */

static void body__no_json__is_refused_with_the_offset(void **state)
{
    (void)state;
    expect_refused(COORD_ROUTE_CHAT, "", "empty");
    expect_refused(COORD_ROUTE_CHAT, "   ", "byte");
    expect_refused(COORD_ROUTE_CHAT, "[]", "object");
    expect_refused(COORD_ROUTE_CHAT, "\"x\"", "object");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":1,}", "byte 6");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":1} x", "byte 8");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":1 /* c */}", "byte 7");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":NaN}", "byte 5");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":01}", "byte");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":\"x", "byte");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":\"\\x\"}", "byte");
    expect_refused(COORD_ROUTE_CHAT, "\xEF\xBB\xBF{}", "byte 0");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":\"line\nbreak\"}", "byte 10");
}

static void b061__raw_invalid_utf8__is_refused_with_the_offset(void **state)
{
    (void)state;
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":\"b\xFF\"}", "byte 7");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":\"\xC3\"}", "byte 6");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":\"\xED\xA0\x80\"}",
                   "byte 6");                                           /* a surrogate as bytes */
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":\"\xC0\xAF\"}", "byte 6"); /* overlong */
    expect_refused(COORD_ROUTE_CHAT, "{\"a\xFF\":1}", "byte");
    expect_refused(COORD_ROUTE_CHAT, "{\"a\":\"\\ud83d\xFF\"}", "byte");
}

static void b061__half_a_surrogate_pair_as_escape__is_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\\ud83d",     "\\uD83D",    "x\\udc00y",     "\\ud83d\\ud83d\\ude00",
        "\\\\\\ud83d", "\\ud83d\\n", "\\ude00\\ud83d"};
    uint64_t seen[8];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char body[128];
        struct body_view view;
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"m\",\"messages\":[{\"role\":\"tool\",\"content\":\"%s\"}]}",
                       texts[i]);
        enum status st = parse(COORD_ROUTE_CHAT, body, &view);
        if (st != ST_OK) {
            fail_msg("%s gave %s", body, err.text);
        }
        seen[i] = view.chain[0];
        for (size_t k = 0; k < i; k++) {
            assert_true((seen[k] == seen[i]) == (i == 1 && k == 0));
        }
    }
}

static void b057__a_key_twice__is_refused_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "model",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "n",
        "messages",
        "input",
        "prompt",
        "system",
        "instructions",
        "tools",
        "session_id",
        "prompt_cache_key",
        "metadata",
        "client_metadata",
        "cache_salt",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char body[256];
        /* null is allowed for all but the model */
        const char *value = i == 0 ? "\"m\"" : "null";
        (void)snprintf(body, sizeof(body), "{\"%s\":%s,\"x\":1,\"%s\":%s}", names[i], value,
                       names[i], value);
        expect_refused(COORD_ROUTE_CHAT, body, names[i]);
        (void)snprintf(body, sizeof(body), "{\"%s\":%s,\"\\u%04x%s\":%s}", names[i], value,
                       (unsigned)names[i][0], names[i] + 1, value);
        expect_refused(COORD_ROUTE_CHAT, body, names[i]);
    }
    expect_refused(COORD_ROUTE_CHAT, "{\"model\":\"allowed\",\"model\":\"forbidden\"}", "model");
}

static void body__unknown_keys_twice__are_relayed(void **state)
{
    (void)state;
    expect_taken(
        COORD_ROUTE_CHAT,
        "{\"x\":1,\"x\":2,\"temperature\":1,\"temperature\":0,\"a\":{\"model\":1,\"model\":2}}");
}

static void body__wrong_types__are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        enum coord_route route;
        const char *body;
        const char *name;
    } cases[] = {
        {COORD_ROUTE_CHAT, "{\"model\":1}", "\"model\" must be a string"},
        {COORD_ROUTE_CHAT, "{\"model\":null}", "model"},
        {COORD_ROUTE_CHAT, "{\"stream\":\"true\"}", "stream"},
        {COORD_ROUTE_CHAT, "{\"stream\":1}", "stream"},
        {COORD_ROUTE_CHAT, "{\"stream_options\":[]}", "stream_options"},
        {COORD_ROUTE_CHAT, "{\"max_tokens\":\"5\"}", "max_tokens"},
        {COORD_ROUTE_CHAT, "{\"max_completion_tokens\":[]}", "max_completion_tokens"},
        {COORD_ROUTE_CHAT, "{\"n\":\"2\"}", "\"n\""},
        {COORD_ROUTE_CHAT, "{\"messages\":{}}", "messages"},
        {COORD_ROUTE_CHAT, "{\"messages\":\"x\"}", "messages"},
        {COORD_ROUTE_CHAT, "{\"tools\":{}}", "tools"},
        {COORD_ROUTE_CHAT, "{\"cache_salt\":5}", "cache_salt"},
        {COORD_ROUTE_MESSAGES, "{\"system\":5}", "system"},
        {COORD_ROUTE_MESSAGES, "{\"messages\":5}", "messages"},
        {COORD_ROUTE_RESPONSES, "{\"input\":{}}", "input"},
        {COORD_ROUTE_RESPONSES, "{\"max_output_tokens\":true}", "max_output_tokens"},
        {COORD_ROUTE_COMPLETIONS, "{\"prompt\":1}", "prompt"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_refused(cases[i].route, cases[i].body, cases[i].name);
    }
    /* What is not this route's own is not judged. */
    expect_taken(COORD_ROUTE_CHAT, "{\"input\":5,\"prompt\":{},\"system\":7}");
    expect_taken(COORD_ROUTE_RESPONSES, "{\"messages\":5,\"stream_options\":7}");
}

static void body__a_model_over_the_limit__is_refused(void **state)
{
    (void)state;
    char body[COORD_MODEL_MAX + 64];
    struct body_view view;
    for (int extra = 0; extra < 2; extra++) {
        (void)snprintf(body, sizeof(body), "{\"model\":\"%0*d\"}", COORD_MODEL_MAX + extra, 1);
        if (extra == 0) {
            assert_status(parse(COORD_ROUTE_CHAT, body, &view), ST_OK);
            assert_int_equal(view.model.len, COORD_MODEL_MAX);
        } else {
            expect_refused(COORD_ROUTE_CHAT, body, "model");
        }
    }
}

static void b056_b059_b064__odd_numbers_and_unknown_fields__are_taken(void **state)
{
    (void)state;
    expect_taken(COORD_ROUTE_CHAT, "{\"model\":\"m\",\"seed\":9007199254740993,\"a\":"
                                   "123456789012345678901234567890,\"b\":1.0,\"c\":1e2,\"d\":-0.0,"
                                   "\"e\":0.1000000000000000055,\"f\":1e999,\"chat_template_"
                                   "kwargs\":{},\"top_k\":5,\"vllm_xargs\":{},"
                                   "\"logit_bias\":{\"1\":2},\"made_up\":[]}");
    expect_taken(COORD_ROUTE_CHAT, "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":"
                                   "\"1\",\"type\":\"function\",\"function\":{\"name\":"
                                   "\"f\",\"arguments\":null}}]}]}");
}

/* B068 */
static void b068__a_million_nested_arrays__is_refused_or_taken_without_harm(void **state)
{
    (void)state;
    static const char *const places[] = {"{\"x\":%s}", "{\"tools\":[{\"parameters\":%s}]}",
                                         "{\"messages\":%s}",
                                         "{\"messages\":[{\"role\":\"user\",\"content\":%s}]}"};
    static const size_t depths[] = {10000, 1000000};
    for (size_t i = 0; i < 8; i++) {
        size_t depth = depths[i / 4];
        char *nested = malloc(2 * depth + 1);
        char *body = malloc(2 * depth + 128);
        assert_true(nested != NULL && body != NULL);
        memset(nested, '[', depth);
        memset(nested + depth, ']', depth);
        nested[2 * depth] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        int len = snprintf(body, 2 * depth + 128, places[i % 4], nested);
#pragma GCC diagnostic pop
        struct body_view view;
        assert_status(body_parse(parser, COORD_ROUTE_CHAT, body, (size_t)len, &view, &err), ST_OK);
        free(nested);
        free(body);
    }
}

static void body__nothing_but_brackets__is_too_big_before_memory_is_gone(void **state)
{
    (void)state;
    enum { LEN = 8000000 };
    char *body = malloc(LEN);
    struct body_view view;
    assert_non_null(body);
    memset(body, '[', LEN);
    body[0] = '{';
    memcpy(body + 1, "\"x\":", 4);
    enum status st = body_parse(parser, COORD_ROUTE_CHAT, body, LEN, &view, &err);
    assert_status(st, ST_TOOBIG);
    free(body);
}

/* --- splice --- */

static struct str spliced(struct str body, const struct body_view *view, struct buf *out)
{
    assert_true(view->usage_splice_at + view->usage_splice_cut <= body.len);
    assert_status(buf_add(out, body.p, view->usage_splice_at), ST_OK);
    assert_status(buf_add_str(out, view->usage_splice), ST_OK);
    size_t rest = view->usage_splice_at + view->usage_splice_cut;
    assert_status(buf_add(out, body.p + rest, body.len - rest), ST_OK);
    return buf_str(out);
}

static void expect_spliced(enum coord_route route, const char *body, const char *expected)
{
    struct body_view view;
    struct buf out;
    buf_init(&out, mem_heap(), 100000);
    enum status st = parse(route, body, &view);
    if (st != ST_OK) {
        fail_msg("%s gave %s", body, err.text);
    }
    struct str got = spliced(str_of(body), &view, &out);
    if (!str_eq(got, str_of(expected))) {
        fail_msg("%s became %.*s", body, (int)got.len, got.p);
    }
    if (view.usage_splice.len > 0) {
        /* What the engine gets asks for usage, and nothing more can be asked of it. */
        assert_status(parse_str(route, got, &view), ST_OK);
        assert_true(view.asks_usage);
        assert_int_equal(view.usage_splice.len, 0);
    }
    buf_fini(&out);
}

static void splice__no_options__adds_them_first(void **state)
{
    (void)state;
    expect_spliced(COORD_ROUTE_CHAT, "{\"stream\":true}",
                   "{\"stream_options\":{\"include_usage\":true},\"stream\":true}");
    expect_spliced(
        COORD_ROUTE_COMPLETIONS, " \n{ \"model\":\"m\", \"stream\" : true }",
        " \n{\"stream_options\":{\"include_usage\":true}, \"model\":\"m\", \"stream\" : true }");
    expect_spliced(
        COORD_ROUTE_CHAT,
        "{\"messages\":[{\"role\":\"user\",\"content\":\"stream_options\"}],\"stream\":true}",
        "{\"stream_options\":{\"include_usage\":true},\"messages\":[{\"role\":\"user\",\"content\":"
        "\"stream_options\"}],"
        "\"stream\":true}");
}

static void splice__options_without_usage__adds_the_flag_inside(void **state)
{
    (void)state;
    expect_spliced(COORD_ROUTE_CHAT, "{\"stream\":true,\"stream_options\":{}}",
                   "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    expect_spliced(COORD_ROUTE_CHAT, "{\"stream_options\" : { } ,\"stream\":true}",
                   "{\"stream_options\" : {\"include_usage\":true } ,\"stream\":true}");
    expect_spliced(COORD_ROUTE_CHAT,
                   "{\"stream_options\":{\"continuous_usage_stats\":true},\"stream\":true}",
                   "{\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true},"
                   "\"stream\":true}");
    expect_spliced(COORD_ROUTE_CHAT,
                   "{\"stream_options\":\n{\n\"a\":{\"include_usage\":true}},\"stream\":true}",
                   "{\"stream_options\":\n{\"include_usage\":true,\n\"a\":{\"include_usage\":true}}"
                   ",\"stream\":true}");
}

static void splice__a_false_flag__becomes_true(void **state)
{
    (void)state;
    expect_spliced(COORD_ROUTE_CHAT,
                   "{\"stream\":true,\"stream_options\":{\"include_usage\":false}}",
                   "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    expect_spliced(COORD_ROUTE_CHAT,
                   "{\"stream\":true,\"stream_options\":{\"x\":\"}\\\"\",\"include_usage\" : null "
                   ", \"y\":[1,{}]}}",
                   "{\"stream\":true,\"stream_options\":{\"x\":\"}\\\"\",\"include_usage\" : true "
                   ", \"y\":[1,{}]}}");
    expect_spliced(COORD_ROUTE_CHAT,
                   "{\"stream\":true,\"stream_options\":{\"include_usag\\u0065\":false}}",
                   "{\"stream\":true,\"stream_options\":{\"include_usag\\u0065\":true}}");
}

static void splice__null_options__become_an_object(void **state)
{
    (void)state;
    expect_spliced(COORD_ROUTE_CHAT, "{\"stream\":true,\"stream_options\":null}",
                   "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    expect_spliced(
        COORD_ROUTE_CHAT,
        "{\"a\":[{\"stream_options\":1},\"\\\\\"],\"\\u0073tream_options\": null,\"stream\":true}",
        "{\"a\":[{\"stream_options\":1},\"\\\\\"],\"\\u0073tream_options\": "
        "{\"include_usage\":true},\"stream\":true}");
}

static void splice__keys_and_values_before__are_stepped_over(void **state)
{
    (void)state;
    static const char *const values[] = {
        "1",
        "-1.5e+3",
        "true",
        "null",
        "\"\"",
        "\"a\\\\\"",
        "\"\\\"stream_options\\\":{\"",
        "[]",
        "{}",
        "[[{\"}\":\"]\"}]]",
        "{\"stream_options\":{\"include_usage\":true}}",
        "\"\xC3\xA9\\ud83d\"",
        " [ 1 , \"}\" ] ",
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char body[256];
        char expected[256];
        static const char shape[] =
            "{\"a\\\"b\":%s,\"stream\":true,\"stream_options\":{%s},\"z\":%s}";
        (void)snprintf(body, sizeof(body), shape, values[i], "\"include_usage\":false", values[i]);
        (void)snprintf(expected, sizeof(expected), shape, values[i], "\"include_usage\":true",
                       values[i]);
        expect_spliced(COORD_ROUTE_CHAT, body, expected);
    }
}

static void splice__not_wanted_or_odd__changes_nothing(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{}",
        "{\"stream\":false}",
        "{\"stream\":null,\"stream_options\":{\"include_usage\":false}}",
        "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
        "{\"stream\":true,\"stream_options\":{\"include_usage\":1}}",
        "{\"stream\":true,\"stream_options\":{\"include_usage\":\"no\"}}",
        "{\"stream\":true,\"stream_options\":{\"include_usage\":false,\"include_usage\":false}}",
        "{\"stream\":true,\"stream_options\":{\"include_usage\":true,\"include_usage\":false}}",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        expect_spliced(COORD_ROUTE_CHAT, bodies[i], bodies[i]);
    }
    expect_spliced(COORD_ROUTE_RESPONSES, "{\"stream\":true}", "{\"stream\":true}");
    expect_spliced(COORD_ROUTE_MESSAGES, "{\"stream\":true}", "{\"stream\":true}");
}

/* --- memory --- */

static void body__large_then_small__keeps_no_large_block(void **state)
{
    (void)state;
    enum { LEN = 12000000 };
    struct kit_mem km;
    struct body_parser *own = NULL;
    struct body_view view;
    kit_mem_init(&km);
    assert_status(body_parser_new_in(&km.mem, &own), ST_OK);
    char *body = malloc(LEN);
    assert_non_null(body);
    memset(body, 'a', LEN);
    memcpy(body, "{\"x\":\"", 6);
    memcpy(body + LEN - 2, "\"}", 2);
    assert_status(body_parse(own, COORD_ROUTE_CHAT, body, LEN, &view, &err), ST_OK);
    assert_true(km.live_bytes < 200000);
    memcpy(body + 400000, "\"}", 2);
    assert_status(body_parse(own, COORD_ROUTE_CHAT, body, 400002, &view, &err), ST_OK);
    size_t live_bytes = km.live_bytes;
    uint64_t call_count = km.call_count;
    assert_true(live_bytes < 2000000);
    for (int i = 0; i < 10; i++) {
        assert_status(body_parse(own, COORD_ROUTE_CHAT, body, 400002, &view, &err), ST_OK);
    }
    assert_int_equal(km.call_count, call_count); /* no allocation once warm */
    assert_int_equal(km.live_bytes, live_bytes);
    free(body);
    body_parser_free(own);
    kit_mem_expect_empty(&km);
}

static bool parse_scenario(void *ctx, const struct mem *mem)
{
    struct str body = *(const struct str *)ctx;
    struct body_parser *own = NULL;
    struct body_view view = {.max_output_tokens = 77};
    if (body_parser_new_in(mem, &own) != ST_OK) {
        return false;
    }
    enum status st = body_parse(own, COORD_ROUTE_CHAT, body.p, body.len, &view, &err);
    if (st != ST_OK) {
        assert_int_equal(st, ST_NOMEM);
        assert_int_equal(view.max_output_tokens, 77);
        /* The parser is as good as before. */
        assert_status(body_parse(own, COORD_ROUTE_CHAT, body.p, body.len, &view, &err), ST_OK);
    }
    body_parser_free(own);
    return st == ST_OK;
}

static void body__any_allocation_failing__is_nomem_and_harmless(void **state)
{
    (void)state;
    /* Many values for their bytes, so that the first guess is too small and the array of values
     * moves. */
    enum { LEN = 300000 };
    char *body = malloc(LEN);
    assert_non_null(body);
    memcpy(body, "{\"x\":[\"\\ud83d\"", 14);
    size_t len = 14;
    while (len < LEN - 8) {
        memcpy(body + len, ",1", 2);
        len += 2;
    }
    memcpy(body + len, "]}", 2);
    struct str text = {body, len + 2};
    assert_true(kit_torture(parse_scenario, &text) > 5);
    free(body);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(body__all_fields__are_in_the_view),
        TEST(body__nothing_said__is_empty),
        TEST(body__nulls__are_the_same_as_nothing),
        TEST(body__token_limits__take_the_largest_and_clamp),
        TEST(body__each_route__reads_its_own_prompt),
        TEST(body__a_conversation__shares_its_chain_from_request_to_request),
        TEST(body__no_json__is_refused_with_the_offset),
        TEST(b061__raw_invalid_utf8__is_refused_with_the_offset),
        TEST(b061__half_a_surrogate_pair_as_escape__is_taken),
        TEST(b057__a_key_twice__is_refused_by_name),
        TEST(body__unknown_keys_twice__are_relayed),
        TEST(body__wrong_types__are_refused_by_name),
        TEST(body__a_model_over_the_limit__is_refused),
        TEST(b056_b059_b064__odd_numbers_and_unknown_fields__are_taken),
        TEST(b068__a_million_nested_arrays__is_refused_or_taken_without_harm),
        TEST(body__nothing_but_brackets__is_too_big_before_memory_is_gone),
        TEST(splice__no_options__adds_them_first),
        TEST(splice__options_without_usage__adds_the_flag_inside),
        TEST(splice__a_false_flag__becomes_true),
        TEST(splice__null_options__become_an_object),
        TEST(splice__keys_and_values_before__are_stepped_over),
        TEST(splice__not_wanted_or_odd__changes_nothing),
        TEST(body__large_then_small__keeps_no_large_block),
        TEST(body__any_allocation_failing__is_nomem_and_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
