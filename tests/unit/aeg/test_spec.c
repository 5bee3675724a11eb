/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/spec.h"

#include "common/base/rng.h"
#include "tests/kit/kit.h"

#include <math.h>
#include <stdio.h>

#define U AEG_SPEC_UNSAID
/* new tokens, output tokens, gap, work, visits */
#define NODE(text, ...)                       \
    {                                         \
        {text, sizeof(text) - 1}, __VA_ARGS__ \
    }
#define PLAIN(text) NODE(text, U, U, U, U, 1)
#define EDGE(a, b, p)                                                                \
    {                                                                                \
        .from = {a, sizeof(a) - 1}, .to = {b, sizeof(b) - 1}, .probability_ppm = (p) \
    }
#define SURE AEG_SPEC_CERTAIN
#define INPUT(n, e)                                                           \
    {                                                                         \
        .nodes = (n), .edges = (e), .node_count = sizeof(n) / sizeof((n)[0]), \
        .edge_count = sizeof(e) / sizeof((e)[0])                              \
    }

static struct aeg_spec *made(const struct aeg_spec_input *input)
{
    struct aeg_spec *spec = NULL;
    struct err err = {.status = ST_OK};
    enum status st = aeg_spec_new(&spec, mem_heap(), input, &err);
    if (st != ST_OK) {
        fail_msg("refused: %s", err.text);
    }
    return spec;
}

static void expect_refused(const struct aeg_spec_input *input, const char *why)
{
    struct kit_mem km;
    struct aeg_spec *spec = NULL;
    struct err err = {.status = ST_OK};
    kit_mem_init(&km);
    assert_status(aeg_spec_new(&spec, &km.mem, input, &err), ST_INVAL);
    assert_string_equal(err.text, why);
    assert_null(spec);
    kit_mem_expect_empty(&km);
}

static struct aeg_spec_set seen_of(const struct aeg_spec *spec, const char *names)
{
    struct aeg_spec_set set = {{0}};
    struct str rest = str_of(names);
    struct str name = {NULL, 0};
    while (str_split(&rest, ' ', &name)) {
        uint32_t node = aeg_spec_find(spec, name);
        if (node < AEG_SPEC_NODES) {
            aeg_spec_put(&set, node);
        }
    }
    return set;
}

static struct aeg_spec_ahead
ahead_of(const struct aeg_spec *spec, const char *seen, uint32_t repeats)
{
    struct aeg_spec_ahead ahead;
    struct aeg_spec_set set = seen_of(spec, seen);
    aeg_spec_look_ahead(spec, &set, repeats, &ahead);
    return ahead;
}

/* --- the form --- */

static const struct aeg_spec_node_input line[] = {NODE("c", U, U, U, U, 3), PLAIN("b"), PLAIN("a")};

static void spec__edges_against_the_order_declared__nodes_are_put_in_order(void **state)
{
    (void)state;
    static const struct aeg_spec_edge_input edges[] = {EDGE("b", "c", 500000),
                                                       EDGE("a", "b", SURE)};
    const struct aeg_spec_input input = INPUT(line, edges);
    struct aeg_spec *spec = made(&input);
    assert_int_equal(spec->node_count, 3);
    assert_true(str_eq(spec->nodes[0].name, STR("a")) && spec->nodes[0].is_start);
    assert_true(str_eq(spec->nodes[1].name, STR("b")) && !spec->nodes[1].is_start);
    assert_int_equal(spec->nodes[2].visits, 3);
    assert_int_equal(spec->nodes[1].edge_count, 1);
    const struct aeg_spec_edge *edge = &spec->edges[spec->nodes[1].first_edge];
    assert_int_equal(edge->to, 2);
    assert_close((double)edge->probability, 0.5, 1e-6);
    assert_int_equal(aeg_spec_find(spec, STR("b")), 1);
    assert_int_equal(aeg_spec_find(spec, STR("bb")), AEG_SPEC_NODES);
    assert_int_equal(aeg_spec_find(spec, STR("")), AEG_SPEC_NODES);
    aeg_spec_free(mem_heap(), spec);
}

