/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that keep KV between two steps, on one engine of 1000 blocks (fixture.h) that computes a
 * whole prompt in one iteration.
 *
 * A: 4800 tokens at 0, then a tool for 10 ms, then 160 more. First step: 49000 + 1110 = 50110.
 * C: 160 tokens at 50500, 40 of an answer: the first at 53100, each other one takes 1110 alone.
 * B: 11200 tokens at 54000, which do not fit beside C and all of A's. */
#include "tests/unit/simulator/cluster/fixture.h"

enum { A, C, B };

#define TOKEN_US UINT64_C(1110) /* of C alone */

static void run(struct fix *fix, const char *policy, const double *params)
{
    fix_init(fix, 1, policy);
    fix->plan.engine.profile.budget_tokens = 16000;
    fix->plan.params = params;
    (void)fix_session(fix, 0);
    (void)fix_session(fix, 50500);
    (void)fix_session(fix, 54000);
    fix->steps[A][0].prompt_tokens = 4800;
    fix->steps[A][1].prompt_tokens = 4960;
    fix->steps[A][1].kept_tokens = 4802;
    fix->steps[A][1].tool = STR("bash");
    fix->steps[C][0].output_tokens = 40;
    fix->steps[B][0].prompt_tokens = 11200;
    fix->sessions[C].step_count = 1;
    fix->sessions[B].step_count = 1;
    fix_run(fix);
}

static void expect(struct fix *fix, uint64_t a, uint64_t b, uint64_t c, uint64_t cached_tokens)
{
    fix_expect_end(fix, A, a);
    fix_expect_end(fix, B, b);
    fix_expect_end(fix, C, c);
    assert_int_equal(fix->result.cached_tokens, cached_tokens);
    fix_fini(fix);
}

/* B begins with C's next iteration, at 54210, and takes 11 of A's 300 blocks: 1000 + 10 * 11201 +
 * 100, until 167320, and for its last token one more and 1220. Only then A fits; 352 of its 4960
 * tokens are not there: 4630, until 173170, and 1220. C has 34 tokens to go. */
static void prefix_affinity__others_need_room__prefix_is_lost(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "prefix_affinity", NULL);
    expect(&fix, 174390, 168540, 174390 + 34 * TOKEN_US, 288 * UINT64_C(16));
}

/* B waits for A's pin. A comes at 60110, begins with C's next iteration, at 60870, computes 160:
 * 2710, and 1220 more. B from then on: 113110 and 1220. C has 28 tokens to go. */
static void expect_b_waits(struct fix *fix)
{
    expect(fix, 64800, 179130, 179130 + 28 * TOKEN_US, 4800);
}

static void continuum_2s__others_need_room__wait_for_the_pin(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "continuum_2s", NULL);
    expect_b_waits(&fix);
}

static void continuum_2s__without_time__prefix_is_lost(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "continuum_2s", (const double[]){0.0});
    expect(&fix, 174390, 168540, 174390 + 34 * TOKEN_US, 288 * UINT64_C(16));
}

static void continuum__worth_it__others_wait_for_the_pin(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "continuum", (const double[]){1000.0});
    expect_b_waits(&fix);
}

/* At such a worth A is pinned after its last step too, which nobody said it was: B waits until C
 * has ended, 30 tokens later, and then nothing runs that could go on beside pins: 113000 and 1110.
 */
static void lpm__worth_it__others_wait_for_the_pins(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "lpm", (const double[]){1000.0, 128.0});
    expect(&fix, 64800, 98100 + 114110, 64800 + 30 * TOKEN_US, 4800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefix_affinity__others_need_room__prefix_is_lost),
        cmocka_unit_test(continuum_2s__others_need_room__wait_for_the_pin),
        cmocka_unit_test(continuum_2s__without_time__prefix_is_lost),
        cmocka_unit_test(continuum__worth_it__others_wait_for_the_pin),
        cmocka_unit_test(lpm__worth_it__others_wait_for_the_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
