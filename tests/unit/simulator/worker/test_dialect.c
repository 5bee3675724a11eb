/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/simulator/worker/kit_ask.h"

#include "common/base/json.h"
#include "simulator/worker/dialect.h"

#include <stdio.h>

#define TOOLS "'tools':[{'name':'f','input_schema':{'properties':{'n':{'type':'integer'}}}}],"
#define CALL  TOOLS "'tool_choice':{'type':'tool'},"

static const struct sim_reply_opts plain = {.seed = 1, .mean_tokens = 8, .room_tokens = 1000};

struct shown {
    struct asked asked;
    struct sim_render render;
    struct sim_out out;
    yyjson_doc *docs[128]; /* of the events, in order */
    char types[128][48];   /* "event:" names, "" = none */
    size_t count;
    bool has_done; /* [DONE] was last */
};

/* Question for an API whose members are the same but for the prompt. */
static void question(enum sim_api api, const char *extra, char json[1024])
{
    const char *prompt =
        "'messages':[{'role':'user','content':'hello hello hello hello hello hello hello'}]";
    if (api == SIM_API_COMPLETIONS) {
        prompt = "'prompt':'hello hello hello hello hello hello hello'";
    } else if (api == SIM_API_RESPONSES) {
        prompt = "'input':'hello hello hello hello hello hello hello'";
    }
    (void)snprintf(json, 1024, "{%s%s}", extra, prompt);
}

static void show_init(struct shown *s, enum sim_api api, const char *extra)
{
    char json[1024];
    memset(s, 0, sizeof(*s));
    question(api, extra, json);
    assert_status(asked_init(&s->asked, api, json, &plain, mem_heap()), ST_OK);
    sim_out_init(&s->out, mem_heap());
    s->render = (struct sim_render){
        .api = api,
        .wants_usage = s->asked.ask.wants_usage,
        .wants_usage_each = s->asked.ask.wants_usage_each,
        .id = STR("id1"),
        .model = STR("m\"x"),
        .created_s = 1700000000,
        .prompt_tokens = 100,
        .cached_tokens = 64,
        .reply = &s->asked.reply,
    };
}

/* Splits the events and parses each. */
static void parse_events(struct shown *s)
{
    struct str rest = buf_str(&s->out.buf);
    struct str line;
    struct str type = STR("");
    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, STR("event: "))) {
            type = (struct str){line.p + 7, line.len - 7};
        } else if (str_starts(line, STR("data: "))) {
            assert_false(s->has_done);
            struct str data = {line.p + 6, line.len - 6};
            s->has_done = str_eq(data, STR("[DONE]"));
            if (!s->has_done) {
                assert_true(s->count < 128);
                (void)str_copy(s->types[s->count], sizeof(s->types[0]), type);
                s->docs[s->count] = yyjson_read(data.p, data.len, 0);
                assert_non_null(s->docs[s->count]);
                s->count++;
            }
            assert_true(str_starts(rest, STR("\n")));
        } else {
            assert_int_equal(line.len, 0);
        }
    }
}

static void show_stream(struct shown *s, enum sim_api api, const char *extra)
{
    struct sim_reply_pos pos = {0};
    struct sim_piece piece;
    show_init(s, api, extra);
    const struct sim_dialect *dialect = sim_dialect_of(api);
    if (dialect->open != NULL) {
        dialect->open(&s->render, &s->out);
    }
    while (sim_reply_next(&s->asked.reply, &pos, &piece)) {
        s->render.output_tokens = pos.token_idx;
        if (pos.token_idx == 1 && dialect->first != NULL) {
            dialect->first(&s->render, &s->out);
        }
        dialect->piece(&s->render, &piece, &s->out);
    }
    dialect->close(&s->render, &s->out);
    assert_status(s->out.st, ST_OK);
    parse_events(s);
}

