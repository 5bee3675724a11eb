/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/plan.h"

static const char trace_text[] =
    "{\"s\":\"a\",\"in\":100,\"out\":10,\"gap\":40,\"sys\":\"x\"}\n"
    "{\"s\":\"a\",\"in\":200,\"new\":100,\"out\":0,\"gap\":1000}\n"
    "{\"s\":\"a\",\"in\":150,\"new\":100,\"out\":10,\"subs\":[\"a/1\"]}\n"
    "{\"s\":\"a/1\",\"par\":\"a\",\"in\":50,\"out\":5,\"sys\":\"y\"}\n"
    "{\"s\":\"b\",\"in\":100,\"out\":10,\"sys\":\"x\"}\n";

static void load(struct trace *trace)
{
    struct lines *lines = NULL;
    struct err err = {0};
    assert_status(lines_open_mem(&lines, STR(trace_text), &err), ST_OK);
    assert_status(trace_load(trace, mem_heap(), lines, &err), ST_OK);
    lines_close(lines);
}

static struct replay_options options(void)
{
    return (struct replay_options){
        .seed = 1, .scale_tokens = 1, .speed = 20, .max_gap_s = 60, .burst = 2};
}

/* First run of this session. */
static uint32_t run_of(const struct plan *plan, uint32_t session)
{
    uint32_t at = 0;
    while (at < plan->count && plan->runs[at].session != session) {
        at++;
    }
    assert_true(at < plan->count);
    return at;
}

static void plan_make__whole_trace__has_roots_first_and_sub_agents_linked(void **state)
{
    (void)state;
    struct trace trace;
    struct plan plan;
    struct replay_options opts = options();
    load(&trace);
    assert_status(plan_make(&plan, mem_heap(), &trace, &opts), ST_OK);
    assert_int_equal(plan.root_count, 2);
    assert_int_equal(plan.count, 3);
    assert_int_equal(plan.step_total, 5);
    uint32_t a = run_of(&plan, 0);
    assert_int_equal(plan.runs[a].child_first, 2);
    assert_int_equal(plan.runs[2].parent, a);
    assert_true(plan.runs[0].arrival_us <= plan.runs[1].arrival_us);
    plan_fini(&plan);
    trace_fini(&trace);
}

static void plan_make__same_seed__same_plan_other_seed__other_texts(void **state)
{
    (void)state;
    struct trace trace;
    struct plan plans[3];
    struct replay_options opts = options();
    struct replay_options other = options();
    other.seed = 2;
    load(&trace);
    assert_status(plan_make(&plans[0], mem_heap(), &trace, &opts), ST_OK);
    assert_status(plan_make(&plans[1], mem_heap(), &trace, &opts), ST_OK);
    assert_status(plan_make(&plans[2], mem_heap(), &trace, &other), ST_OK);
    assert_memory_equal(plans[0].runs, plans[1].runs, plans[0].count * sizeof(*plans[0].runs));
    assert_true(plans[0].runs[run_of(&plans[0], 0)].seed !=
                plans[2].runs[run_of(&plans[2], 0)].seed);
    for (int i = 0; i < 3; i++) {
        plan_fini(&plans[i]);
    }
    trace_fini(&trace);
}

static void
plan_make__more_sessions_than_there_are__copies_share_the_system_prompt_only(void **state)
{
    (void)state;
    struct trace trace;
    struct plan plan;
    struct replay_options opts = options();
    opts.sessions = 4;
    load(&trace);
    assert_status(plan_make(&plan, mem_heap(), &trace, &opts), ST_OK);
    assert_int_equal(plan.root_count, 4);
    assert_int_equal(plan.count, 6);
    assert_int_equal(plan.runs[0].session, plan.runs[2].session);
    assert_true(plan.runs[0].seed != plan.runs[2].seed);
    assert_true(plan.runs[0].sys_seed == plan.runs[2].sys_seed);
    assert_true(plan.runs[0].sys_seed == plan.runs[1].sys_seed); /* a and b have the same */
    assert_true(plan.runs[4].sys_seed != plan.runs[0].sys_seed);
    assert_true(plan.runs[4].seed != plan.runs[5].seed);
    plan_fini(&plan);
    trace_fini(&trace);
}

static void plan_make__max_steps__cuts_sessions_and_what_would_start_later(void **state)
{
    (void)state;
    struct trace trace;
    struct plan plan;
    struct replay_options opts = options();
    opts.max_steps = 1;
    load(&trace);
    assert_status(plan_make(&plan, mem_heap(), &trace, &opts), ST_OK);
    assert_int_equal(plan.count, 2);
    assert_int_equal(plan.step_total, 2);
    plan_fini(&plan);
    trace_fini(&trace);
}

