/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/workload.h"

#include "bench/replay/sample.h"
#include "tests/kit/kit.h"

#include <stdio.h>
#include <stdlib.h>

static void load(struct trace *ret, struct str text)
{
    struct lines *lines = NULL;
    struct err err = {0};
    assert_status(lines_open_mem(&lines, text, &err), ST_OK);
    assert_status(trace_load(ret, mem_heap(), lines, &err), ST_OK);
    lines_close(lines);
}

static const struct sim_profile small = {
    .b_s_per_token = 0.001, .f_s = 0.1, .kv_tokens = 100000, .context_tokens = 2000};

static enum status make(struct workload *ret,
                        const struct trace *trace,
                        const struct sim_profile *profile,
                        enum workload_kind kind,
                        enum workload_split split)
{
    const struct workload_opts opts = {
        .kind = kind, .split = split, .kv_tokens = profile->kv_tokens, .profile = profile};
    struct err err = {0};
    return workload_make(ret, mem_heap(), trace, &opts, &err);
}

/* A Claude Code session with a sub-agent that grows beyond 2000 tokens, a person in it, and a
 * sub-agent after the cut; one mini-swe session; one of no workload. */
static const char text[] =
    "{\"src\":\"weka-cc\",\"s\":\"a\",\"in\":1000,\"new\":1000,\"out\":10,\"gap\":900,\"kind\":"
    "\"user\",\"sys\":\"p\",\"sys_tok\":700}\n"
    "{\"src\":\"weka-cc\",\"s\":\"a\",\"in\":1200,\"new\":200,\"out\":20,\"gap\":3.5,\"kind\":"
    "\"user\",\"tool\":\"Bash\"}\n"
    "{\"src\":\"weka-cc\",\"s\":\"a\",\"in\":600,\"new\":500,\"out\":20,\"gap\":2,\"kind\":"
    "\"tool\",\"subs\":[\"b\"]}\n"
    "{\"src\":\"weka-cc\",\"s\":\"a\",\"in\":1990,\"new\":20,\"out\":20,\"kind\":\"tool\"}\n"
    "{\"src\":\"weka-cc\",\"s\":\"a\",\"in\":50,\"new\":20,\"out\":20,\"kind\":\"tool\",\"subs\":["
    "\"c\"]}\n"
    "{\"src\":\"weka-cc\",\"s\":\"b\",\"par\":\"a\",\"in\":300,\"new\":300,\"out\":0}\n"
    "{\"src\":\"weka-cc\",\"s\":\"c\",\"par\":\"a\",\"in\":300,\"new\":300,\"out\":5}\n"
    "{\"src\":\"lmcache-miniswe\",\"s\":\"m\",\"in\":100,\"new\":100,\"out\":10,\"gap\":2,"
    "\"gap_kind\":\"llm+tool\"}\n"
    "{\"src\":\"lmcache-miniswe\",\"s\":\"m\",\"in\":150,\"new\":50,\"out\":10,\"gap\":0.5,"
    "\"gap_kind\":\"llm+tool\"}\n"
    "{\"src\":\"lmcache-miniswe\",\"s\":\"m\",\"in\":200,\"new\":50,\"out\":10}\n"
    "{\"src\":\"other\",\"s\":\"z\",\"in\":100,\"new\":100,\"out\":10}\n";

static void make__claude_code__is_cut_and_marked(void **state)
{
    (void)state;
    struct trace trace;
    struct workload w;
    load(&trace, str_of(text));
    assert_status(make(&w, &trace, &small, WORKLOAD_CLAUDE_CODE, SPLIT_ALL), ST_OK);
    assert_int_equal(w.tree_count, 1);
    assert_int_equal(w.session_count, 2); /* c starts after the cut */
    assert_int_equal(w.cut_count, 1);
    const struct lab_session *root = &w.sessions[0];
    assert_int_equal(root->step_count, 3);
    assert_int_equal(root->parent, LAB_NONE);
    assert_int_equal(root->system_tokens, 600); /* the shortest prompt */
    assert_int_equal(root->steps[0].kept_tokens, 0);
    assert_int_equal(root->steps[0].gap_us, 0);
    assert_int_equal(root->steps[1].kept_tokens, 1010); /* the answer too */
    assert_true(root->steps[1].is_human);
    assert_int_equal(root->steps[1].gap_us, 600000000);
    assert_int_equal(root->steps[2].kept_tokens, 100);
    assert_int_equal(root->steps[2].gap_us, 3500000);
    assert_false(root->steps[2].is_human);
    assert_true(str_eq(root->steps[2].tool, STR("Bash")));
    const struct lab_session *sub = &w.sessions[1];
    assert_int_equal(sub->parent, 0);
    assert_int_equal(sub->spawn_step, 1);
    assert_int_equal(sub->steps[0].output_tokens, 1); /* at least one */
    workload_fini(&w);
    trace_fini(&trace);
}