static void show_whole(struct shown *s, enum sim_api api, const char *extra)
{
    show_init(s, api, extra);
    s->render.output_tokens = s->asked.reply.token_count;
    sim_dialect_of(api)->whole(&s->render, &s->out);
    assert_status(s->out.st, ST_OK);
    s->docs[s->count++] = yyjson_read(s->out.buf.p, s->out.buf.len, 0);
    assert_non_null(s->docs[0]);
}

static void show_fini(struct shown *s)
{
    for (size_t i = 0; i < s->count; i++) {
        yyjson_doc_free(s->docs[i]);
    }
    sim_out_fini(&s->out);
    asked_fini(&s->asked);
}

static yyjson_val *at(const struct shown *s, size_t event, const char *pointer)
{
    return yyjson_ptr_get(yyjson_doc_get_root(s->docs[event]), pointer);
}

/* Concatenates a string of all events that have it. */
static struct str gather(const struct shown *s, const char *pointer, char out[1024])
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < s->count; i++) {
        yyjson_val *val = at(s, i, pointer);
        if (yyjson_is_str(val)) {
            len += str_copy(out + len, 1024 - len, json_str(val));
        }
    }
    return (struct str){out, len};
}

static void expect_text(yyjson_val *val, const char *expected)
{
    assert_true(yyjson_is_str(val));
    assert_string_equal(yyjson_get_str(val), expected);
}

static void chat__stream__has_one_event_per_token_and_says_how_it_ended(void **state)
{
    (void)state;
    char text[1024];
    struct shown s;
    show_stream(&s, SIM_API_CHAT, "'stream':true,");
    assert_true(s.has_done);
    assert_int_equal(s.count, s.asked.reply.token_count + 1); /* the role comes extra */
    assert_true(
        str_eq(gather(&s, "/choices/0/delta/content", text), buf_str(&s.asked.reply.text.buf)));
    for (size_t i = 0; i < s.count; i++) {
        expect_text(at(&s, i, "/id"), "chatcmpl-id1");
        expect_text(at(&s, i, "/object"), "chat.completion.chunk");
        expect_text(at(&s, i, "/model"), "m\"x");
        assert_null(at(&s, i, "/usage"));
        yyjson_val *reason = at(&s, i, "/choices/0/finish_reason");
        assert_true(i + 1 == s.count ? yyjson_equals_str(reason, "stop") : yyjson_is_null(reason));
    }
    expect_text(at(&s, 0, "/choices/0/delta/role"), "assistant");
    show_fini(&s);
}

static void chat__usage_asked_for__comes_once_in_an_event_without_choices(void **state)
{
    (void)state;
    struct shown s;
    show_stream(&s, SIM_API_CHAT, "'stream':true,'stream_options':{'include_usage':true},");
    size_t last = s.count - 1;
    assert_int_equal(yyjson_arr_size(at(&s, last, "/choices")), 0);
    assert_int_equal(yyjson_get_int(at(&s, last, "/usage/prompt_tokens")), 100);
    assert_int_equal(yyjson_get_int(at(&s, last, "/usage/completion_tokens")),
                     s.asked.reply.token_count);
    assert_int_equal(yyjson_get_int(at(&s, last, "/usage/total_tokens")),
                     100 + s.asked.reply.token_count);
    assert_int_equal(yyjson_get_int(at(&s, last, "/usage/prompt_tokens_details/cached_tokens")),
                     64);
    for (size_t i = 0; i < last; i++) {
        assert_null(at(&s, i, "/usage"));
    }
    show_fini(&s);
}

static void chat__cut_by_max_tokens__says_length_with_the_last_token(void **state)
{
    (void)state;
    struct shown s;
    show_stream(&s, SIM_API_CHAT, "'stream':true,'max_tokens':3,");
    assert_int_equal(s.count, 4);
    expect_text(at(&s, 3, "/choices/0/finish_reason"), "length");
    assert_int_equal(yyjson_get_len(at(&s, 3, "/choices/0/delta/content")), 4);
    show_fini(&s);
}

