/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's books, by random events (gate_storm.h) and one by one. */
#include "routing/gate.h"
#include "routing/registry.h"
#include "tests/kit/kit.h"
#include "tests/unit/routing/gate_storm.h"

enum { SEEDS = 300, BYTES = 3000, STEPS = 8 };

static uint32_t random_bytes(uint8_t *bytes, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    for (uint32_t i = 0; i < BYTES; i++) {
        bytes[i] = (uint8_t)rng_below(&rng, 256);
    }
    return BYTES;
}

static void storm__random__books_are_right_and_steps_end_once(void **state)
{
    (void)state;
    static uint8_t bytes[BYTES];
    struct gate_storm_counts sum = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct gate_storm_counts counts;
        struct kit_mem km;
        kit_mem_init(&km);
        gate_storm(bytes, random_bytes(bytes, seed), &km.mem, &counts);
        kit_mem_expect_empty(&km);
        sum.settled += counts.settled;
        sum.withdrawn += counts.withdrawn;
        sum.moves += counts.moves;
        sum.pauses += counts.pauses;
        sum.engines_gone += counts.engines_gone;
        assert_int_equal(counts.failed, 0);
    }
    assert_true(sum.settled > 1000 && sum.withdrawn > 1000 && sum.moves > 100);
    assert_true(sum.pauses > 100 && sum.engines_gone > 100);
}

static void storm__memory_fails__books_are_right_and_nothing_leaks(void **state)
{
    (void)state;
    static uint8_t bytes[BYTES];
    uint32_t failed = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint32_t len = random_bytes(bytes, seed) / 4;
        for (uint64_t at = 1; at <= 25; at++) {
            struct gate_storm_counts counts;
            struct kit_mem km;
            kit_mem_init(&km);
            km.fail_at = at;
            km.is_failing_after = at % 3 == 0;
            gate_storm(bytes, len, &km.mem, &counts);
            kit_mem_expect_empty(&km);
            failed += counts.failed;
        }
    }
    assert_true(failed > 100);
}

/* --- one by one --- */

static struct gate gate;
static struct gate_step steps[STEPS];

static const struct gate_engine_info info = {
    .max_running = 1, .kv_tokens = 1000, .chunk_tokens = 100, .prefill_us_per_token = 1000};

/* Nobody is let in but by the test. */
static void admit_nobody(struct gate *which)
{
    (void)which;
}

static void do_nothing(struct gate *which, struct gate_session *session)
{
    (void)which;
    session->notes[0] += 1.0;
}

static const struct route_policy closed = {
    .name = "closed", .admit = admit_nobody, .on_gap = do_nothing};
static const struct route_policy open = {.name = "open", .on_gap = do_nothing};

static void init(const struct route_policy *policy)
{
    const struct gate_opts opts = {
        .policy = policy, .max_sessions = 4, .max_engines = 2, .seed = 1};
    assert_status(gate_init(&gate, mem_heap(), &opts), ST_OK);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t idx;
        assert_status(gate_add_engine(&gate, i, &info, 0, &idx), ST_OK);
    }
}

static int teardown(void **state)
{
    (void)state;
    assert_true(gate_check(&gate));
    gate_fini(&gate);
    return 0;
}

static struct gate_session *
submit(uint32_t at, uint64_t session, uint32_t engine, uint32_t prompt_tokens, uint64_t now_us)
{
    const struct gate_need need = {.session = session,
                                   .prompt_tokens = prompt_tokens,
                                   .kept_tokens = prompt_tokens / 2,
                                   .output_tokens = 10,
                                   .remaining_s = -1.0};
    assert_status(gate_submit(&gate, &steps[at], &need, engine, now_us), ST_OK);
    return steps[at].session;
}

static void settle(uint32_t at, bool is_ok, uint64_t now_us)
{
    const struct gate_usage usage = {
        .prompt_tokens = steps[at].need.prompt_tokens, .output_tokens = 10, .is_ok = is_ok};
    gate_settled(&gate, &steps[at], &usage, now_us);
}

