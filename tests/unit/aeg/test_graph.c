/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/graph.h"

#include "common/base/rng.h"
#include "tests/kit/kit.h"

#include <stdio.h>

enum { MANY_BLOCKS = 1000 };

#define BEGAN_US UINT64_C(5000000)

static struct aeg_graph_pool pool;
static struct aeg_graph graph;

static void begin(uint32_t max_blocks)
{
    aeg_graph_pool_init(&pool, mem_heap(), max_blocks);
    aeg_graph_init(&graph, BEGAN_US);
}

static void finish(void)
{
    aeg_graph_fini(&pool, &graph);
    assert_int_equal(pool.blocks.used_nodes, 0);
    aeg_graph_pool_fini(&pool);
}

static uint64_t at_ms(uint64_t ms)
{
    return BEGAN_US + ms * 1000;
}

static uint32_t open_at(uint64_t ms)
{
    uint32_t from = graph.steps == 0 ? AEG_STEP_NONE : graph.steps - 1;
    return aeg_graph_open(&pool, &graph, from, false, at_ms(ms));
}

static void close_at(uint32_t number, uint64_t ms)
{
    const struct aeg_step_end end = {.end = AEG_END_TOOLS,
                                     .engine = {1},
                                     .prompt_tokens = 10,
                                     .cached_tokens = 4,
                                     .output_tokens = 1,
                                     .ended_at_us = at_ms(ms)};
    aeg_graph_close(&pool, &graph, number, &end);
}

static struct aeg_step_view look(uint32_t number)
{
    struct aeg_step_view view = {.number = AEG_STEP_NONE};
    assert_true(aeg_graph_step(&pool, &graph, number, &view));
    assert_int_equal(view.number, number);
    return view;
}

static void close__worked_numbers__durations_and_tokens(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    (void)open_at(0);
    uint32_t step = aeg_graph_open(&pool, &graph, 0, true, at_ms(1500));
    const struct aeg_step_end end = {.end = AEG_END_LENGTH,
                                     .engine = {77},
                                     .prompt_tokens = 200000,
                                     .cached_tokens = 190000,
                                     .output_tokens = 4096,
                                     .started_at_us = at_ms(1750),
                                     .answered_at_us = at_ms(2950),
                                     .ended_at_us = at_ms(5500)};
    aeg_graph_close(&pool, &graph, step, &end);
    struct aeg_step_view view = look(step);
    assert_int_equal(view.from, 0);
    assert_int_equal(view.attempts, 1);
    assert_true(view.is_aside);
    assert_int_equal(view.end, AEG_END_LENGTH);
    assert_int_equal(view.engine.v, 77);
    assert_int_equal(view.arrived_ms, 1500);
    assert_int_equal(view.queued_ms, 250);
    assert_int_equal(view.first_ms, 1200);
    assert_int_equal(view.total_ms, 4000);
    assert_int_equal(view.prompt_tokens, 200000);
    assert_int_equal(view.cached_tokens, 190000);
    assert_int_equal(view.output_tokens, 4096);
    assert_int_equal(look(0).end, AEG_END_OPEN);
    assert_int_equal(look(0).from, AEG_STEP_NONE);
    finish();
}

static void close__never_reached_an_engine__all_of_it_was_queueing(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    uint32_t step = open_at(100);
    const struct aeg_step_end end = {
        .end = AEG_END_REFUSED, .engine = ENGINE_NONE, .ended_at_us = at_ms(900)};
    aeg_graph_close(&pool, &graph, step, &end);
    struct aeg_step_view view = look(step);
    assert_int_equal(view.queued_ms, 800);
    assert_int_equal(view.first_ms, 0);
    assert_int_equal(view.total_ms, 800);
    assert_int_equal(view.engine.v, ENGINE_NONE.v);
    finish();
}