static void chat__call__streams_name_then_arguments(void **state)
{
    (void)state;
    char text[1024];
    struct shown s;
    show_stream(&s, SIM_API_CHAT, CALL);
    expect_text(at(&s, 1, "/choices/0/delta/tool_calls/0/function/name"), "f");
    assert_true(yyjson_is_str(at(&s, 1, "/choices/0/delta/tool_calls/0/id")));
    assert_true(str_eq(gather(&s, "/choices/0/delta/tool_calls/0/function/arguments", text),
                       buf_str(&s.asked.reply.text.buf)));
    expect_text(at(&s, s.count - 1, "/choices/0/finish_reason"), "tool_calls");
    show_fini(&s);
}

static void chat__whole__holds_what_the_stream_holds(void **state)
{
    (void)state;
    struct shown s;
    show_whole(&s, SIM_API_CHAT, "");
    expect_text(at(&s, 0, "/object"), "chat.completion");
    assert_true(str_eq(json_str(at(&s, 0, "/choices/0/message/content")),
                       buf_str(&s.asked.reply.text.buf)));
    expect_text(at(&s, 0, "/choices/0/finish_reason"), "stop");
    assert_int_equal(yyjson_get_int(at(&s, 0, "/usage/prompt_tokens_details/cached_tokens")), 64);
    show_fini(&s);
    show_whole(&s, SIM_API_CHAT, CALL);
    assert_true(yyjson_is_null(at(&s, 0, "/choices/0/message/content")));
    expect_text(at(&s, 0, "/choices/0/message/tool_calls/0/function/name"), "f");
    expect_text(at(&s, 0, "/choices/0/finish_reason"), "tool_calls");
    show_fini(&s);
}

static void completions__stream_and_whole__hold_the_same_text(void **state)
{
    (void)state;
    char text[1024];
    struct shown s;
    show_stream(&s, SIM_API_COMPLETIONS, "'max_tokens':200,'stream':true,");
    assert_true(s.has_done);
    assert_int_equal(s.count, s.asked.reply.token_count);
    assert_true(str_eq(gather(&s, "/choices/0/text", text), buf_str(&s.asked.reply.text.buf)));
    expect_text(at(&s, 0, "/object"), "text_completion");
    show_fini(&s);
    show_whole(&s, SIM_API_COMPLETIONS, "'max_tokens':200,");
    assert_true(str_eq(json_str(at(&s, 0, "/choices/0/text")), buf_str(&s.asked.reply.text.buf)));
    show_fini(&s);
}

static void messages__stream__has_the_events_of_a_text_block(void **state)
{
    (void)state;
    char text[1024];
    struct shown s;
    show_stream(&s, SIM_API_MESSAGES, "");
    assert_false(s.has_done);
    assert_string_equal(s.types[0], "message_start");
    assert_string_equal(s.types[1], "content_block_start");
    assert_string_equal(s.types[2], "content_block_delta");
    assert_string_equal(s.types[s.count - 3], "content_block_stop");
    assert_string_equal(s.types[s.count - 2], "message_delta");
    assert_string_equal(s.types[s.count - 1], "message_stop");
    for (size_t i = 0; i < s.count; i++) {
        expect_text(at(&s, i, "/type"), s.types[i]);
    }
    assert_true(str_eq(gather(&s, "/delta/text", text), buf_str(&s.asked.reply.text.buf)));
    /* 100 tokens: 64 read, 32 written, 4 in the unfinished block */
    assert_int_equal(yyjson_get_int(at(&s, 0, "/message/usage/input_tokens")), 4);
    assert_int_equal(yyjson_get_int(at(&s, 0, "/message/usage/cache_read_input_tokens")), 64);
    assert_int_equal(yyjson_get_int(at(&s, 0, "/message/usage/cache_creation_input_tokens")), 32);
    assert_int_equal(yyjson_get_int(at(&s, s.count - 2, "/usage/output_tokens")),
                     s.asked.reply.token_count);
    expect_text(at(&s, s.count - 2, "/delta/stop_reason"), "end_turn");
    show_fini(&s);
}

