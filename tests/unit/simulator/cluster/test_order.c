/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that order an engine's queue, on one engine that runs one step at a time (fixture.h). A
 * step takes 3710 where its prefix is cached or it is the first, 5310 where not; C's first, of 170
 * tokens, 3810.
 *
 * A comes at 0 and runs until 3710, B at 11000 and runs until 14710. Meanwhile C's first step and
 * A's second, at 13710, have come. With A's first they end at 18420 and 22230, with C's at 18520
 * and 22230. B's second step comes at 24710 and ends at 28420. C's second comes at 32230 or 28520.
 */
#include "tests/unit/simulator/cluster/fixture.h"

enum { A, B, C };

static void run_with(struct fix *fix, const char *policy, const double *params, uint64_t c_at_us)
{
    fix_init(fix, 1, policy);
    (void)fix_session(fix, 0);
    (void)fix_session(fix, 11000);
    (void)fix_session(fix, c_at_us);
    fix->steps[C][0].prompt_tokens = 170;
    fix->plan.engine.profile.max_running = 1;
    fix->plan.params = params;
    fix_run(fix);
}

static void run(struct fix *fix, const char *policy, uint64_t c_at_us)
{
    run_with(fix, policy, NULL, c_at_us);
}

static void expect_a_first(struct fix *fix)
{
    fix_expect_end(fix, A, 18420);
    fix_expect_end(fix, B, 28420);
    fix_expect_end(fix, C, 32230 + 3710);
    assert_int_equal(fix->result.cached_tokens, 480);
    fix_fini(fix);
}

static void expect_c_first(struct fix *fix)
{
    fix_expect_end(fix, A, 22230);
    fix_expect_end(fix, B, 28420);
    fix_expect_end(fix, C, 28520 + 3710);
    assert_int_equal(fix->result.cached_tokens, 480);
    fix_fini(fix);
}

static void prefix_affinity__two_wait__first_come_first(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "prefix_affinity", 12000);
    expect_c_first(&fix);
    run(&fix, "prefix_affinity", 14000);
    expect_a_first(&fix);
}

/* 160 tokens of A's second prompt are not there, all 170 of C's. */
static void lpm__two_wait__fewest_uncached_first(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "lpm", 12000);
    expect_a_first(&fix);
    run(&fix, "lpm", 14000);
    expect_a_first(&fix);
}

/* A has been served, C not. */
static void las__two_wait__least_served_first(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "las", 12000);
    expect_c_first(&fix);
    run(&fix, "las", 14000);
    expect_c_first(&fix);
}

static void fcfs_program__two_wait__the_older_session_first(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "fcfs_program", 12000);
    expect_a_first(&fix);
    run(&fix, "fcfs_program", 14000);
    expect_a_first(&fix);
}

/* A's 3.71 ms are two levels of a millisecond above C's nothing; it has waited for 1 ms. */
static void autellix__two_wait__lowest_level_first(void **state)
{
    (void)state;
    struct fix fix;
    run_with(&fix, "autellix", (const double[]){0.001, 3.0}, 14000);
    expect_c_first(&fix);
    run_with(&fix, "autellix", (const double[]){0.001, 0.25}, 14000); /* 1 > 0.25 * 3.71 */
    expect_a_first(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefix_affinity__two_wait__first_come_first),
        cmocka_unit_test(lpm__two_wait__fewest_uncached_first),
        cmocka_unit_test(autellix__two_wait__lowest_level_first),
        cmocka_unit_test(las__two_wait__least_served_first),
        cmocka_unit_test(fcfs_program__two_wait__the_older_session_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
