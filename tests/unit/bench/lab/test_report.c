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
static struct lab_entry entries[2];
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
    for (uint32_t i = 0; i < 2; i++) {
        entries[i] = (struct lab_entry){.label = opts.policies[i],
                                        .policy = STR("saga"),
                                        .is_unlimited = i == 1,
                                        .engine = opts.engine};
    }
    for (uint32_t i = 0; i < 4; i++) {
        runs[i] = (struct batch_run){
            .of = &cases[i / 2],
            .entry = &entries[i % 2],
            .spec = opts.engine,
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

static void pool__expected__is_what_the_first_has_at_the_lowest_load(void **state)
{
    (void)state;
    struct pool pool;
    /* 14 / 3 = 4.67 times alone are expected, 7 are in time */
    assert_status(pool_make(&report, 0, 0, 0, 2, &pool), ST_OK);
    assert_close(pool.share_within_expected, 0.5, 1e-9); /* 8 is late, one was given up */
    assert_status(pool_make(&report, 0, 1, 0, 2, &pool), ST_OK);
    assert_close(pool.share_within_expected, 1, 1e-9);
}

static void pool__belady_of_the_same_policy__is_the_measure(void **state)
{
    (void)state;
    struct pool pool;
    struct lab_entry kept = entries[1];
    entries[1].is_unlimited = false;
    runs[1].spec.evict = sim_evict_find(STR("belady"));
    runs[0].metrics.cached_share = 0.6;
    runs[1].metrics.cached_share = 0.8;
    assert_status(pool_make(&report, 0, 0, 0, 1, &pool), ST_OK);
    assert_close(pool.hits_vs_belady, 0.75, 1e-9);
    assert_status(pool_make(&report, 0, 0, 1, 1, &pool), ST_OK);
    assert_close(pool.hits_vs_belady, 0, 1e-9);
    entries[1] = kept;
    runs[1].spec.evict = sim_evict_default();
}

static void engines__a_timeline__has_a_line_for_each_engine(void **state)
{
    (void)state;
    struct buf text;
    struct lab_sample samples[2] = {{.running = 3, .kv_used_ratio = 0.5},
                                    {.waiting = 4, .paused = 1, .regenerated_tokens = 99}};
    struct timeline *timeline = &runs[0].timeline;
    *timeline = (struct timeline){.engines = 2, .until_us = 5, .keeps_all = true};
    timeline_add(timeline, 0, samples);
    timeline_add(timeline, 10, samples); /* too late to count, but kept */
    assert_close(timeline_kv_mean(timeline), 0.25, 1e-9);
    assert_close(timeline->kv_max, 0.5, 1e-9);
    buf_init(&text, mem_heap(), 1 << 20);
    assert_status(lab_report_engines(&report, &text), ST_OK);
    assert_status(buf_add(&text, "", 1), ST_OK);
    assert_non_null(strstr(text.p, "\n\"slow\",0.5,1,0,1,0,0,3,0,0,0.5000,0\n"));
    assert_non_null(strstr(text.p, "\n\"slow\",0.5,1,0,1,10,1,0,4,1,0.0000,99\n"));
    buf_fini(&text);
    timeline_fini(timeline);
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
        "steals",
        "pauses_per_session",
        "p50_tct_s",
        "p99_tct_s",
        "share_within_expected",
        "mean_kv_used",
        "max_kv_used",
        "kv_scale",
        "tier_tokens",
        "tier_mode",
        "evict",
        "admission",
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
    assert_non_null(strstr(text.p, "\"slow\",0.5,1,0,1,0.000,40.000,4.0000,finished\n"));
    assert_non_null(strstr(text.p, "\"slow\",0.5,1,0,2,0.000,99.000,9.9000,given_up\n"));
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool__worked_example__pairs_by_seed_and_session),
        cmocka_unit_test(pool__expected__is_what_the_first_has_at_the_lowest_load),
        cmocka_unit_test(pool__belady_of_the_same_policy__is_the_measure),
        cmocka_unit_test(engines__a_timeline__has_a_line_for_each_engine),
        cmocka_unit_test(json__runs__have_their_names),
        cmocka_unit_test(sessions__each_run__has_a_line_for_each),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