/* 2 s from request to request less 100 * 1 ms + 10 * 100 ms of model; 0.5 s less more is none. */
static void make__gaps_from_request__lose_the_models_time(void **state)
{
    (void)state;
    struct trace trace;
    struct workload w;
    load(&trace, str_of(text));
    assert_status(make(&w, &trace, &small, WORKLOAD_SWE, SPLIT_ALL), ST_OK);
    assert_int_equal(w.session_count, 1);
    assert_int_equal(w.sessions[0].steps[1].gap_us, 900000);
    assert_int_equal(w.sessions[0].steps[2].gap_us, 0);
    assert_false(w.sessions[0].steps[1].is_human);
    workload_fini(&w);
    trace_fini(&trace);
}

static void make__no_such_session__is_said(void **state)
{
    (void)state;
    struct trace trace;
    struct workload w;
    load(&trace, STR("{\"src\":\"other\",\"s\":\"z\",\"in\":100,\"new\":100,\"out\":10}\n"));
    assert_status(make(&w, &trace, &small, WORKLOAD_SWE, SPLIT_ALL), ST_INVAL);
    trace_fini(&trace);
}

static void make__any__takes_every_source(void **state)
{
    (void)state;
    struct trace trace;
    struct workload w;
    load(&trace, str_of(text));
    assert_status(make(&w, &trace, &small, WORKLOAD_ANY, SPLIT_ALL), ST_OK);
    assert_int_equal(w.tree_count, 3);
    assert_int_equal(w.session_count, 4);
    workload_fini(&w);
    trace_fini(&trace);
}

static void make__halves__are_the_whole(void **state)
{
    (void)state;
    struct trace trace;
    struct workload all;
    struct workload train;
    struct workload test;
    load(&trace, sample_data());
    assert_status(make(&all, &trace, &small, WORKLOAD_SWE, SPLIT_ALL), ST_OK);
    assert_status(make(&train, &trace, &small, WORKLOAD_SWE, SPLIT_TRAIN), ST_OK);
    assert_status(make(&test, &trace, &small, WORKLOAD_SWE, SPLIT_TEST), ST_OK);
    assert_int_equal(train.tree_count + test.tree_count, all.tree_count);
    assert_true(train.tree_count > 0 && test.tree_count > 0);
    workload_fini(&all);
    workload_fini(&train);
    workload_fini(&test);
    trace_fini(&trace);
}

static void expect_drawn(const struct workload *w, const struct draw *draw)
{
    uint64_t before_us = 0;
    uint32_t sessions = 0;
    for (uint32_t i = 0; i < draw->arrival_count; i++) {
        const struct lab_arrival *arrival = &draw->arrivals[i];
        assert_true(arrival->at_us >= before_us && arrival->at_us < 36000000000);
        assert_int_equal(draw->sessions[arrival->session].parent, LAB_NONE);
        assert_int_equal(arrival->session, sessions);
        before_us = arrival->at_us;
        do {
            const struct lab_session *session = &draw->sessions[sessions];
            assert_true(session->recorded < w->session_count);
            assert_true(session->parent == LAB_NONE || session->parent < sessions);
            sessions++;
        } while (sessions < draw->session_count && draw->sessions[sessions].parent != LAB_NONE);
    }
    assert_int_equal(sessions, draw->session_count);
}

static void draw__mix__has_a_quarter_claude_at_the_rate(void **state)
{
    (void)state;
    struct trace trace;
    struct workload w;
    struct draw draw;
    struct draw again;
    const struct draw_opts opts = {.rate_per_s = 0.1, .burst_cv = 1, .hours = 10, .seed = 4};
    load(&trace, sample_data());
    assert_status(
        make(&w, &trace, sim_profile_find(STR("a100x4-llama3-70b")), WORKLOAD_MIX, SPLIT_ALL),
        ST_OK);
    assert_status(draw_make(&draw, mem_heap(), &w, &opts), ST_OK);
    assert_status(draw_make(&again, mem_heap(), &w, &opts), ST_OK);
    expect_drawn(&w, &draw);
    uint32_t claude = 0;
    for (uint32_t i = 0; i < draw.arrival_count; i++) {
        claude += draw.sessions[draw.arrivals[i].session].recorded >= w.trees[w.swe_count].first;
        assert_int_equal(draw.arrivals[i].at_us, again.arrivals[i].at_us);
    }
    assert_close(draw.arrival_count, 3600, 240); /* four standard deviations */
    assert_close((double)claude / draw.arrival_count, 0.25, 0.03);
    draw_fini(&draw);
    draw_fini(&again);
    workload_fini(&w);
    trace_fini(&trace);
}

