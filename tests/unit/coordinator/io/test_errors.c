/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "coordinator/io/errors.h"
#include "coordinator/io/sse.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

static const enum coord_route routes[] = {COORD_ROUTE_CHAT, COORD_ROUTE_COMPLETIONS,
                                          COORD_ROUTE_RESPONSES, COORD_ROUTE_MESSAGES,
                                          COORD_ROUTE_COUNT_TOKENS};

static void body__openai__has_its_shape(void **state)
{
    (void)state;
    char out[ERROR_BODY_BYTES];
    const struct error_info info = {.status = 404,
                                    .code = "model_not_found",
                                    .message = STR("no model \"x\""),
                                    .request = STR("r-1")};
    size_t len = error_write_body(COORD_ROUTE_CHAT, &info, out, sizeof(out));
    assert_string_equal(out,
                        "{\"error\":{\"message\":\"no model "
                        "\\\"x\\\"\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":"
                        "\"model_not_found\"},\"request_id\":\"r-1\"}");
    assert_int_equal(len, strlen(out));
}

static void body__anthropic__has_its_shape(void **state)
{
    (void)state;
    char out[ERROR_BODY_BYTES];
    const struct error_info info = {
        .status = 404, .code = "model_not_found", .message = STR("m"), .request = STR("r-1")};
    size_t len = error_write_body(COORD_ROUTE_MESSAGES, &info, out, sizeof(out));
    assert_string_equal(out, "{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\","
                             "\"message\":\"m\"},\"request_id\":\"r-1\"}");
    assert_int_equal(len, strlen(out));
}

static void event__each_api__has_its_shape(void **state)
{
    (void)state;
    char out[ERROR_BODY_BYTES];
    const struct error_info info = {
        .status = 502, .code = "engine_died", .message = STR("m\n"), .request = STR("")};
    (void)error_write_event(COORD_ROUTE_CHAT, &info, out, sizeof(out));
    assert_string_equal(out, "data: "
                             "{\"error\":{\"message\":\"m\\u000a\",\"type\":\"server_error\","
                             "\"param\":null,\"code\":\"engine_died\"}}\n\n");
    (void)error_write_event(COORD_ROUTE_MESSAGES, &info, out, sizeof(out));
    assert_string_equal(
        out,
        "event: error\ndata: "
        "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"m\\u000a\"}}\n\n");
    (void)error_write_event(COORD_ROUTE_RESPONSES, &info, out, sizeof(out));
    assert_string_equal(
        out,
        "event: error\ndata: "
        "{\"type\":\"error\",\"sequence_number\":0,\"error\":{\"message\":\"m\\u000a\",\"type\":"
        "\"server_error\",\"param\":null,\"code\":\"engine_died\"},\"param\":null,\"code\":"
        "\"engine_died\",\"message\":"
        "\"m\\u000a\"}\n\n");
}

static void body__status__decides_the_type(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *openai;
        const char *anthropic;
    } cases[] = {
        {400, "\"invalid_request_error\"", "\"invalid_request_error\""},
        {401, "\"authentication_error\"", "\"authentication_error\""},
        {403, "\"permission_error\"", "\"permission_error\""},
        {404, "\"invalid_request_error\"", "\"not_found_error\""},
        {413, "\"invalid_request_error\"", "\"request_too_large\""},
        {429, "\"rate_limit_error\"", "\"rate_limit_error\""},
        {500, "\"server_error\"", "\"api_error\""},
        {503, "\"server_error\"", "\"overloaded_error\""},
        {504, "\"server_error\"", "\"timeout_error\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[ERROR_BODY_BYTES];
        const struct error_info info = {
            .status = cases[i].status, .code = "c", .message = STR("m"), .request = STR("r")};
        (void)error_write_body(COORD_ROUTE_CHAT, &info, out, sizeof(out));
        assert_non_null(strstr(out, cases[i].openai));
        (void)error_write_body(COORD_ROUTE_COUNT_TOKENS, &info, out, sizeof(out));
        assert_non_null(strstr(out, cases[i].anthropic));
    }
}

