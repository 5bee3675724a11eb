/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_axis.h"

#include "common/base/json.h"
#include "common/base/rng.h"
#include "tests/kit/kit.h"
#include "tests/unit/aeg/xml_look.h"

#include <stdlib.h>

enum { LANES = 6, OUT_BYTES = 4 << 20 };

#define BEGAN_US UINT64_C(7000000000)

static struct aeg_graph_pool pool;
static struct aeg_graph graphs[LANES];
static struct aeg_view view;
static const struct aeg_engine_name engines[] = {{{3}, {"gpu-a", 5}}};

static void begin(void)
{
    aeg_graph_pool_init(&pool, mem_heap(), 1000);
    view = (struct aeg_view){
        .pool = &pool, .engines = engines, .engine_count = 1, .now_us = BEGAN_US + 60000000};
}

static void finish(void)
{
    aeg_graph_pool_fini(&pool);
}

static uint32_t add_lane(const char *label, uint32_t parent)
{
    uint32_t idx = view.lane_count;
    aeg_graph_init(&graphs[idx], BEGAN_US);
    view.lanes[idx] = (struct aeg_lane){.label = str_of(label),
                                        .agent = STR("coder"),
                                        .model = STR("m"),
                                        .parent = parent,
                                        .graph = &graphs[idx]};
    view.lane_count++;
    return idx;
}

/* Goes on from the step before. until_ms 0: still open. */
static uint32_t add_step(uint32_t lane, uint64_t from_ms, uint64_t until_ms, enum aeg_end how)
{
    struct aeg_graph *graph = &graphs[lane];
    uint32_t from = graph->steps == 0 ? AEG_STEP_NONE : graph->steps - 1;
    uint32_t step = aeg_graph_open(&pool, graph, from, false, BEGAN_US + from_ms * 1000);
    uint64_t until_us = BEGAN_US + until_ms * 1000;
    const struct aeg_step_end end = {.end = how,
                                     .engine = {3},
                                     .prompt_tokens = 1000 + 100 * step,
                                     .cached_tokens = 900,
                                     .output_tokens = 40,
                                     .started_at_us = BEGAN_US + from_ms * 1000 + 100000,
                                     .answered_at_us = BEGAN_US + from_ms * 1000 + 400000,
                                     .ended_at_us = until_us};
    if (until_ms > 0) {
        aeg_graph_close(&pool, graph, step, &end);
    }
    return step;
}

static void add_tool(uint32_t lane, uint32_t step, struct str name)
{
    aeg_graph_tools(&pool, &graphs[lane], step, &name, 1);
}

static struct buf write_with(enum status (*fn)(const struct aeg_view *, struct buf *))
{
    struct buf out;
    buf_init(&out, mem_heap(), OUT_BYTES);
    assert_status(fn(&view, &out), ST_OK);
    return out;
}

static enum status json_of_first(const struct aeg_view *of, struct buf *out)
{
    return aeg_view_json(of, 0, out);
}

static bool has(const struct buf *out, const char *text)
{
    return memmem(out->p, out->len, text, strlen(text)) != NULL;
}

/* --- link --- */

/* A parent that steps at 0..4, 8..14 and 30..34 s. */
static void begin_family(void)
{
    begin();
    (void)add_lane("parent", AEG_STEP_NONE);
    (void)add_step(0, 0, 4000, AEG_END_TOOLS);
    (void)add_step(0, 8000, 14000, AEG_END_TOOLS);
    (void)add_step(0, 30000, 34000, AEG_END_ANSWER);
}

static void link__child_between_two_steps__started_joined_and_waited_for(void **state)
{
    (void)state;
    begin_family();
    uint32_t child = add_lane("child", 0);
    (void)add_step(child, 15000, 20000, AEG_END_TOOLS);
    (void)add_step(child, 21000, 29000, AEG_END_ANSWER);
    aeg_view_link(&view);
    assert_int_equal(view.lanes[child].spawned_by, 1);
    assert_int_equal(view.lanes[child].joined_by, 2);
    assert_true(view.lanes[child].is_waited_for);
    assert_int_equal(view.lanes[0].spawned_by, AEG_STEP_NONE);
    assert_int_equal(view.lanes[0].joined_by, AEG_STEP_NONE);
    finish();
}

