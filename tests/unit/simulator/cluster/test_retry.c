/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/retry.h"

#include "tests/kit/kit.h"

static void wait__each_kind__doubles_to_its_longest_within_its_jitter(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 1);
    for (int kind = 0; kind < LAB_CLIENT_KINDS; kind++) {
        const struct lab_retry *retry = lab_retry_of((enum lab_client_kind)kind);
        uint64_t full_us = retry->first_us;
        for (uint32_t tries = 1; tries <= retry->tries; tries++) {
            uint64_t wait_us = lab_retry_wait_us(retry, tries, 0, &rng);
            assert_true(wait_us <= full_us);
            assert_true(wait_us >= full_us - full_us * retry->jitter_pct / 100);
            full_us = full_us * 2 < retry->max_us ? full_us * 2 : retry->max_us;
        }
    }
}

static void wait__retry_after__is_obeyed_up_to_a_limit(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 1);
    const struct lab_retry *sdk = lab_retry_of(LAB_CLIENT_OPENAI_SDK);
    const struct lab_retry *codex = lab_retry_of(LAB_CLIENT_CODEX);
    assert_int_equal(lab_retry_wait_us(sdk, 1, 60, &rng), 60000000);
    assert_true(lab_retry_wait_us(sdk, 1, 61, &rng) <= 500000);
    assert_true(lab_retry_wait_us(codex, 1, 5, &rng) <= 200000);
}

/* docs/scenarios.md: eight tries more in 70 s, and four waits of 4, 8, 16 and 32 s, were seen. */
static void wait__sums__are_those_that_were_measured(void **state)
{
    (void)state;
    const struct lab_retry *agent = lab_retry_of(LAB_CLIENT_MINI_SWE_AGENT);
    struct rng rng;
    rng_init(&rng, 1);
    for (uint32_t tries = 1; tries <= 4; tries++) {
        assert_int_equal(lab_retry_wait_us(agent, tries, 0, &rng), UINT64_C(4000000)
                                                                       << (tries - 1));
    }
    struct {
        enum lab_client_kind kind;
        uint32_t waits;
        double least_s, most_s;
    } rows[] = {{LAB_CLIENT_CLAUDE_CODE, 8, 52, 70}, {LAB_CLIENT_CODEX, 29, 21, 25}};
    for (size_t i = 0; i < 2; i++) {
        double sum_s = 0;
        for (uint32_t tries = 1; tries <= rows[i].waits; tries++) {
            sum_s += (double)lab_retry_wait_us(lab_retry_of(rows[i].kind), tries, 0, &rng) / 1e6;
        }
        assert_true(sum_s >= rows[i].least_s && sum_s <= rows[i].most_s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait__each_kind__doubles_to_its_longest_within_its_jitter),
        cmocka_unit_test(wait__retry_after__is_obeyed_up_to_a_limit),
        cmocka_unit_test(wait__sums__are_those_that_were_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
