/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/keys.h"
#include "tests/unit/routing/gate_fixture.h"

#define S UINT64_C(1000000)

/* 1 has been served for 20 s, 2 for 12, 3 for 13, 4 not at all. */
static struct gate_step *three_served(struct gate_fix *fix)
{
    gate_fix_play(fix, 1, 0, 100, 0, 20 * S);
    gate_fix_play(fix, 2, 0, 100, 20 * S, 32 * S);
    gate_fix_play(fix, 3, 0, 100, 32 * S, 45 * S);
    struct gate_step *running = gate_fix_submit(fix, 9, 0, 100, 0, 45 * S);
    (void)gate_fix_submit(fix, 1, 0, 100, 0, 46 * S);
    (void)gate_fix_submit(fix, 3, 0, 100, 0, 47 * S);
    (void)gate_fix_submit(fix, 2, 0, 100, 0, 48 * S);
    (void)gate_fix_submit(fix, 4, 0, 100, 0, 49 * S);
    return running;
}

static void las__several_wait__least_served_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "las", NULL, 1);
    struct gate_step *running = three_served(&fix);
    gate_fix_expect_order(&fix, running, (const uint64_t[]){4, 2, 3, 1}, 4, 50 * S);
    gate_fix_fini(&fix);
}

/* 12 and 13 s are one level of 8 s: log2(2.5) and log2(2.6); 20 s is one too: log2(3.5). With 24 s
 * it is the next. */
static void las__in_levels__equals_by_arrival(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "las", (const double[]){8.0, 60.0}, 1);
    struct gate_step *running = three_served(&fix);
    gate_fix_expect_order(&fix, running, (const uint64_t[]){4, 1, 3, 2}, 4, 50 * S);
    gate_fix_fini(&fix);
}

static void las__waited_too_long__the_oldest_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "las", NULL, 1);
    struct gate_step *running = three_served(&fix);
    /* At 107 s 1 has waited 61 s, 3 exactly 60. */
    gate_fix_expect_order(&fix, running, (const uint64_t[]){1, 4, 2, 3}, 4, 107 * S);
    gate_fix_fini(&fix);
}

static void service_level__each_twice_as_long__as_the_one_before(void **state)
{
    (void)state;
    assert_int_equal(route_service_level(0.0, 8.0), 0);
    assert_int_equal(route_service_level(7.999, 8.0), 0);
    assert_int_equal(route_service_level(8.0, 8.0), 1);
    assert_int_equal(route_service_level(23.999, 8.0), 1);
    assert_int_equal(route_service_level(24.0, 8.0), 2);
    assert_int_equal(route_service_level(8.0 * 1023, 8.0), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(las__several_wait__least_served_first),
        cmocka_unit_test(las__in_levels__equals_by_arrival),
        cmocka_unit_test(las__waited_too_long__the_oldest_first),
        cmocka_unit_test(service_level__each_twice_as_long__as_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