static void spec__cycle__is_named(void **state)
{
    (void)state;
    static const struct aeg_spec_edge_input three[] = {EDGE("a", "b", SURE), EDGE("b", "c", SURE),
                                                       EDGE("c", "a", SURE)};
    static const struct aeg_spec_edge_input self[] = {EDGE("b", "b", SURE)};
    static const struct aeg_spec_edge_input behind[] = {EDGE("a", "b", SURE), EDGE("b", "a", SURE),
                                                        EDGE("b", "c", SURE)};
    const struct aeg_spec_input inputs[] = {INPUT(line, three), INPUT(line, self),
                                            INPUT(line, behind)};
    expect_refused(&inputs[0], "edges: a cycle: c -> a -> b -> c");
    expect_refused(&inputs[1], "edges: a cycle: b -> b");
    /* "c" is not part of it, though it is never reached. */
    expect_refused(&inputs[2], "edges: a cycle: b -> a -> b");
}

static void spec__long_cycle__is_cut(void **state)
{
    (void)state;
    static char names[AEG_SPEC_NODES][AEG_SPEC_NAME_BYTES + 1];
    static struct aeg_spec_node_input nodes[AEG_SPEC_NODES];
    static struct aeg_spec_edge_input edges[AEG_SPEC_NODES];
    for (uint32_t i = 0; i < AEG_SPEC_NODES; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "node %03u of a long way round", i);
        nodes[i] = (struct aeg_spec_node_input)PLAIN("");
        nodes[i].name = str_of(names[i]);
    }
    for (uint32_t i = 0; i < AEG_SPEC_NODES; i++) {
        edges[i] = (struct aeg_spec_edge_input){nodes[i].name, nodes[(i + 1) % AEG_SPEC_NODES].name,
                                                AEG_SPEC_CERTAIN};
    }
    const struct aeg_spec_input input = INPUT(nodes, edges);
    struct aeg_spec *spec = NULL;
    struct err err = {.status = ST_OK};
    assert_status(aeg_spec_new(&spec, mem_heap(), &input, &err), ST_INVAL);
    assert_non_null(strstr(err.text, "node 000 of a long way round -> node 001 of"));
    assert_string_equal(err.text + strlen(err.text) - 3, "...");
}

static void spec__wrong_in_one_thing__names_it(void **state)
{
    (void)state;
    static const struct aeg_spec_edge_input none[1];
    static const struct aeg_spec_node_input nodes[][2] = {
        {PLAIN("a"), PLAIN("")},
        {PLAIN("a"), PLAIN(" b")},
        {PLAIN("a"), PLAIN("b\n")},
        {PLAIN("a"), PLAIN("b\xc3\xbc")},
        {PLAIN("a"), PLAIN("a")},
        {PLAIN("a"), NODE("b", U, U, U, U, 0)},
        {PLAIN("a"), NODE("b", U, U, U, U, AEG_SPEC_VISITS + 1)},
        {PLAIN("a"), NODE("b", AEG_SPEC_TOKENS + 1, U, U, U, 1)},
        {PLAIN("a"), NODE("b", U, AEG_SPEC_TOKENS + 1, U, U, 1)},
        {PLAIN("a"), NODE("b", U, U, AEG_SPEC_GAP_MS + 1, U, 1)},
        {PLAIN("a"), NODE("b", U, U, U, AEG_SPEC_WORK_MS + 1, 1)},
    };
    static const char name_rule[] =
        "nodes[1].name: 1 to 64 printable ASCII characters, no blank at either end";
    static const char *const why[] = {
        name_rule,
        name_rule,
        name_rule,
        name_rule,
        "nodes[1].name: \"a\" is there twice",
        "nodes[1].visits: 1 to 100",
        "nodes[1].visits: 1 to 100",
        "nodes[1].new_tokens: at most 10000000",
        "nodes[1].output_tokens: at most 10000000",
        "nodes[1].gap_ms: at most 604800000",
        "nodes[1].work_ms: at most 86400000",
    };
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        const struct aeg_spec_input input = {.nodes = nodes[i], .edges = none, .node_count = 2};
        expect_refused(&input, why[i]);
    }
}

