/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "coordinator/io/sse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(s)                                                    \
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" s \
    "\"},\"finish_reason\":null}],\"usage\":null}"
#define MARK "\xEF\xBB\xBF"
#define USAGE \
    "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}"

static void feed(struct sse_filter *filter, struct str piece, struct buf *out)
{
    char *copy = malloc(piece.len > 0 ? piece.len : 1);
    assert_non_null(copy);
    memcpy(copy, piece.p, piece.len);
    assert_status(sse_filter_feed(filter, copy, piece.len, out), ST_OK);
    free(copy);
}

static void expect_cut(struct str in, struct str expected, size_t a, size_t b)
{
    struct sse_filter filter;
    struct buf out;
    buf_init(&out, mem_heap(), SIZE_MAX / 2);
    sse_filter_init(&filter);
    feed(&filter, (struct str){in.p, a}, &out);
    feed(&filter, (struct str){in.p + a, b - a}, &out);
    feed(&filter, (struct str){in.p + b, in.len - b}, &out);
    assert_status(sse_filter_end(&filter, &out), ST_OK);
    if (!str_eq(buf_str(&out), expected)) {
        fail_msg("cut at %zu and %zu: %.*s became %.*s", a, b, (int)in.len, in.p, (int)out.len,
                 out.p);
    }
    sse_filter_fini(&filter);
    buf_fini(&out);
}

/* Whole, cut at every offset and any two near each other, and byte by byte. */
static void expect_filtered(const char *in, const char *expected)
{
    struct str text = str_of(in);
    for (size_t a = 0; a <= text.len; a++) {
        for (size_t b = a; b <= text.len && b <= a + 3; b++) {
            expect_cut(text, str_of(expected), a, b);
        }
    }
    struct sse_filter filter;
    struct buf out;
    buf_init(&out, mem_heap(), SIZE_MAX / 2);
    sse_filter_init(&filter);
    for (size_t i = 0; i < text.len; i++) {
        feed(&filter, (struct str){text.p + i, 1}, &out);
    }
    assert_status(sse_filter_end(&filter, &out), ST_OK);
    assert_true(str_eq(buf_str(&out), str_of(expected)));
    sse_filter_fini(&filter);
    buf_fini(&out);
}

static void filter__the_usage_event__is_taken_out(void **state)
{
    (void)state;
    expect_filtered(TEXT("a") "\n\n" USAGE "\n\ndata: [DONE]\n\n",
                    TEXT("a") "\n\ndata: [DONE]\n\n");
}

static void filter__any_line_ends__stay_as_they_are(void **state)
{
    (void)state;
    expect_filtered(TEXT("a") "\r\n\r\n" USAGE "\r\n\r\ndata: [DONE]\r\n\r\n",
                    TEXT("a") "\r\n\r\ndata: [DONE]\r\n\r\n");
    expect_filtered(TEXT("a") "\r\r" USAGE "\r\rdata: [DONE]\r\r",
                    TEXT("a") "\r\rdata: [DONE]\r\r");
    expect_filtered(TEXT("a") "\r\n\n" USAGE "\n\r\n: c\n\n\ndata: [DONE]\n\r",
                    TEXT("a") "\r\n\n: c\n\n\ndata: [DONE]\n\r");
    expect_filtered("\r\n\r\n\n" USAGE "\n\n\n", "\r\n\r\n\n\n");
    expect_filtered(USAGE "\r\r\n" USAGE "\r\r\n\r\n", "\r\n");
}

static void filter__spacing_joined_lines_and_other_fields__are_recognised(void **state)
{
    (void)state;
    expect_filtered("data:{\"usage\" : { } , \"choices\" : [ ] }\n\nx", "x");
    expect_filtered("data: {\"choices\":[],\ndata: \"usage\":{\"a\":1}}\n\nx", "x");
    expect_filtered("id: 7\nevent: message\ndata: {\"choices\":[],\"usage\":{}}\n\nx", "x");
}

static void filter__everything_else__passes(void **state)
{
    (void)state;
    static const char *const streams[] = {
        "",
        "data: {\"choices\":[],\"usage\":null}\n\n",
        "data: {\"choices\":[],\"usage\":[]}\n\n",
        "data: {\"choices\":[],\"usage\":5}\n\n",
        "data: {\"choices\":[]}\n\n",
        "data: {\"choices\":null,\"usage\":{}}\n\n",
        "data: {\"usage\":{}}\n\n",
        "data: {\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}\n\n",
        "data: {\"x\":{\"choices\":[],\"usage\":{}}}\n\n",
        "data: {\"choices\":[],\"usage\":{}\n\n",
        ": {\"choices\":[],\"usage\":{}}\n\n",
        "{\"choices\":[],\"usage\":{}}\n\n",
        "data: {\"error\":{\"message\":\"m\"}}\n\n",
    };
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        expect_filtered(streams[i], streams[i]);
    }
    static const char speaks[] = TEXT("\\\"choices\\\":[],\\\"usage\\\":{}") "\n\n";
    expect_filtered(speaks, speaks);
    static const char marked[] = MARK "data: \xFF\xFE\n\n";
    expect_filtered(marked, marked);
}

