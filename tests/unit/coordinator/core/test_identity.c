/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/identity.h"

#include "tests/kit/kit.h"

#include <stdio.h>

static struct coord_identity_input input;
static struct coord_identity out;
static struct err err;

static int setup(void **state)
{
    (void)state;
    coord_identity_clear(&input);
    err = (struct err){0};
    return 0;
}

static const char *const extra[] = {"X-Team-Task", "x-other"};

static bool header(const char *name, const char *value)
{
    return coord_identity_header(&input, extra, 2, str_of(name), str_of(value));
}

static void value(enum coord_schema schema,
                  enum coord_identity_gives gives,
                  enum coord_identity_type type,
                  const char *text)
{
    const struct coord_identity_value v = {.name = STR("a.field"),
                                           .text = str_of(text),
                                           .schema = schema,
                                           .gives = gives,
                                           .type = type};
    coord_identity_add(&input, &v);
}

static void expect_str(const char *what, struct str got, const char *expected)
{
    if (!str_eq(got, str_of(expected))) {
        fail_msg("%s is '%.*s', not '%s'", what, (int)got.len, got.p, expected);
    }
}

static void
resolves(const char *schema, const char *session, const char *parent, const char *branch)
{
    assert_status(coord_identity_resolve(&input, false, &out, &err), ST_OK);
    expect_str("schema", str_of(out.schema), schema);
    expect_str("session", out.session, session);
    expect_str("parent", out.parent, parent);
    expect_str("branch", out.branch, branch);
}

static void refuses(const char *words)
{
    assert_status(coord_identity_resolve(&input, false, &out, &err), ST_INVAL);
    if (strstr(err.text, words) == NULL) {
        fail_msg("'%s' does not say '%s'", err.text, words);
    }
}

/* --- each schema --- */

static void identity__every_row_that_names_a_session__wins_alone(void **state)
{
    (void)state;
    size_t count = 0;
    const struct coord_identity_row *rows = coord_identity_rows(&count);
    uint64_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].gives != COORD_GIVES_SESSION) {
            continue;
        }
        coord_identity_clear(&input);
        const struct coord_identity_value v = {
            .name = rows[i].name, .text = STR("the-id"), .schema = rows[i].schema};
        coord_identity_add(&input, &v);
        assert_status(coord_identity_resolve(&input, false, &out, &err), ST_OK);
        expect_str(rows[i].name.p, out.session, "the-id");
        assert_true(out.schema[0] != '\0');
        seen |= 1ULL << (unsigned)rows[i].schema;
    }
    /* All but the two that have no row: identity.headers and x-*-session-id. */
    uint64_t all = (COORD_SCHEMAS == 64 ? 0 : 1ULL << COORD_SCHEMAS) - 1;
    assert_int_equal(seen, all & ~(1ULL << COORD_SCHEMA_CONFIGURED | 1ULL << COORD_SCHEMA_VENDOR));
}

static void identity__every_header_of_the_table__noticed_in_any_case(void **state)
{
    (void)state;
    size_t count = 0;
    const struct coord_identity_row *rows = coord_identity_rows(&count);
    for (size_t i = 0; i < count && rows[i].where <= COORD_IN_HEADER_JSON; i++) {
        char name[64];
        assert_true(rows[i].name.len < sizeof(name));
        for (size_t k = 0; k <= rows[i].name.len; k++) {
            char c = rows[i].name.p[k];
            bool is_lower = c >= 'a' && c <= 'z';
            name[k] = (char)(is_lower ? c - 32 : c);
        }
        coord_identity_clear(&input);
        bool is_json = header(name, "{}");
        if (is_json != (rows[i].where == COORD_IN_HEADER_JSON) || (!is_json && input.count == 0)) {
            fail_msg("%s was not noticed", name);
        }
    }
}

static void identity__nothing_said__none(void **state)
{
    (void)state;
    header("x-request-id", "r1");
    header("x-correlation-id", "c1");
    header("x-trace-id", "t1");
    header("traceparent", "00-11-22-01");
    header("x-client-request-id", "u1");
    header("x-litellm-trace-id", "l1");
    header("user-agent", "u");
    assert_int_equal(input.count, 0);
    resolves("", "", "", "");
}

