/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of 10000 tokens (gate_fixture.h); a session takes its prompt or context, 10 of an answer
 * and 100 to grow. */
#include "tests/unit/routing/gate_pauses.h"

static void new__room__starts_at_once_where_least_is_in_use(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "thunderagent", NULL, 2);
    (void)gate_fix_submit(&fix, 1, 1, 4000, 0, 0);
    expect_in(&fix, 1, 0);
    (void)gate_fix_submit(&fix, 2, 0, 5000, 0, 0);
    expect_in(&fix, 2, 1);
    (void)gate_fix_submit(&fix, 3, 1, 5000, 0, 0); /* 4110 and 5110 in use */
    expect_in(&fix, 3, 0);
    gate_fix_fini(&fix);
}

static void new__no_room_or_others_wait__waits_for_the_next_look(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "thunderagent", NULL, 1);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 6000, 0, 0);
    (void)gate_fix_submit(&fix, 2, 0, 4000, 0, 0);
    (void)gate_fix_submit(&fix, 3, 0, 1000, 0, 0); /* would fit, but 2 waits */
    gate_fix_end(&fix, first, 0, 1 * S);           /* whose KV counts on */
    tick(&fix, 5 * S - 1);
    expect_out(&fix, 2);
    expect_out(&fix, 3);
    tick(&fix, 5 * S); /* 3890 are left */
    expect_out(&fix, 2);
    expect_in(&fix, 3, 0);
    gate_fix_fini(&fix);
}

static void short_of_memory__pauses_the_shortest_that_act(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "thunderagent", NULL, 1);
    gate_fix_play(&fix, 1, 0, 1000, 0, 10);
    gate_fix_play(&fix, 2, 0, 4000, 20, 30);
    gate_fix_play(&fix, 3, 0, 2000, 40, 50);
    (void)gate_fix_submit(&fix, 1, 0, 4000, 1010, 60); /* 4110 + 4110 + 2110 */
    tick(&fix, 5 * S);
    expect_in(&fix, 1, 0);
    expect_in(&fix, 2, 0);
    expect_out(&fix, 3);
    assert_int_equal(fix.gate.counters.pauses, 1);
    gate_fix_fini(&fix);
}

static void short_of_memory__all_reason__the_shortest_is_paused_when_it_is_over(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "thunderagent", NULL, 1);
    gate_fix_play(&fix, 1, 0, 100, 0, 10);
    gate_fix_play(&fix, 2, 0, 100, 20, 30);
    struct gate_step *first = gate_fix_submit(&fix, 1, 0, 6000, 110, 40);
    struct gate_step *second = gate_fix_submit(&fix, 2, 0, 7000, 110, 50);
    tick(&fix, 5 * S);
    tick(&fix, 10 * S); /* the first look's mark is enough */
    expect_in(&fix, 1, 0);
    gate_fix_end(&fix, first, 0, 11 * S);
    expect_out(&fix, 1);
    gate_fix_end(&fix, second, 0, 12 * S);
    expect_in(&fix, 2, 0);
    assert_int_equal(fix.gate.counters.pauses, 1);
    gate_fix_fini(&fix);
}

/* 1 and 2 are paused beside 9; then 1 comes back, and 3 is new. With 9 gone there is room for two
 * of them. */
static void resume__reasons_then_new_then_acts(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "thunderagent", NULL, 1);
    gate_fix_play(&fix, 9, 0, 1000, 0, 10);
    gate_fix_play(&fix, 1, 0, 4000, 20, 30);
    gate_fix_play(&fix, 2, 0, 3000, 40, 50);
    struct gate_step *big = gate_fix_submit(&fix, 9, 0, 9000, 1010, 60);
    tick(&fix, 5 * S);
    expect_out(&fix, 1);
    expect_out(&fix, 2);
    (void)gate_fix_submit(&fix, 1, 0, 4500, 4010, 6 * S);
    (void)gate_fix_submit(&fix, 3, 0, 3500, 0, 6 * S);
    const struct gate_usage end = {.prompt_tokens = 9000, .is_ok = true, .is_final = true};
    gate_settled(&fix.gate, big, &end, 7 * S);
    tick(&fix, 10 * S);
    expect_in(&fix, 1, 0);
    expect_in(&fix, 3, 0);
    expect_out(&fix, 2); /* 4610 + 3610 + 3110 */
    gate_fix_fini(&fix);
}

