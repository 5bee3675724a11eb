/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/view.h"

#include "tests/kit/kit.h"

static void mean_slots__two_engines__average(void **state)
{
    (void)state;
    const struct route_engine engines[] = {{.slots = 32}, {.slots = 96}};
    const struct route_view view = {engines, 2};
    assert_close(route_view_mean_slots(&view), 64.0, 1e-9);
}

static void mean_slots__empty_view__one(void **state)
{
    (void)state;
    const struct route_view view = {NULL, 0};
    assert_close(route_view_mean_slots(&view), 1.0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_slots__two_engines__average),
        cmocka_unit_test(mean_slots__empty_view__one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