static void identity__blank__none(void **state)
{
    (void)state;
    header("x-session-id", "");
    header("x-session-id", "  \t");
    resolves("", "", "", "");
    assert_true(input.has_session_header);
}

static void identity__claude_code_root__its_session(void **state)
{
    (void)state;
    header("X-Claude-Code-Session-Id", "11111111-2222-3333-4444-555555555555");
    resolves("x-claude-code-session-id", "11111111-2222-3333-4444-555555555555", "", "");
}

static void identity__claude_code_agent__child_of_the_session(void **state)
{
    (void)state;
    header("x-claude-code-session-id", "S");
    header("x-claude-code-agent-id", "0123456789abcdef0");
    resolves("x-claude-code-session-id", "S/0123456789abcdef0", "S", "0123456789abcdef0");
}

static void identity__claude_code_agent_of_an_agent__its_child(void **state)
{
    (void)state;
    header("x-claude-code-session-id", "S");
    header("x-claude-code-agent-id", "b");
    header("x-claude-code-parent-agent-id", "a");
    resolves("x-claude-code-session-id", "S/b", "S/a", "b");
}

static void identity__codex_root__thread_is_session(void **state)
{
    (void)state;
    header("session-id", "R");
    header("thread-id", "R");
    assert_true(header("x-codex-turn-metadata", "{}"));
    resolves("session-id", "R", "", "");
}

static void identity__codex_child__parent_is_root(void **state)
{
    (void)state;
    header("session-id", "R");
    header("thread-id", "T");
    header("x-codex-parent-thread-id", "R");
    header("x-openai-subagent", "review");
    resolves("session-id", "R/T", "R", "T");
    expect_str("class", out.hints.class_hint, "review");
}

static void identity__codex_grandchild__parent_is_child(void **state)
{
    (void)state;
    header("session-id", "R");
    header("thread-id", "U");
    header("x-codex-parent-thread-id", "T");
    resolves("session-id", "R/U", "R/T", "U");
}

static void identity__codex_thread_alone__is_the_session(void **state)
{
    (void)state;
    header("thread-id", "T");
    header("x-codex-parent-thread-id", "R");
    resolves("thread-id", "T", "R", "");
}

static void identity__opencode__parent_header(void **state)
{
    (void)state;
    header("x-session-id", "ses_child");
    header("x-session-affinity", "ses_child");
    header("x-parent-session-id", "ses_root");
    resolves("x-session-id", "ses_child", "ses_root", "");
}

static void identity__own_parent__is_a_root(void **state)
{
    (void)state;
    header("x-session-id", "s");
    header("x-parent-session-id", "s");
    resolves("x-session-id", "s", "", "");
}

static void identity__dynamo__final_and_priority(void **state)
{
    (void)state;
    header("X-Dynamo-Session-ID", "d");
    header("X-Dynamo-Parent-Session-ID", "p");
    header("X-Dynamo-Session-Final", "True");
    header("x-dynamo-request-priority", "-7");
    resolves("x-dynamo-session-id", "d", "p", "");
    assert_true(out.hints.is_final);
    assert_int_equal(out.hints.priority, -7);
}

static void identity__agentic_context__all_hints(void **state)
{
    (void)state;
    const enum coord_schema schema = COORD_SCHEMA_AGENTIC_PROGRAM;
    value(schema, COORD_GIVES_SESSION, COORD_VALUE_TEXT, "prog");
    value(schema, COORD_GIVES_PARENT, COORD_VALUE_TEXT, "root");
    value(schema, COORD_GIVES_CLASS, COORD_VALUE_TEXT, "planner");
    value(schema, COORD_GIVES_STEP, COORD_VALUE_TEXT, "step 3");
    value(schema, COORD_GIVES_PRIORITY, COORD_VALUE_NUMBER, "4");
    value(schema, COORD_GIVES_DEADLINE_S, COORD_VALUE_NUMBER, "2.5");
    value(schema, COORD_GIVES_OUTPUT_TOKENS, COORD_VALUE_NUMBER, "4294967295");
    value(schema, COORD_GIVES_RETENTION_S, COORD_VALUE_TEXT, "300");
    value(schema, COORD_GIVES_EXPECTS_RESUME, COORD_VALUE_BOOL, "true");
    resolves("agentic_context.program_id", "prog", "root", "");
    expect_str("class", out.hints.class_hint, "planner");
    expect_str("step", out.hints.step_hint, "step 3");
    assert_int_equal(out.hints.priority, 4);
    assert_int_equal(out.hints.deadline_us, 2500000);
    assert_int_equal(out.hints.output_tokens, UINT32_MAX);
    assert_int_equal(out.hints.retention_us, 300000000);
    assert_true(out.hints.expects_resume);
    assert_false(out.hints.is_final);
}