static void spec__wrong_edge__names_it(void **state)
{
    (void)state;
    static const struct aeg_spec_edge_input edges[][2] = {
        {EDGE("a", "b", SURE), EDGE("x", "b", SURE)},
        {EDGE("a", "b", SURE), EDGE("b", "", SURE)},
        {EDGE("a", "b", SURE), EDGE("b", "c", 0)},
        {EDGE("a", "b", SURE), EDGE("b", "c", SURE + 1)},
        {EDGE("a", "b", SURE), EDGE("a", "b", 1)},
    };
    static const char *const why[] = {
        "edges[1].from: no node of that name", "edges[1].to: no node of that name",
        "edges[1].probability: 0.000001 to 1", "edges[1].probability: 0.000001 to 1",
        "edges: a -> b is there twice",
    };
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        const struct aeg_spec_input input = INPUT(line, edges[i]);
        expect_refused(&input, why[i]);
    }
    const struct aeg_spec_input empty = {.nodes = line, .node_count = 0};
    expect_refused(&empty, "nodes: 1 to 256 of them");
    const struct aeg_spec_input many = {.nodes = line, .node_count = AEG_SPEC_NODES + 1};
    expect_refused(&many, "nodes: 1 to 256 of them");
    const struct aeg_spec_input edgy = {
        .nodes = line, .node_count = 1, .edge_count = AEG_SPEC_EDGES + 1};
    expect_refused(&edgy, "edges: at most 1024 of them");
}

/* --- F12 --- */

/* plan -> code (3 visits) -> test (3) -> review; half of the time straight from plan to review. */
static const struct aeg_spec_node_input loop[] = {
    NODE("plan", U, U, U, 4000, 1), NODE("code", U, U, U, 2000, 3), NODE("test", U, 100, U, U, 3),
    NODE("review", U, 700, U, U, 1)};
static const struct aeg_spec_edge_input loop_edges[] = {
    EDGE("plan", "code", 500000), EDGE("plan", "review", 500000), EDGE("code", "test", SURE),
    EDGE("test", "review", 800000)};

static void ahead__worked_example__choice_and_loop(void **state)
{
    (void)state;
    const struct aeg_spec_input input = INPUT(loop, loop_edges);
    struct aeg_spec *spec = made(&input);
    /* 1 + 0.5 * 3 + 0.5 * 3 + (0.5 + 0.5 * 0.8) = 4.9 */
    struct aeg_spec_ahead all = ahead_of(spec, "", 0);
    assert_close(all.steps, 4.9, 1e-6);
    /* 4 s of the first, 2 s of 1.5: 7 s in the 2.5 of 4.9 steps that say so. */
    assert_close(all.work.mean, 2800.0, 1e-3);
    assert_close(all.work.share_ratio, 2.5 / 4.9, 1e-6);
    assert_close(all.next_ratio, 1.0, 1e-9);

    struct aeg_spec_ahead plan = ahead_of(spec, "plan", 0);
    assert_close(plan.steps, 3.9, 1e-6);
    assert_close(plan.next_ratio, 1.0, 1e-6);
    /* Of the two that may be next only one says its output. */
    assert_close(plan.output_tokens.mean, 700.0, 1e-9);
    assert_close(plan.output_tokens.share_ratio, 0.5, 1e-6);

    /* The choice is made: 2 repetitions + 3 + 0.8 */
    assert_close(ahead_of(spec, "plan code", 2).steps, 5.8, 1e-6);
    /* 2 + 2 repetitions + 0.8 */
    struct aeg_spec_ahead test = ahead_of(spec, "plan code test", 4);
    assert_close(test.steps, 4.8, 1e-6);
    assert_close(test.next_ratio, 1.0 - 0.2 / 5.0, 1e-6);
    /* 0.8 for review's 700, 4 * 0.8 shared by code, which says nothing, and test's 100. */
    assert_close(test.output_tokens.mean, (0.8 * 700.0 + 1.6 * 100.0) / 2.4, 1e-3);
    assert_close(test.output_tokens.share_ratio, 2.4 / 4.0, 1e-6);

    struct aeg_spec_ahead end = ahead_of(spec, "plan code test review", 0);
    assert_close(end.steps, 0.0, 1e-9);
    assert_close(end.next_ratio, 0.0, 1e-9);
    /* What was skipped is over too. */
    assert_close(ahead_of(spec, "review", 0).steps, 0.0, 1e-9);
    aeg_spec_free(mem_heap(), spec);
}

