/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that hold sessions or steps back, with three sessions (fixture.h); times of engines as
 * in test_micro.c. */
#include "tests/unit/simulator/cluster/fixture.h"

static void run(struct fix *fix, const char *policy, uint32_t kv_tokens)
{
    fix_init(fix, 2, policy);
    for (int i = 0; i < 3; i++) {
        (void)fix_session(fix, 0);
    }
    fix->plan.engine.profile.kv_tokens = kv_tokens;
    fix_run(fix);
}

static void expect(struct fix *fix, const uint64_t ends[3], uint64_t cached_tokens)
{
    for (uint32_t i = 0; i < 3; i++) {
        fix_expect_end(fix, i, ends[i]);
    }
    assert_int_equal(fix->result.cached_tokens, cached_tokens);
    fix_fini(fix);
}

static void thunderagent__room_for_all__two_share_an_engine(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "thunderagent", 16000);
    expect(&fix, (const uint64_t[3]){20620, 17420, 21730}, 480);
}

/* A new session takes 160 tokens, 256 of an answer of which nothing is known yet, and 100 to grow:
 * there is no room for two in 880. C is let in with the look at 5 s. */
static void thunderagent__no_room__waits_for_the_look(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "thunderagent", 880);
    expect(&fix, (const uint64_t[3]){17420, 17420, 5017420}, 480);
}

/* All three fall to one engine, as with consistent_hash. Each is paused after its first step and
 * resumed when it comes back. */
static void vllm_program__room_for_all__nobody_waits(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "vllm_program", 16000);
    expect(&fix, (const uint64_t[3]){23820, 25040, 25040}, 480);
}

/* In 1000 there is room for 516 tokens, not twice. C is let in when A is over, at 3710, since A is
 * paused then, and B (they came together; C's key is the smaller one) at 7420. From then on answers
 * are known to be short: A's second step, at 13710, finds room, C's at 17420 and B's at 21130. */
static void vllm_program__room_for_one__one_after_the_other(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "vllm_program", 1000);
    expect(&fix, (const uint64_t[3]){17420, 24840, 21130}, 480);
}

/* B, of 480 tokens, comes before C, of 160, and has the larger area: C goes first. */
static void regime__one_slot__smaller_area_first(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 1, "regime");
    for (int i = 0; i < 3; i++) {
        fix.sessions[fix_session(&fix, 0)].step_count = 1;
    }
    fix.steps[1][0].prompt_tokens = 480;
    fix.plan.engine.profile.max_running = 1;
    fix_run(&fix);
    expect(&fix, (const uint64_t[3]){3710, 7420 + 6910, 7420}, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thunderagent__room_for_all__two_share_an_engine),
        cmocka_unit_test(thunderagent__no_room__waits_for_the_look),
        cmocka_unit_test(vllm_program__room_for_all__nobody_waits),
        cmocka_unit_test(vllm_program__room_for_one__one_after_the_other),
        cmocka_unit_test(regime__one_slot__smaller_area_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
