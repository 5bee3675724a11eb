/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_fixture.h"

/* In the order of the policy's params. */
struct saga_params {
    double theta, affinity, wa_lru, ttl, ttl_max_s, steal, idle_ms, load_ratio, steals_max, afs,
        deadline, slack_floor_s;
};

static const struct saga_params published = {
    .theta = 0.8,
    .affinity = 1,
    .wa_lru = 1,
    .ttl = 1,
    .ttl_max_s = 300,
    .steal = 1,
    .idle_ms = 100,
    .load_ratio = 2,
    .steals_max = 4,
    .afs = 1,
    .deadline = 1.5,
    .slack_floor_s = 1,
};

static void start(struct gate_fix *fix, const struct saga_params *params)
{
    gate_fix_init(fix, "saga_paper", (const double *)params, 2);
}

static struct gate_step *
submit_of(struct gate_fix *fix, uint64_t tenant, uint64_t session, uint64_t now_us)
{
    const struct gate_need need = {
        .session = session, .tenant = tenant, .prompt_tokens = 100, .remaining_s = -1.0};
    struct gate_step *step = &fix->steps[fix->count++];
    assert_status(gate_submit(&fix->gate, step, &need, 0, now_us), ST_OK);
    return step;
}

static void end_final(struct gate_fix *fix, struct gate_step *step, uint64_t now_us)
{
    const struct gate_usage usage = {
        .prompt_tokens = 100, .output_tokens = 10, .is_ok = true, .is_final = true};
    gate_settled(&fix->gate, step, &usage, now_us);
}

static void params__defaults__are_the_published_ones(void **state)
{
    (void)state;
    const struct route_policy *policy = route_policy_find(STR("saga_paper"));
    const double *wanted = (const double *)&published;
    assert_int_equal(policy->param_count, sizeof(published) / sizeof(double));
    for (uint32_t i = 0; i < policy->param_count; i++) {
        assert_close(policy->params[i].def, wanted[i], 0.0);
    }
}

static void affinity__below_theta__stays_where_its_kv_is(void **state)
{
    (void)state;
    struct gate_fix fix;
    struct saga_params params = published;
    params.theta = 0.33;
    start(&fix, &params);
    gate_fix_play(&fix, 1, 1, 1000, 0, 100); /* least loaded is the first, whatever was said */
    (void)gate_fix_submit(&fix, 2, 1, 5000, 0, 200);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->engine, 1); /* 0 holds 1010 tokens */
    /* Engine 0: 0.5 * 1010 / 10000 = 0.05, and then half of 1/32 and of 0.601: 0.316. */
    (void)gate_fix_submit(&fix, 3, 1, 4990, 0, 300);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->engine, 0);
    struct gate_step *back = gate_fix_submit(&fix, 1, 1, 1200, 1010, 400);
    assert_int_equal(back->engine, 0);
    gate_fix_fini(&fix);
}

static void affinity__theta_reached__goes_to_the_least_load(void **state)
{
    (void)state;
    struct gate_fix fix;
    struct saga_params params = published;
    params.theta = 0.31;
    start(&fix, &params);
    gate_fix_play(&fix, 1, 1, 1000, 0, 100);
    (void)gate_fix_submit(&fix, 2, 1, 3000, 0, 200);
    (void)gate_fix_submit(&fix, 3, 1, 4990, 0, 300);
    struct gate_step *back = gate_fix_submit(&fix, 1, 1, 1200, 1010, 400);
    assert_int_equal(back->engine, 1); /* 0.166 there */
    gate_fix_fini(&fix);
}