static void link__parent_went_on__not_waited_for(void **state)
{
    (void)state;
    begin_family();
    uint32_t child = add_lane("child", 0);
    (void)add_step(child, 5000, 20000, AEG_END_ANSWER);
    aeg_view_link(&view);
    assert_int_equal(view.lanes[child].spawned_by, 0);
    assert_int_equal(view.lanes[child].joined_by, 2);
    assert_false(view.lanes[child].is_waited_for);
    finish();
}

static void link__child_not_over__not_joined(void **state)
{
    (void)state;
    begin_family();
    uint32_t beside = add_lane("beside", 0);
    (void)add_step(beside, 15000, 16000, AEG_END_TOOLS);
    view.lanes[beside].is_gap_open = true;
    (void)add_step(0, 36000, 37000, AEG_END_TOOLS);
    uint32_t last = add_lane("last", 0);
    (void)add_step(last, 38000, 0, AEG_END_OPEN);
    view.lanes[last].is_busy = true;
    aeg_view_link(&view);
    assert_int_equal(view.lanes[beside].joined_by, AEG_STEP_NONE);
    assert_false(view.lanes[beside].is_waited_for);
    assert_int_equal(view.lanes[last].spawned_by, 3);
    assert_int_equal(view.lanes[last].joined_by, AEG_STEP_NONE);
    assert_true(view.lanes[last].is_waited_for);
    finish();
}

static void link__an_aside_of_the_parent__does_not_count(void **state)
{
    (void)state;
    begin_family();
    uint32_t child = add_lane("child", 0);
    (void)add_step(child, 35000, 36000, AEG_END_ANSWER);
    (void)aeg_graph_open(&pool, &graphs[0], 2, true, BEGAN_US + 34500000);
    (void)aeg_graph_open(&pool, &graphs[0], 2, true, BEGAN_US + 40000000);
    aeg_view_link(&view);
    assert_int_equal(view.lanes[child].spawned_by, 2);
    assert_int_equal(view.lanes[child].joined_by, AEG_STEP_NONE);
    finish();
}

static void link__what_is_folded__is_not_guessed(void **state)
{
    (void)state;
    begin();
    (void)add_lane("parent", AEG_STEP_NONE);
    for (uint64_t i = 0; i < 100; i++) {
        (void)add_step(0, i * 1000 + 1, i * 1000 + 500, AEG_END_TOOLS);
    }
    uint32_t child = add_lane("child", 0);
    (void)add_step(child, 5600, 5900, AEG_END_ANSWER);
    uint32_t long_child = add_lane("long", 0);
    (void)add_step(long_child, 5600, 50900, AEG_END_ANSWER);
    aeg_view_link(&view);
    assert_int_equal(view.lanes[child].spawned_by, AEG_STEP_NONE);
    assert_int_equal(view.lanes[child].joined_by, AEG_STEP_NONE);
    assert_int_equal(view.lanes[long_child].spawned_by, AEG_STEP_NONE);
    assert_int_equal(view.lanes[long_child].joined_by, 51);
    assert_false(view.lanes[long_child].is_waited_for);
    finish();
}

static void link__parents_in_a_circle__ends(void **state)
{
    (void)state;
    begin();
    (void)add_lane("a", 1);
    (void)add_lane("b", 0);
    (void)add_lane("c", 2);
    (void)add_lane("d", 77);
    for (uint32_t i = 0; i < 4; i++) {
        (void)add_step(i, 1000, 1500, AEG_END_TOOLS);
    }
    aeg_view_link(&view);
    assert_int_equal(view.lanes[2].spawned_by, AEG_STEP_NONE);
    assert_int_equal(view.lanes[3].spawned_by, AEG_STEP_NONE);
    struct buf svg = write_with(aeg_view_svg);
    struct buf dot = write_with(aeg_view_dot);
    assert_true(xml_is_well_formed(buf_str(&svg)));
    buf_fini(&svg);
    buf_fini(&dot);
    finish();
}