static void close__instants_out_of_order__no_negative_duration(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    uint32_t step = open_at(1000);
    const struct aeg_step_end end = {.end = AEG_END_ANSWER,
                                     .started_at_us = at_ms(10),
                                     .answered_at_us = at_ms(5000),
                                     .ended_at_us = at_ms(1200)};
    aeg_graph_close(&pool, &graph, step, &end);
    struct aeg_step_view view = look(step);
    assert_int_equal(view.queued_ms, 0);
    assert_int_equal(view.first_ms, 200);
    assert_int_equal(view.total_ms, 200);
    finish();
}

static void close__any_duration__within_a_thousandth(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    uint32_t step = open_at(0);
    for (uint64_t ms = 0; ms < UINT64_C(4000000000000); ms += 1 + ms / 100) {
        close_at(step, ms);
        double got = (double)look(step).total_ms;
        double want = (double)ms;
        assert_close(got, want, want < 4096 ? 0 : want / 1000);
    }
    finish();
}

static void reopen__kept_step__one_more_attempt_and_open_again(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    (void)open_at(0);
    uint32_t step = open_at(10);
    struct str tool = STR("Bash");
    aeg_graph_tools(&pool, &graph, step, &tool, 1);
    close_at(step, 50);
    aeg_graph_reopen(&pool, &graph, step, at_ms(70));
    struct aeg_step_view view = look(step);
    assert_int_equal(view.attempts, 2);
    assert_int_equal(view.arrived_ms, 70);
    assert_int_equal(view.end, AEG_END_OPEN);
    assert_int_equal(view.total_ms, 0);
    assert_int_equal(view.prompt_tokens, 0);
    assert_int_equal(view.tool_count, 0);
    assert_int_equal(view.from, 0);
    assert_int_equal(graph.steps, 2);
    for (uint32_t i = 0; i < 300; i++) {
        aeg_graph_reopen(&pool, &graph, step, at_ms(71));
    }
    assert_int_equal(look(step).attempts, 255);
    finish();
}

static void open__more_than_are_kept__oldest_is_folded(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    for (uint64_t i = 0; i < 70; i++) {
        uint32_t step = open_at(i * 100);
        assert_int_equal(step, i);
        close_at(step, i * 100 + 30);
    }
    struct aeg_step_view view;
    assert_int_equal(graph.kept, AEG_GRAPH_KEPT);
    assert_false(aeg_graph_step(&pool, &graph, 5, &view));
    assert_int_equal(look(6).arrived_ms, 600);
    assert_int_equal(look(6).from, 5);
    assert_int_equal(look(69).arrived_ms, 6900);
    assert_false(aeg_graph_step(&pool, &graph, 70, &view));
    assert_int_equal(graph.folded.steps, 6);
    assert_int_equal(graph.folded.tool_steps, 6);
    assert_int_equal(graph.folded.from_ms, 0);
    assert_int_equal(graph.folded.until_ms, 530);
    assert_int_equal(graph.folded.busy_ms, 180);
    assert_int_equal(graph.folded.prompt_tokens, 60);
    assert_int_equal(graph.folded.cached_tokens, 24);
    assert_int_equal(graph.folded.output_tokens, 6);
    assert_int_equal(pool.folded_count, 6);
    finish();
}

static void close__folded_while_open__sums_are_completed_once(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    for (uint64_t i = 0; i < 67; i++) {
        (void)open_at(i * 100);
    }
    assert_int_equal(graph.folded.open_steps, 3);
    assert_int_equal(graph.folded.busy_ms, 0);
    close_at(2, 1000);
    close_at(0, 2000);
    close_at(1, 3000);
    assert_int_equal(graph.folded.open_steps, 0);
    assert_int_equal(graph.folded.busy_ms, 1000 + 2000 + 3000 - 0 - 100 - 200);
    assert_int_equal(graph.folded.prompt_tokens, 30);
    assert_int_equal(graph.folded.until_ms, 3000);
    close_at(1, 9000);
    assert_int_equal(graph.folded.until_ms, 3000);
    aeg_graph_reopen(&pool, &graph, 1, at_ms(9000));
    struct str tool = STR("Bash");
    aeg_graph_tools(&pool, &graph, 1, &tool, 1);
    assert_int_equal(graph.folded.open_steps, 0);
    assert_int_equal(graph.name_block, SLAB_NONE);
    finish();
}

