/* SPDX-License-Identifier: Apache-2.0 */
/* Ends, failures, retries, refusals by the node. */
#include "tests/unit/coordinator/core/desk.h"

#include <stdio.h>

static struct desk desk;

static int setup(void **state)
{
    (void)state;
    struct coord_limits limits = desk_limits();
    desk_open(&desk, &limits);
    desk_fleet(&desk, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&desk);
    return 0;
}

static const struct coord_counters *counters(void)
{
    return coord_core_counters(desk.core);
}

/* A step on an engine, started. */
static uint64_t running_step(const char *session)
{
    uint64_t req = desk_arrive(&desk, session, NULL);
    desk_start(&desk, req, 1);
    return req;
}

static void step__ends_well__settled_once_and_forgotten(void **state)
{
    (void)state;
    uint64_t req = desk_arrive(&desk, "task", NULL);
    uint32_t engine = desk_sent_to(&desk);
    desk_start(&desk, req, 1);
    assert_int_equal(coord_core_in_flight(desk.core), 1);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    assert_int_equal(desk.effects->count, 1);
    const struct coord_effect *ef = desk_effect(&desk, COORD_EF_SETTLED, 0);
    assert_int_equal(ef->u.settled.req.v, req);
    assert_int_equal(ef->u.settled.engine.v, engine);
    assert_int_equal(ef->u.settled.attempt, 1);
    assert_int_equal(coord_core_in_flight(desk.core), 0);
    assert_int_equal(counters()->steps_done, 1);
    assert_int_equal(counters()->cached_tokens, 60);
    desk_done(&desk, req, COORD_OUTCOME_OK); /* a second end is no end */
    assert_int_equal(desk.effects->count, 0);
    assert_int_equal(counters()->steps_done, 1);
    assert_int_equal(counters()->prompt_tokens, 100);
}

static void started__after_it_was_withdrawn__settled_there(void **state)
{
    (void)state;
    uint64_t req = desk_arrive(&desk, "task", NULL);
    uint32_t engine = desk_sent_to(&desk);
    desk_remove(&desk, engine); /* it is placed elsewhere, as a second attempt */
    assert_int_not_equal(desk_sent_to(&desk), engine);
    struct coord_event ev = {.kind = COORD_EV_STEP_STARTED,
                             .u.started = {.req = {req}, .attempt = 1, .engine = {engine}}};
    desk_event(&desk, &ev); /* the node had begun before it heard of that */
    assert_int_equal(desk.effects->count, 1);
    const struct coord_effect *ef = desk_effect(&desk, COORD_EF_SETTLED, 0);
    assert_int_equal(ef->u.settled.req.v, req);
    assert_int_equal(ef->u.settled.engine.v, engine);
    assert_int_equal(ef->u.settled.attempt, 1);
    ev.u.started.attempt = 3; /* nobody's */
    desk_event(&desk, &ev);
    assert_int_equal(desk.effects->count, 0);
    desk_answer(&desk, req, 1);
    assert_int_equal(desk.effects->count, 0);
    desk_start(&desk, req, 2);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    assert_int_equal(counters()->steps_done, 1);
}

static void client_leaves__while_queued__withdrawn_and_settled(void **state)
{
    (void)state;
    uint64_t req = desk_arrive(&desk, "task", NULL);
    desk_gone(&desk, req);
    assert_int_equal(desk.effects->count, 2);
    assert_int_equal(desk.effects->items[0].kind, COORD_EF_WITHDRAW);
    assert_int_equal(desk.effects->items[1].kind, COORD_EF_SETTLED);
    assert_int_equal(coord_core_in_flight(desk.core), 0);
    desk_gone(&desk, req);
    assert_int_equal(desk.effects->count, 0);
    assert_int_equal(counters()->steps_gone, 1);
}

static void client_leaves__while_running__settled(void **state)
{
    (void)state;
    desk_gone(&desk, running_step("task"));
    assert_int_equal(desk.effects->count, 1);
    assert_int_equal(desk.effects->items[0].kind, COORD_EF_SETTLED);
}