/* --- JSON --- */

static void json__two_steps_and_an_open_gap__exact(void **state)
{
    (void)state;
    begin();
    (void)add_lane("s", AEG_STEP_NONE);
    (void)add_step(0, 0, 4000, AEG_END_TOOLS);
    add_tool(0, 0, STR("Ba\"sh"));
    (void)add_step(0, 4250, 5000, AEG_END_ANSWER);
    view.lanes[0].is_gap_open = true;
    struct buf out = write_with(json_of_first);
    static const char want[] =
        "\"steps\":[{\"step\":0,\"from\":null,\"attempts\":1,\"aside\":false,\"end\":\"tools\","
        "\"engine\":\"gpu-a\",\"arrived_ms\":0,\"queued_ms\":100,\"first_ms\":300,\"total_ms\":"
        "4000,"
        "\"prompt_tokens\":1000,\"cached_tokens\":900,\"output_tokens\":40,\"tool_count\":1,"
        "\"tools\":[\"Ba\\\"sh\"]},"
        "{\"step\":1,\"from\":0,\"attempts\":1,\"aside\":false,\"end\":\"answer\","
        "\"engine\":\"gpu-a\",\"arrived_ms\":4250,\"queued_ms\":100,\"first_ms\":300,"
        "\"total_ms\":750,\"prompt_tokens\":1100,\"cached_tokens\":900,\"output_tokens\":40,"
        "\"tool_count\":0,\"tools\":[]}],"
        "\"gaps\":[{\"from\":0,\"to\":1,\"ms\":250,\"new_tokens\":60},"
        "{\"from\":1,\"to\":null,\"ms\":55000,\"new_tokens\":null}],\"folded\":null";
    assert_int_equal(out.len, strlen(want));
    assert_memory_equal(out.p, want, out.len);
    buf_fini(&out);
    finish();
}

static void json__open_step_and_folded_ones__null_and_sums(void **state)
{
    (void)state;
    begin();
    (void)add_lane("s", AEG_STEP_NONE);
    for (uint64_t i = 0; i < AEG_GRAPH_KEPT + 1; i++) {
        (void)add_step(0, i * 10, i * 10 + 5, AEG_END_FAILED);
    }
    (void)add_step(0, 2000, 0, AEG_END_OPEN);
    struct buf out = write_with(json_of_first);
    assert_true(has(&out, "\"folded\":{\"steps\":2,\"from_ms\":0,\"until_ms\":15,\"busy_ms\":10,"
                          "\"prompt_tokens\":2100,\"cached_tokens\":1800,\"output_tokens\":80,"
                          "\"tool_steps\":0,\"failed_steps\":2,\"open_steps\":0}"));
    assert_true(has(&out, "\"end\":\"open\",\"engine\":null,\"arrived_ms\":2000,\"queued_ms\":null,"
                          "\"first_ms\":null,\"total_ms\":null,\"prompt_tokens\":null"));
    assert_false(has(&out, "\"from\":1,\"to\":2"));
    buf_fini(&out);
    finish();
}

/* --- text of others --- */

static const char nasty[] = "</title><script>&\"'\\\n\t\x01\x7f\xff\xc3\xe2\x80\xae\xed\xa0\x80\xef"
                            "\xbf\xbf\xc2\x85\xe2\x82\xac]]>";

static void begin_nasty(void)
{
    begin();
    (void)add_lane(nasty, AEG_STEP_NONE);
    view.lanes[0].agent = str_of(nasty);
    view.lanes[0].model = str_of(nasty);
    (void)add_step(0, 0, 1000, AEG_END_TOOLS);
    add_tool(0, 0, str_of(nasty));
    (void)add_step(0, 60000, 61000, AEG_END_GONE);
}

