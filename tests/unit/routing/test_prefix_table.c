/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sent prefixes, and prefix_tree, which places by it. */
#include "routing/prefix_table.h"

#include "routing/registry.h"
#include "tests/kit/kit.h"

enum { ENGINES = 4, BOUNDS = 4 };

static struct route_engine engines[ENGINES];
static double costs_us[ENGINES];
static struct route_state state;
/* Two prompts that begin alike: 100 of 400 bytes, and one of them as far as 300. */
static const uint64_t first[BOUNDS] = {1, 2, 3, 4};
static const uint64_t second[BOUNDS] = {1, 2, 3, 14};
static const uint64_t third[BOUNDS] = {1, 22, 23, 24};
static const uint32_t bytes[BOUNDS] = {100, 200, 300, 400};

static int setup(void **ctx)
{
    (void)ctx;
    state = (struct route_state){.turn = 0};
    assert_status(prefix_table_init(&state.prefixes, mem_heap(), 64), ST_OK);
    for (uint32_t i = 0; i < route_policy_prefix_tree.param_count; i++) {
        state.params[i] = route_policy_prefix_tree.params[i].def;
    }
    for (uint32_t i = 0; i < ENGINES; i++) {
        engines[i] = (struct route_engine){.key = i, .id = 10 + i, .slots = 64};
    }
    return 0;
}

static int teardown(void **ctx)
{
    (void)ctx;
    prefix_table_fini(&state.prefixes);
    return 0;
}

/* --- the table --- */

static void table__added_prompt__matches_as_far_as_it_is_the_same(void **ctx)
{
    (void)ctx;
    struct prefix_table *table = &state.prefixes;
    assert_int_equal(prefix_table_match(table, first, BOUNDS), 0);
    prefix_table_add(table, first, BOUNDS, 7);
    assert_int_equal(prefix_table_match(table, first, BOUNDS), 4);
    assert_int_equal(prefix_table_match(table, second, BOUNDS), 3);
    assert_int_equal(prefix_table_match(table, third, BOUNDS), 1);
    assert_null(prefix_table_find(table, 14));
    assert_int_equal(prefix_table_find(table, 4)->engines[0], 7);
}

static void table__more_engines_than_room__keeps_the_latest(void **ctx)
{
    (void)ctx;
    struct prefix_table *table = &state.prefixes;
    for (uint32_t engine = 0; engine <= PREFIX_ENGINES; engine++) {
        prefix_table_add(table, first, 1, engine);
    }
    prefix_table_add(table, first, 1, 4);
    const struct prefix_entry *entry = prefix_table_find(table, 1);
    static const uint32_t latest[PREFIX_ENGINES] = {4, 8, 7, 6, 5, 3, 2, 1};
    assert_int_equal(entry->engine_count, PREFIX_ENGINES);
    assert_memory_equal(entry->engines, latest, sizeof(latest));
}

static void table__full__oldest_prompt_goes_its_end_first(void **ctx)
{
    (void)ctx;
    struct prefix_table table;
    assert_status(prefix_table_init(&table, mem_heap(), PREFIX_WAYS), ST_OK); /* one set */
    prefix_table_add(&table, first, BOUNDS, 7);
    prefix_table_add(&table, (const uint64_t[]){31, 32, 33, 34, 35, 36}, 6, 7);
    assert_int_equal(prefix_table_match(&table, first, BOUNDS), 2);
    assert_null(prefix_table_find(&table, 4));
    prefix_table_add(&table, first, 2, 7); /* used again: now the other one is older */
    prefix_table_add(&table, (const uint64_t[]){51}, 1, 7);
    assert_int_equal(prefix_table_match(&table, first, BOUNDS), 2);
    assert_null(prefix_table_find(&table, 36));
    assert_non_null(prefix_table_find(&table, 35));
    prefix_table_fini(&table);
}

static void table__engine_forgotten__the_others_stay(void **ctx)
{
    (void)ctx;
    struct prefix_table *table = &state.prefixes;
    prefix_table_add(table, first, BOUNDS, 7);
    prefix_table_add(table, first, BOUNDS, 8);
    prefix_table_add(table, first, 2, 9);
    prefix_table_forget(table, 8);
    const struct prefix_entry *entry = prefix_table_find(table, 1);
    assert_int_equal(entry->engine_count, 2);
    assert_int_equal(entry->engines[0], 9);
    assert_int_equal(entry->engines[1], 7);
}

static void table__no_room__nothing_is_remembered(void **ctx)
{
    (void)ctx;
    struct prefix_table table = {.cap = 0};
    prefix_table_add(&table, first, BOUNDS, 7);
    assert_int_equal(prefix_table_match(&table, first, BOUNDS), 0);
    prefix_table_forget(&table, 7);
    prefix_table_fini(&table);
}