static void identity__configured_header__before_agents_and_after_programs(void **state)
{
    (void)state;
    header("x-claude-code-session-id", "c");
    header("x-team-task", "mine");
    resolves("identity.headers", "mine", "", "");
    value(COORD_SCHEMA_PROGRAM_ID, COORD_GIVES_SESSION, COORD_VALUE_TEXT, "p");
    resolves("program_id", "p", "", "");
}

static void identity__vendor_pattern__last_of_the_headers(void **state)
{
    (void)state;
    header("X-Acme-Session-Id", "v");
    resolves("x-*-session-id", "v", "", "");
    header("x-session-affinity", "a");
    resolves("x-session-affinity", "a", "", "");
}

static void identity__not_the_vendor_pattern__none(void **state)
{
    (void)state;
    header("x--session-id", "v");
    header("y-acme-session-id", "v");
    header("x-acme-session-ids", "v");
    header("x-parent-session-id", "v");
    resolves("", "", "", "");
}

/* --- order, and no mixing --- */

static void identity__order_of_precedence__as_recorded_clients_need_it(void **state)
{
    (void)state;
    static const char *const names[] = {
        "x-smg-routing-key", "agent-session-id", "x-session-affinity",      "x-session-id",
        "thread-id",         "session-id",       "x-claude-code-session-id"};
    value(COORD_SCHEMA_PROMPT_CACHE_KEY, COORD_GIVES_SESSION, COORD_VALUE_TEXT, "k");
    resolves("prompt_cache_key", "k", "", "");
    value(COORD_SCHEMA_CODEX_BODY, COORD_GIVES_SESSION, COORD_VALUE_TEXT, "cm");
    resolves("client_metadata", "cm", "", "");
    value(COORD_SCHEMA_CLAUDE_CODE_BODY, COORD_GIVES_SESSION, COORD_VALUE_TEXT, "md");
    resolves("metadata.user_id", "md", "", "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        header(names[i], names[i]);
        assert_status(coord_identity_resolve(&input, false, &out, &err), ST_OK);
        expect_str("schema", str_of(out.schema), names[i]);
        /* A thread inside a session is a branch of it. */
        struct str head = {out.session.p, strlen(names[i])};
        expect_str("session", head, names[i]);
    }
}

static void identity__fields_of_other_schemas__not_used(void **state)
{
    (void)state;
    header("x-claude-code-session-id", "c");
    header("x-parent-session-id", "p");
    header("thread-id", "t");
    header("x-dynamo-session-final", "true");
    header("x-dynamo-request-priority", "9");
    header("x-openai-subagent", "review");
    resolves("x-claude-code-session-id", "c", "", "");
    assert_false(out.hints.is_final);
    assert_int_equal(out.hints.priority, 0);
    assert_int_equal(out.hints.class_hint.len, 0);
}

static void identity__hints_without_a_session__ignored(void **state)
{
    (void)state;
    header("x-claude-code-agent-id", "a");
    header("x-dynamo-request-priority", "not a number");
    resolves("", "", "", "");
}

static void identity__bad_field_of_a_losing_schema__not_looked_at(void **state)
{
    (void)state;
    header("x-session-id", "s");
    header("x-smg-routing-key", "bad\x01");
    resolves("x-session-id", "s", "", "");
}

/* --- refusals --- */

static void identity__two_values__refused(void **state)
{
    (void)state;
    header("x-session-id", "a");
    header("X-Session-ID", "b");
    refuses("`x-session-id` was sent with two values");
}

static void identity__same_value_twice__fine(void **state)
{
    (void)state;
    header("x-session-id", "a");
    header("X-Session-ID", "a");
    resolves("x-session-id", "a", "", "");
}

static void identity__two_fields_that_differ__refused(void **state)
{
    (void)state;
    header("x-openclaw-session-key", "a");
    header("x-moltbot-session-key", "b");
    refuses("`x-openclaw-session-key` and `x-moltbot-session-key` contradict each other");
}