static void json__nasty_names__still_json(void **state)
{
    (void)state;
    begin_nasty();
    struct buf out = write_with(json_of_first);
    assert_status(buf_add_str(&out, STR("}")), ST_OK);
    char *text = mem_alloc(mem_heap(), out.len + 1);
    assert_non_null(text);
    text[0] = '{';
    memcpy(text + 1, out.p, out.len);
    yyjson_doc *doc = yyjson_read(text, out.len + 1, 0);
    assert_non_null(doc);
    yyjson_val *tools = yyjson_obj_get(
        yyjson_arr_get_first(yyjson_obj_get(yyjson_doc_get_root(doc), "steps")), "tools");
    struct str tool = json_str(yyjson_arr_get_first(tools));
    assert_true(str_starts(tool, STR("</title><script>&\"'\\\n\t\x01\x7f\xEF\xBF\xBD")));
    yyjson_doc_free(doc);
    mem_free(mem_heap(), text, out.len + 1);
    buf_fini(&out);
    finish();
}

static void svg__nasty_names__escaped(void **state)
{
    (void)state;
    begin_nasty();
    struct buf out = write_with(aeg_view_svg);
    assert_true(xml_is_well_formed(buf_str(&out)));
    assert_false(has(&out, "<script"));
    assert_false(has(&out, "\xe2\x80\xae"));
    assert_true(has(&out, "&lt;/title&gt;&lt;script&gt;&amp;&quot;&#39;\\\xEF\xBF\xBD"));
    assert_true(has(&out, "\xe2\x82\xac"));
    buf_fini(&out);
    finish();
}

static void dot__nasty_names__escaped(void **state)
{
    (void)state;
    begin_nasty();
    struct buf out = write_with(aeg_view_dot);
    assert_true(str_is_utf8(buf_str(&out), NULL));
    assert_true(has(&out, "label=\"&lt;/title&gt;&lt;script&gt;&amp;\\\"&#39;\\\\\xEF\xBF\xBD"));
    assert_false(has(&out, "<script"));
    buf_fini(&out);
    finish();
}

/* --- DOT and SVG --- */

static void dot__family__clusters_and_links(void **state)
{
    (void)state;
    begin_family();
    add_tool(0, 0, STR("Bash"));
    uint32_t child = add_lane("child", 0);
    (void)add_step(child, 15000, 29000, AEG_END_ANSWER);
    view.hidden_lanes = 5;
    aeg_view_link(&view);
    struct buf out = write_with(aeg_view_dot);
    assert_true(has(&out, "subgraph cluster_1 {\n    label=\"child\\ncoder, m\";"));
    assert_true(
        has(&out, "l0_s0 [label=\"#0 tools\\n4 s on gpu-a\\n1.0k in (900 cached), 40 out\"]"));
    assert_true(has(&out, "l0_s0 -> l0_s1 [label=\"4 s\\nBash\"];"));
    assert_true(has(&out, "l0_s1 -> l1_s0 [style=dashed, label=\"starts\"];"));
    assert_true(has(&out, "l1_s0 -> l0_s2 [style=bold, label=\"waited for\"];"));
    assert_true(has(&out, "and 5 more sessions"));
    buf_fini(&out);
    finish();
}

static void svg__family__bars_marks_and_arrows(void **state)
{
    (void)state;
    begin_family();
    add_tool(0, 0, STR("mcp__files__read_all"));
    aeg_graph_reopen(&pool, &graphs[0], 2, BEGAN_US + 31000000);
    (void)aeg_graph_open(&pool, &graphs[0], 1, true, BEGAN_US + 30500000);
    uint32_t child = add_lane("child", 0);
    (void)add_step(child, 15000, 29000, AEG_END_FAILED);
    view.lanes[child].is_gap_open = false;
    aeg_view_link(&view);
    struct buf out = write_with(aeg_view_svg);
    assert_true(xml_is_well_formed(buf_str(&out)));
    assert_true(has(&out,
                    "<title>step 0: tools\non gpu-a\nqueued 100 ms, first token 300 ms, answer "
                    "3.6 s\n1000 tokens in, 900 cached, 40 out\ncalls mcp__files__read_all"));
    assert_true(has(&out, ">read_all 4 s</text>"));
    assert_true(has(&out, "class=\"edge bad\""));
    assert_true(has(&out, "class=\"failed\""));
    assert_true(has(&out, "class=\"again\""));
    assert_true(has(&out, "class=\"live\""));
    assert_true(has(&out, "half height: aside"));
    assert_true(has(&out, "class=\"link\" marker-end"));
    assert_true(has(&out, "class=\"link wait\" marker-end"));
    buf_fini(&out);
    finish();
}

