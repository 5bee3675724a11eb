/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/core/core.h"

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
    const struct agent_event ev = {
        .kind = AGENT_EV_ENGINE_ADDED, .engine = {engine}, .max_running = max_running};
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

/* Everything once; gives up at the first failure. */
static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct agent_core *own = NULL;
    if (agent_core_new(&own, mem, &(struct agent_limits){400, 400, 1000}) != ST_OK) {
        return false;
    }
    const struct agent_effects *out = NULL;
    bool is_ok = true;
    uint32_t known = 0;
    const struct agent_event add = {.kind = AGENT_EV_ENGINE_ADDED, .engine = {1}, .max_running = 2};
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
        cmocka_unit_test(torture__any_allocation_fails__nothing_changed_nothing_leaked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