static void connect_fails__elsewhere_once__then_refused(void **state)
{
    (void)state;
    uint64_t req = running_step("task");
    desk_fail(&desk, req, 1, COORD_FAIL_CONNECT, 0);
    const struct coord_effect *settled = desk_effect(&desk, COORD_EF_SETTLED, 0);
    assert_int_equal(settled->u.settled.attempt, 1);
    uint32_t second = desk_sent_to(&desk);
    assert_int_not_equal(second, settled->u.settled.engine.v);
    assert_int_equal(desk_effect(&desk, COORD_EF_SUBMIT, 0)->u.submit.attempt, 2);
    desk_start(&desk, req, 2);
    desk_fail(&desk, req, 2, COORD_FAIL_CONNECT, 0);
    assert_non_null(desk_effect(&desk, COORD_EF_SETTLED, 0));
    desk_expect_refused(&desk, COORD_REFUSE_FAILED);
    assert_int_equal(desk_effect(&desk, COORD_EF_REFUSE, 0)->u.refuse.last_fail,
                     COORD_FAIL_CONNECT);
    assert_int_equal(coord_core_in_flight(desk.core), 0);
    assert_int_equal(counters()->retries, 1);
}

static void status_503__elsewhere__last_status_kept(void **state)
{
    (void)state;
    uint64_t req = running_step("task");
    desk_fail(&desk, req, 1, COORD_FAIL_STATUS, 503);
    (void)desk_sent_to(&desk);
    desk_fail(&desk, req, 2, COORD_FAIL_STATUS, 529);
    desk_expect_refused(&desk, COORD_REFUSE_FAILED);
    assert_int_equal(desk_effect(&desk, COORD_EF_REFUSE, 0)->u.refuse.last_fail, COORD_FAIL_STATUS);
    assert_int_equal(desk_effect(&desk, COORD_EF_REFUSE, 0)->u.refuse.last_status, 529);
}

static void timeout__never_retried(void **state)
{
    (void)state;
    desk_fail(&desk, running_step("task"), 1, COORD_FAIL_TIMEOUT, 0);
    desk_expect_refused(&desk, COORD_REFUSE_FAILED);
}

static void overloaded__not_retried__engine_not_blamed(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        uint64_t req = desk_arrive(&desk, "task", NULL);
        uint32_t engine = desk_sent_to(&desk);
        desk_fail(&desk, req, 1, COORD_FAIL_OVERLOADED, 0);
        desk_expect_refused(&desk, COORD_REFUSE_FAILED);
        assert_string_equal(desk_engine_state(&desk, engine), "up");
    }
}

static void died__retry_executed_on__elsewhere__off__refused(void **state)
{
    (void)state;
    desk_fail(&desk, running_step("task"), 1, COORD_FAIL_DIED, 0);
    (void)desk_sent_to(&desk);
    struct coord_limits limits = desk_limits();
    limits.retry_executed = false;
    coord_core_set_limits(desk.core, &limits);
    desk_fail(&desk, running_step("other"), 1, COORD_FAIL_DIED, 0);
    desk_expect_refused(&desk, COORD_REFUSE_FAILED);
}

static void retry__nobody_else_serves_it__refused(void **state)
{
    (void)state;
    desk_remove(&desk, 2);
    desk_remove(&desk, 3);
    desk_fail(&desk, running_step("task"), 1, COORD_FAIL_CONNECT, 0);
    desk_expect_refused(&desk, COORD_REFUSE_FAILED);
}

static void b073_total_outage__retries_stay_within_the_budget(void **state)
{
    (void)state;
    /* Breakers never open here, so that only the budget bounds retries. */
    struct coord_limits limits = desk_limits();
    limits.health_fail_count = 100000;
    coord_core_set_limits(desk.core, &limits);
    for (int i = 0; i < 500; i++) {
        uint64_t req = running_step(NULL);
        desk_fail(&desk, req, 1, COORD_FAIL_STATUS, 500);
        if (desk_effect(&desk, COORD_EF_SUBMIT, 0) != NULL) {
            desk_fail(&desk, req, 2, COORD_FAIL_STATUS, 500);
        }
        assert_non_null(desk_effect(&desk, COORD_EF_REFUSE, 0));
    }
    assert_int_equal(counters()->retries, 50);
    assert_int_equal(counters()->retries_denied_budget, 450);
}