static void svg__many_long_tools__legend_stays_on_the_sheet(void **state)
{
    (void)state;
    begin();
    (void)add_lane("s", AEG_STEP_NONE);
    for (uint64_t i = 0; i < 10; i++) {
        char name[] = "a_long_name_of_a_tool_0";
        name[sizeof(name) - 2] = (char)('0' + i);
        uint32_t step = add_step(0, i * 1000, i * 1000 + 500, AEG_END_TOOLS);
        add_tool(0, step, (struct str){name, sizeof(name) - 1});
    }
    struct buf out = write_with(aeg_view_svg);
    const char *legend = memmem(out.p, out.len, ">Gaps<", 6);
    assert_non_null(legend);
    size_t items = 0;
    static const char item[] = "<rect class=\"t";
    struct str rest = {legend, (size_t)(out.p + out.len - legend)};
    while ((legend = memmem(rest.p, rest.len, item, strlen(item))) != NULL) {
        const char *x = legend + strlen(item) + strlen("0\" x=\"");
        assert_true(strtod(x, NULL) + 36 + 6 * 20 <= 986);
        rest = (struct str){x, (size_t)(out.p + out.len - x)};
        items++;
    }
    assert_int_equal(items, 10);
    buf_fini(&out);
    finish();
}

static void svg__nothing_to_show__a_sheet_all_the_same(void **state)
{
    (void)state;
    begin();
    struct buf none = write_with(aeg_view_svg);
    assert_true(xml_is_well_formed(buf_str(&none)));
    (void)add_lane("empty", AEG_STEP_NONE);
    struct buf one = write_with(aeg_view_svg);
    assert_true(xml_is_well_formed(buf_str(&one)));
    assert_true(has(&one, "1 session, 0 steps"));
    buf_fini(&none);
    buf_fini(&one);
    finish();
}

/* --- axis --- */

static void axis__mostly_idle__cut_and_named(void **state)
{
    (void)state;
    struct view_axis axis;
    begin();
    (void)add_lane("s", AEG_STEP_NONE);
    (void)add_step(0, 0, 4000, AEG_END_TOOLS);
    (void)add_step(0, 604000, 608000, AEG_END_TOOLS);
    (void)add_step(0, 609000, 611000, AEG_END_ANSWER);
    assert_status(view_axis_init(&axis, &view, mem_heap()), ST_OK);
    assert_int_equal(axis.count, 6);
    assert_int_equal(axis.cut_ms, 5000); /* 10 s of steps over 2 gaps */
    assert_true(view_axis_is_cut(&axis, 1));
    assert_false(view_axis_is_cut(&axis, 3));
    double step_px = view_axis_x(&axis, 4000) - view_axis_x(&axis, 0);
    double idle_px = view_axis_x(&axis, 604000) - view_axis_x(&axis, 4000);
    double ms_px = (720.0 - 5 * 6.0) / 16000; /* 10 s busy, 5 + 1 s idle, 6 px for each part */
    assert_close(step_px, 6 + 4000 * ms_px, 0.001);
    assert_close(idle_px, 6 + 5000 * ms_px, 0.001);
    assert_close(view_axis_x(&axis, 304000), (view_axis_x(&axis, 4000) + idle_px / 2), 0.001);
    view_axis_fini(&axis);
    struct buf out = write_with(aeg_view_svg);
    assert_true(has(&out, "idle time over 5 s is cut short"));
    buf_fini(&out);
    finish();
}

