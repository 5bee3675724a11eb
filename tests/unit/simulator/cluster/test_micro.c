/* SPDX-License-Identifier: Apache-2.0 */
/* Two engines, three sessions of two steps (fixture.h), under each policy, worked out by hand.
 * Alone, prefill p and decode d of a step are 2600 and 1110 us where its prefix is cached or it is
 * the first, 4200 and 1110 where not.
 *
 * A, B and C arrive at 0. On an engine of its own a first step ends at 3710. Of two on one engine,
 * the first is done at 2600; then it decodes while the other one's 160 tokens are computed, 1000 +
 * 10 * 161 + 100 = 2710: it ends at 5310, the other at 5310 + 1110 = 6420. Of three: 1000 + 10 *
 * 321 + 100 = 4310 and the first ends at 6910; the two decode together for 1220, and end at 8130.
 * Second steps come 10000 after the end of the first. */
#include "tests/unit/simulator/cluster/fixture.h"

enum { A, B, C };

static void run(struct fix *fix, const char *policy, uint32_t slots)
{
    fix_init(fix, 2, policy);
    for (int i = 0; i < 3; i++) {
        (void)fix_session(fix, 0);
    }
    fix->plan.engine.profile.max_running = slots;
    fix_run(fix);
}

static void expect(struct fix *fix, const uint64_t ends[3], uint64_t moves, uint64_t cached_tokens)
{
    for (uint32_t i = 0; i < 3; i++) {
        fix_expect_end(fix, i, ends[i]);
    }
    assert_int_equal(fix->result.moves, moves);
    assert_int_equal(fix->result.cached_tokens, cached_tokens);
    fix_fini(fix);
}

/* A and C on one engine, B on the other, and all stay. Second steps come at 15310, 13710, 16420.
 * B's ends at 17420. A's is done at 17910, and decodes while C's 160 are computed, until 20620; C's
 * ends at 21730. */
static const uint64_t pair_stays[3] = {20620, 17420, 21730};

static void round_robin__three_sessions__each_second_step_goes_where_its_turn_is(void **state)
{
    (void)state;
    struct fix fix;
    /* A first, B second, C first; then, as they come, B second, A first, C second. B and A find
     * their prefixes: 13710 + 3710 and 15310 + 3710. C comes at 16420 while B decodes, waits until
     * 17420, and finds nothing: 17420 + 4200 + 1110. */
    run(&fix, "round_robin", 8);
    expect(&fix, (const uint64_t[3]){19020, 17420, 22730}, 1, 320);
}

static void round_robin__one_slot__waits_in_the_nodes_queue(void **state)
{
    (void)state;
    struct fix fix;
    /* C waits for A until 3710 and ends at 7420. Then A second and B first at 13710, where nothing
     * of theirs is: until 13710 + 5310 = 19020; C second at 17420, waits until 19020, finds
     * nothing: 19020 + 5310. */
    run(&fix, "round_robin", 1);
    expect(&fix, (const uint64_t[3]){19020, 19020, 24330}, 3, 0);
}

static void prefix_affinity__three_sessions__stay_where_their_prefix_is(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "prefix_affinity", 8);
    expect(&fix, pair_stays, 0, 480);
}

static void consistent_hash__three_sessions__stay_where_their_keys_fall(void **state)
{
    (void)state;
    struct fix fix;
    /* All three fall to one engine. A's second step comes at 16910 and is done at 19510; B's and
     * C's came at 18130, their 320 are computed while A decodes, 4310, until 23820, and they decode
     * together for 1220. */
    run(&fix, "consistent_hash", 8);
    expect(&fix, (const uint64_t[3]){23820, 25040, 25040}, 0, 480);
}

static void autellix__short_calls__go_where_fewest_steps_are(void **state)
{
    (void)state;
    struct fix fix;
    /* A and C first, as their keys fall, B second. B's second step at 13710 finds both idle and
     * falls to the first too: 4200, until 17910. A goes to the second: 15310 + 5310. C comes at
     * 16420, when each has one, and to the first: its 160 are computed while B decodes, 2710, until
     * 20620, and 1110. */
    run(&fix, "autellix", 8);
    expect(&fix, (const uint64_t[3]){20620, 20620, 21730}, 2, 160);
}

static void saga__three_sessions__spread_and_stay_at_home(void **state)
{
    (void)state;
    struct fix fix;
    run(&fix, "saga", 8);
    expect(&fix, pair_stays, 0, 480);
}

static void saga__one_slot__waits_for_its_home(void **state)
{
    (void)state;
    struct fix fix;
    /* C waits for A until 3710. A's and B's second steps run from 13710 to 17420, and C's from then
     * on. */
    run(&fix, "saga", 1);
    expect(&fix, (const uint64_t[3]){17420, 17420, 21130}, 0, 480);
}

static void prefix_tree__same_system_prompt__goes_where_it_was_sent(void **state)
{
    (void)state;
    struct fix fix;
    fix_init(&fix, 2, "prefix_tree");
    (void)fix_session(&fix, 0);
    (void)fix_session(&fix, 3000);
    fix.sessions[A].system_tokens = fix.sessions[B].system_tokens = 80; /* half of the prompt */
    fix.sessions[B].system_id = fix.sessions[A].system_id;
    fix_run(&fix);
    /* B comes while A decodes and the other engine is idle, waits until 3710 and computes the other
     * 80: 1800 + 1110. A's second step comes at 13710, B's at 16620, when A decodes until 17420. */
    fix_expect_end(&fix, A, 17420);
    fix_expect_end(&fix, B, 21130);
    assert_int_equal(fix.result.moves, 0);
    assert_int_equal(fix.result.cached_tokens, 80 + 160 + 160);
    fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_robin__three_sessions__each_second_step_goes_where_its_turn_is),
        cmocka_unit_test(round_robin__one_slot__waits_in_the_nodes_queue),
        cmocka_unit_test(prefix_affinity__three_sessions__stay_where_their_prefix_is),
        cmocka_unit_test(prefix_tree__same_system_prompt__goes_where_it_was_sent),
        cmocka_unit_test(consistent_hash__three_sessions__stay_where_their_keys_fall),
        cmocka_unit_test(autellix__short_calls__go_where_fewest_steps_are),
        cmocka_unit_test(saga__three_sessions__spread_and_stay_at_home),
        cmocka_unit_test(saga__one_slot__waits_for_its_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
