/* SPDX-License-Identifier: Apache-2.0 */
/* KV that comes from elsewhere: prompts computed by other engines than those that decode, host
 * tiers, a shared store. A block's KV is 16 kB and moves in 16 us after 50 us. */
#include "common/base/rng.h"
#include "tests/unit/simulator/cluster/fixture.h"

static void init(struct fix *fix, uint32_t engines, uint32_t prefill_engines, uint32_t min_tokens)
{
    fix_init(fix, engines, "saga");
    fix->plan.engine.profile.kv_bytes_per_token = 1000;
    fix->plan.prefill = (struct sim_prefill_opts){
        .engines = prefill_engines,
        .min_tokens = min_tokens,
        .link = {.bytes_per_s = UINT64_C(1000000000), .latency_us = 50},
    };
    fix->plan.engine.tiers.store_link = fix->plan.prefill.link;
}

/* 160 tokens: 1,000 + 1,600 us there, 50 + 10 x 16 on the way, then the last block once more and a
 * token in 1,000 + 160, and one in 1,110. The second step, 10 ms later: 160 new ones of 320. */
static void prefill__long_prompts__are_computed_there_and_moved(void **state)
{
    (void)state;
    struct fix fix;
    init(&fix, 1, 1, 100);
    (void)fix_session(&fix, 0);
    fix_run(&fix);
    assert_int_equal(fix.result.firsts[0].first_us, 2600 + 210 + 1160);
    fix_expect_end(&fix, 0, 2 * (2600 + 210 + 1160 + 1110) + 10000);
    fix_fini(&fix);
}

static void prefill__short_prompts__are_computed_where_they_are_decoded(void **state)
{
    (void)state;
    struct fix fix;
    init(&fix, 1, 1, 161);
    (void)fix_session(&fix, 0);
    fix_run(&fix);
    fix_expect_end(&fix, 0, 2 * (2600 + 1110) + 10000);
    fix_fini(&fix);
}

/* The second prompt would have to wait for the first on the same engine. */
static void prefill__two_prompts_at_once__go_to_two_engines(void **state)
{
    (void)state;
    struct fix fix;
    init(&fix, 2, 2, 100);
    (void)fix_session(&fix, 0);
    (void)fix_session(&fix, 0);
    fix_run(&fix);
    assert_int_equal(fix.result.firsts[0].first_us, 2600 + 210 + 1160);
    assert_int_equal(fix.result.firsts[1].first_us, 2600 + 210 + 1160);
    fix_fini(&fix);
}

/* One decodes while the other's prompt of 800 tokens is computed elsewhere: no token of it is late.
 */
static void prefill__another_decodes__is_not_held_up(void **state)
{
    (void)state;
    struct fix fix;
    init(&fix, 1, 1, 200);
    uint32_t one = fix_session(&fix, 0);
    uint32_t two = fix_session(&fix, 3000);
    fix.sessions[one].step_count = 1;
    fix.sessions[two].step_count = 1;
    fix.steps[one][0].output_tokens = 8;
    fix.steps[two][0].prompt_tokens = 800;
    fix_run(&fix);
    fix_expect_end(&fix, one, 2600 + 7 * 1110);
    fix_expect_end(&fix, two, 3000 + 9000 + 50 + 50 * 16 + 1160 + 1110);
    fix_fini(&fix);
}

static void prefill__prompt_that_no_engine_can_hold__is_refused(void **state)
{
    (void)state;
    struct fix fix;
    init(&fix, 1, 1, 100);
    uint32_t idx = fix_session(&fix, 0);
    fix.steps[idx][0].prompt_tokens = 15999;
    fix.steps[idx][0].output_tokens = 3;
    fix.steps[idx][1].kept_tokens = 0;
    fix_run(&fix);
    assert_true(fix.result.outcomes[idx].is_given_up);
    fix_fini(&fix);
}

/* The second session has 96 tokens of system prompt in common with the first, on another engine:
 * six blocks in 50 + 96 us, then 64 tokens in 1,640. */