static void plan_make__burst__arrive_in_groups(void **state)
{
    (void)state;
    struct trace trace;
    struct plan plan;
    struct replay_options opts = options();
    opts.arrivals = ARRIVALS_BURST;
    opts.sessions = 6;
    opts.rate_per_s = 1;
    load(&trace);
    assert_status(plan_make(&plan, mem_heap(), &trace, &opts), ST_OK);
    assert_int_equal(plan.runs[0].arrival_us, plan.runs[1].arrival_us);
    assert_int_equal(plan.runs[2].arrival_us, plan.runs[3].arrival_us);
    assert_true(plan.runs[1].arrival_us < plan.runs[2].arrival_us);
    assert_true(plan.runs[3].arrival_us < plan.runs[4].arrival_us);
    plan_fini(&plan);
    trace_fini(&trace);
}

static void plan_make__many_poisson_arrivals__have_the_asked_rate(void **state)
{
    (void)state;
    struct trace trace;
    struct plan plan;
    struct replay_options opts = options();
    opts.sessions = 4000;
    opts.rate_per_s = 10;
    print_message("seed 1\n");
    load(&trace);
    assert_status(plan_make(&plan, mem_heap(), &trace, &opts), ST_OK);
    assert_close((double)plan.runs[plan.root_count - 1].arrival_us * 1e-6, 400, 40);
    plan_fini(&plan);
    trace_fini(&trace);
}

static void plan_prompt_step__scaled__lengths_and_reuse_shrink_together(void **state)
{
    (void)state;
    struct trace trace;
    struct plan plan;
    struct replay_options opts = options();
    opts.scale_tokens = 0.5;
    load(&trace);
    assert_status(plan_make(&plan, mem_heap(), &trace, &opts), ST_OK);
    uint32_t a = run_of(&plan, 0);
    struct prompt_step step = plan_prompt_step(&plan, a, 1);
    assert_int_equal(step.in_tokens, 100);
    assert_true(step.keeps_all);
    step = plan_prompt_step(&plan, a, 2);
    assert_int_equal(step.in_tokens, 75);
    assert_int_equal(step.reuse_tokens, 25);
    assert_false(step.keeps_all);
    assert_int_equal(plan_output_tokens(&plan, a, 0), 5);
    assert_int_equal(plan_output_tokens(&plan, a, 1), 1);
    plan_fini(&plan);
    trace_fini(&trace);
}

static void plan_gap_us__long_wait__is_cut_then_divided(void **state)
{
    (void)state;
    struct trace trace;
    struct plan plan;
    struct replay_options opts = options();
    load(&trace);
    assert_status(plan_make(&plan, mem_heap(), &trace, &opts), ST_OK);
    uint32_t a = run_of(&plan, 0);
    assert_int_equal(plan_gap_us(&plan, a, 0), 2000000);
    assert_int_equal(plan_gap_us(&plan, a, 1), 3000000);
    plan_fini(&plan);
    trace_fini(&trace);
}

struct scenario {
    const struct trace *trace;
    const struct replay_options *opts;
};

static bool make_scenario(void *ctx, const struct mem *mem)
{
    const struct scenario *given = ctx;
    struct plan plan;
    enum status st = plan_make(&plan, mem, given->trace, given->opts);
    if (st != ST_OK) {
        assert_status(st, ST_NOMEM);
        return false;
    }
    plan_fini(&plan);
    return true;
}

static void plan_make__each_allocation_fails__leaves_nothing_behind(void **state)
{
    (void)state;
    struct trace trace;
    struct replay_options opts = options();
    opts.sessions = 100;
    load(&trace);
    struct scenario given = {&trace, &opts};
    assert_true(kit_torture(make_scenario, &given) > 2);
    trace_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_make__whole_trace__has_roots_first_and_sub_agents_linked),
        cmocka_unit_test(plan_make__same_seed__same_plan_other_seed__other_texts),
        cmocka_unit_test(
            plan_make__more_sessions_than_there_are__copies_share_the_system_prompt_only),
        cmocka_unit_test(plan_make__max_steps__cuts_sessions_and_what_would_start_later),
        cmocka_unit_test(plan_make__burst__arrive_in_groups),
        cmocka_unit_test(plan_make__many_poisson_arrivals__have_the_asked_rate),
        cmocka_unit_test(plan_prompt_step__scaled__lengths_and_reuse_shrink_together),
        cmocka_unit_test(plan_gap_us__long_wait__is_cut_then_divided),
        cmocka_unit_test(plan_make__each_allocation_fails__leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
