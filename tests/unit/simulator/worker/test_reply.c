/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/simulator/worker/kit_ask.h"

#include <stdio.h>

#define USER "'messages':[{'role':'user','content':'hi'}]"
#define TOOLS \
    "'tools':[{'name':'f','input_schema':{'properties':{'k\xc3\xa4y':{'type':'integer'}}}}]"

static const struct sim_reply_opts plain = {.seed = 1, .mean_tokens = 40, .room_tokens = 1000};

static struct asked make(const char *json, const struct sim_reply_opts *opts)
{
    struct asked a;
    assert_status(asked_init(&a, SIM_API_CHAT, json, opts, mem_heap()), ST_OK);
    return a;
}

/* Reads all tokens: they add up to the text, and there are as many as announced. */
static void expect_tokens(const struct sim_reply *reply)
{
    struct sim_reply_pos pos = {0};
    struct sim_piece piece;
    struct buf text;
    uint32_t count = 0;
    bool has_end = false;
    buf_init(&text, mem_heap(), 1 << 20);
    while (sim_reply_next(reply, &pos, &piece)) {
        assert_false(has_end);
        has_end = piece.kind == SIM_PIECE_END;
        if (reply->is_call && count == 0) {
            assert_int_equal(piece.kind, SIM_PIECE_NAME);
            assert_true(str_eq(piece.text, buf_str(&reply->name.buf)));
        } else {
            assert_true(str_is_utf8(piece.text, NULL));
            assert_true(piece.text.len <= SIM_TOKEN_BYTES);
            assert_true(piece.kind == (reply->is_call ? SIM_PIECE_ARGS : SIM_PIECE_TEXT) ||
                        has_end);
            assert_status(buf_add_str(&text, piece.text), ST_OK);
        }
        count++;
    }
    assert_int_equal(count, reply->token_count);
    assert_int_equal(has_end, !reply->is_cut);
    assert_true(str_eq(buf_str(&text), buf_str(&reply->text.buf)));
    buf_fini(&text);
}

static void reply__same_seed_and_prompt__is_the_same(void **state)
{
    (void)state;
    struct asked a = make("{" USER "}", &plain);
    struct asked b = make("{" USER "}", &plain);
    assert_true(str_eq(buf_str(&a.reply.text.buf), buf_str(&b.reply.text.buf)));
    asked_fini(&b);
    struct sim_reply_opts other = plain;
    other.seed = 2;
    b = make("{" USER "}", &other);
    assert_false(str_eq(buf_str(&a.reply.text.buf), buf_str(&b.reply.text.buf)));
    asked_fini(&b);
    b = make("{'messages':[{'role':'user','content':'ho'}]}", &plain);
    assert_false(str_eq(buf_str(&a.reply.text.buf), buf_str(&b.reply.text.buf)));
    asked_fini(&b);
    asked_fini(&a);
}

static void reply__nothing_limits_it__ends_by_itself_near_the_mean(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sim_reply_opts opts = plain;
        opts.seed = seed;
        struct asked a = make("{" USER "}", &opts);
        assert_false(a.reply.is_cut);
        assert_in_range(a.reply.token_count, 21, 61); /* 20..60 words and the end */
        assert_true(str_starts(buf_str(&a.reply.text.buf), STR("Okay")));
        expect_tokens(&a.reply);
        asked_fini(&a);
    }
}

static void reply__max_tokens__cuts_it_without_an_end(void **state)
{
    (void)state;
    struct asked a = make("{'max_tokens':5," USER "}", &plain);
    assert_true(a.reply.is_cut);
    assert_int_equal(a.reply.token_count, 5);
    assert_int_equal(a.reply.text.buf.len, 20);
    expect_tokens(&a.reply);
    asked_fini(&a);
}

static void reply__ignore_eos__has_exactly_max_tokens(void **state)
{
    (void)state;
    struct asked a = make("{'max_tokens':333,'ignore_eos':true," USER "}", &plain);
    assert_int_equal(a.reply.token_count, 333);
    assert_int_equal(a.reply.text.buf.len, 4 * 333);
    assert_true(a.reply.is_cut);
    expect_tokens(&a.reply);
    asked_fini(&a);
}

static void reply__context_is_nearly_full__is_cut_there(void **state)
{
    (void)state;
    struct sim_reply_opts opts = plain;
    opts.room_tokens = 3;
    struct asked a = make("{'max_tokens':4000,'ignore_eos':true," USER "}", &opts);
    assert_int_equal(a.reply.token_count, 3);
    assert_true(a.reply.is_cut);
    asked_fini(&a);
}

static void reply__min_tokens__is_at_least_that_long(void **state)
{
    (void)state;
    struct asked a = make("{'min_tokens':300," USER "}", &plain);
    assert_int_equal(a.reply.token_count, 301);
    asked_fini(&a);
}

