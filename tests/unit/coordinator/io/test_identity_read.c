/* SPDX-License-Identifier: Apache-2.0 */
/* Who is calling, found in bodies and header fields; and the billing block's bytes. */
#include "coordinator/io/body.h"

#include "tests/kit/kit.h"

#include <stdio.h>
#include <stdlib.h>

static struct body_parser *parser;
static struct body_view view;
static struct coord_identity out;
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

static void parse(const char *members)
{
    char *body = NULL;
    assert_true(asprintf(&body, "{\"model\":\"m\",%s}", members) > 0);
    assert_status(body_parse(parser, COORD_ROUTE_MESSAGES, body, strlen(body), &view, &err), ST_OK);
    free(body); /* what is kept does not point into it */
}

static void header(const char *name, const char *value)
{
    identity_read_header(view.identity, NULL, 0, str_of(name), str_of(value));
}

static void expect_str(const char *what, struct str got, const char *expected)
{
    if (!str_eq(got, str_of(expected))) {
        fail_msg("%s is '%.*s', not '%s'", what, (int)got.len, got.p, expected);
    }
}

static void resolves(const char *schema, const char *session, const char *parent)
{
    enum status st = coord_identity_resolve(&view.identity->input, false, &out, &err);
    if (st != ST_OK) {
        fail_msg("refused: %s", err.text);
    }
    expect_str("schema", str_of(out.schema), schema);
    expect_str("session", out.session, session);
    expect_str("parent", out.parent, parent);
}

static void refuses(const char *members, const char *words)
{
    parse(members);
    assert_status(coord_identity_resolve(&view.identity->input, false, &out, &err), ST_INVAL);
    if (strstr(err.text, words) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, words);
    }
}

/* Puts "the-id" at a path: {"a":{"b":"the-id"}} without the outer braces. */
static void nest(struct str path, char *to, size_t cap)
{
    struct str part = {NULL, 0};
    size_t depth = 0;
    size_t len = 0;
    while (str_split(&path, '.', &part)) {
        len += (size_t)snprintf(to + len, cap - len, "%s\"%.*s\":", depth++ > 0 ? "{" : "",
                                (int)part.len, part.p);
    }
    len += (size_t)snprintf(to + len, cap - len, "\"the-id\"");
    for (; depth > 1; depth--) {
        len += (size_t)snprintf(to + len, cap - len, "}");
    }
}

static void body__every_path_of_the_table__found(void **state)
{
    (void)state;
    size_t count = 0;
    const struct coord_identity_row *rows = coord_identity_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].where < COORD_IN_BODY || rows[i].gives != COORD_GIVES_SESSION) {
            continue;
        }
        char members[256];
        nest(rows[i].name, members, sizeof(members));
        parse(members);
        assert_status(coord_identity_resolve(&view.identity->input, false, &out, &err), ST_OK);
        expect_str(members, out.session, "the-id");
    }
}

static void body__claude_code_user_id__its_json_is_read(void **state)
{
    (void)state;
    parse("\"metadata\":{\"user_id\":\"{\\\"device_id\\\":\\\"ab\\\",\\\"account_uuid\\\":\\\"\\\","
          "\\\"session_id\\\":\\\"S-1\\\"}\"}");
    resolves("metadata.user_id", "S-1", "");
}

static void body__user_id_that_is_no_json__says_nothing(void **state)
{
    (void)state;
    static const char *const ids[] = {"\"user_1\"", "\"{broken\"", "7", "null", "\"[1]\"", "{}"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        char members[128];
        snprintf(members, sizeof(members), "\"metadata\":{\"user_id\":%s}", ids[i]);
        parse(members);
        resolves("", "", "");
    }
}

static void body__agentic_context__object_or_text(void **state)
{
    (void)state;
    parse("\"vllm_xargs\":{\"agentic_context\":{\"program_id\":\"p\",\"parent_program_id\":\"q\","
          "\"priority\":3,\"expected_resume\":true,\"kv_retention_ttl\":1.5}}");
    resolves("agentic_context.program_id", "p", "q");
    assert_int_equal(out.hints.priority, 3);
    assert_int_equal(out.hints.retention_us, 1500000);
    assert_true(out.hints.expects_resume);
    parse("\"vllm_xargs\":{\"agentic_context\":\"{\\\"session_id\\\":\\\"s\\\",\\\"agent_id\\\":"
          "\\\"a\\\",\\\"step_id\\\":\\\"st\\\"}\"}");
    resolves("agentic_context.session_id", "s/a", "s");
    expect_str("step", out.hints.step_hint, "st");
}

