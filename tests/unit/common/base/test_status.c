/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/err.h"

#include <string.h>

static void status__every_member__has_name_text_and_sane_http_code(void **state)
{
    (void)state;
    assert_true(STATUS_COUNT > 10);
    for (int i = 0; i < STATUS_COUNT; i++) {
        enum status st = (enum status)i;
        assert_true(strlen(status_name(st)) > 0);
        assert_true(strlen(status_text(st)) > 0);
        assert_in_range(status_http(st), 200, 599);
    }
    assert_string_equal(status_name(ST_NOMEM), "NOMEM");
    assert_int_equal(status_http(ST_TOOBIG), 413);
    assert_true(status_is_retryable(ST_FULL));
    assert_false(status_is_retryable(ST_INVAL));
}

static void status__value_outside_the_enum__reads_as_internal(void **state)
{
    (void)state;
    assert_string_equal(status_name((enum status)STATUS_COUNT), "INTERNAL");
}

static void err_set__long_text__is_cut_and_terminated(void **state)
{
    (void)state;
    struct err err = {.status = ST_OK};
    assert_status(err_set(&err, ST_FULL, "%0400d", 7), ST_FULL);
    assert_int_equal(err.status, ST_FULL);
    assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
}

static void err_set__no_err__still_returns_the_status(void **state)
{
    (void)state;
    assert_status(err_set(NULL, ST_BUSY, "x"), ST_BUSY);
}

static void assert__false_condition__calls_assert_fail(void **state)
{
    (void)state;
    expect_assert_failure(ASSERT(1 == 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status__every_member__has_name_text_and_sane_http_code),
        cmocka_unit_test(status__value_outside_the_enum__reads_as_internal),
        cmocka_unit_test(err_set__long_text__is_cut_and_terminated),
        cmocka_unit_test(err_set__no_err__still_returns_the_status),
        cmocka_unit_test(assert__false_condition__calls_assert_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