/* The whole data set is not part of the project: SAGA_TRACES says where it is. */
static void make__full_traces__as_the_study_counted(void **state)
{
    (void)state;
    const char *folder = getenv("SAGA_TRACES");
    char path[1024];
    struct trace trace;
    struct workload w;
    struct err err = {0};
    const struct sim_profile *profile = sim_profile_find(STR("a100x4-llama3-70b"));
    if (folder == NULL) {
        print_message("NOT CHECKED: workloads of the full traces; SAGA_TRACES is not set\n");
        skip();
    }
    (void)snprintf(path, sizeof(path), "%s/agent_steps.jsonl.gz", folder);
    assert_status(trace_load_file(&trace, mem_heap(), path, &err), ST_OK);
    assert_status(make(&w, &trace, profile, WORKLOAD_SWE, SPLIT_ALL), ST_OK);
    print_message("swe: %u trees, %u sessions, %u cut\n", w.tree_count, w.session_count,
                  w.cut_count);
    assert_int_equal(w.tree_count, 384);
    workload_fini(&w);
    assert_status(make(&w, &trace, profile, WORKLOAD_CLAUDE_CODE, SPLIT_ALL), ST_OK);
    print_message("claude-code: %u trees, %u sessions, %u cut\n", w.tree_count, w.session_count,
                  w.cut_count);
    assert_int_equal(w.tree_count, 557); /* the others begin beyond what the engine holds */
    workload_fini(&w);
    trace_fini(&trace);
}

static enum status make_of(struct workload *ret, struct str only, struct str out, struct err *err)
{
    struct trace trace;
    load(&trace, str_of(text));
    const struct workload_opts opts = {.kind = WORKLOAD_MIX,
                                       .only = only,
                                       .leave_out = out,
                                       .kv_tokens = 100000,
                                       .profile = &small};
    enum status st = workload_make(ret, mem_heap(), &trace, &opts, err);
    trace_fini(&trace);
    return st;
}

static void make__sources__are_kept_or_left_out(void **state)
{
    (void)state;
    struct workload w;
    struct err err = {0};
    assert_status(make_of(&w, STR("weka-cc,lmcache-miniswe"), STR("other"), &err), ST_OK);
    assert_int_equal(w.tree_count, 2);
    workload_fini(&w);
    assert_status(make_of(&w, STR(""), STR("weka-cc"), &err), ST_INVAL); /* no mix */
    assert_non_null(strstr(err.text, "of these sources"));
    assert_status(make_of(&w, STR("weka-cc"), STR(""), &err), ST_INVAL);
    assert_status(make_of(&w, STR("weka"), STR(""), &err), ST_INVAL);
    assert_string_equal(err.text, "the trace has no source \"weka\"");
}

static void make__less_memory__cuts_sessions(void **state)
{
    (void)state;
    struct trace trace;
    struct workload w;
    struct err err = {0};
    load(&trace, str_of(text));
    const struct workload_opts opts = {.kind = WORKLOAD_SWE, .kv_tokens = 165, .profile = &small};
    assert_status(workload_make(&w, mem_heap(), &trace, &opts, &err), ST_OK);
    assert_int_equal(w.sessions[0].step_count, 2);
    assert_int_equal(w.cut_count, 1);
    workload_fini(&w);
    trace_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make__claude_code__is_cut_and_marked),
        cmocka_unit_test(make__gaps_from_request__lose_the_models_time),
        cmocka_unit_test(make__no_such_session__is_said),
        cmocka_unit_test(make__any__takes_every_source),
        cmocka_unit_test(make__halves__are_the_whole),
        cmocka_unit_test(draw__mix__has_a_quarter_claude_at_the_rate),
        cmocka_unit_test(make__full_traces__as_the_study_counted),
        cmocka_unit_test(make__sources__are_kept_or_left_out),
        cmocka_unit_test(make__less_memory__cuts_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