static void body__agentic_context_malformed__refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "7", "\"{\"", "\"x\"", "[]", "true", "{\"program_id\":7}", "{\"program_id\":{}}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char members[128];
        snprintf(members, sizeof(members), "\"vllm_xargs\":{\"agentic_context\":%s}", bad[i]);
        refuses(members, "`vllm_xargs.agentic_context.program_id`");
    }
}

static void body__agentic_context_text_too_long__refused(void **state)
{
    (void)state;
    size_t cap = COORD_IDENTITY_JSON_BYTES + 256;
    char *members = malloc(cap);
    assert_non_null(members);
    int at = snprintf(members, cap,
                      "\"vllm_xargs\":{\"agentic_context\":\"{\\\"program_id\\\":\\\"p\\\"");
    memset(members + at, ' ', COORD_IDENTITY_JSON_BYTES);
    snprintf(members + at + COORD_IDENTITY_JSON_BYTES, cap - (size_t)at - COORD_IDENTITY_JSON_BYTES,
             "}\"}");
    refuses(members, "`vllm_xargs.agentic_context.program_id`");
    free(members);
}

static void body__doubled_member_that_differs__refused(void **state)
{
    (void)state;
    refuses("\"agent_hint\":{\"session_id\":\"a\",\"session_id\":\"b\"}",
            "`agent_hint.session_id` was sent with two values");
}

static void body__too_long_id__refused(void **state)
{
    (void)state;
    char members[400];
    char id[COORD_SESSION_MAX + 40];
    memset(id, 'a', sizeof(id));
    id[sizeof(id) - 1] = '\0';
    snprintf(members, sizeof(members), "\"program_id\":\"%s\"", id);
    refuses(members, "`program_id` is longer than 256 bytes");
}

static void body__soft_field_of_another_type__says_nothing(void **state)
{
    (void)state;
    parse("\"session_id\":7,\"prompt_cache_key\":[1],\"conversation\":{\"x\":1},\"metadata\":[],"
          "\"client_metadata\":\"text\",\"extra_body\":null,\"session_params\":3");
    resolves("", "", "");
}

static void body__conversation_object__its_id(void **state)
{
    (void)state;
    parse("\"conversation\":{\"id\":\"conv_1\"}");
    resolves("conversation", "conv_1", "");
}

static void body__codex_metadata__session_and_threads(void **state)
{
    (void)state;
    parse(
        "\"prompt_cache_key\":\"R\",\"client_metadata\":{\"session_id\":\"R\",\"thread_id\":\"T\","
        "\"parent_thread_id\":\"R\",\"x-openai-subagent\":\"compact\"}");
    resolves("client_metadata", "R/T", "R");
    expect_str("class", out.hints.class_hint, "compact");
}

static void header__before_body_of_the_same_client__wins(void **state)
{
    (void)state;
    parse("\"metadata\":{\"user_id\":\"{\\\"session_id\\\":\\\"other\\\"}\"}");
    header("x-claude-code-session-id", "S");
    resolves("x-claude-code-session-id", "S", "");
}

static void header__codex_turn_metadata__turn_is_the_step(void **state)
{
    (void)state;
    parse("\"stream\":true");
    header("session-id", "R");
    header("x-codex-turn-metadata", "{\"agent_name\":\"/root\",\"turn_id\":\"t-9\"}");
    resolves("session-id", "R", "");
    expect_str("step", out.hints.step_hint, "t-9");
}

static void header__codex_turn_metadata_broken__refused(void **state)
{
    (void)state;
    parse("\"stream\":true");
    header("session-id", "R");
    header("x-codex-turn-metadata", "{\"turn_id\":");
    assert_status(coord_identity_resolve(&view.identity->input, false, &out, &err), ST_INVAL);
    assert_non_null(strstr(err.text, "`x-codex-turn-metadata`"));
}