static void ahead__worked_example__fan_out_and_join(void **state)
{
    (void)state;
    static const struct aeg_spec_node_input nodes[] = {PLAIN("plan"), PLAIN("a"), PLAIN("b"),
                                                       PLAIN("join")};
    static const struct aeg_spec_edge_input edges[] = {
        EDGE("plan", "a", SURE), EDGE("plan", "b", SURE), EDGE("a", "join", SURE),
        EDGE("b", "join", SURE)};
    const struct aeg_spec_input input = INPUT(nodes, edges);
    struct aeg_spec *spec = made(&input);
    assert_true(spec->nodes[0].is_fanout);
    assert_close(ahead_of(spec, "", 0).steps, 4.0, 1e-6);
    assert_close(ahead_of(spec, "plan", 0).steps, 3.0, 1e-6);
    assert_close(ahead_of(spec, "plan a", 0).steps, 2.0, 1e-6);
    assert_close(ahead_of(spec, "plan a b", 0).steps, 1.0, 1e-6);
    assert_close(ahead_of(spec, "plan a b join", 0).steps, 0.0, 1e-6);
    struct aeg_spec_set seen = seen_of(spec, "plan a");
    assert_true(aeg_spec_follows(spec, &seen, aeg_spec_find(spec, STR("b"))));
    assert_false(aeg_spec_follows(spec, &seen, aeg_spec_find(spec, STR("plan"))));
    aeg_spec_free(mem_heap(), spec);
}

static void spec__three_thirds__are_a_choice(void **state)
{
    (void)state;
    static const struct aeg_spec_node_input nodes[] = {PLAIN("s"), PLAIN("a"), PLAIN("b"),
                                                       PLAIN("c")};
    static const struct aeg_spec_edge_input edges[] = {
        EDGE("s", "a", 333334), EDGE("s", "b", 333333), EDGE("s", "c", 333333)};
    const struct aeg_spec_input input = INPUT(nodes, edges);
    struct aeg_spec *spec = made(&input);
    assert_false(spec->nodes[0].is_fanout);
    assert_close(ahead_of(spec, "s", 0).steps, 1.0, 1e-5);
    aeg_spec_free(mem_heap(), spec);
}

/* A random graph, edges mostly forward. */
struct thicket {
    char names[AEG_SPEC_NODES][16];
    struct aeg_spec_node_input nodes[AEG_SPEC_NODES];
    struct aeg_spec_edge_input edges[AEG_SPEC_EDGES];
    struct aeg_spec_input input;
};

static void grow(struct thicket *thicket, struct rng *rng, bool is_acyclic)
{
    uint32_t n = 1 + (uint32_t)rng_below(rng, AEG_SPEC_NODES);
    uint32_t m = n < 2 ? 0 : (uint32_t)rng_below(rng, AEG_SPEC_EDGES + 1);
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(thicket->names[i], sizeof(thicket->names[i]), "n%u", i);
        thicket->nodes[i] = (struct aeg_spec_node_input)PLAIN("");
        thicket->nodes[i].name = str_of(thicket->names[i]);
        thicket->nodes[i].visits = 1 + (uint32_t)rng_below(rng, 4);
        thicket->nodes[i].work_ms =
            rng_below(rng, 2) == 0 ? AEG_SPEC_UNSAID : (uint32_t)rng_below(rng, 5000);
    }
    static uint8_t is_used[AEG_SPEC_NODES][AEG_SPEC_NODES];
    memset(is_used, 0, sizeof(is_used));
    uint32_t count = 0;
    for (uint32_t i = 0; i < m; i++) {
        uint32_t a = (uint32_t)rng_below(rng, n);
        uint32_t b = (uint32_t)rng_below(rng, n);
        if (is_acyclic && a >= b) {
            continue;
        }
        if (is_used[a][b] == 0) {
            is_used[a][b] = 1;
            thicket->edges[count++] =
                (struct aeg_spec_edge_input){thicket->nodes[a].name, thicket->nodes[b].name,
                                             1 + (uint32_t)rng_below(rng, AEG_SPEC_CERTAIN)};
        }
    }
    thicket->input = (struct aeg_spec_input){thicket->nodes, thicket->edges, n, count};
}

