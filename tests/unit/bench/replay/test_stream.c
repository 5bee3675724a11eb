/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/stream.h"

static const char answer[] =
    ": keep-alive\n\n"
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\r\n\r\n"
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"
    "event: message\ndata:{\"choices\":[{\"delta\":{\"content\":\"lo \\u00e9\"}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,"
    "\"prompt_tokens_details\":{\"cached_tokens\":64}}}\n\n"
    "data: [DONE]\n\n";

static void expect_answer(const struct stream *stream)
{
    assert_true(str_eq(buf_str(&stream->reply), STR("Hello \xC3\xA9")));
    assert_int_equal(stream->delta_count, 3);
    assert_int_equal(stream->bad_count, 0);
    assert_true(stream->has_done && stream->has_finish && stream->has_usage && !stream->has_error);
    assert_int_equal(stream->prompt_tokens, 100);
    assert_int_equal(stream->cached_tokens, 64);
    assert_int_equal(stream->output_tokens, 7);
}

static void stream_feed__whole_answer__text_and_usage_are_read(void **state)
{
    (void)state;
    struct stream stream;
    stream_init(&stream, mem_heap());
    assert_status(stream_feed(&stream, answer, sizeof(answer) - 1), ST_OK);
    expect_answer(&stream);
    stream_fini(&stream);
}

static void stream_feed__cut_at_every_byte__reads_the_same(void **state)
{
    (void)state;
    struct stream stream;
    stream_init(&stream, mem_heap());
    for (size_t cut = 1; cut < sizeof(answer) - 1; cut++) {
        stream_reset(&stream);
        assert_status(stream_feed(&stream, answer, cut), ST_OK);
        assert_status(stream_feed(&stream, answer + cut, sizeof(answer) - 1 - cut), ST_OK);
        expect_answer(&stream);
    }
    stream_fini(&stream);
}

static void stream_feed__error_event__keeps_its_message(void **state)
{
    (void)state;
    struct stream stream;
    static const char text[] =
        "event: error\ndata: {\"error\":{\"message\":\"engine died\",\"code\":\"x\"}}\n\n";
    stream_init(&stream, mem_heap());
    assert_status(stream_feed(&stream, text, sizeof(text) - 1), ST_OK);
    assert_true(stream.has_error);
    assert_string_equal(stream.error, "engine died");
    assert_false(stream.has_done);
    stream_fini(&stream);
}

static void stream_feed__no_json__is_counted(void **state)
{
    (void)state;
    struct stream stream;
    static const char text[] = "data: nonsense\n\ndata: 7\n\ndata:\n\n";
    stream_init(&stream, mem_heap());
    assert_status(stream_feed(&stream, text, sizeof(text) - 1), ST_OK);
    assert_int_equal(stream.bad_count, 3);
    stream_fini(&stream);
}

static void stream_feed__line_over_the_limit__is_skipped_and_the_next_one_read(void **state)
{
    (void)state;
    struct stream stream;
    char piece[4096];
    memset(piece, 'x', sizeof(piece));
    stream_init(&stream, mem_heap());
    for (size_t i = 0; i < STREAM_LINE_MAX / sizeof(piece) + 2; i++) {
        assert_status(stream_feed(&stream, piece, sizeof(piece)), ST_OK);
    }
    assert_status(stream_feed(&stream, "\n\n", 2), ST_OK);
    assert_int_equal(stream.bad_count, 1);
    assert_status(stream_feed(&stream, answer, sizeof(answer) - 1), ST_OK);
    assert_true(stream.has_done);
    assert_int_equal(stream.output_tokens, 7);
    stream_fini(&stream);
}

static void stream_error_text__both_shapes_and_none__gives_the_message(void **state)
{
    (void)state;
    char out[STREAM_ERROR_BYTES];
    stream_error_text(STR("{\"error\":{\"message\":\"slow down\"}}"), out);
    assert_string_equal(out, "slow down");
    stream_error_text(STR("{\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"no\"}}"),
                      out);
    assert_string_equal(out, "no");
    stream_error_text(STR("{\"error\":\"plain\"}"), out);
    assert_string_equal(out, "plain");
    stream_error_text(STR("Bad Gateway"), out);
    assert_string_equal(out, "Bad Gateway");
    stream_error_text(STR(""), out);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_feed__whole_answer__text_and_usage_are_read),
        cmocka_unit_test(stream_feed__cut_at_every_byte__reads_the_same),
        cmocka_unit_test(stream_feed__error_event__keeps_its_message),
        cmocka_unit_test(stream_feed__no_json__is_counted),
        cmocka_unit_test(stream_feed__line_over_the_limit__is_skipped_and_the_next_one_read),
        cmocka_unit_test(stream_error_text__both_shapes_and_none__gives_the_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