static void reply__tool_required__is_a_call_with_valid_arguments(void **state)
{
    (void)state;
    struct asked a = make("{'tool_choice':'required'," TOOLS "," USER "}", &plain);
    assert_true(a.reply.is_call);
    assert_true(str_eq(buf_str(&a.reply.name.buf), STR("f")));
    yyjson_doc *doc = yyjson_read(a.reply.text.buf.p, a.reply.text.buf.len, 0);
    assert_true(yyjson_is_int(yyjson_obj_get(yyjson_doc_get_root(doc), "k\xc3\xa4y")));
    yyjson_doc_free(doc);
    expect_tokens(&a.reply);
    asked_fini(&a);
}

static void reply__tool_is_optional__is_called_only_when_the_engine_wants(void **state)
{
    (void)state;
    struct sim_reply_opts calling = plain;
    calling.calls_tool = true;
    struct asked a = make("{" TOOLS "," USER "}", &plain);
    assert_false(a.reply.is_call);
    asked_fini(&a);
    a = make("{" TOOLS "," USER "}", &calling);
    assert_true(a.reply.is_call);
    asked_fini(&a);
    a = make("{'tool_choice':'none'," TOOLS "," USER "}", &calling);
    assert_false(a.reply.is_call);
    asked_fini(&a);
    a = make("{" USER "}", &calling);
    assert_false(a.reply.is_call);
    asked_fini(&a);
}

static void reply__one_token_for_a_call__is_its_name(void **state)
{
    (void)state;
    struct asked a = make("{'max_tokens':1,'tool_choice':'required'," TOOLS "," USER "}", &plain);
    assert_true(a.reply.is_call && a.reply.is_cut);
    assert_int_equal(a.reply.token_count, 1);
    expect_tokens(&a.reply);
    asked_fini(&a);
}

static void reply__json_asked_for__is_json(void **state)
{
    (void)state;
    struct asked a = make("{'response_format':{'type':'json_schema','json_schema':{'schema':"
                          "{'properties':{'n':{'type':'integer'}},'required':['n']}}}," USER "}",
                          &plain);
    yyjson_doc *doc = yyjson_read(a.reply.text.buf.p, a.reply.text.buf.len, 0);
    assert_true(yyjson_is_int(yyjson_obj_get(yyjson_doc_get_root(doc), "n")));
    yyjson_doc_free(doc);
    asked_fini(&a);
}

static void reply__sent_back_as_history__has_the_tokens_that_were_generated(void **state)
{
    (void)state;
    char json[2048];
    struct asked a = make("{" USER "}", &plain);
    struct str text = buf_str(&a.reply.text.buf);
    (void)snprintf(
        json, sizeof(json),
        "{'messages':[{'role':'user','content':'hi'},{'role':'assistant','content':'%.*s'}]}",
        (int)text.len, text.p);
    struct asked b = make(json, &plain);
    assert_int_equal(b.prompt_tokens, a.prompt_tokens + a.reply.token_count + 1);
    assert_true(a.ask.chain.hash_count > 1);
    assert_memory_equal(a.ask.chain.hashes, b.ask.chain.hashes,
                        a.ask.chain.hash_count * sizeof(uint64_t));
    asked_fini(&a);
    asked_fini(&b);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    struct asked a;
    if (asked_init(&a, SIM_API_CHAT, ctx, &plain, mem) != ST_OK) {
        return false;
    }
    asked_fini(&a);
    return true;
}

static void reply__any_allocation_fails__leaves_nothing(void **state)
{
    (void)state;
    char text[] = "{" USER "}";
    char call[] = "{'tool_choice':'required'," TOOLS "," USER "}";
    assert_true(kit_torture(scenario, text) > 2);
    assert_true(kit_torture(scenario, call) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply__same_seed_and_prompt__is_the_same),
        cmocka_unit_test(reply__nothing_limits_it__ends_by_itself_near_the_mean),
        cmocka_unit_test(reply__max_tokens__cuts_it_without_an_end),
        cmocka_unit_test(reply__ignore_eos__has_exactly_max_tokens),
        cmocka_unit_test(reply__context_is_nearly_full__is_cut_there),
        cmocka_unit_test(reply__min_tokens__is_at_least_that_long),
        cmocka_unit_test(reply__tool_required__is_a_call_with_valid_arguments),
        cmocka_unit_test(reply__tool_is_optional__is_called_only_when_the_engine_wants),
        cmocka_unit_test(reply__one_token_for_a_call__is_its_name),
        cmocka_unit_test(reply__json_asked_for__is_json),
        cmocka_unit_test(reply__sent_back_as_history__has_the_tokens_that_were_generated),
        cmocka_unit_test(reply__any_allocation_fails__leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
