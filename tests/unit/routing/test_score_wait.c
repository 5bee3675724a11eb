/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/score_wait.h"

#include "tests/kit/kit.h"

/* The worked example of docs/formulas.md#F2. */
static const struct route_engine example = {
    .slots = 64,
    .running = 30,
    .waiting = 2,
    .sessions = 12,
    .pending_bytes = 100000,
    .step_us = 4e6,
    .us_per_byte = 20.0,
    .fail_ratio = 0.05,
};

static void wait__worked_example__sum_of_three_terms(void **state)
{
    (void)state;
    /* 100000 B * 20 us/B + 32 * 4 s / 64 + 0.05 * 10 s = 2 s + 2 s + 0.5 s */
    assert_close(route_wait_us(&example), 4500000.0, 1e-6);
}

static void wait__nothing_measured__defaults(void **state)
{
    (void)state;
    const struct route_engine engine = {.slots = 2, .running = 1, .pending_bytes = 1000};
    assert_close(route_wait_us(&engine),
                 1000.0 * ROUTE_US_PER_BYTE_DEFAULT + ROUTE_STEP_US_DEFAULT / 2.0, 1e-6);
}

static void cost__worked_example__missed_prompt_and_sessions(void **state)
{
    (void)state;
    struct route_engine engine = example;
    engine.reuse_bytes = 40000;
    struct route_step step = {.prompt_bytes = 50000};
    /* 4.5 s + 10000 B * 20 us/B */
    assert_close(route_cost_us(&engine, &step, 64.0), 4700000.0, 1e-6);
    step.is_birth = true;
    /* and 12 sessions at 1 s + 50000 B * 10 us/B, on an engine of average size */
    assert_close(route_cost_us(&engine, &step, 64.0), 22700000.0, 1e-6);
    /* and on one of twice the average size */
    assert_close(route_cost_us(&engine, &step, 32.0), 13700000.0, 1e-6);
}

static void cost__reuse_beyond_the_prompt__nothing_missed(void **state)
{
    (void)state;
    const struct route_engine engine = {.slots = 1, .reuse_bytes = 5000};
    const struct route_step step = {.prompt_bytes = 1000};
    assert_close(route_cost_us(&engine, &step, 1.0), 0.0, 1e-9);
}

static void cost__hint__wins_at_most_its_limit(void **state)
{
    (void)state;
    struct route_engine engine = {.slots = 1, .us_per_byte = 20.0, .hint_bytes = 10000};
    const struct route_step step = {.prompt_bytes = 1000000};
    assert_close(route_cost_us(&engine, &step, 1.0), 20e6 - 0.2e6, 1e-6);
    engine.hint_bytes = 900000;
    assert_close(route_cost_us(&engine, &step, 1.0), 20e6 - 18e6, 1e-6); /* 900000 B * 20 us/B */
    engine.us_per_byte = 30.0;
    assert_close(route_cost_us(&engine, &step, 1.0), 30e6 - 2.0 * 11e6,
                 1e-6); /* two sessions of 1 s + 10 s */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait__worked_example__sum_of_three_terms),
        cmocka_unit_test(wait__nothing_measured__defaults),
        cmocka_unit_test(cost__worked_example__missed_prompt_and_sessions),
        cmocka_unit_test(cost__reuse_beyond_the_prompt__nothing_missed),
        cmocka_unit_test(cost__hint__wins_at_most_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
