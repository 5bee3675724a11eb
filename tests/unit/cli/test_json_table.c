/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "cli/json_table.h"

static void expect(const char *json, const char *text)
{
    struct buf out;
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    assert_non_null(doc);
    buf_init(&out, mem_heap(), 1 << 20);
    assert_status(json_table(&out, yyjson_doc_get_root(doc)), ST_OK);
    assert_status(buf_add(&out, "", 1), ST_OK);
    assert_string_equal(out.p, text);
    buf_fini(&out);
    yyjson_doc_free(doc);
}

static void json_table__object__is_lines(void **state)
{
    (void)state;
    expect("{\"a\":1,\"long\":\"x\",\"t\":true,\"n\":null,\"r\":0.25,\"e\":[],\"l\":[1,2]}",
           "a     1\nlong  x\nt     yes\nn     -\nr     0.25\ne     []\nl     [1,2]\n");
}

static void json_table__list_of_objects__is_a_table(void **state)
{
    (void)state;
    expect("{\"engines\":[{\"name\":\"gpu0\",\"up\":true},{\"name\":\"b\",\"extra\":7}]}",
           "engines\n"
           "  name  up   extra\n"
           "  gpu0  yes  -\n"
           "  b     -    7\n");
}

static void json_table__nested__is_indented(void **state)
{
    (void)state;
    expect("{\"a\":{\"b\":{\"c\":1}},\"d\":2}", "a\n  b\n    c  1\nd  2\n");
    expect("[]", "[]\n");
    expect("\"x\"", "x\n");
}

static void json_table__wide_characters__align(void **state)
{
    (void)state;
    expect("[{\"n\":\"\xC3\xA4\",\"v\":1},{\"n\":\"abc\",\"v\":2}]",
           "n    v\n\xC3\xA4    1\nabc  2\n");
}

static void json_table__control_bytes__do_not_reach_the_terminal(void **state)
{
    (void)state;
    expect("{\"a\\u001b\":\"\\u001b[2J\\n\"}", "a?  ?[2J?\n");
}

static void json_table__deep__ends_as_json(void **state)
{
    (void)state;
    struct buf in;
    struct buf out;
    buf_init(&in, mem_heap(), 1 << 20);
    buf_init(&out, mem_heap(), 1 << 20);
    for (int i = 0; i < 500; i++) {
        assert_status(buf_add_str(&in, STR("{\"k\":")), ST_OK);
    }
    assert_status(buf_add_str(&in, STR("1")), ST_OK);
    for (int i = 0; i < 500; i++) {
        assert_status(buf_add_str(&in, STR("}")), ST_OK);
    }
    yyjson_doc *doc = yyjson_read(in.p, in.len, 0);
    assert_non_null(doc);
    assert_status(json_table(&out, yyjson_doc_get_root(doc)), ST_OK);
    assert_true(out.len < in.len + 200);
    yyjson_doc_free(doc);
    buf_fini(&in);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_table__object__is_lines),
        cmocka_unit_test(json_table__list_of_objects__is_a_table),
        cmocka_unit_test(json_table__nested__is_indented),
        cmocka_unit_test(json_table__wide_characters__align),
        cmocka_unit_test(json_table__control_bytes__do_not_reach_the_terminal),
        cmocka_unit_test(json_table__deep__ends_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
