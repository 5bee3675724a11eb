/* SPDX-License-Identifier: Apache-2.0 */
/* Health, models, adding and removing engines. */
#include "tests/unit/coordinator/core/desk.h"

static struct desk desk;

static int setup(void **state)
{
    (void)state;
    struct coord_limits limits = desk_limits();
    desk_open(&desk, &limits);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&desk);
    return 0;
}

/* One step that ends like this, with its head sent: it is not retried. */
static void failing_step(enum coord_outcome outcome)
{
    uint64_t req = desk_arrive(&desk, NULL, NULL);
    assert_non_null(desk_effect(&desk, COORD_EF_SUBMIT, 0));
    desk_start(&desk, req, 1);
    desk_done(&desk, req, outcome);
}

static void b132_no_engine__503__until_the_first_is_probed(void **state)
{
    (void)state;
    (void)desk_arrive(&desk, NULL, NULL);
    desk_expect_refused(&desk, COORD_REFUSE_NO_ENGINE);
    assert_true(desk_effect(&desk, COORD_EF_REFUSE, 0)->u.refuse.retry_after_s > 0);
    assert_false(coord_core_is_ready(desk.core));

    desk_add(&desk, 1);
    const struct coord_effect *probe = desk_effect(&desk, COORD_EF_PROBE, 0);
    assert_non_null(probe);
    assert_true(probe->u.probe.wants_models);
    (void)desk_arrive(&desk, NULL, NULL);
    desk_expect_refused(&desk, COORD_REFUSE_NO_HEALTHY); /* not 404: nobody knows its models yet */

    desk_probed(&desk, 1, true, "m");
    assert_true(coord_core_is_ready(desk.core));
    (void)desk_arrive(&desk, NULL, NULL);
    assert_int_equal(desk_sent_to(&desk), 1);
}

static void model__nobody_serves_it__404_once_all_have_told(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    desk_add(&desk, 2);
    (void)desk_arrive_as(&desk, NULL, NULL, "other", COORD_ROUTE_CHAT);
    desk_expect_refused(&desk, COORD_REFUSE_NO_HEALTHY);
    desk_probed(&desk, 2, true, "m");
    (void)desk_arrive_as(&desk, NULL, NULL, "other", COORD_ROUTE_CHAT);
    desk_expect_refused(&desk, COORD_REFUSE_NO_MODEL);
}

static void model__served_by_one_of_two__always_that_one(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    desk_add(&desk, 2);
    desk_probed(&desk, 2, true, "n");
    for (int i = 0; i < 8; i++) {
        (void)desk_arrive_as(&desk, NULL, NULL, "n", COORD_ROUTE_CHAT);
        assert_int_equal(desk_sent_to(&desk), 2);
    }
}

static void model__server_is_down__503_not_404(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    for (int i = 0; i < 3; i++) {
        failing_step(COORD_OUTCOME_ENGINE_ERROR);
    }
    (void)desk_arrive(&desk, NULL, NULL);
    desk_expect_refused(&desk, COORD_REFUSE_NO_HEALTHY);
}

static void model__engine_that_does_not_tell__used_where_none_is_known(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    desk_add(&desk, 2);
    desk_probed(&desk, 2, true, NULL);
    (void)desk_arrive_as(&desk, NULL, NULL, "odd", COORD_ROUTE_CHAT);
    assert_int_equal(desk_sent_to(&desk), 2);
    for (int i = 0; i < 8; i++) {
        (void)desk_arrive(&desk, NULL, NULL);
        assert_int_equal(desk_sent_to(&desk), 1);
    }
}

static void breaker__failures_in_a_row__opens__client_errors_are_neutral(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    failing_step(COORD_OUTCOME_ENGINE_ERROR);
    failing_step(COORD_OUTCOME_CLIENT_ERROR);
    failing_step(COORD_OUTCOME_CUT);
    failing_step(COORD_OUTCOME_CLIENT_ERROR);
    assert_string_equal(desk_engine_state(&desk, 1), "up");
    failing_step(COORD_OUTCOME_ENGINE_ERROR); /* b072: 400s between them do not break the row */
    assert_string_equal(desk_engine_state(&desk, 1), "open");
    assert_int_equal(coord_core_counters(desk.core)->breaker_opened, 1);
}

static void breaker__success_between__stays_closed(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    for (int i = 0; i < 6; i++) {
        failing_step(i % 3 == 2 ? COORD_OUTCOME_OK : COORD_OUTCOME_ENGINE_ERROR);
    }
    assert_string_equal(desk_engine_state(&desk, 1), "up");
}