static void identity__next_body__forgets_the_last(void **state)
{
    (void)state;
    parse("\"program_id\":\"p\"");
    header("x-session-id", "s");
    parse("\"stream\":false");
    resolves("", "", "");
    assert_false(view.identity->input.has_session_header);
}

static void identity__many_blank_values__take_no_room(void **state)
{
    (void)state;
    char blank[COORD_SESSION_MAX + 1];
    memset(blank, ' ', sizeof(blank));
    blank[sizeof(blank) - 1] = '\0';
    struct buf members;
    buf_init(&members, mem_heap(), 1 << 20);
    assert_status(buf_add_str(&members, STR("\"agent_hint\":{")), ST_OK);
    for (int i = 0; i < 100; i++) {
        assert_status(buf_add_fmt(&members, "\"session_id\":\"%s\",", blank), ST_OK);
    }
    assert_status(buf_add_str(&members, STR("\"session_id\":\"whole\"}")), ST_OK);
    assert_status(buf_add(&members, "", 1), ST_OK);
    parse(members.p);
    resolves("agent_hint", "whole", "");
    buf_fini(&members);
}

/* --- the billing block --- */

#define BILLING \
    "{\"type\":\"text\",\"text\":\"x-anthropic-billing-header: cc_version=1.2.3; x=1;\"}"

static void expect_cut(enum coord_route route, const char *body, const char *expected)
{
    assert_status(body_parse(parser, route, body, strlen(body), &view, &err), ST_OK);
    char got[512];
    size_t after = view.billing_at + view.billing_cut;
    snprintf(got, sizeof(got), "%.*s%s", (int)view.billing_at, body, body + after);
    if (strcmp(got, expected) != 0) {
        fail_msg("%s became %s, not %s", body, got, expected);
    }
}

static void billing__first_of_several__cut_with_its_comma(void **state)
{
    (void)state;
    expect_cut(COORD_ROUTE_MESSAGES,
               "{\"model\":\"m\", \"system\" : [ " BILLING
               " , {\"text\":\"a\",\"type\":\"text\"}],\"n\":1}",
               "{\"model\":\"m\", \"system\" : [ {\"text\":\"a\",\"type\":\"text\"}],\"n\":1}");
}

static void billing__alone__leaves_an_empty_list(void **state)
{
    (void)state;
    expect_cut(COORD_ROUTE_COUNT_TOKENS, "{\"model\":\"m\",\"system\":[" BILLING " ]}",
               "{\"model\":\"m\",\"system\":[ ]}");
}

static void billing__elsewhere__stays(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        ("{\"model\":\"m\",\"system\":[{\"type\":\"text\",\"text\":\"a\"}," BILLING "]}"),
        "{\"model\":\"m\",\"system\":\"x-anthropic-billing-header: 1\"}",
        "{\"model\":\"m\",\"system\":[]}",
        "{\"model\":\"m\",\"system\":[\"x-anthropic-billing-header:\"]}",
        "{\"model\":\"m\"}",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        expect_cut(COORD_ROUTE_MESSAGES, bodies[i], bodies[i]);
    }
    expect_cut(COORD_ROUTE_CHAT, "{\"model\":\"m\",\"system\":[" BILLING "]}",
               "{\"model\":\"m\",\"system\":[" BILLING "]}");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(body__every_path_of_the_table__found),
        T(body__claude_code_user_id__its_json_is_read),
        T(body__user_id_that_is_no_json__says_nothing),
        T(body__agentic_context__object_or_text),
        T(body__agentic_context_malformed__refused),
        T(body__agentic_context_text_too_long__refused),
        T(body__doubled_member_that_differs__refused),
        T(body__too_long_id__refused),
        T(body__soft_field_of_another_type__says_nothing),
        T(body__conversation_object__its_id),
        T(body__codex_metadata__session_and_threads),
        T(header__before_body_of_the_same_client__wins),
        T(header__codex_turn_metadata__turn_is_the_step),
        T(header__codex_turn_metadata_broken__refused),
        T(identity__next_body__forgets_the_last),
        T(identity__many_blank_values__take_no_room),
        T(billing__first_of_several__cut_with_its_comma),
        T(billing__alone__leaves_an_empty_list),
        T(billing__elsewhere__stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