static void check_ahead(const struct aeg_spec *spec, const struct aeg_spec_set *seen, uint64_t seed)
{
    struct aeg_spec_ahead ahead;
    aeg_spec_look_ahead(spec, seen, 3, &ahead);
    const double ratios[] = {ahead.next_ratio, ahead.work.share_ratio, ahead.new_tokens.share_ratio,
                             ahead.output_tokens.share_ratio};
    for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
        if (!(ratios[i] >= 0.0 && ratios[i] <= 1.0 + 1e-9)) {
            fail_msg("seed %llu: ratio %zu is %f", (unsigned long long)seed, i, ratios[i]);
        }
    }
    if (!(ahead.steps >= 0.0 && ahead.steps < 1e6) || !(ahead.work.mean >= 0.0)) {
        fail_msg("seed %llu: %f steps of %f ms", (unsigned long long)seed, ahead.steps,
                 ahead.work.mean);
    }
}

static void spec__random_graphs__ordered_or_refused_and_ahead_in_range(void **state)
{
    (void)state;
    static struct thicket thicket;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng;
        struct aeg_spec *spec = NULL;
        struct err err = {.status = ST_OK};
        rng_init(&rng, seed);
        bool is_acyclic = seed % 2 == 0;
        grow(&thicket, &rng, is_acyclic);
        enum status st = aeg_spec_new(&spec, mem_heap(), &thicket.input, &err);
        if (st != ST_OK) {
            if (is_acyclic || strstr(err.text, "cycle: n") == NULL) {
                fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
            }
            continue;
        }
        for (uint32_t i = 0; i < spec->edge_count; i++) {
            if (spec->edges[i].from >= spec->edges[i].to) {
                fail_msg("seed %llu: out of order", (unsigned long long)seed);
            }
        }
        struct aeg_spec_set seen = {{0}};
        check_ahead(spec, &seen, seed);
        for (uint32_t i = 0; i < 20; i++) {
            aeg_spec_put(&seen, (uint32_t)rng_below(&rng, spec->node_count));
            check_ahead(spec, &seen, seed);
        }
        aeg_spec_free(mem_heap(), spec);
    }
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    const struct aeg_spec_input input = INPUT(loop, loop_edges);
    struct aeg_spec *spec = NULL;
    enum status st = aeg_spec_new(&spec, mem, &input, NULL);
    assert_true(st == ST_OK || st == ST_NOMEM);
    aeg_spec_free(mem, spec);
    return st == ST_OK;
}

static void spec__each_allocation_fails__nothing_is_held(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spec__edges_against_the_order_declared__nodes_are_put_in_order),
        cmocka_unit_test(spec__cycle__is_named),
        cmocka_unit_test(spec__long_cycle__is_cut),
        cmocka_unit_test(spec__wrong_in_one_thing__names_it),
        cmocka_unit_test(spec__wrong_edge__names_it),
        cmocka_unit_test(ahead__worked_example__choice_and_loop),
        cmocka_unit_test(ahead__worked_example__fan_out_and_join),
        cmocka_unit_test(spec__three_thirds__are_a_choice),
        cmocka_unit_test(spec__random_graphs__ordered_or_refused_and_ahead_in_range),
        cmocka_unit_test(spec__each_allocation_fails__nothing_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
