/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/rt/clock.h"

#include <string.h>

static void clock_now_us__twice__never_goes_back(void **state)
{
    (void)state;
    uint64_t before = clock_now_us();
    assert_true(before > 0);
    assert_true(clock_now_us() >= before);
}

struct stamp_case {
    uint64_t sec;
    const char *text;
};

static void clock_stamp__known_instants__are_written_right(void **state)
{
    (void)state;
    static const struct stamp_case cases[] = {
        {0, "1970-01-01T00:00:00.007Z"},          {951782399, "2000-02-28T23:59:59.007Z"},
        {951782400, "2000-02-29T00:00:00.007Z"},  {951868800, "2000-03-01T00:00:00.007Z"},
        {1709164800, "2024-02-29T00:00:00.007Z"}, {1735689599, "2024-12-31T23:59:59.007Z"},
        {4102444800, "2100-01-01T00:00:00.007Z"}, {4107542400, "2100-03-01T00:00:00.007Z"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[CLOCK_STAMP_BYTES];
        assert_int_equal(clock_stamp(cases[i].sec * 1000000 + 7999, text), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_now_us__twice__never_goes_back),
        cmocka_unit_test(clock_stamp__known_instants__are_written_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
