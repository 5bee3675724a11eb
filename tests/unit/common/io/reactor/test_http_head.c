/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/reactor/http_parse.h"

#include "tests/kit/kit.h"

static bool on_head(struct http_parser *parser)
{
    (void)parser;
    return true;
}

static void on_body(struct http_parser *parser, const char *data, size_t len)
{
    (void)parser;
    (void)data;
    (void)len;
}

static void parse(struct http_parser *parser, const char *fields)
{
    static const struct http_parser_ops ops = {.on_head = on_head, .on_body = on_body};
    static const char line[] = "GET /t HTTP/1.1\r\nHost: h\r\n";
    http_parser_init(parser, false, &ops);
    http_parser_feed(parser, line, sizeof(line) - 1);
    http_parser_feed(parser, fields, strlen(fields));
    http_parser_feed(parser, "\r\n", 2);
    assert_true(parser->is_complete);
}

static void head__field__is_found_in_any_case(void **state)
{
    (void)state;
    struct http_parser parser;
    struct str value = {0};
    parse(&parser, "X-One: a\r\nx-ONE: b\r\n");
    assert_true(http_head_get(&parser.head, STR("x-one"), &value));
    assert_true(str_eq(value, STR("a")));
    assert_int_equal(http_head_count(&parser.head, STR("X-oNe")), 2);
    assert_false(http_head_get(&parser.head, STR("x-on"), &value));
    assert_int_equal(http_head_count(&parser.head, STR("x-onex")), 0);
    assert_true(str_eq(http_head_target(&parser.head), STR("/t")));
    http_parser_fini(&parser);
}

static void head__token__is_found_in_any_list_of_that_name(void **state)
{
    (void)state;
    struct http_parser parser;
    parse(&parser, "Connection: a , B\r\nconnection: ,c\r\nOther: d\r\n");
    static const char *const found[] = {"a", "b", "C"};
    static const char *const absent[] = {"d", "a , B", "ab"};
    for (size_t i = 0; i < 3; i++) {
        if (!http_head_has_token(&parser.head, STR("connection"), str_of(found[i])) ||
            http_head_has_token(&parser.head, STR("connection"), str_of(absent[i]))) {
            fail_msg("%s / %s", found[i], absent[i]);
        }
    }
    http_parser_fini(&parser);
}

static void head__fields_of_one_connection__are_told_apart(void **state)
{
    (void)state;
    static const bool expected[] = {false, true, true, true, true,  true,
                                    true,  true, true, true, false, false};
    struct http_parser parser;
    parse(&parser, "Connection: X-Mine, close\r\nKeep-Alive: 1\r\nProxy-Connection: x\r\nTE: "
                   "x\r\nTrailer: x\r\n"
                   "Upgrade: x\r\nProxy-Authorization: x\r\nProxy-Authenticate: x\r\nx-mine: x\r\n"
                   "X-Other: x\r\nContent-Length: 0\r\n");
    assert_int_equal(parser.head.count, sizeof(expected) / sizeof(expected[0]));
    for (uint32_t i = 0; i < parser.head.count; i++) {
        if (http_head_is_hop_by_hop(&parser.head, i) != expected[i]) {
            fail_msg("field %u", i);
        }
    }
    http_parser_fini(&parser);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head__field__is_found_in_any_case),
        cmocka_unit_test(head__token__is_found_in_any_list_of_that_name),
        cmocka_unit_test(head__fields_of_one_connection__are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