static void b003_filter__an_unterminated_end__is_judged_too(void **state)
{
    (void)state;
    expect_filtered(TEXT("a") "\n\n" USAGE, TEXT("a") "\n\n");
    expect_filtered(TEXT("a") "\n\n" USAGE "\r\n", TEXT("a") "\n\n");
    expect_filtered(TEXT("a") "\n\n" TEXT("b"), TEXT("a") "\n\n" TEXT("b"));
}

static void filter__a_whole_event__is_not_held_back(void **state)
{
    (void)state;
    struct sse_filter filter;
    struct buf out;
    static const char event[] = TEXT("a") "\n\n";
    buf_init(&out, mem_heap(), SIZE_MAX / 2);
    sse_filter_init(&filter);
    feed(&filter, STR(event), &out);
    assert_int_equal(out.len, sizeof(event) - 1);
    assert_int_equal(filter.held.cap, 0);
    sse_filter_fini(&filter);
    buf_fini(&out);
}

static void filter__an_event_over_the_limit__passes_and_the_next_one_is_judged(void **state)
{
    (void)state;
    size_t len = SSE_HOLD_MAX + 1000;
    char *stream = malloc(len + 256);
    assert_non_null(stream);
    memset(stream, 'x', len);
    memcpy(stream, "data: {\"choices\":[],\"usage\":{},\"pad\":\"", 38);
    memcpy(stream + len - 4, "\"}\n\n", 4);
    memcpy(stream + len, USAGE "\n\n", sizeof(USAGE "\n\n") - 1);
    struct str all = {stream, len + sizeof(USAGE "\n\n") - 1};
    static const size_t steps[] = {1, 999, 16384, SSE_HOLD_MAX, SSE_HOLD_MAX + 1, 1000000};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct sse_filter filter;
        struct buf out;
        buf_init(&out, mem_heap(), SIZE_MAX / 2);
        sse_filter_init(&filter);
        for (size_t at = 0; at < all.len; at += steps[i]) {
            size_t step = all.len - at < steps[i] ? all.len - at : steps[i];
            assert_status(sse_filter_feed(&filter, all.p + at, step, &out), ST_OK);
            assert_true(filter.held.cap <= SSE_HOLD_MAX);
        }
        assert_status(sse_filter_end(&filter, &out), ST_OK);
        assert_int_equal(out.len, len);
        assert_memory_equal(out.p, stream, len);
        sse_filter_fini(&filter);
        buf_fini(&out);
    }
    free(stream);
}

static bool filter_scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    static const char stream[] = TEXT("a") "\n\n" USAGE "\n\ndata: [DONE]\n\n";
    struct sse_filter filter;
    struct buf out;
    enum status st = ST_OK;
    buf_init(&out, mem, SIZE_MAX / 2);
    sse_filter_init(&filter);
    filter.held.mem = mem;
    filter.shape.around.mem = mem;
    for (size_t at = 0; at < sizeof(stream) - 1 && st == ST_OK; at++) {
        st = sse_filter_feed(&filter, stream + at, 1, &out);
    }
    st = st == ST_OK ? sse_filter_end(&filter, &out) : st;
    assert_true(st == ST_OK || st == ST_NOMEM);
    sse_filter_fini(&filter);
    buf_fini(&out);
    return st == ST_OK;
}

static void filter__any_allocation_failing__is_nomem(void **state)
{
    (void)state;
    assert_true(kit_torture(filter_scenario, NULL) > 3);
    sse_filter_fini(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter__the_usage_event__is_taken_out),
        cmocka_unit_test(filter__any_line_ends__stay_as_they_are),
        cmocka_unit_test(filter__spacing_joined_lines_and_other_fields__are_recognised),
        cmocka_unit_test(filter__everything_else__passes),
        cmocka_unit_test(b003_filter__an_unterminated_end__is_judged_too),
        cmocka_unit_test(filter__a_whole_event__is_not_held_back),
        cmocka_unit_test(filter__an_event_over_the_limit__passes_and_the_next_one_is_judged),
        cmocka_unit_test(filter__any_allocation_failing__is_nomem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