static void let_in(struct gate_session *session, uint32_t engine)
{
    gate_let_in(&gate, session, engine);
    gate_tick(&gate, gate.now_us);
}

static void submit__closed_gate__waits_until_let_in(void **state)
{
    (void)state;
    init(&closed);
    struct gate_session *session = submit(0, 1, 0, 100, 5);
    assert_int_equal(steps[0].state, GATE_STEP_AT_GATE);
    assert_int_equal(gate.waiting_count, 1);
    assert_int_equal(gate.waiting_tokens, 110);
    assert_int_equal(session->step_tokens, 110);
    let_in(session, 1);
    assert_int_equal(steps[0].state, GATE_STEP_RUNNING);
    assert_int_equal(steps[0].engine, 1);
    assert_int_equal(gate.action_count, 1);
    assert_int_equal(gate.waiting_count, 0);
    submit(1, 1, 0, 120, 6); /* it is in: to where it is, not to where it was placed */
    assert_int_equal(steps[1].engine, 1);
    assert_int_equal(gate_session_tokens(&gate, session), 240);
    settle(0, true, 7);
    settle(1, true, 8);
    assert_int_equal(session->step_tokens, 0);
    assert_int_equal(gate_session_tokens(&gate, session), 130);
}

static void withdraw__in_each_state__nothing_is_left(void **state)
{
    (void)state;
    init(&closed);
    struct gate_session *a = submit(0, 1, 0, 100, 0);
    gate_withdraw(&gate, &steps[0], 1);
    assert_true(a->notes[0] == 0.0); /* it was never anywhere: no gap */
    submit(0, 1, 0, 100, 2);
    let_in(a, 0);
    submit(1, 1, 0, 100, 3);
    assert_int_equal(steps[1].state, GATE_STEP_QUEUED);
    gate_withdraw(&gate, &steps[1], 4);
    settle(0, true, 5);
    assert_true(a->notes[0] == 1.0);
    struct gate_session *b = submit(2, 2, 0, 100, 6);
    let_in(b, 0);
    submit(3, 1, 0, 100, 7);
    gate_steal(&gate, &steps[3], 1, true); /* its KV is on the first one */
    gate_tick(&gate, 7);
    assert_int_equal(steps[3].state, GATE_STEP_MOVING);
    assert_int_equal(a->step_tokens, 110);
    gate_withdraw(&gate, &steps[3], 8);
    assert_int_equal(a->queued, 0);
    assert_int_equal(a->step_tokens, 0);
    settle(2, true, 9);
    assert_int_equal(gate.steps, 0);
}

static void pause__queued_steps__wait_at_the_gate_again(void **state)
{
    (void)state;
    init(&closed);
    struct gate_session *a = submit(0, 1, 0, 100, 0);
    let_in(a, 0);
    struct gate_session *b = submit(1, 2, 0, 100, 0);
    let_in(b, 0);
    submit(2, 2, 0, 100, 0);
    gate_pause(&gate, b);
    gate_tick(&gate, 1);
    assert_int_equal(b->state, GATE_OUT);
    assert_int_equal(steps[1].state, GATE_STEP_AT_GATE);
    assert_int_equal(steps[2].state, GATE_STEP_AT_GATE);
    assert_int_equal(gate.waiting_count, 1);
    assert_int_equal(gate.counters.pauses, 1);
    settle(0, true, 2);
    let_in(b, 1);
    assert_int_equal(steps[1].state, GATE_STEP_RUNNING);
    assert_int_equal(steps[2].state, GATE_STEP_QUEUED);
    settle(1, true, 3);
    settle(2, true, 4);
}