static void identity__length__at_most_256(void **state)
{
    (void)state;
    char id[COORD_SESSION_MAX + 2];
    memset(id, 'a', sizeof(id));
    id[COORD_SESSION_MAX] = '\0';
    header("x-session-id", id);
    resolves("x-session-id", id, "", "");
    coord_identity_clear(&input);
    id[COORD_SESSION_MAX] = 'a';
    id[COORD_SESSION_MAX + 1] = '\0';
    header("x-session-id", id);
    refuses("`x-session-id` is longer than 256 bytes");
}

static void identity__branch_too_long_with_its_session__refused(void **state)
{
    (void)state;
    char id[COORD_SESSION_MAX];
    memset(id, 'a', sizeof(id));
    id[COORD_SESSION_MAX - 2] = '\0';
    header("x-claude-code-session-id", id);
    header("x-claude-code-agent-id", "b");
    assert_status(coord_identity_resolve(&input, false, &out, &err), ST_OK);
    assert_int_equal(out.session.len, COORD_SESSION_MAX);
    coord_identity_clear(&input);
    header("x-claude-code-session-id", id);
    header("x-claude-code-agent-id", "bc");
    refuses("`x-claude-code-agent-id` is too long");
}

static void identity__control_bytes_and_bad_utf8__refused(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        const char *words;
    } cases[] = {{"a\x01", "control characters"},
                 {"a\x7f", "control characters"},
                 {"a\tb", "control characters"},
                 {"\xff", "is not UTF-8"},
                 {"a\xc3", "is not UTF-8"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        coord_identity_clear(&input);
        header("x-claude-code-session-id", "S");
        header("x-claude-code-agent-id", cases[i].id);
        refuses("`x-claude-code-agent-id`");
        refuses(cases[i].words);
    }
}

static void identity__hints_out_of_range__refused(void **state)
{
    (void)state;
    static const struct {
        enum coord_identity_gives gives;
        enum coord_identity_type type;
        const char *text;
    } cases[] = {
        {COORD_GIVES_PRIORITY, COORD_VALUE_NUMBER, "2147483648"},
        {COORD_GIVES_PRIORITY, COORD_VALUE_TEXT, "high"},
        {COORD_GIVES_PRIORITY, COORD_VALUE_BOOL, "true"},
        {COORD_GIVES_OUTPUT_TOKENS, COORD_VALUE_NUMBER, "-1"},
        {COORD_GIVES_OUTPUT_TOKENS, COORD_VALUE_NUMBER, "4294967296"},
        {COORD_GIVES_DEADLINE_S, COORD_VALUE_NUMBER, "-0.1"},
        {COORD_GIVES_DEADLINE_S, COORD_VALUE_NUMBER, "1e9"},
        {COORD_GIVES_RETENTION_S, COORD_VALUE_TEXT, "nan"},
        {COORD_GIVES_IS_FINAL, COORD_VALUE_TEXT, "yes"},
        {COORD_GIVES_EXPECTS_RESUME, COORD_VALUE_NUMBER, "2"},
        {COORD_GIVES_STEP, COORD_VALUE_NUMBER, "2"},
        {COORD_GIVES_CLASS, COORD_VALUE_BROKEN, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        coord_identity_clear(&input);
        value(COORD_SCHEMA_AGENT_HINT, COORD_GIVES_SESSION, COORD_VALUE_TEXT, "s");
        value(COORD_SCHEMA_AGENT_HINT, cases[i].gives, cases[i].type, cases[i].text);
        if (coord_identity_resolve(&input, false, &out, &err) != ST_INVAL ||
            strstr(err.text, "`a.field`") == NULL) {
            fail_msg("case %zu: %s: %s", i, cases[i].text, err.text);
        }
    }
}

static void identity__too_many_values__refused(void **state)
{
    (void)state;
    for (int i = 0; i <= COORD_IDENTITY_VALUES; i++) {
        header("x-session-id", "a");
    }
    refuses("more than 64 times");
    assert_status(coord_identity_resolve(&input, true, &out, &err), ST_OK);
    expect_str("session", out.session, "a");
}

static void identity__ignore__next_schema(void **state)
{
    (void)state;
    header("x-claude-code-session-id", "bad\x02");
    header("x-session-id", "good");
    refuses("`x-claude-code-session-id`");
    assert_status(coord_identity_resolve(&input, true, &out, &err), ST_OK);
    expect_str("session", out.session, "good");
}

static void identity__ignore_and_nothing_else__none(void **state)
{
    (void)state;
    header("x-session-id", "a");
    header("x-session-id", "b");
    assert_status(coord_identity_resolve(&input, true, &out, &err), ST_OK);
    expect_str("schema", str_of(out.schema), "");
    expect_str("session", out.session, "");
}

static void identity__base64_of_an_address__no_session(void **state)
{
    (void)state;
    header("x-session-id", "MTI3LjAuMC4xOjgwMDA=");           /* 127.0.0.1:8000 */
    header("x-aibrix-session-key", "MTAuMjAuMzAuNDA6ODA4MA"); /* 10.20.30.40:8080, no padding */
    resolves("", "", "", "");
    header("x-aibrix-session-key", "MTIzNDU2Nzg5MDEyMzQ1"); /* digits only */
    resolves("x-aibrix-session-key", "MTIzNDU2Nzg5MDEyMzQ1", "", "");
}

/* --- what engines do not see --- */

static void keeps_out__router_fields__yes(void **state)
{
    (void)state;
    static const char *const names[] = {"X-SMG-Target-Worker",
                                        "x-dynamo-worker-instance-id",
                                        "x-aibrix-config-profile",
                                        "x-bf-vk",
                                        "x-litellm-tags",
                                        "Routing-Strategy",
                                        "x-data-parallel-rank",
                                        "x-prefiller-host-port",
                                        "x-gateway-destination-endpoint",
                                        "x-session-token",
                                        "x-session-token-prefill",
                                        "x-llm-d-slo-ttft-ms",
                                        "x-sgl-routing-key"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!coord_identity_keeps_out(str_of(names[i]))) {
            fail_msg("%s reaches engines", names[i]);
        }
    }
}

