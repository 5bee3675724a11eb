/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/core/core.h"

#include "routing/policy.h"
#include "tests/kit/kit.h"

static const struct agent_limits small = {.max_steps = 8, .queue_max = 3, .queue_timeout_us = 1000};

static struct kit_mem km;
static struct agent_core *core;
static const struct agent_effects *effects;

static int setup(void **state)
{
    (void)state;
    kit_mem_init(&km);
    return agent_core_new(&core, &km.mem, &small) == ST_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    agent_core_free(core);
    kit_mem_expect_empty(&km);
    return 0;
}

static void
step(enum agent_event_kind kind, uint64_t req, uint32_t attempt, uint32_t engine, uint64_t now_us)
{
    const struct agent_event ev = {
        .kind = kind, .req = {req}, .attempt = attempt, .engine = {engine}};
    assert_status(agent_core_step(core, &ev, now_us, &effects), ST_OK);
}

static void add_engine(uint32_t engine, uint32_t max_running)
{
    const struct gate_engine_info info = {.max_running = max_running};
    const struct agent_event ev = {
        .kind = AGENT_EV_ENGINE_ADDED, .engine = {engine}, .info = &info};
    assert_status(agent_core_step(core, &ev, 0, &effects), ST_OK);
}

static void expect_one(enum agent_effect_kind kind, uint64_t req)
{
    assert_int_equal(effects->count, 1);
    assert_int_equal(effects->items[0].kind, kind);
    assert_int_equal(effects->items[0].req.v, req);
}

static void expect_queue(uint32_t engine, uint32_t running, uint32_t waiting)
{
    struct agent_queue_view view;
    assert_true(agent_core_queue(core, (struct engine_id){engine}, &view));
    assert_int_equal(view.running, running);
    assert_int_equal(view.waiting, waiting);
}

static void submit__free_slot__starts(void **state)
{
    (void)state;
    add_engine(1, 2);
    step(AGENT_EV_SUBMIT, 10, 1, 1, 5);
    expect_one(AGENT_EF_START, 10);
    assert_int_equal(effects->items[0].waited_us, 0);
    expect_queue(1, 1, 0);
}

static void submit__slots_taken__waits_in_arrival_order(void **state)
{
    (void)state;
    add_engine(1, 1);
    for (uint64_t req = 10; req < 13; req++) {
        step(AGENT_EV_SUBMIT, req, 1, 1, req);
    }
    assert_int_equal(effects->count, 0);
    expect_queue(1, 1, 2);
    step(AGENT_EV_SETTLED, 10, 1, 1, 100);
    expect_one(AGENT_EF_START, 11);
    assert_int_equal(effects->items[0].waited_us, 89);
    step(AGENT_EV_SETTLED, 11, 1, 1, 200);
    expect_one(AGENT_EF_START, 12);
}

static void submit__queue_full__refused(void **state)
{
    (void)state;
    add_engine(1, 1);
    for (uint64_t req = 1; req <= 4; req++) {
        step(AGENT_EV_SUBMIT, req, 1, 1, 0);
    }
    step(AGENT_EV_SUBMIT, 5, 1, 1, 0);
    expect_one(AGENT_EF_REFUSE, 5);
    assert_false(effects->items[0].is_timeout);
    expect_queue(1, 1, 3);
}

static void submit__all_steps_taken__refused(void **state)
{
    (void)state;
    add_engine(1, 8);
    add_engine(2, 8);
    for (uint64_t req = 1; req <= 8; req++) {
        step(AGENT_EV_SUBMIT, req, 1, 1, 0);
    }
    step(AGENT_EV_SUBMIT, 9, 1, 2, 0);
    expect_one(AGENT_EF_REFUSE, 9);
}

static void submit__unknown_engine__refused(void **state)
{
    (void)state;
    step(AGENT_EV_SUBMIT, 1, 1, 9, 0);
    expect_one(AGENT_EF_REFUSE, 1);
}