static void steal__with_kv__runs_when_it_has_arrived(void **state)
{
    (void)state;
    for (int is_moved = 0; is_moved < 2; is_moved++) {
        init(&open);
        struct gate_session *a = submit(0, 1, 0, 100, 0);
        settle(0, true, 1);
        submit(1, 2, 0, 100, 2);
        submit(2, 1, 0, 120, 3);
        gate_steal(&gate, &steps[2], 1, true);
        assert_int_equal(gate.counters.steals, 1);
        assert_int_equal(gate.actions[gate.action_count - 1].kind, GATE_MOVE);
        assert_int_equal(gate.actions[gate.action_count - 1].from, 0);
        gate_tick(&gate, 4);
        assert_int_equal(gate.action_count, 0); /* it does not start before */
        gate_moved(&gate, &steps[2], is_moved, 5);
        assert_int_equal(steps[2].state, GATE_STEP_RUNNING);
        assert_int_equal(steps[2].engine, 1);
        assert_int_equal(steps[2].uncached_tokens, is_moved ? 60 : 120);
        assert_int_equal(a->engine, 1);
        gate_moved(&gate, &steps[2], true, 6); /* a late one says nothing */
        settle(1, true, 7);
        settle(2, true, 8);
        if (is_moved == 0) {
            (void)teardown(NULL);
        }
    }
}

static void steal__no_kv_there__queued_at_once(void **state)
{
    (void)state;
    init(&open);
    submit(0, 1, 0, 100, 0);
    submit(1, 2, 0, 100, 0);
    gate_steal(&gate, &steps[1], 1, true);
    gate_tick(&gate, 1);
    assert_int_equal(steps[1].state, GATE_STEP_RUNNING);
    settle(0, true, 2);
    settle(1, true, 3);
}

static void moving__session_paused_meanwhile__waits_at_the_gate(void **state)
{
    (void)state;
    init(&closed);
    struct gate_session *a = submit(0, 1, 0, 100, 0);
    let_in(a, 0);
    settle(0, true, 1);
    struct gate_session *b = submit(1, 2, 0, 100, 2);
    let_in(b, 0);
    submit(2, 1, 0, 120, 3);
    gate_steal(&gate, &steps[2], 1, true);
    gate_pause(&gate, a);
    gate_tick(&gate, 4);
    gate_moved(&gate, &steps[2], true, 5);
    assert_int_equal(steps[2].state, GATE_STEP_AT_GATE);
    gate_withdraw(&gate, &steps[2], 6);
    settle(1, true, 7);
}

static void engine_removed__what_is_queued_never_starts__and_it_may_come_back(void **state)
{
    (void)state;
    init(&open);
    struct gate_session *a = submit(0, 1, 0, 100, 0);
    submit(1, 2, 0, 100, 0);
    submit(2, 3, 0, 100, 0);
    gate_remove_engine(&gate, 0, 1);
    assert_int_equal(a->state, GATE_OUT);
    settle(0, true, 2); /* there is a slot now */
    assert_int_equal(gate.action_count, 0);
    assert_int_equal(gate_resident(&gate, a, 0), 0);
    gate_withdraw(&gate, &steps[1], 3);
    assert_int_equal(gate.action_count, 0);
    gate_tell_engine(&gate, 0, &info, 4);
    assert_int_equal(gate.action_count, 1);
    assert_ptr_equal(gate.actions[0].step, &steps[2]);
    settle(2, true, 5);
    gate_remove_engine(&gate, 0, 6);
    gate_forget_engine(&gate, 0);
    uint32_t idx = GATE_NONE;
    assert_status(gate_add_engine(&gate, 7, &info, 7, &idx), ST_OK);
    assert_int_equal(idx, 0);
    assert_status(gate_add_engine(&gate, 8, &info, 7, &idx), ST_FULL);
}

static void gap__engine_forgotten__no_hook_is_asked(void **state)
{
    (void)state;
    init(&open);
    struct gate_session *a = submit(0, 1, 0, 100, 0);
    submit(1, 1, 1, 100, 0); /* the session's engine is the second one now */
    settle(1, true, 1);
    gate_remove_engine(&gate, 1, 2);
    gate_forget_engine(&gate, 1);
    assert_int_equal(a->engine, GATE_NONE);
    settle(0, true, 3);
    assert_true(a->notes[0] == 0.0);
}

