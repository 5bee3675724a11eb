/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/report.h"

#include "tests/kit/kit.h"

#include <yyjson.h>

/* One load, two seeds, two policies: with the first seed the second policy is twice as fast, with
 * the second four times. */
static struct metrics_session scores[4][2] = {
    {{.tct_s = 20, .alone_s = 10, .is_finished = true},
     {.tct_s = 40, .alone_s = 10, .is_finished = true}},
    {{.tct_s = 10, .alone_s = 10, .is_finished = true},
     {.tct_s = 20, .alone_s = 10, .is_finished = true}},
    {{.tct_s = 80, .alone_s = 10, .is_finished = true},
     {.tct_s = 99, .alone_s = 10, .is_given_up = true}},
    {{.tct_s = 20, .alone_s = 10, .is_finished = true},
     {.tct_s = 20, .alone_s = 10, .is_finished = true}},
};
static const struct batch_case cases[] = {
    {.load = 0.5, .rate_per_s = 0.21, .seed = 1, .draw = {.arrival_count = 2}},
    {.load = 0.5, .rate_per_s = 0.21, .seed = 2, .draw = {.arrival_count = 2}},
};
static struct batch_run runs[4];
static const struct batch batch = {.runs = runs, .run_count = 4};
static struct lab_options opts;
static const struct lab_report report = {.opts = &opts, .batch = &batch};

static char policies[] = "slow,unlimited"; /* the options point into it */

static int setup(void **state)
{
    struct err err = {0};
    char *argv[] = {(char[]){"sim"}, (char[]){"--policies"}, policies, (char[]){"--seeds"},
                    (char[]){"1,2"}};
    (void)state;
    assert_status(lab_options_parse(5, argv, 1, &opts, &err), ST_OK);
    for (uint32_t i = 0; i < 4; i++) {
        runs[i] = (struct batch_run){
            .of = &cases[i / 2],
            .policy = opts.policies[i % 2],
            .is_unlimited = i % 2 == 1,
            .metrics = {.sessions = 2, .late_slowdown = i == 2 ? 8 : 2},
            .sessions = scores[i],
        };
    }
    return 0;
}

static void pool__worked_example__pairs_by_seed_and_session(void **state)
{
    (void)state;
    struct pool pool;
    assert_status(pool_make(&report, 0, 1, 0, 1, &pool), ST_OK);
    assert_close(pool.geomean_vs_first, 2, 1e-9);
    assert_close(pool.geomean_ci.low, 2, 1e-9);
    assert_status(pool_make(&report, 0, 1, 0, 2, &pool), ST_OK);
    assert_close(pool.geomean_vs_first, 2.5198421, 1e-6); /* (2 * 2 * 4)^(1/3) */
    assert_close(pool.mean_slowdown, 1.75, 1e-9);
    assert_int_equal(pool.carries, 2);
    assert_status(pool_make(&report, 0, 0, 0, 2, &pool), ST_OK);
    assert_close(pool.geomean_vs_first, 1, 1e-9);
    assert_close(pool.mean_slowdown, (2 + 4 + 8) / 3.0, 1e-9);
    assert_close(pool.late_slowdown, 5, 1e-9);
    assert_int_equal(pool.carries, 1); /* 8 against 2 is too much */
}

static void json__runs__have_their_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "policy",
        "workload",
        "load",
        "seed",
        "sessions",
        "mean_slowdown",
        "p99_slowdown",
        "mean_tct_s",
        "geomean_vs_first",
        "mean_ttft_s",
        "p99_ttft_s",
        "p999_ttft_s",
        "max_wait_s",
        "tokens_per_s",
        "regenerated_share",
        "share_within_2p5x",
        "refused_share",
        "goodput_share",
        "carries",
        "split",
        "chunk",
        "ci",
    };
    struct buf text;
    buf_init(&text, mem_heap(), 1 << 20);
    assert_status(lab_report_json(&report, &text), ST_OK);
    yyjson_doc *doc = yyjson_read(text.p, text.len, 0);
    assert_non_null(doc);
    yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(doc), "runs");
    assert_int_equal(yyjson_arr_size(list), 4);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_non_null(yyjson_obj_get(yyjson_arr_get(list, 3), names[i]));
    }
    assert_false(yyjson_get_bool(yyjson_obj_get(yyjson_arr_get(list, 2), "carries")));
    yyjson_doc_free(doc);
    buf_fini(&text);
}

static void sessions__each_run__has_a_line_for_each(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, mem_heap(), 1 << 20);
    assert_status(lab_report_sessions(&report, &text), ST_OK);
    assert_status(buf_add(&text, "", 1), ST_OK);
    assert_non_null(strstr(text.p, "slow,0.5,1,0.000,40.000,4.0000,finished\n"));
    assert_non_null(strstr(text.p, "slow,0.5,2,0.000,99.000,9.9000,given_up\n"));
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool__worked_example__pairs_by_seed_and_session),
        cmocka_unit_test(json__runs__have_their_names),
        cmocka_unit_test(sessions__each_run__has_a_line_for_each),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