/* Two wait for two engines with 7890 and 4890 tokens left: the larger one goes where there is more,
 * the other one then to where 4890 are and not 2780. */
static void resume__largest_first__where_there_is_most_room(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "thunderagent", NULL, 2);
    (void)gate_fix_submit(&fix, 1, 0, 8000, 0, 0);
    (void)gate_fix_submit(&fix, 2, 0, 9000, 0, 0);
    (void)gate_fix_submit(&fix, 3, 0, 5000, 0, 0);
    (void)gate_fix_submit(&fix, 4, 0, 3000, 0, 0);
    struct gate_usage end = {.prompt_tokens = 2000, .output_tokens = 10, .is_ok = true};
    gate_settled(&fix.gate, &fix.steps[0], &end, 1 * S);
    end.prompt_tokens = 5000;
    gate_settled(&fix.gate, &fix.steps[1], &end, 1 * S);
    tick(&fix, 5 * S);
    expect_in(&fix, 3, 0);
    expect_in(&fix, 4, 1);
    gate_fix_fini(&fix);
}

static void waited_for_1800_s__let_in_anyway(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "thunderagent", NULL, 1);
    (void)gate_fix_submit(&fix, 1, 0, 9000, 0, 0);
    (void)gate_fix_submit(&fix, 2, 0, 9000, 0, 1 * S);
    for (uint64_t at_s = 5; at_s <= 1800; at_s += 5) {
        tick(&fix, at_s * S);
    }
    expect_out(&fix, 2);
    tick(&fix, 1801ull * S);
    expect_in(&fix, 2, 0);
    gate_fix_fini(&fix);
}

/* 1 has 6110 tokens and has acted for 3.5 s at 5 s: with decay they count 0.09375 of 6010, and 2
 * with its 5110 comes in; without it does not. */
static void decay__counts_those_less_that_have_acted_for_long(void **state)
{
    (void)state;
    for (int has_decay = 0; has_decay < 2; has_decay++) {
        struct gate_fix fix;
        gate_fix_init(&fix, "thunderagent", (const double[]){5.0, 1.0, has_decay, 100.0, 1800.0},
                      1);
        gate_fix_play(&fix, 1, 0, 6000, 0, 1500000);
        (void)gate_fix_submit(&fix, 2, 0, 9100, 0, 2 * S);
        tick(&fix, 5 * S);
        assert_int_equal(session_of(&fix, 2)->state, has_decay ? GATE_IN : GATE_OUT);
        assert_int_equal(fix.gate.counters.pauses, has_decay ? 1 : 0); /* then 1 has to go */
        gate_fix_fini(&fix);
    }
}

static void engine_gone__sessions_come_back_elsewhere(void **state)
{
    (void)state;
    struct gate_fix fix;
    gate_fix_init(&fix, "thunderagent", NULL, 2);
    gate_fix_play(&fix, 1, 0, 1000, 0, 10);
    gate_remove_engine(&fix.gate, 0, 20);
    (void)gate_fix_submit(&fix, 1, 1, 1200, 1010, 30);
    tick(&fix, 5 * S);
    expect_in(&fix, 1, 1);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new__room__starts_at_once_where_least_is_in_use),
        cmocka_unit_test(new__no_room_or_others_wait__waits_for_the_next_look),
        cmocka_unit_test(short_of_memory__pauses_the_shortest_that_act),
        cmocka_unit_test(short_of_memory__all_reason__the_shortest_is_paused_when_it_is_over),
        cmocka_unit_test(resume__reasons_then_new_then_acts),
        cmocka_unit_test(resume__largest_first__where_there_is_most_room),
        cmocka_unit_test(waited_for_1800_s__let_in_anyway),
        cmocka_unit_test(decay__counts_those_less_that_have_acted_for_long),
        cmocka_unit_test(engine_gone__sessions_come_back_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
