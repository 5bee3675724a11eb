/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that say which KV goes first, on one engine of 1000 blocks (fixture.h) that computes a
 * whole prompt in one iteration.
 *
 * A: 4800 tokens at 0, until 50110. D: 4800 at 60000, until 110110. They leave 300 blocks each. B:
 * 8000 at 111000, until 193110: it takes 101 blocks of one of them, whose next prompt finds 199 *
 * 16 = 3184 then and computes 1776: 18760. A's next prompt, 160 more, comes at 200000; D's, 160
 * more too, at 1110110. B does not come back. */
#include "tests/unit/simulator/cluster/fixture.h"

enum { A, D, B };

static void run(struct fix *fix, const char *policy)
{
    static const uint64_t gaps_us[] = {200000 - 50110, 1000000};
    fix_init(fix, 1, policy);
    fix->plan.engine.profile.budget_tokens = 16000;
    (void)fix_session(fix, 0);
    (void)fix_session(fix, 60000);
    (void)fix_session(fix, 111000);
    for (uint32_t i = A; i <= D; i++) {
        fix->steps[i][0].prompt_tokens = 4800;
        fix->steps[i][1] = (struct lab_step){.prompt_tokens = 4960,
                                             .kept_tokens = 4802,
                                             .output_tokens = 2,
                                             .gap_us = gaps_us[i],
                                             .tool = STR("bash")};
    }
    fix->steps[B][0].prompt_tokens = 8000;
    fix->sessions[B].step_count = 1;
    fix_run(fix);
    fix_expect_end(fix, B, 193110);
}

/* B takes A's. A takes 111 of D's for itself: 189 * 16 = 3024 are left, and 1936 cost 20360. */
static void prefix_affinity__room_needed__used_least_recently_goes(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "prefix_affinity");
    fix_expect_end(&fix, A, 200000 + 18760 + 1110);
    fix_expect_end(&fix, D, 1110110 + 20360 + 1110);
    assert_int_equal(fix.result.cached_tokens, 3184 + 3024);
    fix_fini(&fix);
}

/* B takes D's. A finds all 4800 and computes 160, for which B's go. */
static void belady__room_needed__farthest_next_use_goes(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "belady");
    fix_expect_end(&fix, A, 200000 + 2600 + 1110);
    fix_expect_end(&fix, D, 1110110 + 18760 + 1110);
    assert_int_equal(fix.result.cached_tokens, 4800 + 3184);
    fix_fini(&fix);
}

/* With little known yet, A is expected at 13.6 s, D at 40.9 s and B, since nobody knows that it is
 * over, at 21.5 s. So D's go for B, and 11 more for A: 189 * 16 = 3024 are left. */
static void kvflow__room_needed__expected_last_goes(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "kvflow");
    fix_expect_end(&fix, A, 200000 + 2600 + 1110);
    fix_expect_end(&fix, D, 1110110 + 20360 + 1110);
    assert_int_equal(fix.result.cached_tokens, 4800 + 3024);
    fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefix_affinity__room_needed__used_least_recently_goes),
        cmocka_unit_test(belady__room_needed__farthest_next_use_goes),
        cmocka_unit_test(kvflow__room_needed__expected_last_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