static void tick__waited_too_long__refused_as_timeout(void **state)
{
    (void)state;
    add_engine(1, 1);
    step(AGENT_EV_SUBMIT, 1, 1, 1, 0);
    step(AGENT_EV_SUBMIT, 2, 1, 1, 100);
    step(AGENT_EV_SUBMIT, 3, 1, 1, 600);
    step(AGENT_EV_TICK, 0, 0, 0, 1099);
    assert_int_equal(effects->count, 0);
    step(AGENT_EV_TICK, 0, 0, 0, 1100);
    expect_one(AGENT_EF_REFUSE, 2);
    assert_true(effects->items[0].is_timeout);
    expect_queue(1, 1, 1);
}

static void withdraw__waiting__forgotten__running__not(void **state)
{
    (void)state;
    add_engine(1, 1);
    step(AGENT_EV_SUBMIT, 1, 1, 1, 0);
    step(AGENT_EV_SUBMIT, 2, 1, 1, 0);
    step(AGENT_EV_WITHDRAW, 2, 1, 1, 0);
    expect_queue(1, 1, 0);
    step(AGENT_EV_WITHDRAW, 1, 1, 1, 0);
    expect_queue(1, 1, 0);
    step(AGENT_EV_SETTLED, 1, 1, 1, 0);
    assert_int_equal(effects->count, 0);
    expect_queue(1, 0, 0);
}

static void settled__old_attempt__ignored(void **state)
{
    (void)state;
    add_engine(1, 1);
    step(AGENT_EV_SUBMIT, 1, 2, 1, 0);
    step(AGENT_EV_SETTLED, 1, 1, 1, 0);
    expect_queue(1, 1, 0);
    step(AGENT_EV_WITHDRAW, 1, 1, 1, 0);
    expect_queue(1, 1, 0);
    step(AGENT_EV_SETTLED, 1, 2, 1, 0);
    expect_queue(1, 0, 0);
}

static void submit__old_or_same_attempt__ignored(void **state)
{
    (void)state;
    add_engine(1, 1);
    step(AGENT_EV_SUBMIT, 1, 2, 1, 0);
    step(AGENT_EV_SUBMIT, 1, 2, 1, 0);
    assert_int_equal(effects->count, 0);
    step(AGENT_EV_SUBMIT, 1, 1, 1, 0);
    assert_int_equal(effects->count, 0);
    expect_queue(1, 1, 0);
}

static void submit__newer_attempt__older_waiting_one_is_dropped(void **state)
{
    (void)state;
    add_engine(1, 1);
    add_engine(2, 1);
    step(AGENT_EV_SUBMIT, 7, 1, 1, 0);
    step(AGENT_EV_SUBMIT, 1, 1, 1, 0);
    step(AGENT_EV_SUBMIT, 1, 2, 2, 0);
    expect_one(AGENT_EF_START, 1);
    assert_int_equal(effects->items[0].attempt, 2);
    expect_queue(1, 1, 0);
    expect_queue(2, 1, 0);
}

static void submit__newer_attempt__older_running_one_keeps_its_slot(void **state)
{
    (void)state;
    add_engine(1, 1);
    add_engine(2, 1);
    step(AGENT_EV_SUBMIT, 1, 1, 1, 0);
    step(AGENT_EV_SUBMIT, 1, 2, 2, 0);
    expect_queue(1, 1, 0);
    expect_queue(2, 1, 0);
    step(AGENT_EV_SETTLED, 1, 1, 1, 0);
    expect_queue(1, 0, 0);
    expect_queue(2, 1, 0);
}

static void removed__waiting_refused__running_end__then_unknown(void **state)
{
    (void)state;
    add_engine(1, 1);
    step(AGENT_EV_SUBMIT, 1, 1, 1, 0);
    step(AGENT_EV_SUBMIT, 2, 1, 1, 0);
    step(AGENT_EV_ENGINE_REMOVED, 0, 0, 1, 0);
    expect_one(AGENT_EF_REFUSE, 2);
    assert_false(effects->items[0].is_timeout);
    expect_queue(1, 1, 0);
    step(AGENT_EV_SUBMIT, 3, 1, 1, 0);
    expect_one(AGENT_EF_REFUSE, 3);
    step(AGENT_EV_SETTLED, 1, 1, 1, 0);
    struct agent_queue_view view;
    assert_false(agent_core_queue(core, (struct engine_id){1}, &view));
}

