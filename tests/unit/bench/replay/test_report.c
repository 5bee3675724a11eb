/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/report_json.h"
#include "common/base/json.h"

enum { OUT_MAX = 1 << 20 };

static struct replay_options opts = {
    .urls = {"http://h:1"}, .url_count = 1, .seed = 5, .speed = 20, .scale_tokens = 1};

static void fill(struct stats *stats)
{
    struct stats_step step = {.prompt_tokens = 1000,
                              .cached_tokens = 900,
                              .output_tokens = 50,
                              .has_usage = true,
                              .bound_tokens = 950,
                              .own_tokens = 1000,
                              .ttft_s = 0.25,
                              .step_s = 2};
    stats_init(stats, mem_heap(), 1);
    stats->elapsed_s = 12.5;
    stats->session_total = 100;
    stats->session_done = 1;
    stats->step_total = 4;
    stats_step_done(stats, &step);
    stats_step_failed(stats, STATS_HTTP_503, "no engine");
    stats_engine(stats, "e1", "");
    samples_add(&stats->tct_s, 200);
}

static struct report make(struct stats *stats)
{
    return (struct report){
        .opts = &opts, .stats = stats, .model = "m", .trace_name = "t", .is_bound_complete = true};
}

static void report_live__any_width__is_four_lines_that_fit(void **state)
{
    (void)state;
    const uint32_t widths[] = {40, 79, 200};
    struct stats stats;
    fill(&stats);
    struct report report = make(&stats);
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        struct buf out;
        struct str rest;
        struct str line;
        uint32_t lines = 0;
        buf_init(&out, mem_heap(), OUT_MAX);
        assert_status(report_live(&report, widths[i], &out), ST_OK);
        assert_int_equal(out.p[out.len - 1], '\n');
        rest = (struct str){out.p, out.len - 1};
        while (str_split(&rest, '\n', &line)) {
            lines++;
            if (line.len > widths[i]) {
                fail_msg("width %u: %.*s", widths[i], (int)line.len, line.p);
            }
        }
        assert_int_equal(lines, REPORT_LIVE_LINES);
        buf_fini(&out);
    }
    stats_fini(&stats);
}

static bool has(const struct buf *out, const char *text)
{
    return memmem(out->p, out->len, text, strlen(text)) != NULL;
}

static void report_live__half_done__shows_the_bar_and_the_numbers(void **state)
{
    (void)state;
    struct stats stats;
    struct buf out;
    fill(&stats);
    struct report report = make(&stats);
    buf_init(&out, mem_heap(), OUT_MAX);
    assert_status(report_live(&report, 79, &out), ST_OK);
    assert_true(has(&out, "##.."));
    assert_true(has(&out, " 50 %"));
    assert_true(has(&out, "1/100"));
    assert_true(has(&out, "90.0 %"));
    assert_true(has(&out, "3m20s"));
    buf_fini(&out);
    stats_fini(&stats);
}

static void report_text__errors_and_cache__are_named(void **state)
{
    (void)state;
    struct stats stats;
    struct buf out;
    fill(&stats);
    struct report report = make(&stats);
    buf_init(&out, mem_heap(), OUT_MAX);
    assert_status(report_text(&report, &out), ST_OK);
    assert_true(has(&out, "cached prompt tokens  90.00 %"));
    assert_true(has(&out, "95.00 % (measured is -5.00 points from it)"));
    assert_true(has(&out, "status 503"));
    assert_true(has(&out, "no engine"));
    assert_true(has(&out, "seed 5"));
    buf_fini(&out);
    stats_fini(&stats);
}

static void report_json__result__parses_and_holds_the_numbers(void **state)
{
    (void)state;
    struct stats stats;
    struct buf out;
    uint64_t n = 0;
    fill(&stats);
    struct report report = make(&stats);
    buf_init(&out, mem_heap(), OUT_MAX);
    assert_status(report_json(&report, &out), ST_OK);
    yyjson_doc *doc = yyjson_read(out.p, out.len, 0);
    assert_non_null(doc);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_true(json_get_u64(yyjson_obj_get(root, "parameters"), "seed", &n) && n == 5);
    assert_true(json_get_u64(root, "cached_tokens", &n) && n == 900);
    assert_true(json_get_u64(yyjson_obj_get(root, "errors"), "http_503", &n) && n == 1);
    assert_close(yyjson_get_num(yyjson_obj_get(root, "unlimited_kv_cached_ratio")), 0.95, 1e-12);
    assert_close(yyjson_get_num(yyjson_obj_get(yyjson_obj_get(root, "tct_s"), "p90")), 200, 0);
    yyjson_doc_free(doc);
    buf_fini(&out);
    stats_fini(&stats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_live__any_width__is_four_lines_that_fit),
        cmocka_unit_test(report_live__half_done__shows_the_bar_and_the_numbers),
        cmocka_unit_test(report_text__errors_and_cache__are_named),
        cmocka_unit_test(report_json__result__parses_and_holds_the_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