static void b077_black_hole__every_connect_failure_goes_elsewhere(void **state)
{
    (void)state;
    uint64_t req[100];
    uint32_t to[100];
    for (int i = 0; i < 100; i++) {
        req[i] = desk_arrive(&desk, NULL, NULL);
        to[i] = desk_sent_to(&desk);
        desk_start(&desk, req[i], 1);
    }
    for (int i = 0; i < 100; i++) {
        if (to[i] == 1) {
            desk_fail(&desk, req[i], 1, COORD_FAIL_CONNECT, 0);
            assert_int_not_equal(desk_sent_to(&desk), 1);
        }
    }
    assert_string_equal(desk_engine_state(&desk, 1), "open");
    assert_int_equal(counters()->steps_refused, 0);
}

static void engine_dies__with_many_steps__all_go_elsewhere(void **state)
{
    (void)state;
    uint64_t req[90];
    uint32_t to[90];
    for (int i = 0; i < 90; i++) {
        req[i] = desk_arrive(&desk, NULL, NULL);
        to[i] = desk_sent_to(&desk);
        desk_start(&desk, req[i], 1);
    }
    for (int i = 0; i < 90; i++) {
        if (to[i] == 2) {
            desk_fail(&desk, req[i], 1, COORD_FAIL_DIED, 0);
            assert_int_not_equal(desk_sent_to(&desk), 2);
        }
    }
    assert_int_equal(counters()->retries_denied_budget, 0);
}

/* The first attempt fails before a byte; the session's later turns go where the second one went. */
static void b088_retry__session_follows_it__after_it_ended_well(void **state)
{
    (void)state;
    uint32_t home = desk_whole_step(&desk, "task", NULL);
    uint64_t req = running_step("task");
    desk_fail(&desk, req, 1, COORD_FAIL_DIED, 0);
    uint32_t second = desk_sent_to(&desk);
    assert_int_not_equal(second, home);
    assert_string_equal(desk_effect(&desk, COORD_EF_SUBMIT, 0)->u.submit.session, "task");
    desk_start(&desk, req, 2);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    assert_int_equal(desk_whole_step(&desk, "task", NULL), second);
    assert_int_equal(desk_whole_step(&desk, "task", NULL), second);
}

static void b087_retry__ended_badly__home_stays(void **state)
{
    (void)state;
    uint32_t home = desk_whole_step(&desk, "task", NULL);
    uint64_t req = running_step("task");
    desk_fail(&desk, req, 1, COORD_FAIL_DIED, 0);
    desk_start(&desk, req, 2);
    desk_done(&desk, req, COORD_OUTCOME_ENGINE_ERROR);
    (void)desk_arrive(&desk, "task", NULL);
    assert_int_equal(desk_sent_to(&desk), home);
}

static void old_attempt__its_events__ignored(void **state)
{
    (void)state;
    uint64_t req = running_step("task");
    desk_fail(&desk, req, 1, COORD_FAIL_CONNECT, 0);
    desk_fail(&desk, req, 1, COORD_FAIL_CONNECT, 0);
    assert_int_equal(desk.effects->count, 0);
    desk_start(&desk, req, 1);
    desk_answer(&desk, req, 1);
    desk_node_refuses(&desk, req, 1, true);
    assert_int_equal(desk.effects->count, 0);
    assert_int_equal(coord_core_in_flight(desk.core), 1);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    assert_int_equal(desk_effect(&desk, COORD_EF_SETTLED, 0)->u.settled.attempt, 2);
}