static void added__again_with_more_slots__waiting_start(void **state)
{
    (void)state;
    add_engine(1, 1);
    for (uint64_t req = 1; req <= 4; req++) {
        step(AGENT_EV_SUBMIT, req, 1, 1, 0);
    }
    add_engine(1, 3);
    assert_int_equal(effects->count, 2);
    expect_queue(1, 3, 1);
}

/* --- with policies that have hooks --- */

static void admit_nobody(struct gate *gate)
{
    (void)gate;
}

/* What waits for the first engine goes to the second one. */
static void steal_all(struct gate *gate)
{
    while (gate->engines[0]->queued > 0) {
        gate_steal(gate, gate_step_of(list_first(&gate->engines[0]->queue)), 1, true);
    }
}

static void pin_all(struct gate *gate, struct gate_session *session)
{
    gate_pin(gate, session, gate->now_us + 1000);
}

static const struct route_policy closed = {.name = "closed", .admit = admit_nobody};
static const struct route_policy thief = {.name = "thief", .on_epoch = steal_all, .epoch_us = 100};
static const struct route_policy pinner = {.name = "pinner", .on_gap = pin_all};
static const struct route_policy plain = {.name = "plain"};

/* A core of its own kind. */
static void renew(const struct route_policy *policy, uint32_t max_steps)
{
    const struct agent_limits limits = {.max_steps = max_steps,
                                        .max_sessions = max_steps,
                                        .queue_max = max_steps,
                                        .queue_timeout_us = 1000,
                                        .policy = policy};
    agent_core_free(core);
    assert_status(agent_core_new(&core, &km.mem, &limits), ST_OK);
}

/* A step of the session; the request has its number. */
static void submit_of(uint64_t session, uint32_t attempt, uint32_t engine, uint64_t now_us)
{
    const struct gate_need need = {
        .session = session, .prompt_tokens = 100, .kept_tokens = 100, .remaining_s = -1.0};
    const struct agent_event ev = {.kind = AGENT_EV_SUBMIT,
                                   .req = {session},
                                   .attempt = attempt,
                                   .engine = {engine},
                                   .need = &need};
    assert_status(agent_core_step(core, &ev, now_us, &effects), ST_OK);
}

static void settle_of(uint64_t session, uint32_t attempt, uint64_t now_us)
{
    const struct gate_usage usage = {.prompt_tokens = 100, .output_tokens = 10, .is_ok = true};
    const struct agent_event ev = {
        .kind = AGENT_EV_SETTLED, .req = {session}, .attempt = attempt, .usage = &usage};
    assert_status(agent_core_step(core, &ev, now_us, &effects), ST_OK);
}

static void moved(uint64_t req, uint32_t attempt, bool is_moved, uint64_t now_us)
{
    const struct agent_event ev = {
        .kind = AGENT_EV_MOVED, .req = {req}, .attempt = attempt, .is_moved = is_moved};
    assert_status(agent_core_step(core, &ev, now_us, &effects), ST_OK);
}

static void set_policy(const struct route_policy *policy, uint64_t now_us)
{
    const struct agent_event ev = {.kind = AGENT_EV_POLICY, .policy = policy};
    assert_status(agent_core_step(core, &ev, now_us, &effects), ST_OK);
}

static uint32_t count_of(enum agent_effect_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < effects->count; i++) {
        count += effects->items[i].kind == kind ? 1 : 0;
    }
    return count;
}