/* --- the policy --- */

static uint32_t place(const uint64_t *chain, uint32_t count)
{
    const struct route_view view = {engines, ENGINES};
    const struct route_step step = {.key = 5,
                                    .prompt_bytes = 400,
                                    .home = ROUTE_NONE,
                                    .chain = chain,
                                    .chain_bytes = bytes,
                                    .chain_count = count};
    struct route_choice choice;
    assert_status(route_policy_prefix_tree.place(&view, &step, &state, costs_us, &choice), ST_OK);
    return choice.idx;
}

static void prefix_tree__long_match__where_it_was_sent_though_busier(void **ctx)
{
    (void)ctx;
    uint32_t sent = place(first, BOUNDS);
    engines[sent].running = 9;
    assert_int_equal(place(second, BOUNDS), sent); /* 300 of 400 */
    assert_int_equal(prefix_table_find(&state.prefixes, 14)->engines[0], engines[sent].id);
}

static void prefix_tree__short_match__fewest_steps(void **ctx)
{
    (void)ctx;
    uint32_t sent = place(first, BOUNDS);
    engines[sent].running = 1;
    assert_int_not_equal(place(third, BOUNDS), sent); /* 100 of 400: not more than 0.3 */
}

static void prefix_tree__several_were_sent_it__of_them_the_one_with_fewest_steps(void **ctx)
{
    (void)ctx;
    prefix_table_add(&state.prefixes, first, BOUNDS, 12);
    prefix_table_add(&state.prefixes, first, BOUNDS, 11);
    engines[1].running = 2;
    engines[2].running = 1;
    assert_int_equal(place(first, BOUNDS), 2);
    engines[2].waiting = 1; /* equals: the smaller id */
    assert_int_equal(place(first, BOUNDS), 1);
}

static void prefix_tree__unbalanced__fewest_steps_and_it_is_remembered(void **ctx)
{
    (void)ctx;
    prefix_table_add(&state.prefixes, first, BOUNDS, 10);
    engines[3].running = 64; /* not more than 64 above */
    assert_int_equal(place(first, BOUNDS), 0);
    engines[3].running = 65;
    engines[0].running = 1;
    engines[1].running = 1;
    assert_int_equal(place(first, BOUNDS), 2);
    assert_int_equal(prefix_table_find(&state.prefixes, 4)->engines[0], 12);
    for (uint32_t i = 0; i < 3; i++) {
        engines[i].running = 140; /* 65 above, but not 1.5 times as many */
    }
    engines[3].running = 205;
    prefix_table_forget(&state.prefixes, 12);
    assert_int_equal(place(first, BOUNDS), 0);
}

static void prefix_tree__other_numbers__count(void **ctx)
{
    (void)ctx;
    prefix_table_add(&state.prefixes, first, BOUNDS, 10);
    engines[0].running = 5;
    state.params[0] = 0.75; /* 300 of 400 is not more than that */
    assert_int_not_equal(place(second, BOUNDS), 0);
    assert_int_equal(place(first, BOUNDS), 0);
    state.params[1] = 4;
    assert_int_not_equal(place(first, BOUNDS), 0);
}

static void prefix_tree__holder_may_not_take_it__the_shorter_prefix_decides(void **ctx)
{
    (void)ctx;
    prefix_table_add(&state.prefixes, first, 2, 13); /* 200 of 400 */
    prefix_table_add(&state.prefixes, first, BOUNDS, 99);
    engines[3].running = 5;
    assert_int_equal(place(first, BOUNDS), 3);
}

static void prefix_tree__no_chain_or_no_table__as_prefix_affinity(void **ctx)
{
    (void)ctx;
    prefix_table_add(&state.prefixes, first, BOUNDS, 10);
    engines[2].reuse_bytes = 50;
    assert_int_equal(place(NULL, 0), 2);
    prefix_table_fini(&state.prefixes);
    assert_int_equal(place(first, BOUNDS), 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(table__added_prompt__matches_as_far_as_it_is_the_same),
        T(table__more_engines_than_room__keeps_the_latest),
        T(table__full__oldest_prompt_goes_its_end_first),
        T(table__engine_forgotten__the_others_stay),
        T(table__no_room__nothing_is_remembered),
        T(prefix_tree__long_match__where_it_was_sent_though_busier),
        T(prefix_tree__short_match__fewest_steps),
        T(prefix_tree__several_were_sent_it__of_them_the_one_with_fewest_steps),
        T(prefix_tree__unbalanced__fewest_steps_and_it_is_remembered),
        T(prefix_tree__other_numbers__count),
        T(prefix_tree__holder_may_not_take_it__the_shorter_prefix_decides),
        T(prefix_tree__no_chain_or_no_table__as_prefix_affinity),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
