/* SPDX-License-Identifier: Apache-2.0 */
/* The replayer against simulated engines on the same loop. */
#include "tests/kit/kit.h"

#include "bench/replay/replay.h"
#include "common/io/reactor/net.h"
#include "simulator/worker/worker.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ENGINES_MAX = 2, URL_BYTES = 160 };

/* p runs two steps, then its sub-agent, then a third step after compaction; q shares its system
 * prompt. */
static const char trace_text[] =
    "{\"s\":\"p\",\"in\":2000,\"out\":20,\"gap\":0.01,\"kind\":\"user\",\"sys\":\"x\",\"sys_tok\":"
    "800}\n"
    "{\"s\":\"p\",\"in\":2500,\"new\":500,\"out\":20,\"kind\":\"tool\"}\n"
    "{\"s\":\"p\",\"in\":1500,\"new\":400,\"out\":20,\"kind\":\"user\",\"subs\":[\"p/1\"]}\n"
    "{\"s\":\"p/1\",\"par\":\"p\",\"in\":600,\"out\":5}\n"
    "{\"s\":\"p/1\",\"par\":\"p\",\"in\":700,\"new\":100,\"out\":5,\"kind\":\"tool\"}\n"
    "{\"s\":\"q\",\"in\":1600,\"out\":10,\"sys\":\"x\",\"sys_tok\":800}\n";

struct world {
    struct loop *loop;
    struct trace trace;
    struct plan plan;
    struct replay_options opts;
    struct replay *replay;
    struct sim_worker *engines[ENGINES_MAX];
    char urls[ENGINES_MAX][URL_BYTES];
    struct err end;
    bool is_done;
    struct loop_timer poll;
    uint32_t wanted_in_flight;
};

static void on_done(void *ctx, const struct err *err)
{
    struct world *world = ctx;
    world->end = *err;
    world->is_done = true;
    loop_stop(world->loop);
}

/* Ends the loop once so many steps are out. */
static void look(struct loop_timer *timer)
{
    struct world *world = LIST_OWNER(timer, struct world, poll);
    if (replay_in_flight(world->replay) >= world->wanted_in_flight) {
        loop_stop(world->loop);
        return;
    }
    assert_status(loop_timer_set(world->loop, timer, loop_now_us(world->loop) + 1000), ST_OK);
}

static void add_engine(struct world *world, uint32_t idx, const char *fault)
{
    struct sim_worker_opts opts;
    struct net_addr addr;
    struct err err = {0};
    char text[NET_ADDR_TEXT_BYTES];
    int fd = -1;
    sim_worker_opts_init(&opts);
    opts.speed = 0;
    opts.fault = fault;
    opts.fault_ratio = fault == NULL ? 0 : 1;
    assert_status(net_addr_parse(STR("127.0.0.1:0"), &addr, &err), ST_OK);
    assert_status(net_listen(&addr, false, &fd, &err), ST_OK);
    assert_status(net_local_addr(fd, &addr), ST_OK);
    net_addr_text(&addr, text);
    (void)snprintf(world->urls[idx], URL_BYTES, "http://%s", text);
    assert_status(sim_worker_new(&world->engines[idx], world->loop, &opts, fd, &err), ST_OK);
    world->opts.urls[idx] = world->urls[idx];
    world->opts.url_count = idx + 1;
}

static void set_up(struct world *world)
{
    struct lines *lines = NULL;
    struct err err = {0};
    *world = (struct world){.opts = {.seed = 1,
                                     .speed = 1,
                                     .max_gap_s = 1,
                                     .scale_tokens = 1,
                                     .timeout_s = 60,
                                     .max_in_flight = 8,
                                     .burst = 1,
                                     .rate_per_s = 1000,
                                     .ignores_eos = true}};
    assert_status(loop_new(&world->loop, &err), ST_OK);
    assert_status(lines_open_mem(&lines, STR(trace_text), &err), ST_OK);
    assert_status(trace_load(&world->trace, mem_heap(), lines, &err), ST_OK);
    lines_close(lines);
}

/* Runs to the end. */
static struct stats *run(struct world *world)
{
    struct err err = {0};
    assert_status(plan_make(&world->plan, mem_heap(), &world->trace, &world->opts), ST_OK);
    assert_status(replay_new(&world->replay, world->loop, &world->plan, &world->opts, &err), ST_OK);
    assert_status(replay_start(world->replay, on_done, world), ST_OK);
    loop_run(world->loop);
    assert_true(world->is_done);
    return replay_stats(world->replay);
}

static void tear_down(struct world *world)
{
    replay_free(world->replay);
    for (int i = 0; i < ENGINES_MAX; i++) {
        sim_worker_free(world->engines[i]);
    }
    plan_fini(&world->plan);
    trace_fini(&world->trace);
    loop_free(world->loop);
}

static void replay__one_engine_with_ample_memory__does_all_steps_and_reaches_the_bound(void **state)
{
    (void)state;
    struct world world;
    set_up(&world);
    add_engine(&world, 0, NULL);
    struct stats *stats = run(&world);
    assert_status(world.end.status, ST_OK);
    assert_string_equal(replay_model(world.replay), "sim");
    assert_int_equal(stats->session_done, 2);
    assert_int_equal(stats->agent_done, 1);
    assert_int_equal(stats->step_done, 6);
    assert_int_equal(stats->step_failed, 0);
    assert_int_equal(stats->tct_s.seen_count, 2);
    assert_int_equal(stats->ttft_s.seen_count, 6);
    assert_int_equal(stats->output_tokens, 80);
    assert_int_equal(stats->prompt_tokens, 2000 + 2500 + 1500 + 600 + 700 + 1600);
    assert_int_equal(stats->own_tokens, stats->prompt_tokens);
    /* The first prompts of p and q may be computed side by side: then the shared system prompt is
     * computed twice. */
    assert_true(stats->cached_tokens <= stats->bound_tokens);
    assert_true(stats->cached_tokens + 800 >= stats->bound_tokens);
    assert_true(stats->bound_tokens > 3500);
    tear_down(&world);
}