static void answered__running__counts_once__others_not(void **state)
{
    (void)state;
    add_engine(1, 1);
    step(AGENT_EV_SUBMIT, 1, 1, 1, 0);
    step(AGENT_EV_SUBMIT, 2, 1, 1, 0);
    step(AGENT_EV_ANSWERED, 2, 1, 0, 1); /* waits */
    step(AGENT_EV_ANSWERED, 1, 9, 0, 1); /* no such attempt */
    step(AGENT_EV_ANSWERED, 7, 1, 0, 1);
    assert_int_equal(agent_core_gate(core)->engines[0]->unanswered, 1);
    step(AGENT_EV_ANSWERED, 1, 1, 0, 2);
    step(AGENT_EV_ANSWERED, 1, 1, 0, 3);
    assert_int_equal(agent_core_gate(core)->engines[0]->unanswered, 0);
    step(AGENT_EV_SETTLED, 1, 1, 1, 4);
    expect_one(AGENT_EF_START, 2);
    step(AGENT_EV_SETTLED, 2, 1, 1, 5); /* without a token */
    assert_true(gate_check(agent_core_gate(core)));
}

static void moved__starts_on_the_other_engine(void **state)
{
    (void)state;
    renew(&thief, 8);
    add_engine(1, 1);
    add_engine(2, 1);
    submit_of(5, 1, 1, 0);
    settle_of(5, 1, 10);
    submit_of(6, 1, 1, 20);
    submit_of(5, 2, 1, 30);
    step(AGENT_EV_TICK, 0, 0, 0, 100);
    expect_one(AGENT_EF_MOVE, 5);
    assert_int_equal(effects->items[0].attempt, 2);
    assert_int_equal(effects->items[0].session, 5);
    assert_int_equal(effects->items[0].from.v, 1);
    assert_int_equal(effects->items[0].engine.v, 2);
    assert_int_equal(agent_core_at_gate(core), 1); /* in no engine's queue */
    moved(5, 1, true, 110);                        /* an old attempt */
    moved(9, 1, true, 110);
    assert_int_equal(effects->count, 0);
    moved(5, 2, true, 120);
    expect_one(AGENT_EF_START, 5);
    assert_int_equal(effects->items[0].engine.v, 2);
    assert_int_equal(effects->items[0].waited_us, 90);
    moved(5, 2, true, 130); /* doubled */
    assert_int_equal(effects->count, 0);
    expect_queue(2, 1, 0);
}

static void moving__engine_removed_or_too_late__refused(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        renew(&thief, 8);
        add_engine(1, 1);
        add_engine(2, 1);
        submit_of(5, 1, 1, 0);
        settle_of(5, 1, 10);
        submit_of(6, 1, 1, 20);
        submit_of(5, 2, 1, 30);
        step(AGENT_EV_TICK, 0, 0, 0, 100);
        if (is_late) {
            step(AGENT_EV_TICK, 0, 0, 0, 1030);
        } else {
            step(AGENT_EV_ENGINE_REMOVED, 0, 0, 2, 200);
        }
        expect_one(AGENT_EF_REFUSE, 5);
        assert_int_equal(effects->items[0].is_timeout, is_late);
        moved(5, 2, true, 2000);
        assert_int_equal(effects->count, 0);
        assert_int_equal(agent_core_at_gate(core), 0);
    }
}

static void at_gate__too_long__refused_as_timeout__withdrawn__gone(void **state)
{
    (void)state;
    renew(&closed, 8);
    add_engine(1, 4);
    submit_of(5, 1, 1, 0);
    submit_of(6, 1, 1, 500);
    assert_int_equal(agent_core_at_gate(core), 2);
    expect_queue(1, 0, 0);
    step(AGENT_EV_TICK, 0, 0, 0, 999);
    assert_int_equal(effects->count, 0);
    step(AGENT_EV_TICK, 0, 0, 0, 1000);
    expect_one(AGENT_EF_REFUSE, 5);
    assert_true(effects->items[0].is_timeout);
    assert_int_equal(effects->items[0].engine.v, 1); /* where it was placed */
    step(AGENT_EV_WITHDRAW, 6, 1, 1, 1000);
    assert_int_equal(agent_core_at_gate(core), 0);
    step(AGENT_EV_TICK, 0, 0, 0, 9000);
    assert_int_equal(effects->count, 0);
}