static void failed_step__what_was_there__is_there(void **state)
{
    (void)state;
    init(&open);
    struct gate_session *a = submit(0, 1, 0, 400, 0);
    settle(0, true, 1);
    assert_int_equal(gate_resident(&gate, a, 0), 410);
    submit(1, 1, 0, 500, 2);
    settle(1, false, 3);
    assert_int_equal(gate_resident(&gate, a, 0), 410);
    submit(2, 2, 0, 700, 4); /* and gives way like others */
    assert_int_equal(gate_resident(&gate, a, 0), 1000 - 710);
    settle(2, true, 5);
}

static void copies__no_room__used_longest_ago_goes_first__pinned_last(void **state)
{
    (void)state;
    init(&open);
    struct gate_session *a = submit(0, 1, 0, 300, 0);
    settle(0, true, 1);
    struct gate_session *b = submit(1, 2, 0, 300, 2);
    settle(1, true, 3);
    gate_pin(&gate, a, 100);
    submit(2, 3, 0, 500, 4); /* 490 are left */
    assert_int_equal(gate_resident(&gate, a, 0), 310);
    assert_int_equal(gate_resident(&gate, b, 0), 180);
    settle(2, true, 200); /* the pin is over */
    submit(3, 4, 0, 600, 201);
    assert_int_equal(gate_resident(&gate, a, 0), 0);
    settle(3, true, 202);
}

static void policy__open_one_after_closed__all_go_where_they_were_placed(void **state)
{
    (void)state;
    init(&closed);
    struct gate_session *a = submit(0, 1, 0, 100, 0);
    submit(1, 2, 1, 100, 0);
    a->notes[1] = 7.0;
    gate.engines[0]->notes[1] = 7.0;
    gate.notes[1] = 7.0;
    gate_set_policy(&gate, &open, NULL, 1);
    assert_int_equal(gate.action_count, 2);
    assert_int_equal(steps[0].engine, 0);
    assert_int_equal(steps[1].engine, 1);
    assert_true(a->notes[1] == 0.0 && gate.engines[0]->notes[1] == 0.0 && gate.notes[1] == 0.0);
    settle(0, true, 2);
    settle(1, true, 3);
}

static void sessions__no_room__the_one_used_longest_ago_is_forgotten(void **state)
{
    (void)state;
    init(&open);
    for (uint64_t key = 1; key <= 4; key++) {
        submit(0, key, 0, 100, key);
        settle(0, true, key);
    }
    submit(0, 1, 0, 100, 5); /* runs, and is the last one used */
    submit(1, 5, 0, 100, 6);
    assert_int_equal(gate.counters.forgotten, 1);
    assert_null(map_get(&gate.session_keys, 2));
    assert_non_null(map_get(&gate.session_keys, 1));
    for (uint32_t i = 0; i < 3; i++) {
        submit(2 + i, 6 + i, 0, 100, 7);
    }
    assert_null(steps[4].session); /* none is acting any more */
    for (uint32_t i = 0; i < 5; i++) {
        settle(i, true, 8);
    }
}

static void final__session_and_what_it_held__are_forgotten(void **state)
{
    (void)state;
    init(&open);
    submit(0, 1, 0, 100, 0);
    const struct gate_usage usage = {
        .prompt_tokens = 100, .output_tokens = 1, .is_ok = true, .is_final = true};
    gate_settled(&gate, &steps[0], &usage, 1);
    assert_int_equal(gate.session_slab.used_nodes, 0);
    assert_int_equal(gate.copy_slab.used_nodes, 0);
    assert_int_equal(gate.engines[0]->copy_tokens, 0);
}