static void store__another_engine_computed_it__is_loaded(void **state)
{
    (void)state;
    struct fix fix;
    init(&fix, 2, 0, 0);
    fix.plan.policy = STR("round_robin");
    fix.plan.store_tokens = 16000;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t idx = fix_session(&fix, i * UINT64_C(5000));
        fix.sessions[idx].system_id = 7;
        fix.sessions[idx].system_tokens = 96;
        fix.sessions[idx].step_count = 1;
    }
    fix_run(&fix);
    assert_int_equal(fix.result.firsts[0].first_us, 2600);
    assert_int_equal(fix.result.firsts[1].first_us, 146 + 1640);
    assert_int_equal(fix.result.cached_tokens, 96);
    fix_fini(&fix);
}

/* The engine's memory holds four sessions of ten. Of the 161 tokens that each had one is in no full
 * block. */
static void host__sessions_do_not_fit__nothing_is_computed_again(void **state)
{
    (void)state;
    for (int has_host = 0; has_host < 2; has_host++) {
        struct fix fix;
        init(&fix, 1, 0, 0);
        fix.plan.engine.profile.kv_tokens = 640;
        fix.plan.engine.tiers.host_tokens = has_host ? 6400 : 0;
        for (uint32_t i = 0; i < 10; i++) {
            (void)fix_session(&fix, i * UINT64_C(4000));
            fix.steps[i][1].gap_us = 100000;
        }
        fix_run(&fix);
        if (has_host) {
            assert_int_equal(fix.result.regenerated_tokens, 10);
        } else {
            assert_true(fix.result.regenerated_tokens >= 1610); /* and preemptions */
        }
        fix_fini(&fix);
    }
}

/* Checked at each event, as all these. */
static void prefill__random_load__loses_nothing_and_repeats(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        uint64_t event_hash = 0;
        print_message("seed %llu\n", (unsigned long long)seed);
        for (int again = 0; again < 2; again++) {
            struct fix fix;
            struct rng rng;
            rng_init(&rng, seed);
            init(&fix, 1 + (uint32_t)rng_below(&rng, 3), 1 + (uint32_t)rng_below(&rng, 3), 100);
            fix.plan.engine.profile.kv_tokens = 2000 + (uint32_t)rng_below(&rng, 4000);
            fix.plan.engine.tiers.host_tokens = rng_below(&rng, 2) * 4000;
            fix.plan.store_tokens = rng_below(&rng, 2) * 6000;
            fix.plan.is_unlimited = rng_below(&rng, 4) == 0;
            uint64_t at_us = 0;
            for (int i = 0; i < 30; i++) {
                uint32_t idx = fix_session(&fix, at_us);
                fix.steps[idx][1].prompt_tokens += (uint32_t)rng_below(&rng, 900);
                fix.steps[idx][0].output_tokens += (uint32_t)rng_below(&rng, 30);
                fix.steps[idx][1].prompt_tokens += fix.steps[idx][0].output_tokens;
                at_us += rng_below(&rng, 9000);
            }
            fix_run(&fix);
            assert_int_equal(fix.result.steps, 60);
            assert_true(again == 0 || fix.result.event_hash == event_hash);
            event_hash = fix.result.event_hash;
            fix_fini(&fix);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefill__long_prompts__are_computed_there_and_moved),
        cmocka_unit_test(prefill__short_prompts__are_computed_where_they_are_decoded),
        cmocka_unit_test(prefill__two_prompts_at_once__go_to_two_engines),
        cmocka_unit_test(prefill__another_decodes__is_not_held_up),
        cmocka_unit_test(prefill__prompt_that_no_engine_can_hold__is_refused),
        cmocka_unit_test(store__another_engine_computed_it__is_loaded),
        cmocka_unit_test(host__sessions_do_not_fit__nothing_is_computed_again),
        cmocka_unit_test(prefill__random_load__loses_nothing_and_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