static void node_refuses__queue_full__elsewhere_until_none_is_left(void **state)
{
    (void)state;
    uint64_t req = desk_arrive(&desk, "task", NULL);
    uint32_t seen = 1u << desk_sent_to(&desk);
    for (uint32_t attempt = 1; attempt <= 2; attempt++) {
        desk_node_refuses(&desk, req, attempt, false);
        seen |= 1u << desk_sent_to(&desk);
    }
    assert_int_equal(seen, 0xe);
    desk_node_refuses(&desk, req, 3, false);
    desk_expect_refused(&desk, COORD_REFUSE_QUEUE_FULL);
    assert_true(desk_effect(&desk, COORD_EF_REFUSE, 0)->u.refuse.retry_after_s > 0);
    assert_int_equal(counters()->retries, 0);
}

static void node_refuses__waited_too_long__refused(void **state)
{
    (void)state;
    uint64_t req = desk_arrive(&desk, "task", NULL);
    desk_node_refuses(&desk, req, 1, true);
    desk_expect_refused(&desk, COORD_REFUSE_QUEUE_TIMEOUT);
    assert_int_equal(coord_core_in_flight(desk.core), 0);
}

static void requests__table_full__refused_and_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        (void)desk_arrive(&desk, NULL, NULL);
    }
    (void)desk_arrive(&desk, NULL, NULL);
    desk_expect_refused(&desk, COORD_REFUSE_LIMIT);
    assert_int_equal(counters()->requests_full, 1);
    assert_int_equal(coord_core_in_flight(desk.core), 1000);
}

static void answered__prompt_is_computed__no_longer_pending(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "long", 50000);
    uint64_t req = desk_arrive(&desk, NULL, &talk);
    uint32_t engine = desk_sent_to(&desk);
    assert_int_equal((int)desk_engine_number(&desk, engine, "pending_bytes"), 50000);
    desk_start(&desk, req, 1);
    desk.now_us += 1000000;
    desk_answer(&desk, req, 1);
    assert_int_equal((int)desk_engine_number(&desk, engine, "pending_bytes"), 0);
    desk.now_us += 3000000;
    desk_done(&desk, req, COORD_OUTCOME_OK);
    assert_close(desk_engine_number(&desk, engine, "us_per_byte"), 20.0,
                 0.01); /* 1 s / 50000 bytes */
    assert_close(desk_engine_number(&desk, engine, "step_ms"), 4000.0, 0.1);
    /* Its next step misses only what is new. */
    talk_say(&talk, "more", 1000);
    (void)desk_arrive(&desk, NULL, &talk);
    assert_int_equal((int)desk_engine_number(&desk, engine, "pending_bytes"), 1000);
}

static void failure__teaches_no_speed(void **state)
{
    (void)state;
    uint64_t req = desk_arrive(&desk, NULL, NULL);
    uint32_t engine = desk_sent_to(&desk);
    desk_start(&desk, req, 1);
    desk.now_us += 10;
    desk_done(&desk, req, COORD_OUTCOME_ENGINE_ERROR);
    assert_close(desk_engine_number(&desk, engine, "step_ms"), 0.0, 1e-9);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(step__ends_well__settled_once_and_forgotten),
        T(started__after_it_was_withdrawn__settled_there),
        T(client_leaves__while_queued__withdrawn_and_settled),
        T(client_leaves__while_running__settled),
        T(connect_fails__elsewhere_once__then_refused),
        T(status_503__elsewhere__last_status_kept),
        T(timeout__never_retried),
        T(overloaded__not_retried__engine_not_blamed),
        T(died__retry_executed_on__elsewhere__off__refused),
        T(retry__nobody_else_serves_it__refused),
        T(b073_total_outage__retries_stay_within_the_budget),
        T(b077_black_hole__every_connect_failure_goes_elsewhere),
        T(engine_dies__with_many_steps__all_go_elsewhere),
        T(b088_retry__session_follows_it__after_it_ended_well),
        T(b087_retry__ended_badly__home_stays),
        T(old_attempt__its_events__ignored),
        T(node_refuses__queue_full__elsewhere_until_none_is_left),
        T(node_refuses__waited_too_long__refused),
        T(requests__table_full__refused_and_counted),
        T(answered__prompt_is_computed__no_longer_pending),
        T(failure__teaches_no_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