static void open__from_long_ago_or_not_yet_there__none(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    for (uint32_t i = 0; i < 300; i++) {
        (void)open_at(i);
    }
    uint32_t far = aeg_graph_open(&pool, &graph, 300 - 255, false, at_ms(400));
    uint32_t too_far = aeg_graph_open(&pool, &graph, 301 - 256, false, at_ms(400));
    uint32_t itself = aeg_graph_open(&pool, &graph, 302, false, at_ms(400));
    assert_int_equal(look(far).from, 45);
    assert_int_equal(look(too_far).from, AEG_STEP_NONE);
    assert_int_equal(look(itself).from, AEG_STEP_NONE);
    finish();
}

static void open__before_the_beginning_and_after_49_days__borders(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    uint32_t early = aeg_graph_open(&pool, &graph, AEG_STEP_NONE, false, 0);
    uint32_t late = aeg_graph_open(&pool, &graph, AEG_STEP_NONE, false, UINT64_MAX / 2);
    assert_int_equal(look(early).arrived_ms, 0);
    assert_int_equal(look(late).arrived_ms, UINT32_MAX);
    finish();
}

static void open__pool_is_full__own_oldest_block_is_reused(void **state)
{
    (void)state;
    begin(2);
    for (uint32_t i = 0; i < 40; i++) {
        close_at(open_at(i), i + 1);
        assert_int_equal(graph.kept + graph.folded.steps, i + 1);
        assert_in_range(graph.kept, 1, 16);
        assert_int_equal(look(i).arrived_ms, i);
    }
    assert_int_equal(graph.kept, 16);
    assert_int_equal(pool.lost_count, 0);
    assert_int_equal(pool.blocks.used_nodes, 2);
    finish();
}

static void open__pool_is_full_and_it_holds_nothing__lost_but_counted(void **state)
{
    (void)state;
    begin(1);
    struct aeg_graph other;
    aeg_graph_init(&other, BEGAN_US);
    (void)aeg_graph_open(&pool, &other, AEG_STEP_NONE, false, BEGAN_US);
    for (uint64_t i = 0; i < 3; i++) {
        close_at(open_at(i * 10), i * 10 + 5);
    }
    struct aeg_step_view view;
    assert_int_equal(graph.steps, 3);
    assert_int_equal(graph.kept, 0);
    assert_false(aeg_graph_step(&pool, &graph, 2, &view));
    assert_int_equal(pool.lost_count, 3);
    assert_int_equal(graph.folded.steps, 3);
    assert_int_equal(graph.folded.busy_ms, 15);
    aeg_graph_fini(&pool, &other);
    uint32_t step = open_at(100);
    assert_int_equal(step, 3);
    assert_int_equal(look(step).from, 2);
    finish();
}

static void tools__more_than_are_named__the_rest_is_counted(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    const struct str tools[] = {STR("a"), STR("b"), STR("a"), STR("c"), STR("d")};
    uint32_t step = open_at(0);
    aeg_graph_tools(&pool, &graph, step, tools, 5);
    struct aeg_step_view view = look(step);
    assert_int_equal(view.tool_count, 5);
    assert_true(str_eq(view.tools[0], STR("a")));
    assert_true(str_eq(view.tools[1], STR("b")));
    assert_true(str_eq(view.tools[2], STR("a")));
    assert_true(str_eq(view.tools[3], STR("c")));
    aeg_graph_tools(&pool, &graph, step, tools + 1, 1);
    assert_int_equal(look(step).tool_count, 1);
    assert_true(str_eq(look(step).tools[0], STR("b")));
    aeg_graph_tools(&pool, &graph, step, tools, 0);
    assert_int_equal(look(step).tool_count, 0);
    finish();
}