static void usage__more_cached_than_sent__counts_as_nothing_missed(void **state)
{
    (void)state;
    init(&open);
    submit(0, 1, 0, 100, 0);
    const struct gate_usage usage = {.prompt_tokens = 100, .cached_tokens = 200, .is_ok = true};
    gate_settled(&gate, &steps[0], &usage, 1);
    assert_int_equal(gate.counters.missed_tokens, 0);
}

static void return_within__between_horizons__linear(void **state)
{
    (void)state;
    struct gate_usage usage = {.has_return = true};
    init(&open);
    assert_true(gate_return_within(&(struct gate_usage){0}, 5) < 0.0);
    for (uint32_t i = 0; i < GATE_HORIZONS; i++) {
        usage.return_ratio[i] = i == 0 ? 0.25f : 0.75f;
    }
    assert_close(gate_return_within(&usage, 50000), 0.125, 1e-9);
    assert_close(gate_return_within(&usage, 200000), 0.5, 1e-9);
    assert_close(gate_return_within(&usage, UINT64_MAX), 0.75, 1e-9);
}

static void advice__too_much_in_one_event__left_out(void **state)
{
    (void)state;
    init(&open);
    struct gate_session *a = submit(0, 1, 0, 100, 0);
    settle(0, true, 1);
    gate_tick(&gate, 2);
    for (uint32_t i = 0; i < GATE_ADVICE_MAX + 5; i++) {
        gate_value(&gate, a, 0.5, UINT64_MAX);
    }
    assert_int_equal(gate.action_count, GATE_ADVICE_MAX);
    assert_int_equal(gate.counters.left_out, 5);
}

/* Engine 0 had a step of pool 7, engine 1 one of pool 8. */
static void let_in__engine_of_another_pool__goes_where_it_was_placed(void **state)
{
    (void)state;
    init(&closed);
    for (uint32_t i = 0; i < 2; i++) {
        const struct gate_need need = {
            .session = 100 + i, .pool = 7 + i, .prompt_tokens = 10, .remaining_s = -1.0};
        assert_status(gate_submit(&gate, &steps[i], &need, i, 0), ST_OK);
        assert_true(gate_serves(&gate, steps[i].session, i));
        assert_false(gate_serves(&gate, steps[i].session, 1 - i));
    }
    gate_let_in(&gate, steps[0].session, 1);
    assert_int_equal(steps[0].session->engine, 0);
    assert_int_equal(steps[0].engine, 0);
    gate_steal(&gate, &steps[0], 1, false);
    assert_int_equal(steps[0].engine, 0);
    assert_int_equal(gate.counters.steals, 0);
    steps[1].session->pool = 0; /* any will do */
    gate_let_in(&gate, steps[1].session, 0);
    assert_int_equal(steps[1].engine, 0);
    gate_tick(&gate, 1); /* leaves nothing to be looked at */
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storm__random__books_are_right_and_steps_end_once),
        cmocka_unit_test(storm__memory_fails__books_are_right_and_nothing_leaks),
        T(submit__closed_gate__waits_until_let_in),
        T(let_in__engine_of_another_pool__goes_where_it_was_placed),
        T(withdraw__in_each_state__nothing_is_left),
        T(pause__queued_steps__wait_at_the_gate_again),
        T(steal__with_kv__runs_when_it_has_arrived),
        T(steal__no_kv_there__queued_at_once),
        T(moving__session_paused_meanwhile__waits_at_the_gate),
        T(engine_removed__what_is_queued_never_starts__and_it_may_come_back),
        T(gap__engine_forgotten__no_hook_is_asked),
        T(failed_step__what_was_there__is_there),
        T(copies__no_room__used_longest_ago_goes_first__pinned_last),
        T(policy__open_one_after_closed__all_go_where_they_were_placed),
        T(sessions__no_room__the_one_used_longest_ago_is_forgotten),
        T(final__session_and_what_it_held__are_forgotten),
        T(usage__more_cached_than_sent__counts_as_nothing_missed),
        T(return_within__between_horizons__linear),
        T(advice__too_much_in_one_event__left_out),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