static void axis__any_graphs__x_never_goes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rng rng;
        struct view_axis axis;
        print_message("seed %llu\n", (unsigned long long)seed);
        rng_init(&rng, seed);
        begin();
        for (uint32_t lane = 0; lane < LANES; lane++) {
            (void)add_lane("s", AEG_STEP_NONE);
            uint64_t ms = rng_below(&rng, 100000);
            for (uint32_t i = 0; i < rng_below(&rng, 100); i++) {
                uint64_t end_ms = ms + rng_below(&rng, 5000);
                (void)add_step(lane, ms, rng_below(&rng, 9) == 0 ? 0 : end_ms, AEG_END_TOOLS);
                ms += rng_below(&rng, 2) == 0 ? rng_below(&rng, 100) : rng_below(&rng, 900000);
            }
        }
        assert_status(view_axis_init(&axis, &view, mem_heap()), ST_OK);
        double last_x = 0;
        for (uint32_t i = 0; i < 1000; i++) {
            uint64_t ms = axis.knots[axis.count - 1].ms * i / 999;
            double x = view_axis_x(&axis, ms);
            assert_true(x >= last_x && x <= axis.width_px + 0.001);
            last_x = x;
        }
        uint64_t round_ms = view_axis_round_ms(&axis, 100, 150);
        assert_in_range(round_ms, 0, axis.knots[axis.count - 1].ms);
        view_axis_fini(&axis);
        finish();
    }
}

/* --- no room, no memory --- */

static void write__buffer_too_small__full_and_as_before(void **state)
{
    (void)state;
    begin_family();
    enum status (*const writers[])(const struct aeg_view *,
                                   struct buf *) = {json_of_first, aeg_view_dot, aeg_view_svg};
    for (size_t i = 0; i < 3; i++) {
        struct buf whole = write_with(writers[i]);
        for (size_t max = 3; max < whole.len + 3; max += 1 + max / 8) {
            struct buf out;
            buf_init(&out, mem_heap(), max);
            assert_status(buf_add_str(&out, STR("abc")), ST_OK);
            assert_status(writers[i](&view, &out), ST_FULL);
            assert_int_equal(out.len, 3);
            buf_fini(&out);
        }
        buf_fini(&whole);
    }
    finish();
}

static bool write_all(void *ctx, const struct mem *mem)
{
    (void)ctx;
    enum status (*const writers[])(const struct aeg_view *,
                                   struct buf *) = {json_of_first, aeg_view_dot, aeg_view_svg};
    bool is_done = true;
    for (size_t i = 0; i < 3; i++) {
        struct buf out;
        buf_init(&out, mem, OUT_BYTES);
        enum status st = writers[i](&view, &out);
        assert_true(st == ST_OK || st == ST_NOMEM);
        assert_true(st == ST_OK || out.len == 0);
        is_done = is_done && st == ST_OK;
        buf_fini(&out);
    }
    return is_done;
}

static void torture__writers__nomem_and_nothing_left(void **state)
{
    (void)state;
    begin_family();
    aeg_view_link(&view);
    assert_true(kit_torture(write_all, NULL) > 10);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link__child_between_two_steps__started_joined_and_waited_for),
        cmocka_unit_test(link__parent_went_on__not_waited_for),
        cmocka_unit_test(link__child_not_over__not_joined),
        cmocka_unit_test(link__an_aside_of_the_parent__does_not_count),
        cmocka_unit_test(link__what_is_folded__is_not_guessed),
        cmocka_unit_test(link__parents_in_a_circle__ends),
        cmocka_unit_test(json__two_steps_and_an_open_gap__exact),
        cmocka_unit_test(json__open_step_and_folded_ones__null_and_sums),
        cmocka_unit_test(json__nasty_names__still_json),
        cmocka_unit_test(svg__nasty_names__escaped),
        cmocka_unit_test(dot__nasty_names__escaped),
        cmocka_unit_test(dot__family__clusters_and_links),
        cmocka_unit_test(svg__family__bars_marks_and_arrows),
        cmocka_unit_test(svg__many_long_tools__legend_stays_on_the_sheet),
        cmocka_unit_test(svg__nothing_to_show__a_sheet_all_the_same),
        cmocka_unit_test(axis__mostly_idle__cut_and_named),
        cmocka_unit_test(axis__any_graphs__x_never_goes_back),
        cmocka_unit_test(write__buffer_too_small__full_and_as_before),
        cmocka_unit_test(torture__writers__nomem_and_nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