static void breaker__half_open__one_probe_then_one_step_at_a_time(void **state)
{
    (void)state;
    desk_fleet(&desk, 2);
    uint64_t req[3];
    for (int i = 0; i < 3; i++) {
        req[i] = desk_arrive(&desk, "task", NULL);
    }
    uint32_t sick = desk_sent_to(&desk);
    uint32_t well = 3 - sick;
    for (int i = 0; i < 3; i++) {
        desk_done(&desk, req[i], COORD_OUTCOME_ENGINE_ERROR);
    }
    assert_string_equal(desk_engine_state(&desk, sick), "open");
    desk_tick(&desk, 5000000);
    assert_string_equal(desk_engine_state(&desk, sick), "half_open");
    uint32_t probes = 0;
    for (uint32_t i = 0; desk_effect(&desk, COORD_EF_PROBE, i) != NULL; i++) {
        probes += desk_effect(&desk, COORD_EF_PROBE, i)->u.probe.engine.v == sick ? 1 : 0;
    }
    assert_int_equal(probes, 1);
    for (int i = 0; i < 4; i++) {
        (void)desk_arrive(&desk, NULL, NULL);
        assert_int_equal(desk_sent_to(&desk), well); /* nothing before the probe's answer */
    }
    desk_probed(&desk, sick, true, "m");
    uint64_t trial = 0;
    uint32_t trials = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t one = desk_arrive(&desk, NULL, NULL);
        bool is_trial = desk_sent_to(&desk) == sick;
        trial = is_trial ? one : trial;
        trials += is_trial ? 1 : 0;
    }
    assert_int_equal(trials, 1);
    desk_start(&desk, trial, 1);
    desk_done(&desk, trial, COORD_OUTCOME_CLIENT_ERROR); /* b072: a 400 does not close it */
    assert_string_equal(desk_engine_state(&desk, sick), "half_open");
    trials = 0;
    for (int i = 0; i < 20 && trials == 0; i++) {
        trial = desk_arrive(&desk, NULL, NULL);
        trials += desk_sent_to(&desk) == sick ? 1 : 0;
    }
    assert_int_equal(trials, 1);
    desk_start(&desk, trial, 1);
    desk_done(&desk, trial, COORD_OUTCOME_OK);
    assert_string_equal(desk_engine_state(&desk, sick), "up");
}

static void breaker__only_engine_half_open__serves_all(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    for (int i = 0; i < 3; i++) {
        failing_step(COORD_OUTCOME_ENGINE_ERROR);
    }
    desk_tick(&desk, 5000000);
    desk_probed(&desk, 1, true, NULL);
    for (int i = 0; i < 5; i++) {
        (void)desk_arrive(&desk, NULL, NULL);
        assert_int_equal(desk_sent_to(&desk), 1);
    }
}

/* The worked numbers of docs/formulas.md#F5. */
static void breaker__opens_again_and_again__waits_double_up_to_twelve_times(void **state)
{
    (void)state;
    static const uint64_t expect_s[] = {5, 10, 20, 40, 60, 60};
    desk_fleet(&desk, 1);
    for (int i = 0; i < 3; i++) {
        failing_step(COORD_OUTCOME_ENGINE_ERROR);
    }
    for (size_t i = 0; i < sizeof(expect_s) / sizeof(expect_s[0]); i++) {
        desk_tick(&desk, expect_s[i] * 1000000 - 1);
        assert_string_equal(desk_engine_state(&desk, 1), "open");
        desk_tick(&desk, 1);
        assert_string_equal(desk_engine_state(&desk, 1), "half_open");
        desk_probed(&desk, 1, false, NULL);
    }
}

static void breaker__closed_by_probes__one_more_failure_opens_it(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    for (int i = 0; i < 3; i++) {
        failing_step(COORD_OUTCOME_ENGINE_ERROR);
    }
    desk_tick(&desk, 5000000);
    desk_probed(&desk, 1, true, NULL);
    desk_tick(&desk, 5000000);
    desk_probed(&desk, 1, true, NULL);
    assert_string_equal(desk_engine_state(&desk, 1), "up");
    failing_step(COORD_OUTCOME_ENGINE_ERROR);
    assert_string_equal(desk_engine_state(&desk, 1), "open");
}