static void tools__more_names_than_fit__other_and_counted(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    uint32_t step = open_at(0);
    char text[16];
    for (uint32_t i = 0; i < AEG_GRAPH_NAMES + 2; i++) {
        int len = snprintf(text, sizeof(text), "tool_%02u", i);
        struct str name = {text, (size_t)len};
        aeg_graph_tools(&pool, &graph, step, &name, 1);
        struct str want = i < AEG_GRAPH_NAMES ? name : STR("other");
        assert_true(str_eq(look(step).tools[0], want));
    }
    assert_int_equal(pool.other_count, 2);
    struct str known = STR("tool_23");
    aeg_graph_tools(&pool, &graph, step, &known, 1);
    assert_true(str_eq(look(step).tools[0], known));
    struct str empty = {NULL, 0};
    aeg_graph_tools(&pool, &graph, step, &empty, 1);
    assert_true(str_eq(look(step).tools[0], STR("other")));
    assert_int_equal(pool.other_count, 2);
    finish();
}

static void tools__long_names__bytes_are_bounded(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    uint32_t step = open_at(0);
    char text[1000];
    memset(text, 'x', sizeof(text));
    uint32_t found = 0;
    for (int c = 'a'; c <= 'z'; c++) {
        text[0] = (char)c;
        struct str name = {text, sizeof(text)};
        aeg_graph_tools(&pool, &graph, step, &name, 1);
        struct str got = look(step).tools[0];
        found += got.len == AEG_TOOL_BYTES && got.p[0] == c;
    }
    assert_int_equal(found, 6); /* 65 bytes each, three per block */
    assert_int_equal(pool.other_count, 20);
    assert_int_equal(pool.blocks.used_nodes, 3);
    finish();
}

static void tools__cut_inside_a_character__whole_characters_only(void **state)
{
    (void)state;
    begin(MANY_BLOCKS);
    uint32_t step = open_at(0);
    char text[80];
    memset(text, 'x', sizeof(text));
    memcpy(text + 62, "\xE2\x82\xAC", 3); /* 62 + 3 > 64 */
    struct str name = {text, sizeof(text)};
    aeg_graph_tools(&pool, &graph, step, &name, 1);
    assert_int_equal(look(step).tools[0].len, 62);
    memset(text, 0x80, sizeof(text)); /* no UTF-8 at all */
    aeg_graph_tools(&pool, &graph, step, &name, 1);
    assert_int_equal(look(step).tools[0].len, 64);
    finish();
}

/* --- against a naive model: all that was told is in the sums or in kept steps --- */

enum { MODEL_STEPS = 400, MODEL_RUNS = 60 };

struct model_step {
    bool is_open;
    uint32_t attempts;
    uint64_t arrived_ms;
    uint64_t ended_ms;
    struct aeg_step_end end;
    char tool;
};

static struct model_step model[MODEL_STEPS];

static void model_close(struct rng *rng, uint32_t number, uint64_t now_ms)
{
    struct model_step *step = &model[number];
    step->end = (struct aeg_step_end){
        .end = (enum aeg_end)(1 + rng_below(rng, 7)),
        .engine = {(uint32_t)rng_below(rng, 5)},
        .prompt_tokens = (uint32_t)rng_below(rng, 100000),
        .cached_tokens = (uint32_t)rng_below(rng, 1000),
        .output_tokens = (uint32_t)rng_below(rng, 3000),
        .started_at_us = at_ms(step->arrived_ms),
        .answered_at_us = at_ms(now_ms),
        .ended_at_us = at_ms(now_ms),
    };
    step->is_open = false;
    step->ended_ms = now_ms;
    aeg_graph_close(&pool, &graph, number, &step->end);
}