static void at_gate__more_than_queues_hold__refused(void **state)
{
    (void)state;
    const struct agent_limits limits = {.max_steps = 20,
                                        .max_sessions = 20,
                                        .queue_max = 2,
                                        .queue_timeout_us = 1000,
                                        .policy = &closed};
    agent_core_free(core);
    assert_status(agent_core_new(&core, &km.mem, &limits), ST_OK);
    add_engine(1, 4);
    add_engine(2, 4);
    uint64_t key = 1;
    do {
        submit_of(key++, 1, 1, 0);
    } while (effects->count == 0);
    expect_one(AGENT_EF_REFUSE, key - 1);
    assert_int_equal(agent_core_at_gate(core), 5); /* more than two each */
}

static void policy__opens_the_gate__all_start__again__nothing(void **state)
{
    (void)state;
    renew(&closed, 8);
    add_engine(1, 4);
    add_engine(2, 4);
    submit_of(5, 1, 1, 0);
    submit_of(6, 1, 2, 0);
    set_policy(&closed, 50);
    assert_int_equal(effects->count, 0);
    set_policy(&plain, 100);
    assert_int_equal(count_of(AGENT_EF_START), 2);
    expect_queue(1, 1, 0);
    expect_queue(2, 1, 0);
    assert_int_equal(effects->items[0].waited_us, 100);
    set_policy(&closed, 200);
    submit_of(7, 1, 1, 200);
    assert_int_equal(agent_core_at_gate(core), 1);
    settle_of(5, 1, 300);
    settle_of(6, 1, 300);
    assert_true(gate_check(agent_core_gate(core)));
}

/* Those placed on it are, others wait on. */
static void removed__steps_at_the_gate__those_placed_there_refused(void **state)
{
    (void)state;
    renew(&closed, 8);
    add_engine(1, 4);
    add_engine(2, 4);
    for (uint64_t key = 5; key < 9; key++) {
        submit_of(key, 1, key == 8 ? 2 : 1, 0);
    }
    step(AGENT_EV_ENGINE_REMOVED, 0, 0, 1, 10);
    assert_int_equal(count_of(AGENT_EF_REFUSE), 3);
    assert_int_equal(agent_core_at_gate(core), 1);
}

/* Lets one session in when a step has gone since the last look. */
static void admit_when_one_left(struct gate *gate)
{
    if (gate->notes[0] > (double)gate->steps && !gate->engines[1]->is_gone) {
        gate_let_in(gate, gate_session_at_gate(list_first(&gate->waiting)), 1);
    }
    gate->notes[0] = (double)gate->steps;
}

static const struct route_policy one_out_one_in = {.name = "one out, one in",
                                                   .admit = admit_when_one_left};

/* 5 to 8 wait, placed on the engine that goes. With 5 refused, 6 starts on the other one; with 7
 * refused, 8 does. */
static void removed__refusals_let_others_in__each_has_one_end(void **state)
{
    (void)state;
    renew(&one_out_one_in, 8);
    add_engine(1, 4);
    add_engine(2, 4);
    for (uint64_t key = 5; key < 9; key++) {
        submit_of(key, 1, 1, 0);
    }
    step(AGENT_EV_ENGINE_REMOVED, 0, 0, 1, 10);
    assert_int_equal(effects->count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(effects->items[i].req.v, 5 + i);
        assert_int_equal(effects->items[i].kind, i % 2 == 0 ? AGENT_EF_REFUSE : AGENT_EF_START);
    }
    expect_queue(2, 2, 0);
    assert_int_equal(agent_core_at_gate(core), 0);
}

/* Steps of sessions that a policy pins run out of time together: each is refused, and what there is
 * no room for of the pins is left out. */
static void tick__many_time_outs_and_advice__all_refused(void **state)
{
    (void)state;
    enum { MANY = 400 };
    renew(&pinner, 2 * MANY);
    add_engine(1, 1);
    submit_of(1, 1, 1, 0); /* keeps the only slot */
    for (uint64_t key = 2; key < 2 + MANY; key++) {
        submit_of(key, 1, 1, 0);
    }
    step(AGENT_EV_TICK, 0, 0, 0, 1000);
    assert_int_equal(count_of(AGENT_EF_REFUSE), MANY);
    assert_int_equal(count_of(AGENT_EF_RETAIN), GATE_ADVICE_MAX);
    assert_int_equal(agent_core_gate(core)->counters.left_out, MANY - GATE_ADVICE_MAX);
    expect_queue(1, 1, 0);
}