static void probes__fail_in_a_row__open__waiting_steps_go_elsewhere(void **state)
{
    (void)state;
    desk_fleet(&desk, 2);
    uint64_t req[6];
    for (int i = 0; i < 6; i++) {
        req[i] = desk_arrive(&desk, "task", NULL);
        if (i < 2) {
            desk_start(&desk, req[i], 1);
        }
    }
    uint32_t sick = desk_sent_to(&desk);
    for (int i = 0; i < 2; i++) {
        desk_probed(&desk, sick, false, NULL);
        assert_int_equal(desk.effects->count, 0);
    }
    desk_probed(&desk, sick, false, NULL);
    assert_string_equal(desk_engine_state(&desk, sick), "open");
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(desk_effect(&desk, COORD_EF_WITHDRAW, i)->u.withdraw.req.v, req[2 + i]);
        const struct coord_effect *submit = desk_effect(&desk, COORD_EF_SUBMIT, i);
        assert_int_equal(submit->u.submit.engine.v, 3 - sick);
        assert_int_equal(submit->u.submit.attempt, 2);
    }
    assert_null(desk_effect(&desk, COORD_EF_WITHDRAW, 4));
    assert_int_equal((int)desk_engine_number(&desk, sick, "running"), 2);
    assert_int_equal((int)desk_engine_number(&desk, 3 - sick, "queued"), 4);
}

static void probes__interval_and_models_every_twelfth(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    uint32_t with_models = 0;
    for (int i = 0; i < 24; i++) {
        desk_tick(&desk, 4999999);
        assert_null(desk_effect(&desk, COORD_EF_PROBE, 0));
        desk_tick(&desk, 1);
        const struct coord_effect *probe = desk_effect(&desk, COORD_EF_PROBE, 0);
        assert_non_null(probe);
        with_models += probe->u.probe.wants_models ? 1 : 0;
        desk_tick(&desk, 0);
        assert_null(desk_effect(&desk, COORD_EF_PROBE, 0)); /* one at a time */
        desk_probed(&desk, 1, true, NULL);
    }
    assert_int_equal(with_models, 2);
}

static void b135_start__fails_first__keeps_trying(void **state)
{
    (void)state;
    desk_add(&desk, 1);
    desk_probed(&desk, 1, false, NULL);
    assert_string_equal(desk_engine_state(&desk, 1), "starting");
    (void)desk_arrive(&desk, NULL, NULL);
    desk_expect_refused(&desk, COORD_REFUSE_NO_HEALTHY);
    desk_tick(&desk, 1000000);
    assert_non_null(desk_effect(&desk, COORD_EF_PROBE, 0));
    desk_probed(&desk, 1, true, "m");
    (void)desk_arrive(&desk, NULL, NULL);
    assert_int_equal(desk_sent_to(&desk), 1);
}

static void b120_removed_while_running__steps_end__newcomer_starts_at_zero(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    uint64_t req[10];
    for (int i = 0; i < 10; i++) {
        req[i] = desk_arrive(&desk, NULL, NULL);
        desk_start(&desk, req[i], 1);
    }
    desk_remove(&desk, 1);
    assert_string_equal(desk_engine_state(&desk, 1), "draining");
    desk_add(&desk, 2); /* same server under a new id */
    desk_probed(&desk, 2, true, "m");
    assert_int_equal((int)desk_engine_number(&desk, 2, "in_flight"), 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal((int)desk_engine_number(&desk, 1, "in_flight"), 10 - i);
        desk_done(&desk, req[i], COORD_OUTCOME_OK);
        assert_non_null(desk_effect(&desk, COORD_EF_SETTLED, 0));
    }
    assert_string_equal(desk_engine_state(&desk, 1), ""); /* gone with its last step */
    assert_int_equal((int)desk_engine_number(&desk, 2, "in_flight"), 0);
}

static void removed__waiting_steps_go_elsewhere__sessions_too(void **state)
{
    (void)state;
    desk_fleet(&desk, 2);
    uint64_t req = desk_arrive(&desk, "task", NULL);
    uint32_t old = desk_sent_to(&desk);
    desk_remove(&desk, old);
    assert_non_null(desk_effect(&desk, COORD_EF_WITHDRAW, 0));
    assert_int_equal(desk_sent_to(&desk), 3 - old);
    assert_string_equal(desk_engine_state(&desk, old), "");
    desk_start(&desk, req, 2);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    (void)desk_arrive(&desk, "task", NULL);
    assert_int_equal(desk_sent_to(&desk), 3 - old);
}