static void model_act(struct rng *rng, uint64_t now_ms)
{
    uint32_t number = graph.steps == 0 ? 0 : (uint32_t)rng_below(rng, graph.steps);
    bool is_kept = number < graph.steps && graph.steps - number <= graph.kept;
    uint64_t kind = rng_below(rng, 4);
    if (kind == 0 && is_kept) {
        aeg_graph_reopen(&pool, &graph, number, at_ms(now_ms));
        uint32_t attempts = model[number].attempts + 1;
        model[number] = (struct model_step){true, attempts, now_ms, 0, {.end = AEG_END_OPEN}, 0};
    } else if (kind == 1 && is_kept) {
        model[number].tool = (char)('a' + rng_below(rng, 26));
        struct str name = {&model[number].tool, 1};
        aeg_graph_tools(&pool, &graph, number, &name, 1);
    } else if (kind == 2 && number < graph.steps && model[number].is_open) {
        model_close(rng, number, now_ms);
    } else if (kind == 3 && graph.steps < MODEL_STEPS) {
        uint32_t next = aeg_graph_open(&pool, &graph, number, false, at_ms(now_ms));
        model[next] = (struct model_step){true, 1, now_ms, 0, {.end = AEG_END_OPEN}, 0};
    }
}

static void model_check_kept(void)
{
    for (uint32_t i = graph.steps - graph.kept; i < graph.steps; i++) {
        struct aeg_step_view view = look(i);
        assert_int_equal(view.attempts, model[i].attempts);
        assert_int_equal(view.arrived_ms, model[i].arrived_ms);
        assert_int_equal(view.end, model[i].end.end);
        assert_int_equal(view.prompt_tokens, model[i].end.prompt_tokens);
        assert_int_equal(view.tool_count, model[i].tool != 0);
        if (model[i].tool != 0) {
            bool is_other = str_eq(view.tools[0], STR("other"));
            assert_true(is_other || view.tools[0].p[0] == model[i].tool);
        }
    }
}

static void model_check_sums(void)
{
    struct aeg_folded sum = {.from_ms = 0};
    double busy_ms = 0;
    for (uint32_t i = 0; i < graph.steps - graph.kept; i++) {
        const struct model_step *step = &model[i];
        sum.steps++;
        sum.open_steps += step->is_open;
        sum.prompt_tokens += step->end.prompt_tokens;
        sum.cached_tokens += step->end.cached_tokens;
        sum.output_tokens += step->end.output_tokens;
        sum.tool_steps += step->end.end == AEG_END_TOOLS;
        sum.failed_steps += step->end.end >= AEG_END_REFUSED;
        busy_ms += step->is_open ? 0 : (double)(step->ended_ms - step->arrived_ms);
    }
    assert_int_equal(graph.folded.steps, sum.steps);
    assert_int_equal(graph.folded.open_steps, sum.open_steps);
    assert_int_equal(graph.folded.prompt_tokens, sum.prompt_tokens);
    assert_int_equal(graph.folded.cached_tokens, sum.cached_tokens);
    assert_int_equal(graph.folded.output_tokens, sum.output_tokens);
    assert_int_equal(graph.folded.tool_steps, sum.tool_steps);
    assert_int_equal(graph.folded.failed_steps, sum.failed_steps);
    if (sum.open_steps == 0) {
        assert_close((double)graph.folded.busy_ms, busy_ms, busy_ms / 1000 + 1);
    }
}

static void anything__random_order__sums_and_kept_are_all_that_was_told(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= MODEL_RUNS; seed++) {
        struct rng rng;
        uint64_t now_ms = 0;
        print_message("seed %llu\n", (unsigned long long)seed);
        rng_init(&rng, seed);
        begin(seed % 3 == 0 ? 1 + (uint32_t)(seed % 9) : MANY_BLOCKS);
        for (uint32_t i = 0; i < 2000; i++) {
            now_ms += rng_below(&rng, 500);
            model_act(&rng, now_ms);
            if (i % 100 == 0) {
                model_check_kept();
                model_check_sums();
            }
        }
        for (uint32_t i = 0; i < graph.steps; i++) {
            if (model[i].is_open) {
                model_close(&rng, i, now_ms);
            }
        }
        model_check_kept();
        model_check_sums();
        finish();
    }
}