static void messages__call__streams_a_tool_use_block(void **state)
{
    (void)state;
    char text[1024];
    struct shown s;
    show_stream(&s, SIM_API_MESSAGES, CALL);
    assert_string_equal(s.types[1], "content_block_start");
    expect_text(at(&s, 1, "/content_block/type"), "tool_use");
    expect_text(at(&s, 1, "/content_block/name"), "f");
    assert_true(str_eq(gather(&s, "/delta/partial_json", text), buf_str(&s.asked.reply.text.buf)));
    expect_text(at(&s, s.count - 2, "/delta/stop_reason"), "tool_use");
    show_fini(&s);
    show_whole(&s, SIM_API_MESSAGES, CALL);
    assert_true(yyjson_is_int(at(&s, 0, "/content/0/input/n")));
    show_fini(&s);
}

static void responses__stream__numbers_its_events_and_ends_whole(void **state)
{
    (void)state;
    char text[1024];
    struct shown s;
    show_stream(&s, SIM_API_RESPONSES, "");
    assert_false(s.has_done);
    for (size_t i = 0; i < s.count; i++) {
        assert_int_equal(yyjson_get_int(at(&s, i, "/sequence_number")), i);
        expect_text(at(&s, i, "/type"), s.types[i]);
    }
    assert_string_equal(s.types[0], "response.created");
    assert_string_equal(s.types[1], "response.in_progress");
    assert_string_equal(s.types[2], "response.output_item.added");
    assert_string_equal(s.types[3], "response.content_part.added");
    assert_string_equal(s.types[4], "response.output_text.delta");
    assert_string_equal(s.types[s.count - 1], "response.completed");
    assert_true(str_eq(gather(&s, "/delta", text), buf_str(&s.asked.reply.text.buf)));
    size_t last = s.count - 1;
    expect_text(at(&s, last, "/response/status"), "completed");
    assert_true(str_eq(json_str(at(&s, last, "/response/output/0/content/0/text")),
                       buf_str(&s.asked.reply.text.buf)));
    assert_int_equal(
        yyjson_get_int(at(&s, last, "/response/usage/input_tokens_details/cached_tokens")), 64);
    assert_true(yyjson_is_null(at(&s, 0, "/response/usage")));
    show_fini(&s);
}

static void responses__call__streams_arguments(void **state)
{
    (void)state;
    char text[1024];
    struct shown s;
    show_stream(&s, SIM_API_RESPONSES, CALL);
    assert_string_equal(s.types[2], "response.output_item.added");
    expect_text(at(&s, 2, "/item/type"), "function_call");
    expect_text(at(&s, 2, "/item/name"), "f");
    assert_string_equal(s.types[3], "response.function_call_arguments.delta");
    assert_true(str_eq(gather(&s, "/delta", text), buf_str(&s.asked.reply.text.buf)));
    show_fini(&s);
}

static void responses__cut__is_completed_but_says_incomplete(void **state)
{
    (void)state;
    struct shown s;
    show_stream(&s, SIM_API_RESPONSES, "'max_output_tokens':2,");
    assert_string_equal(s.types[s.count - 1], "response.completed");
    expect_text(at(&s, s.count - 1, "/response/status"), "incomplete");
    expect_text(at(&s, s.count - 1, "/response/incomplete_details/reason"), "max_output_tokens");
    show_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat__stream__has_one_event_per_token_and_says_how_it_ended),
        cmocka_unit_test(chat__usage_asked_for__comes_once_in_an_event_without_choices),
        cmocka_unit_test(chat__cut_by_max_tokens__says_length_with_the_last_token),
        cmocka_unit_test(chat__call__streams_name_then_arguments),
        cmocka_unit_test(chat__whole__holds_what_the_stream_holds),
        cmocka_unit_test(completions__stream_and_whole__hold_the_same_text),
        cmocka_unit_test(messages__stream__has_the_events_of_a_text_block),
        cmocka_unit_test(messages__call__streams_a_tool_use_block),
        cmocka_unit_test(responses__stream__numbers_its_events_and_ends_whole),
        cmocka_unit_test(responses__call__streams_arguments),
        cmocka_unit_test(responses__cut__is_completed_but_says_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