/* The event is read back by our own reader, its JSON by the strict parser. */
static void expect_sound(enum coord_route route, const struct error_info *info)
{
    char out[ERROR_BODY_BYTES];
    size_t len = error_write_body(route, info, out, sizeof(out));
    assert_true(len > 0 && len < sizeof(out) && strlen(out) == len);
    yyjson_doc *doc = yyjson_read(out, len, 0);
    if (doc == NULL) {
        fail_msg("not JSON: %s", out);
    }
    assert_true(yyjson_is_obj(yyjson_obj_get(yyjson_doc_get_root(doc), "error")));
    yyjson_doc_free(doc);
    len = error_write_event(route, info, out, sizeof(out));
    assert_true(len > 0 && len < sizeof(out) && strlen(out) == len);
    struct sse_reader reader;
    sse_reader_init(&reader, route);
    sse_reader_feed(&reader, out, len);
    assert_int_equal(reader.facts.event_count, 1); /* it ended */
    assert_true(reader.facts.has_error);
    assert_false(reader.facts.has_content);
    sse_reader_fini(&reader);
    const char *data = strstr(out, "data: ");
    assert_non_null(data);
    doc = yyjson_read(data + 6, strlen(data + 6), 0);
    if (doc == NULL) {
        fail_msg("not JSON: %s", out);
    }
    yyjson_doc_free(doc);
}

static void any__hostile_texts__stay_sound_and_bounded(void **state)
{
    (void)state;
    static const char *const units[] = {"a",
                                        "\"",
                                        "\\",
                                        "\x01",
                                        "\n\ndata: ",
                                        "\xFF",
                                        "\xC3\xA9",
                                        "\xF0\x9F\x98\x80",
                                        "\xED\xA0\x80",
                                        "\xE2\x82"};
    enum { MAX = 3000 };
    char *text = malloc(MAX);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t unit = strlen(units[i]);
        for (size_t len = 0; len + unit <= MAX; len += len < 1100 ? unit : 200 * unit) {
            for (size_t at = 0; at + unit <= len; at += unit) {
                memcpy(text + at, units[i], unit);
            }
            struct str cut = {text, len - len % unit};
            for (size_t k = 0; k < sizeof(routes) / sizeof(routes[0]); k++) {
                const struct error_info info = {
                    .status = 500, .code = units[i], .message = cut, .request = cut};
                expect_sound(routes[k], &info);
            }
        }
    }
    free(text);
}

static void any__no_code_or_message__is_sound(void **state)
{
    (void)state;
    const struct error_info info = {
        .status = 500, .code = NULL, .message = {NULL, 0}, .request = {NULL, 0}};
    for (size_t k = 0; k < sizeof(routes) / sizeof(routes[0]); k++) {
        expect_sound(routes[k], &info);
    }
}

static void any__a_small_buffer__is_whole_or_empty(void **state)
{
    (void)state;
    const struct error_info info = {
        .status = 500, .code = "c", .message = STR("message"), .request = STR("r")};
    for (size_t k = 0; k < sizeof(routes) / sizeof(routes[0]); k++) {
        for (size_t cap = 1; cap < 400; cap++) {
            char *out = malloc(cap);
            assert_non_null(out);
            size_t len = error_write_body(routes[k], &info, out, cap);
            assert_true(len < cap && out[len] == '\0');
            yyjson_doc *doc = len > 0 ? yyjson_read(out, len, 0) : NULL;
            assert_true(len == 0 || doc != NULL);
            yyjson_doc_free(doc);
            len = error_write_event(routes[k], &info, out, cap);
            assert_true(len < cap && out[len] == '\0');
            assert_true(len == 0 || strcmp(out + len - 3, "}\n\n") == 0);
            free(out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body__openai__has_its_shape),
        cmocka_unit_test(body__anthropic__has_its_shape),
        cmocka_unit_test(event__each_api__has_its_shape),
        cmocka_unit_test(body__status__decides_the_type),
        cmocka_unit_test(any__hostile_texts__stay_sound_and_bounded),
        cmocka_unit_test(any__no_code_or_message__is_sound),
        cmocka_unit_test(any__a_small_buffer__is_whole_or_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
