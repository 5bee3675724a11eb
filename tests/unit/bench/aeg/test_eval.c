/* SPDX-License-Identifier: Apache-2.0 */
/* The goals of docs/forecasts.md, on the sample and, where SAGA_TRACES names their folder, on the
 * full traces. */
#include "bench/aeg/report.h"
#include "bench/replay/sample.h"
#include "common/base/json.h"
#include "tests/kit/kit.h"

#include <stdio.h>
#include <stdlib.h>

/* What a cell may be worse than its best baseline. */
#define SLACK 0.005

static void on_progress(void *ctx, const char *source, const char *doing, uint32_t pass, uint32_t n)
{
    uint32_t *seen = ctx;
    (void)source;
    (void)doing;
    assert_true(pass <= n);
    *seen = pass;
}

static void load_sample(struct trace *ret)
{
    struct lines *lines = NULL;
    struct err err = {0};
    assert_status(lines_open_mem(&lines, sample_data(), &err), ST_OK);
    assert_status(trace_load(ret, mem_heap(), lines, &err), ST_OK);
    lines_close(lines);
}

static uint32_t check_cells(const struct eval *eval)
{
    uint32_t cells = 0;
    for (uint32_t i = 0; i < eval->count; i++) {
        const struct score *score = &eval->sources[i].online;
        for (uint32_t h = 0; h < SCORE_HORIZONS && score->wait_count > 0; h++) {
            double saga = score_brier(score, h, SCORE_SAGA);
            double best = eval_best_base(score, h);
            cells++;
            if (!(saga <= best + SLACK)) {
                fail_msg("%s within %s: %.4f, the best baseline %.4f", eval->sources[i].name,
                         score_horizon_names[h], saga, best);
            }
        }
    }
    return cells;
}

static void eval__sample__never_much_worse_than_the_best_baseline(void **state)
{
    (void)state;
    struct trace trace;
    struct eval eval;
    uint32_t seen = 0;
    load_sample(&trace);
    assert_status(eval_run(&eval, mem_heap(), &trace, on_progress, &seen), ST_OK);
    assert_int_equal(check_cells(&eval), 12);
    assert_int_equal(seen, 2 * eval.count);
    eval_fini(&eval);
    trace_fini(&trace);
}

static void eval__full_traces__goals_hold(void **state)
{
    (void)state;
    const char *folder = getenv("SAGA_TRACES");
    if (folder == NULL) {
        print_message("NOT CHECKED: the goals on the full traces; SAGA_TRACES is not set\n");
        skip();
    }
    char path[1024];
    struct trace trace;
    struct eval eval;
    struct err err = {0};
    uint32_t seen = 0;
    bool has_goal = false;
    (void)snprintf(path, sizeof(path), "%s/agent_steps.jsonl.gz", folder);
    assert_status(trace_load_file(&trace, mem_heap(), path, &err), ST_OK);
    assert_status(eval_run(&eval, mem_heap(), &trace, on_progress, &seen), ST_OK);
    assert_int_equal(check_cells(&eval), 20);
    for (uint32_t i = 0; i < eval.count; i++) {
        if (strcmp(eval.sources[i].name, "agentcgroup") == 0) {
            const struct score *score = &eval.sources[i].online;
            assert_true(score_brier(score, 0, SCORE_SAGA) <= 0.75 * eval_best_base(score, 0));
            has_goal = true;
        }
    }
    assert_true(has_goal);
    eval_fini(&eval);
    trace_fini(&trace);
}

static void report__json__one_object_per_source(void **state)
{
    (void)state;
    struct trace trace;
    struct eval eval;
    struct buf out;
    uint32_t seen = 0;
    load_sample(&trace);
    assert_status(eval_run(&eval, mem_heap(), &trace, on_progress, &seen), ST_OK);
    buf_init(&out, mem_heap(), 1 << 24);
    assert_status(report_eval_json(&eval, &out), ST_OK);
    yyjson_doc *doc = yyjson_read(out.p, out.len, 0);
    assert_non_null(doc);
    yyjson_val *sources = yyjson_obj_get(yyjson_doc_get_root(doc), "sources");
    assert_int_equal(yyjson_arr_size(sources), eval.count);
    yyjson_val *first = yyjson_arr_get_first(sources);
    static const char *const numbers[] = {"/sessions",
                                          "/steps",
                                          "/brier/1s/saga",
                                          "/brier/300s/tool_p95",
                                          "/brier/10s/last_value",
                                          "/output_tokens/saga/median",
                                          "/new_tokens/global_mean/mean",
                                          "/steps_to_go/last_value/median",
                                          "/work_order_concordance/saga",
                                          "/frozen/brier/60s/saga",
                                          "/leave_one_out/brier/60s/saga"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!yyjson_is_num(yyjson_ptr_get(first, numbers[i]))) {
            fail_msg("%s is no number", numbers[i]);
        }
    }
    yyjson_doc_free(doc);
    buf_fini(&out);
    eval_fini(&eval);
    trace_fini(&trace);
}

static void report__text__a_row_per_scored_cell(void **state)
{
    (void)state;
    struct trace trace;
    struct eval eval;
    struct buf out;
    uint32_t seen = 0;
    load_sample(&trace);
    assert_status(eval_run(&eval, mem_heap(), &trace, on_progress, &seen), ST_OK);
    buf_init(&out, mem_heap(), 1 << 24);
    assert_status(report_eval_text(&eval, &out), ST_OK);
    assert_status(buf_add(&out, "", 1), ST_OK);
    assert_non_null(strstr(out.p, "| weka-cc | 300s |"));
    assert_null(strstr(out.p, "| taubench-airline | 1s |"));
    assert_non_null(strstr(out.p, "| taubench-airline | steps_to_go |"));
    buf_fini(&out);
    eval_fini(&eval);
    trace_fini(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eval__sample__never_much_worse_than_the_best_baseline),
        cmocka_unit_test(eval__full_traces__goals_hold),
        cmocka_unit_test(report__json__one_object_per_source),
        cmocka_unit_test(report__text__a_row_per_scored_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