static void gap__of_a_known_tool__is_valued_and_pinned(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, &published);
    struct gate_step *step = gate_fix_submit(&fix, 1, 0, 1000, 0, 0);
    gate_fix_end(&fix, step, 1000000, 500);
    /* 1010 held, 300 to come; of the returns, even over 1 s, 95 % are there after 0.95 s. */
    assert_close(gate_fix_action(&fix, GATE_VALUE)->reuse_ratio, 1010.0 / 1310.0, 1e-6);
    assert_close((double)gate_fix_action(&fix, GATE_RETAIN)->until_us, 950500, 2);
    /* 190 came. Memory is 0.8 full: the pin shrinks by a quarter. */
    step = gate_fix_submit(&fix, 1, 0, 1200, 1010, 1000);
    gate_tell_engine(&fix.gate, 0, &(struct gate_engine_info){.max_running = 1, .kv_tokens = 1512},
                     1000);
    gate_fix_end(&fix, step, 1000000, 2000);
    assert_close(gate_fix_action(&fix, GATE_VALUE)->reuse_ratio, 1210.0 / 1400.0, 1e-6);
    double pressure = (1210.0 / 1512.0 - 0.7) / 0.2;
    assert_close((double)gate_fix_action(&fix, GATE_RETAIN)->until_us,
                 2000 + 950000 * (1 - 0.5 * pressure), 2);
    gate_fix_fini(&fix);
}

static void gap__without_a_tool__is_pinned_longest(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, &published);
    struct gate_step *step = gate_fix_submit(&fix, 1, 0, 1000, 0, 0);
    const struct gate_usage usage = {.prompt_tokens = 1000, .output_tokens = 10, .is_ok = true};
    gate_settled(&fix.gate, step, &usage, 1000);
    assert_int_equal(gate_fix_action(&fix, GATE_RETAIN)->until_us, 300001000);
    gate_fix_fini(&fix);
}

static void end__of_a_session__its_kv_is_worth_nothing(void **state)
{
    (void)state;
    struct gate_fix fix;
    start(&fix, &published);
    end_final(&fix, submit_of(&fix, 1, 1, 0), 1000);
    assert_close(gate_fix_action(&fix, GATE_VALUE)->reuse_ratio, 0.0, 0.0);
    assert_null(gate_fix_action(&fix, GATE_RETAIN));
    assert_int_equal(fix.gate.session_keys.count, 0);
    gate_fix_fini(&fix);
}

static void switches__all_off__asks_nothing_of_engines(void **state)
{
    (void)state;
    struct gate_fix fix;
    struct saga_params params = {.affinity = 2};
    start(&fix, &params);
    gate_fix_play(&fix, 1, 1, 1000, 0, 100); /* where it was placed */
    assert_int_equal(fix.gate.action_count, 0);
    assert_int_equal(fix.steps[0].engine, 1);
    assert_null(route_evict(fix.gate.policy, (const double *)&params));
    assert_string_equal(route_evict(fix.gate.policy, NULL), "wa_lru");
    gate_fix_fini(&fix);
}

/* One runs on each engine, two more wait for the first; the oldest of those has KV there. */
static void crowd(struct gate_fix *fix, double steal, double load_ratio)
{
    struct saga_params params = published;
    params.affinity = 2;
    params.steal = steal;
    params.load_ratio = load_ratio;
    start(fix, &params);
    gate_fix_play(fix, 7, 0, 1000, 0, 100);
    (void)gate_fix_submit(fix, 1, 0, 1000, 0, 200);
    (void)gate_fix_submit(fix, 2, 1, 1000, 0, 200);
    (void)gate_fix_submit(fix, 7, 0, 1100, 1010, 300);
    (void)gate_fix_submit(fix, 3, 0, 1000, 0, 400);
    assert_int_equal(fix->gate.engines[0]->queued, 2);
}

static void stealing__queue_empty_for_100_ms__gets_the_oldest_that_waits(void **state)
{
    (void)state;
    struct gate_fix fix;
    crowd(&fix, 2, 100);
    gate_tick(&fix.gate, 100000); /* seen empty */
    assert_int_equal(fix.gate.counters.steals, 0);
    gate_tick(&fix.gate, 199999); /* the next epoch is not yet */
    assert_int_equal(fix.gate.counters.steals, 0);
    gate_tick(&fix.gate, 200000);
    assert_int_equal(fix.gate.counters.steals, 1); /* then its own queue is not empty for 100 ms */
    assert_int_equal(fix.steps[3].engine, 1);
    assert_int_equal(fix.steps[3].state, GATE_STEP_QUEUED); /* although that is busy, too */
    gate_fix_fini(&fix);
}