static void retain__gap__says_until_when(void **state)
{
    (void)state;
    renew(&pinner, 8);
    add_engine(3, 1);
    submit_of(5, 1, 3, 0);
    settle_of(5, 1, 10);
    assert_int_equal(effects->count, 1);
    assert_int_equal(effects->items[0].kind, AGENT_EF_RETAIN);
    assert_int_equal(effects->items[0].session, 5);
    assert_int_equal(effects->items[0].engine.v, 3);
    assert_int_equal(effects->items[0].until_us, 1010);
}

/* Everything once; gives up at the first failure. */
static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct agent_core *own = NULL;
    if (agent_core_new(
            &own, mem,
            &(struct agent_limits){.max_steps = 400, .queue_max = 400, .queue_timeout_us = 1000}) !=
        ST_OK) {
        return false;
    }
    const struct agent_effects *out = NULL;
    bool is_ok = true;
    uint32_t known = 0;
    const struct gate_engine_info info = {.max_running = 2};
    const struct agent_event add = {.kind = AGENT_EV_ENGINE_ADDED, .engine = {1}, .info = &info};
    is_ok = agent_core_step(own, &add, 0, &out) == ST_OK;
    struct agent_queue_view view = {.running = 0};
    assert_int_equal(agent_core_queue(own, (struct engine_id){1}, &view), is_ok);
    for (uint64_t req = 1; is_ok && req <= 300; req++) {
        const struct agent_event ev = {
            .kind = AGENT_EV_SUBMIT, .req = {req}, .attempt = 1, .engine = {1}};
        is_ok = agent_core_step(own, &ev, 0, &out) == ST_OK;
        known += is_ok ? 1 : 0;
        assert_true(agent_core_queue(own, (struct engine_id){1}, &view));
        assert_int_equal(view.running + view.waiting, known);
    }
    agent_core_free(own);
    return is_ok;
}

static void torture__any_allocation_fails__nothing_changed_nothing_leaked(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(submit__free_slot__starts, setup, teardown),
        cmocka_unit_test_setup_teardown(submit__slots_taken__waits_in_arrival_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(submit__queue_full__refused, setup, teardown),
        cmocka_unit_test_setup_teardown(submit__all_steps_taken__refused, setup, teardown),
        cmocka_unit_test_setup_teardown(submit__unknown_engine__refused, setup, teardown),
        cmocka_unit_test_setup_teardown(tick__waited_too_long__refused_as_timeout, setup, teardown),
        cmocka_unit_test_setup_teardown(withdraw__waiting__forgotten__running__not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(settled__old_attempt__ignored, setup, teardown),
        cmocka_unit_test_setup_teardown(submit__old_or_same_attempt__ignored, setup, teardown),
        cmocka_unit_test_setup_teardown(submit__newer_attempt__older_waiting_one_is_dropped, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(submit__newer_attempt__older_running_one_keeps_its_slot,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(removed__waiting_refused__running_end__then_unknown, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(added__again_with_more_slots__waiting_start, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(answered__running__counts_once__others_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(moved__starts_on_the_other_engine, setup, teardown),
        cmocka_unit_test_setup_teardown(moving__engine_removed_or_too_late__refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(at_gate__too_long__refused_as_timeout__withdrawn__gone,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(at_gate__more_than_queues_hold__refused, setup, teardown),
        cmocka_unit_test_setup_teardown(policy__opens_the_gate__all_start__again__nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(removed__steps_at_the_gate__those_placed_there_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(removed__refusals_let_others_in__each_has_one_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(tick__many_time_outs_and_advice__all_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(retain__gap__says_until_when, setup, teardown),
        cmocka_unit_test(torture__any_allocation_fails__nothing_changed_nothing_leaked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