static void b121_flapping__counts_stay_true(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    uint64_t old[5];
    for (int i = 0; i < 5; i++) {
        old[i] = desk_arrive(&desk, NULL, NULL);
        desk_start(&desk, old[i], 1);
    }
    for (int i = 0; i < 3; i++) {
        desk_probed(&desk, 1, false, NULL);
    }
    assert_string_equal(desk_engine_state(&desk, 1), "open");
    desk_tick(&desk, 5000000);
    desk_probed(&desk, 1, true, "m");
    uint64_t fresh = desk_arrive(&desk, NULL, NULL);
    assert_int_equal((int)desk_engine_number(&desk, 1, "in_flight"), 6);
    for (int i = 0; i < 5; i++) {
        desk_done(&desk, old[i],
                  COORD_OUTCOME_CUT); /* ends of steps from before say nothing about it now */
    }
    assert_string_equal(desk_engine_state(&desk, 1), "half_open");
    assert_int_equal((int)desk_engine_number(&desk, 1, "in_flight"), 1);
    desk_start(&desk, fresh, 1);
    desk_done(&desk, fresh, COORD_OUTCOME_OK);
    assert_string_equal(desk_engine_state(&desk, 1), "up");
    assert_int_equal((int)desk_engine_number(&desk, 1, "in_flight"), 0);
}

static void added__draining_engine_again__comes_back(void **state)
{
    (void)state;
    desk_fleet(&desk, 1);
    uint64_t req = desk_arrive(&desk, "task", NULL);
    desk_start(&desk, req, 1);
    desk_remove(&desk, 1);
    desk_add(&desk, 1);
    assert_string_equal(desk_engine_state(&desk, 1), "starting");
    desk_probed(&desk, 1, true, "m");
    desk_done(&desk, req, COORD_OUTCOME_OK);
    assert_string_equal(desk_engine_state(&desk, 1), "up");
    assert_int_equal((int)desk_engine_number(&desk, 1, "sessions"), 1);
}

static void added__beyond_the_limit__full(void **state)
{
    (void)state;
    desk_fleet(&desk, 16);
    const struct coord_event ev = {
        .kind = COORD_EV_ENGINE_ADDED,
        .u.engine_added = {.engine = {99}, .name = STR("e99"), .max_running = 1}};
    assert_status(coord_core_step(desk.core, &ev, desk.now_us, &desk.effects), ST_FULL);
    assert_string_equal(desk_engine_state(&desk, 99), "");
}

static void models__union_of_engines_that_are_up(void **state)
{
    (void)state;
    desk_fleet(&desk, 2);
    desk_add(&desk, 3);
    desk_probed(&desk, 3, true, "n");
    desk_add(&desk, 4);
    struct buf out;
    buf_init(&out, &desk.km.mem, 4096);
    assert_status(coord_core_write_models(desk.core, &out), ST_OK);
    static const char expect[] =
        "{\"object\":\"list\",\"data\":["
        "{\"id\":\"m\",\"object\":\"model\",\"created\":0,\"owned_by\":\"saga\"},"
        "{\"id\":\"n\",\"object\":\"model\",\"created\":0,\"owned_by\":\"saga\"}]}";
    assert_int_equal(out.len, strlen(expect));
    assert_memory_equal(out.p, expect, out.len);
    buf_fini(&out);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(b132_no_engine__503__until_the_first_is_probed),
        T(model__nobody_serves_it__404_once_all_have_told),
        T(model__served_by_one_of_two__always_that_one),
        T(model__server_is_down__503_not_404),
        T(model__engine_that_does_not_tell__used_where_none_is_known),
        T(breaker__failures_in_a_row__opens__client_errors_are_neutral),
        T(breaker__success_between__stays_closed),
        T(breaker__half_open__one_probe_then_one_step_at_a_time),
        T(breaker__only_engine_half_open__serves_all),
        T(breaker__opens_again_and_again__waits_double_up_to_twelve_times),
        T(breaker__closed_by_probes__one_more_failure_opens_it),
        T(probes__fail_in_a_row__open__waiting_steps_go_elsewhere),
        T(probes__interval_and_models_every_twelfth),
        T(b135_start__fails_first__keeps_trying),
        T(b120_removed_while_running__steps_end__newcomer_starts_at_zero),
        T(removed__waiting_steps_go_elsewhere__sessions_too),
        T(b121_flapping__counts_stay_true),
        T(added__draining_engine_again__comes_back),
        T(added__beyond_the_limit__full),
        T(models__union_of_engines_that_are_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
