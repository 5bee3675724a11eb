/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_fixture.h"

static void fcfs_program__several_wait__the_oldest_session_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "fcfs_program", NULL, 1);
    gate_fix_play(&fix, 1, 0, 100, 0, 10);
    gate_fix_play(&fix, 2, 0, 100, 20, 30);
    struct gate_step *running = gate_fix_submit(&fix, 9, 0, 100, 0, 40);
    (void)gate_fix_submit(&fix, 3, 0, 100, 0, 41);
    (void)gate_fix_submit(&fix, 2, 0, 100, 0, 42);
    (void)gate_fix_submit(&fix, 0, 0, 100, 0, 43); /* of no session: when it came itself */
    (void)gate_fix_submit(&fix, 4, 0, 100, 0, 44);
    (void)gate_fix_submit(&fix, 1, 0, 100, 0, 45);
    gate_fix_expect_order(&fix, running, (const uint64_t[]){1, 2, 3, 0, 4}, 5, 50);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fcfs_program__several_wait__the_oldest_session_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
