/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/str.h"

static void buf_add__many_pieces__are_joined(void **state)
{
    (void)state;
    struct kit_mem km;
    struct buf buf;
    kit_mem_init(&km);
    buf_init(&buf, &km.mem, 10000);
    for (int i = 0; i < 1000; i++) {
        assert_status(buf_add(&buf, "0123456789", 10), ST_OK);
    }
    assert_int_equal(buf.len, 10000);
    assert_memory_equal(buf.p + 9990, "0123456789", 10);
    assert_status(buf_add(&buf, "x", 1), ST_FULL);
    assert_int_equal(buf.len, 10000);
    assert_true(km.call_count < 12);
    buf_fini(&buf);
    kit_mem_expect_empty(&km);
    buf_fini(NULL);
}

static void buf_add_fmt__short_and_long__both_fit_to_the_limit(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, mem_heap(), 700);
    assert_status(buf_add_fmt(&buf, "%d-%s", 5, "x"), ST_OK);
    assert_true(str_eq(buf_str(&buf), STR("5-x")));
    assert_status(buf_add_fmt(&buf, "%0697d", 1), ST_OK);
    assert_int_equal(buf.len, 700);
    assert_int_equal(buf.p[699], '1');
    assert_status(buf_add_fmt(&buf, "%d", 1), ST_FULL);
    buf_fini(&buf);
}

static void buf_add_json__special_bytes__are_escaped(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, mem_heap(), 1000);
    assert_status(buf_add_json(&buf, STR("a\"b\\c\n\r\t\x01\x1F/\xC3\xA4")), ST_OK);
    assert_true(str_eq(buf_str(&buf), STR("a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f/\xC3\xA4")));
    buf_fini(&buf);
}

static void buf_add_json__no_room__leaves_the_length(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, mem_heap(), 8);
    assert_status(buf_add(&buf, "123", 3), ST_OK);
    assert_status(buf_add_json(&buf, STR("ab\x01")), ST_FULL);
    assert_int_equal(buf.len, 3);
    buf_fini(&buf);
}

static void buf_drop__front__moves_the_rest(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, mem_heap(), 100);
    assert_status(buf_add_str(&buf, STR("abcdef")), ST_OK);
    buf_drop(&buf, 2);
    assert_true(str_eq(buf_str(&buf), STR("cdef")));
    buf_drop(&buf, 4);
    assert_int_equal(buf.len, 0);
    buf_drop(&buf, 0);
    expect_assert_failure(buf_drop(&buf, 1));
    buf_fini(&buf);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct buf buf;
    buf_init(&buf, mem, 1 << 20);
    bool is_done = true;
    for (int i = 0; i < 12 && is_done; i++) {
        size_t len = buf.len;
        is_done = buf_add_fmt(&buf, "%0600d", i) == ST_OK;
        assert_int_equal(buf.len, is_done ? len + 600 : len);
    }
    buf_fini(&buf);
    return is_done;
}

static void buf__each_allocation_fails__keeps_what_it_had(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buf_add__many_pieces__are_joined),
        cmocka_unit_test(buf_add_fmt__short_and_long__both_fit_to_the_limit),
        cmocka_unit_test(buf_add_json__special_bytes__are_escaped),
        cmocka_unit_test(buf_add_json__no_room__leaves_the_length),
        cmocka_unit_test(buf_drop__front__moves_the_rest),
        cmocka_unit_test(buf__each_allocation_fails__keeps_what_it_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