static void keeps_out__others__no(void **state)
{
    (void)state;
    static const char *const names[] = {"x-session-id",
                                        "x-session-affinity",
                                        "content-type",
                                        "anthropic-beta",
                                        "x-smg",
                                        "x",
                                        "",
                                        "x-claude-code-session-id",
                                        "session-id",
                                        "x-bfoo"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (coord_identity_keeps_out(str_of(names[i]))) {
            fail_msg("%s does not reach engines", names[i]);
        }
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        T(identity__every_row_that_names_a_session__wins_alone),
        T(identity__every_header_of_the_table__noticed_in_any_case),
        T(identity__nothing_said__none),
        T(identity__blank__none),
        T(identity__claude_code_root__its_session),
        T(identity__claude_code_agent__child_of_the_session),
        T(identity__claude_code_agent_of_an_agent__its_child),
        T(identity__codex_root__thread_is_session),
        T(identity__codex_child__parent_is_root),
        T(identity__codex_grandchild__parent_is_child),
        T(identity__codex_thread_alone__is_the_session),
        T(identity__opencode__parent_header),
        T(identity__own_parent__is_a_root),
        T(identity__dynamo__final_and_priority),
        T(identity__agentic_context__all_hints),
        T(identity__configured_header__before_agents_and_after_programs),
        T(identity__vendor_pattern__last_of_the_headers),
        T(identity__not_the_vendor_pattern__none),
        T(identity__order_of_precedence__as_recorded_clients_need_it),
        T(identity__fields_of_other_schemas__not_used),
        T(identity__hints_without_a_session__ignored),
        T(identity__bad_field_of_a_losing_schema__not_looked_at),
        T(identity__two_values__refused),
        T(identity__same_value_twice__fine),
        T(identity__two_fields_that_differ__refused),
        T(identity__length__at_most_256),
        T(identity__branch_too_long_with_its_session__refused),
        T(identity__control_bytes_and_bad_utf8__refused),
        T(identity__hints_out_of_range__refused),
        T(identity__too_many_values__refused),
        T(identity__ignore__next_schema),
        T(identity__ignore_and_nothing_else__none),
        T(identity__base64_of_an_address__no_session),
        T(keeps_out__router_fields__yes),
        T(keeps_out__others__no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