static void stealing__loads_far_apart__does_not_wait(void **state)
{
    (void)state;
    struct gate_fix fix;
    /* 1/64 and 0.05 for what runs on each; 0.05 for KV that waits, 0.1 for two steps. */
    crowd(&fix, 2, 2);
    gate_tick(&fix.gate, 100000);
    assert_int_equal(fix.gate.counters.steals, 1); /* then 0.168 and 0.116: near enough */
    assert_int_equal(fix.steps[3].engine, 1);
    gate_fix_fini(&fix);
}

static void stealing__with_kv__moves_it_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    crowd(&fix, 1, 100);
    gate_tick(&fix.gate, 100000);
    gate_tick(&fix.gate, 200000);
    assert_int_equal(fix.gate.action_count, 1);
    assert_int_equal(fix.gate.actions[0].kind, GATE_MOVE);
    assert_int_equal(fix.gate.actions[0].session, 7);
    assert_int_equal(fix.gate.actions[0].engine, 1);
    /* Arrived, it is the first there: before one that came meanwhile. */
    (void)gate_fix_submit(&fix, 4, 1, 1000, 0, 250000);
    gate_moved(&fix.gate, &fix.steps[3], true, 300000);
    gate_fix_end(&fix, &fix.steps[2], 0, 400000);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->session, 7);
    assert_int_equal(fix.steps[3].uncached_tokens, 90);
    gate_fix_fini(&fix);
}

static void stealing__off__leaves_the_queue(void **state)
{
    (void)state;
    struct gate_fix fix;
    crowd(&fix, 0, 2);
    gate_tick(&fix.gate, 100000);
    gate_tick(&fix.gate, 200000);
    assert_int_equal(fix.gate.engines[0]->queued, 2);
    gate_fix_fini(&fix);
}

static void afs__tenant_nearer_to_its_deadline__goes_first(void **state)
{
    (void)state;
    struct gate_fix fix;
    struct saga_params params = published;
    params.affinity = 2;
    params.steal = 0;
    start(&fix, &params);
    /* Sessions of tenant 1 take 10 s, of tenant 2 1 s, all of it in the engine. */
    end_final(&fix, submit_of(&fix, 1, 11, 0), 10000000);
    end_final(&fix, submit_of(&fix, 2, 12, 10000000), 11000000);
    struct gate_step *running = submit_of(&fix, 3, 13, 11000000);
    (void)submit_of(&fix, 1, 14, 11000000);
    (void)submit_of(&fix, 2, 15, 11000000);
    /* A second later: 10 / (15 - 1) for the one, 1 / 1 (of 0.5, the floor) for the other. */
    gate_tick(&fix.gate, 12000000);
    gate_fix_end(&fix, running, 0, 12000001);
    assert_int_equal(gate_fix_action(&fix, GATE_START)->session, 15);
    gate_fix_fini(&fix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(params__defaults__are_the_published_ones),
        cmocka_unit_test(affinity__below_theta__stays_where_its_kv_is),
        cmocka_unit_test(affinity__theta_reached__goes_to_the_least_load),
        cmocka_unit_test(gap__of_a_known_tool__is_valued_and_pinned),
        cmocka_unit_test(gap__without_a_tool__is_pinned_longest),
        cmocka_unit_test(end__of_a_session__its_kv_is_worth_nothing),
        cmocka_unit_test(switches__all_off__asks_nothing_of_engines),
        cmocka_unit_test(stealing__queue_empty_for_100_ms__gets_the_oldest_that_waits),
        cmocka_unit_test(stealing__loads_far_apart__does_not_wait),
        cmocka_unit_test(stealing__off__leaves_the_queue),
        cmocka_unit_test(stealing__with_kv__moves_it_first),
        cmocka_unit_test(afs__tenant_nearer_to_its_deadline__goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
