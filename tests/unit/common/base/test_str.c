/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/str.h"

static void str_eq__empty_and_null__are_equal(void **state)
{
    (void)state;
    assert_true(str_eq((struct str){NULL, 0}, STR("")));
    assert_true(str_eq(STR("ab"), str_of("ab")));
    assert_false(str_eq(STR("ab"), STR("aB")));
    assert_false(str_eq(STR("ab"), STR("abc")));
    assert_true(str_eq(str_of(NULL), STR("")));
}

static void str_ieq__folds_ascii_letters_only(void **state)
{
    (void)state;
    assert_true(str_ieq(STR("Content-Type"), STR("cONTENT-tYPE")));
    assert_false(str_ieq(STR("a["), STR("a{"))); /* differ by the case bit, but are no letters */
    assert_false(str_ieq(STR("@"), STR("`")));
    assert_false(str_ieq(STR("\xC3\x84"), STR("\xC3\xA4")));
    assert_true(str_starts(STR("abc"), STR("ab")));
    assert_false(str_starts(STR("a"), STR("ab")));
    assert_true(str_istarts(STR("BEARER x"), STR("bearer ")));
}

static void str_trim__blanks__go_at_both_ends(void **state)
{
    (void)state;
    assert_true(str_eq(str_trim(STR(" \t a b\t ")), STR("a b")));
    assert_true(str_eq(str_trim(STR(" \t ")), STR("")));
    assert_true(str_eq(str_trim(STR("\na")), STR("\na")));
}

static void str_split__parts__include_empty_ones(void **state)
{
    (void)state;
    struct str rest = STR("a,,b,");
    struct str part;
    static const char *const expected[] = {"a", "", "b", ""};
    for (int i = 0; i < 4; i++) {
        assert_true(str_split(&rest, ',', &part));
        assert_true(str_eq(part, str_of(expected[i])));
    }
    assert_false(str_split(&rest, ',', &part));
}

static void str_to_u64__edges__are_exact(void **state)
{
    (void)state;
    uint64_t v = 1;
    assert_status(str_to_u64(STR("0"), &v), ST_OK);
    assert_int_equal(v, 0);
    assert_status(str_to_u64(STR("18446744073709551615"), &v), ST_OK);
    assert_true(v == UINT64_MAX);
    static const char *const bad[] = {
        "", "18446744073709551616", "99999999999999999999", "-1", "+1", " 1", "1 ", "0x1", "1e3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (str_to_u64(str_of(bad[i]), &v) != ST_INVAL) {
            fail_msg("'%s' was taken", bad[i]);
        }
    }
    assert_true(v == UINT64_MAX);
}

static void str_to_f64__grammar__is_decimal_only(void **state)
{
    (void)state;
    double v = 0;
    assert_status(str_to_f64(STR("-1.5e3"), &v), ST_OK);
    assert_close(v, -1500.0, 0.0);
    assert_status(str_to_f64(STR(".5"), &v), ST_OK);
    assert_close(v, 0.5, 0.0);
    static const char *const bad[] = {"",   "inf", "nan",   "0x1p3", " 1", "1 ",
                                      "1e", "--1", "1e999", "1,5",   "."};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (str_to_f64(str_of(bad[i]), &v) != ST_INVAL) {
            fail_msg("'%s' was taken", bad[i]);
        }
    }
    assert_status(str_to_f64((struct str){"1\0", 2}, &v), ST_INVAL);
}

static void str_copy__small_room__cuts_and_terminates(void **state)
{
    (void)state;
    char dst[4];
    assert_int_equal(str_copy(dst, sizeof(dst), STR("abcdef")), 3);
    assert_string_equal(dst, "abc");
    assert_int_equal(str_copy(dst, 1, STR("abc")), 0);
    assert_string_equal(dst, "");
}

struct utf8_case {
    const char *text;
    size_t bad_at; /* SIZE_MAX = well-formed */
};

static void str_is_utf8__edges__as_rfc_3629_says(void **state)
{
    (void)state;
    static const struct utf8_case cases[] = {
        {"", SIZE_MAX},
        {"plain ascii, longer than a word", SIZE_MAX},
        {"\xC2\x80 \xDF\xBF", SIZE_MAX},
        {"\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF", SIZE_MAX},
        {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", SIZE_MAX},
        {"12345678\x80", 8},     /* lone continuation */
        {"\xC0\xAF", 0},         /* overlong */
        {"a\xC1\xBF", 1},        /* overlong */
        {"\xE0\x9F\xBF", 0},     /* overlong */
        {"\xF0\x8F\xBF\xBF", 0}, /* overlong */
        {"ab\xED\xA0\x80", 2},   /* surrogate */
        {"\xF4\x90\x80\x80", 0}, /* above U+10FFFF */
        {"\xF5\x80\x80\x80", 0}, /* above U+10FFFF */
        {"abc\xE2\x82", 3},      /* cut */
        {"\xE2\x28\xA1", 0},     /* second byte */
        {"\xF0\x90\x28\xBC", 0}, /* third byte */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t bad_at = SIZE_MAX;
        bool is_good = str_is_utf8(str_of(cases[i].text), &bad_at);
        if (bad_at != cases[i].bad_at || is_good != (bad_at == SIZE_MAX)) {
            fail_msg("case %zu: offset %zu, expected %zu", i, bad_at, cases[i].bad_at);
        }
    }
    assert_false(str_is_utf8(STR("\xFF"), NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(str_eq__empty_and_null__are_equal),
        cmocka_unit_test(str_ieq__folds_ascii_letters_only),
        cmocka_unit_test(str_trim__blanks__go_at_both_ends),
        cmocka_unit_test(str_split__parts__include_empty_ones),
        cmocka_unit_test(str_to_u64__edges__are_exact),
        cmocka_unit_test(str_to_f64__grammar__is_decimal_only),
        cmocka_unit_test(str_copy__small_room__cuts_and_terminates),
        cmocka_unit_test(str_is_utf8__edges__as_rfc_3629_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