static bool run_out_of_memory(void *ctx, const struct mem *mem)
{
    (void)ctx;
    aeg_graph_pool_init(&pool, mem, 100000);
    aeg_graph_init(&graph, BEGAN_US);
    struct aeg_graph others[40];
    for (uint32_t i = 0; i < 40; i++) {
        aeg_graph_init(&others[i], BEGAN_US);
        for (uint32_t k = 0; k < 70; k++) {
            struct str name = {&"abcdefgh"[k % 8], 1};
            uint32_t step = aeg_graph_open(&pool, &others[i], AEG_STEP_NONE, false, at_ms(k));
            aeg_graph_tools(&pool, &others[i], step, &name, 1);
        }
        assert_int_equal(others[i].steps, 70);
        assert_int_equal(others[i].kept + others[i].folded.steps, 70);
    }
    aeg_graph_pool_fini(&pool);
    return true;
}

static void torture__allocations_fail__nothing_is_lost_from_the_sums(void **state)
{
    (void)state;
    assert_true(kit_torture(run_out_of_memory, NULL) > 3);
}

static void memory__many_graphs_of_60_steps__below_2600_bytes_each(void **state)
{
    (void)state;
    enum { GRAPHS = 1000 };
    static struct aeg_graph graphs[GRAPHS];
    static const char *const names[] = {"Bash",     "Read", "Edit",      "Grep",
                                        "WebFetch", "Task", "TodoWrite", "mcp__github__search"};
    struct kit_mem km;
    kit_mem_init(&km);
    aeg_graph_pool_init(&pool, &km.mem, 10 * GRAPHS);
    for (uint32_t i = 0; i < GRAPHS; i++) {
        aeg_graph_init(&graphs[i], BEGAN_US);
        for (uint32_t k = 0; k < 60; k++) {
            struct str name = str_of(names[k % 8]);
            uint32_t step = aeg_graph_open(&pool, &graphs[i], AEG_STEP_NONE, false, at_ms(k));
            aeg_graph_tools(&pool, &graphs[i], step, &name, 1);
        }
        assert_int_equal(graphs[i].kept, 60);
    }
    size_t bytes = km.live_bytes / GRAPHS + sizeof(graphs[0]);
    print_message("%zu bytes per graph\n", bytes);
    assert_true(bytes < 2600);
    aeg_graph_pool_fini(&pool);
    kit_mem_expect_empty(&km);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close__worked_numbers__durations_and_tokens),
        cmocka_unit_test(close__never_reached_an_engine__all_of_it_was_queueing),
        cmocka_unit_test(close__instants_out_of_order__no_negative_duration),
        cmocka_unit_test(close__any_duration__within_a_thousandth),
        cmocka_unit_test(reopen__kept_step__one_more_attempt_and_open_again),
        cmocka_unit_test(open__more_than_are_kept__oldest_is_folded),
        cmocka_unit_test(close__folded_while_open__sums_are_completed_once),
        cmocka_unit_test(open__from_long_ago_or_not_yet_there__none),
        cmocka_unit_test(open__before_the_beginning_and_after_49_days__borders),
        cmocka_unit_test(open__pool_is_full__own_oldest_block_is_reused),
        cmocka_unit_test(open__pool_is_full_and_it_holds_nothing__lost_but_counted),
        cmocka_unit_test(tools__more_than_are_named__the_rest_is_counted),
        cmocka_unit_test(tools__more_names_than_fit__other_and_counted),
        cmocka_unit_test(tools__long_names__bytes_are_bounded),
        cmocka_unit_test(tools__cut_inside_a_character__whole_characters_only),
        cmocka_unit_test(anything__random_order__sums_and_kept_are_all_that_was_told),
        cmocka_unit_test(torture__allocations_fail__nothing_is_lost_from_the_sums),
        cmocka_unit_test(memory__many_graphs_of_60_steps__below_2600_bytes_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
