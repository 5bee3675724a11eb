/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/json.h"

static const char text[] = "{\"s\":\"a\\u0000b\",\"n\":7,\"r\":3.0,\"h\":1.5,\"m\":-1,\"b\":true,"
                           "\"big\":18446744073709551615,\"huge\":1e300,\"z\":null,\"l\":[]}";

static int parse(void **state)
{
    yyjson_doc *doc = yyjson_read(text, sizeof(text) - 1, 0);
    *state = doc;
    return doc == NULL ? -1 : 0;
}

static int drop(void **state)
{
    yyjson_doc_free(*state);
    return 0;
}

static void json_get_str__types__only_strings(void **state)
{
    yyjson_val *obj = yyjson_doc_get_root(*state);
    struct str s = STR("kept");
    assert_false(json_get_str(obj, "n", &s));
    assert_false(json_get_str(obj, "absent", &s));
    assert_false(json_get_str(NULL, "s", &s));
    assert_false(json_get_str(yyjson_obj_get(obj, "l"), "s", &s));
    assert_true(str_eq(s, STR("kept")));
    assert_true(json_get_str(obj, "s", &s));
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.p, "a\0b", 3);
    assert_null(json_str(yyjson_obj_get(obj, "n")).p);
}

static void json_get_u64__numbers__only_whole_unsigned(void **state)
{
    yyjson_val *obj = yyjson_doc_get_root(*state);
    uint64_t v = 42;
    static const char *const bad[] = {"s", "h", "m", "b", "z", "huge", "l", "absent"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (json_get_u64(obj, bad[i], &v)) {
            fail_msg("member %s was taken", bad[i]);
        }
    }
    assert_int_equal(v, 42);
    assert_true(json_get_u64(obj, "n", &v) && v == 7);
    assert_true(json_get_u64(obj, "r", &v) && v == 3);
    assert_true(json_get_u64(obj, "big", &v) && v == UINT64_MAX);
}

static void json_get_bool__types__only_truths(void **state)
{
    yyjson_val *obj = yyjson_doc_get_root(*state);
    bool v = false;
    assert_false(json_get_bool(obj, "n", &v));
    assert_false(json_get_bool(obj, "z", &v));
    assert_true(json_get_bool(obj, "b", &v));
    assert_true(v);
}

static bool write_scenario(void *ctx, const struct mem *mem)
{
    yyjson_val *obj = yyjson_doc_get_root(ctx);
    struct buf out;
    buf_init(&out, mem, 1000);
    enum status st = buf_add_str(&out, STR("kept "));
    if (st == ST_OK) {
        st = json_add_val(&out, yyjson_obj_get(obj, "l"));
        st = st == ST_OK ? json_add_val(&out, yyjson_obj_get(obj, "s")) : st;
        assert_true(st == ST_OK || str_starts(buf_str(&out), STR("kept ")));
    }
    assert_true(st != ST_OK || str_eq(buf_str(&out), STR("kept []\"a\\u0000b\"")));
    buf_fini(&out);
    return st == ST_OK;
}

static void json_add_val__each_allocation_fails__nothing_leaks(void **state)
{
    assert_true(kit_torture(write_scenario, *state) >= 3);
}

static void json_add_val__no_room__is_full(void **state)
{
    struct buf out;
    buf_init(&out, mem_heap(), 10);
    assert_status(json_add_val(&out, yyjson_doc_get_root(*state)), ST_FULL);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_get_str__types__only_strings),
        cmocka_unit_test(json_get_u64__numbers__only_whole_unsigned),
        cmocka_unit_test(json_get_bool__types__only_truths),
        cmocka_unit_test(json_add_val__each_allocation_fails__nothing_leaks),
        cmocka_unit_test(json_add_val__no_room__is_full),
    };
    return cmocka_run_group_tests(tests, parse, drop);
}