static void replay__two_engines_round_robin__leaves_its_engine(void **state)
{
    (void)state;
    struct world world;
    set_up(&world);
    add_engine(&world, 0, NULL);
    add_engine(&world, 1, NULL);
    world.opts.spread = SPREAD_ROUND_ROBIN;
    struct stats *stats = run(&world);
    assert_int_equal(stats->step_done, 6);
    assert_int_equal(stats->engine_count, 2);
    assert_int_equal(stats->engines[0].step_count, 3);
    assert_int_equal(stats->pair_count, 3);
    tear_down(&world);
}

static void replay__two_engines_by_session__stays_on_each(void **state)
{
    (void)state;
    struct world world;
    set_up(&world);
    add_engine(&world, 0, NULL);
    add_engine(&world, 1, NULL);
    struct stats *stats = run(&world);
    assert_int_equal(stats->step_done, 6);
    assert_int_equal(stats->pair_count, 3);
    assert_int_equal(stats->stay_count, 3);
    tear_down(&world);
}

static void replay__one_step_at_a_time__still_does_all(void **state)
{
    (void)state;
    struct world world;
    set_up(&world);
    add_engine(&world, 0, NULL);
    world.opts.max_in_flight = 1;
    world.opts.sessions = 6;
    struct stats *stats = run(&world);
    assert_int_equal(stats->session_done, 6);
    assert_int_equal(stats->step_done, stats->step_total);
    assert_int_equal(replay_in_flight(world.replay), 0);
    assert_int_equal(replay_waiting(world.replay), 0);
    tear_down(&world);
}

static void replay__engine_fails_every_step__ends_the_sessions_and_counts_why(void **state)
{
    (void)state;
    struct world world;
    set_up(&world);
    add_engine(&world, 0, "error=500");
    world.opts.model = "sim";
    struct stats *stats = run(&world);
    assert_status(world.end.status, ST_OK);
    assert_int_equal(stats->session_failed, 2);
    assert_int_equal(stats->step_failed, 2);
    assert_int_equal(stats->error_count[STATS_HTTP_5XX], 2);
    assert_int_equal(stats->step_done, 0);
    assert_true(stats->first_error[0] != '\0');
    tear_down(&world);
}

static void replay__answer_is_cut__is_an_error_not_a_short_answer(void **state)
{
    (void)state;
    struct world world;
    set_up(&world);
    add_engine(&world, 0, "reset-after=2");
    world.opts.model = "sim";
    struct stats *stats = run(&world);
    assert_int_equal(stats->error_count[STATS_CUT], 2);
    assert_int_equal(stats->step_done, 0);
    tear_down(&world);
}

static void replay__nobody_listens__ends_with_an_explanation(void **state)
{
    (void)state;
    struct world world;
    struct net_addr addr;
    struct err err = {0};
    int fd = -1;
    char text[NET_ADDR_TEXT_BYTES];
    set_up(&world);
    /* A port that was free a moment ago and is not listened on. */
    assert_status(net_addr_parse(STR("127.0.0.1:0"), &addr, &err), ST_OK);
    assert_status(net_listen(&addr, false, &fd, &err), ST_OK);
    assert_status(net_local_addr(fd, &addr), ST_OK);
    net_addr_text(&addr, text);
    assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
    (void)snprintf(world.urls[0], URL_BYTES, "http://%s", text);
    world.opts.urls[0] = world.urls[0];
    world.opts.url_count = 1;
    struct stats *stats = run(&world);
    assert_status(world.end.status, ST_IO);
    assert_non_null(strstr(world.end.text, "connect"));
    assert_int_equal(stats->step_done, 0);
    tear_down(&world);
    (void)close(fd);
}

static void replay_stop__in_the_middle__keeps_what_was_measured(void **state)
{
    (void)state;
    struct world world;
    struct err err = {0};
    set_up(&world);
    add_engine(&world, 0, "stall");
    world.opts.model = "sim";
    assert_status(plan_make(&world.plan, mem_heap(), &world.trace, &world.opts), ST_OK);
    assert_status(replay_new(&world.replay, world.loop, &world.plan, &world.opts, &err), ST_OK);
    assert_status(replay_start(world.replay, on_done, &world), ST_OK);
    world.poll.fn = look;
    world.wanted_in_flight = 2;
    look(&world.poll);
    loop_run(world.loop);
    assert_int_equal(replay_in_flight(world.replay), 2);
    replay_stop(world.replay);
    assert_int_equal(replay_in_flight(world.replay), 0);
    assert_false(world.is_done);
    assert_int_equal(replay_stats(world.replay)->step_total, 6);
    tear_down(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            replay__one_engine_with_ample_memory__does_all_steps_and_reaches_the_bound),
        cmocka_unit_test(replay__two_engines_round_robin__leaves_its_engine),
        cmocka_unit_test(replay__two_engines_by_session__stays_on_each),
        cmocka_unit_test(replay__one_step_at_a_time__still_does_all),
        cmocka_unit_test(replay__engine_fails_every_step__ends_the_sessions_and_counts_why),
        cmocka_unit_test(replay__answer_is_cut__is_an_error_not_a_short_answer),
        cmocka_unit_test(replay__nobody_listens__ends_with_an_explanation),
        cmocka_unit_test(replay_stop__in_the_middle__keeps_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
