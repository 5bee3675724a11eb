/* SPDX-License-Identifier: Apache-2.0 */
/* Where steps go: homes, spills, births. */
#include "tests/unit/coordinator/core/desk.h"

#include "common/base/rng.h"
#include "coordinator/core/state.h"
#include "routing/registry.h"

#include <stdio.h>

static struct desk desk;

static int setup(void **state)
{
    (void)state;
    struct coord_limits limits = desk_limits();
    desk_open(&desk, &limits);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&desk);
    return 0;
}

static void opening(struct talk *talk, uint32_t i, uint32_t bytes)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "task %u", i);
    talk_begin(talk);
    talk_say(talk, text, bytes);
}

/* Sessions of prompts that take long to compute, and a child of each with another opening. */
static void child__first_step__where_its_parent_lives(void **state)
{
    (void)state;
    struct talk talk;
    desk_fleet(&desk, 8);
    for (uint32_t i = 0; i < 6; i++) {
        char root[16];
        char child[24];
        (void)snprintf(root, sizeof(root), "root%u", i);
        (void)snprintf(child, sizeof(child), "root%u/a", i);
        opening(&talk, i, 60000);
        uint64_t req = desk_arrive(&desk, root, &talk);
        uint32_t home = desk_sent_to(&desk);
        desk_start(&desk, req, 1);
        desk.now_us += 2400000;
        desk_answer(&desk, req, 1);
        desk_done(&desk, req, COORD_OUTCOME_OK);
        opening(&talk, 1000 + i, 60000);
        desk.parent = root;
        (void)desk_arrive(&desk, child, &talk);
        desk.parent = NULL;
        if (desk_sent_to(&desk) != home) {
            fail_msg("child %u went to engine %u, not %u", i, desk_sent_to(&desk), home);
        }
    }
}

static void child__of_an_unknown_parent__like_any_other(void **state)
{
    (void)state;
    struct talk talk;
    desk_fleet(&desk, 4);
    desk.parent = "nobody";
    opening(&talk, 1, 3000);
    assert_in_range(desk_whole_step(&desk, "child", &talk), 1, 4);
}

static void b081_400_births_at_once__8_engines__spread(void **state)
{
    (void)state;
    uint32_t counts[9] = {0};
    uint32_t max = 0;
    struct talk talk;
    desk_fleet(&desk, 8);
    for (uint32_t i = 0; i < 400; i++) {
        opening(&talk, i, 3000);
        (void)desk_arrive(&desk, NULL, &talk);
        uint32_t to = desk_sent_to(&desk);
        counts[to]++;
        max = counts[to] > max ? counts[to] : max;
    }
    assert_true(max <= 75); /* 1.5 times the mean of 50 */
}

static void b080_40_long_prompts_at_once__4_engines__10_each_or_nearly(void **state)
{
    (void)state;
    uint32_t counts[5] = {0};
    struct talk talk;
    desk_fleet(&desk, 4);
    for (uint32_t i = 0; i < 40; i++) {
        opening(&talk, i, 128000);
        (void)desk_arrive(&desk, NULL, &talk);
        counts[desk_sent_to(&desk)]++;
    }
    for (uint32_t e = 1; e <= 4; e++) {
        assert_in_range(counts[e], 7, 13);
    }
}

/* 200 sessions arrive while 32 steps are in flight; each runs for a time drawn at random. */
static void births__200_sessions_32_in_flight__4_engines__balanced(void **state)
{
    (void)state;
    enum { SESSIONS = 200, WIDTH = 32 };
    struct rng rng;
    uint64_t flying[WIDTH] = {0};
    uint32_t counts[5] = {0};
    struct talk talk;
    rng_init(&rng, 2024);
    desk_fleet(&desk, 4);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        uint32_t slot = (uint32_t)rng_below(&rng, WIDTH);
        desk.now_us += rng_below(&rng, 200000);
        if (flying[slot] != 0) {
            desk_answer(&desk, flying[slot], 1);
            desk.now_us += rng_below(&rng, 50000);
            desk_done(&desk, flying[slot], COORD_OUTCOME_OK);
        }
        opening(&talk, i, 2000 + (uint32_t)rng_below(&rng, 60000));
        flying[slot] = desk_arrive(&desk, NULL, &talk);
        counts[desk_sent_to(&desk)]++;
        desk_start(&desk, flying[slot], 1);
    }
    for (uint32_t e = 1; e <= 4; e++) {
        print_message("e%u: %u births, %.0f sessions\n", e, counts[e],
                      desk_engine_number(&desk, e, "sessions"));
        assert_in_range(counts[e], 45, 55); /* 1.1 times the mean */
        assert_in_range((uint32_t)desk_engine_number(&desk, e, "sessions"), 45, 55);
    }
}

static void home__queue_within_margin__kept__beyond__spills(void **state)
{
    (void)state;
    desk_fleet(&desk, 2);
    uint32_t home = desk_whole_step(&desk, "task", NULL);
    for (int i = 0; i < 5; i++) {
        (void)desk_arrive(&desk, "task", NULL);
        assert_int_equal(desk_sent_to(&desk), home); /* 0..4 steps wait there */
    }
    (void)desk_arrive(&desk, "task", NULL);
    assert_int_equal(desk_sent_to(&desk), 3 - home);
}

/* The home is full at turn 2 and free again at turn 3. */
static void b087_spill__does_not_move_the_home(void **state)
{
    (void)state;
    desk_fleet(&desk, 2);
    uint32_t home = desk_whole_step(&desk, "task", NULL);
    uint64_t crowd[5];
    for (int i = 0; i < 5; i++) {
        crowd[i] = desk_arrive(&desk, "task", NULL);
    }
    assert_int_equal(desk_whole_step(&desk, "task", NULL), 3 - home);
    for (int i = 0; i < 5; i++) {
        desk_start(&desk, crowd[i], 1);
        desk_done(&desk, crowd[i], COORD_OUTCOME_OK);
    }
    assert_int_equal(desk_whole_step(&desk, "task", NULL), home);
}

static void spill__again_and_again__becomes_the_home(void **state)
{
    (void)state;
    desk_fleet(&desk, 2);
    uint32_t home = desk_whole_step(&desk, "task", NULL);
    uint64_t crowd[5];
    for (int i = 0; i < 5; i++) {
        crowd[i] = desk_arrive(&desk, "task", NULL);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(desk_whole_step(&desk, "task", NULL), 3 - home);
    }
    for (int i = 0; i < 5; i++) {
        desk_gone(&desk, crowd[i]);
    }
    assert_int_equal(desk_whole_step(&desk, "task", NULL), 3 - home);
    assert_int_equal((int)desk_engine_number(&desk, home, "sessions"), 0);
    assert_int_equal((int)desk_engine_number(&desk, 3 - home, "sessions"), 1);
}

static void b083_home__beside_an_idle_but_ill_engine__kept(void **state)
{
    (void)state;
    desk_fleet(&desk, 2);
    desk_add(&desk, 3);
    uint32_t home = desk_whole_step(&desk, "task", NULL);
    for (int i = 0; i < 10; i++) {
        uint64_t req = desk_arrive(&desk, NULL, NULL);
        desk_start(&desk, req, 1);
    }
    assert_int_equal(desk_whole_step(&desk, "task", NULL), home);
}

static void home__down__sessions_spread_over_the_others_and_stay_there(void **state)
{
    (void)state;
    enum { SESSIONS = 40 };
    uint32_t homes[SESSIONS];
    uint32_t counts[5] = {0};
    char id[16];
    desk_fleet(&desk, 4);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        (void)snprintf(id, sizeof(id), "t%u", i);
        homes[i] = desk_whole_step(&desk, id, NULL);
    }
    for (int i = 0; i < 3; i++) {
        desk_probed(&desk, 2, false, NULL);
    }
    for (uint32_t i = 0; i < SESSIONS; i++) {
        (void)snprintf(id, sizeof(id), "t%u", i);
        uint32_t to = desk_whole_step(&desk, id, NULL);
        assert_true(homes[i] == 2 ? to != 2 : to == homes[i]);
        homes[i] = to;
        counts[to]++;
    }
    assert_int_equal(counts[2], 0);
    assert_in_range(counts[1], 12, 15);
    assert_in_range(counts[3], 12, 15);
    desk_tick(&desk, 5000000);
    desk_probed(&desk, 2, true, NULL);
    desk_tick(&desk, 5000000);
    desk_probed(&desk, 2, true, NULL);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        (void)snprintf(id, sizeof(id), "t%u", i);
        assert_int_equal(desk_whole_step(&desk, id, NULL),
                         homes[i]); /* no way back when it returns */
    }
}

static void b078_hot_prefix__200_at_once__in_flight_balanced(void **state)
{
    (void)state;
    struct talk talk;
    uint32_t counts[5] = {0};
    uint32_t max = 0;
    desk_fleet(&desk, 4);
    talk_begin(&talk);
    talk_say(&talk, "hot prefix", 32000);
    (void)desk_whole_step(&desk, NULL, &talk);
    for (uint32_t i = 0; i < 200; i++) {
        struct talk own = talk;
        char text[32];
        (void)snprintf(text, sizeof(text), "tail %u", i);
        if (i % 5 == 0) {
            talk_begin(&own);
        }
        talk_say(&own, text, 1000);
        (void)desk_arrive(&desk, NULL, &own);
        uint32_t to = desk_sent_to(&desk);
        counts[to]++;
        max = counts[to] > max ? counts[to] : max;
    }
    assert_true(max <= 60);
}

static void engine__fails_fast__gets_no_more_than_its_share(void **state)
{
    (void)state;
    uint32_t counts[3] = {0};
    desk_fleet(&desk, 2);
    for (int i = 0; i < 100; i++) {
        uint64_t req = desk_arrive(&desk, NULL, NULL);
        uint32_t to = desk_sent_to(&desk);
        counts[to]++;
        desk_start(&desk, req, 1);
        desk.now_us += 1000;
        /* e1 fails every second step at once, so its breaker never opens; e2 takes its time. */
        if (to == 1) {
            desk_done(&desk, req,
                      counts[1] % 2 == 0 ? COORD_OUTCOME_ENGINE_ERROR : COORD_OUTCOME_OK);
        } else if (counts[2] > 8) {
            desk_done(&desk, req, COORD_OUTCOME_OK);
        }
    }
    print_message("failing engine got %u of 100\n", counts[1]);
    assert_true(counts[1] <= 40);
}

/* Two sessions of one opening: the second is sent where the first was, though that one is busier.
 * What an engine that is taken away held is forgotten, and all of it with the policy. */
static void prefix_tree__same_opening__goes_where_it_was_sent(void **state)
{
    (void)state;
    struct talk talk;
    struct coord_limits limits = desk_limits();
    limits.policy = &route_policy_prefix_tree;
    coord_core_set_limits(desk.core, &limits);
    desk_fleet(&desk, 3);
    opening(&talk, 1, 8000);
    struct talk other = talk;
    talk_say(&talk, "one", 1000);
    talk_say(&other, "two", 1000);
    uint64_t req = desk_arrive(&desk, "one", &talk);
    uint32_t sent = desk_sent_to(&desk);
    (void)desk_arrive_as(&desk, "two", &other, "m", COORD_ROUTE_COUNT_TOKENS);
    assert_int_not_equal(desk_sent_to(&desk), sent); /* computes nothing: not by the prefix */
    (void)desk_arrive(&desk, "two", &other);
    assert_int_equal(desk_sent_to(&desk), sent);
    desk_fail(&desk, req, 1, COORD_FAIL_CONNECT, 0); /* without its prompt, and not there again */
    assert_int_not_equal(desk_sent_to(&desk), sent);
    const struct prefix_table *sents = &desk.core->placer.state.prefixes;
    assert_int_equal(prefix_table_find(sents, talk.chain[0])->engines[0], sent);
    desk_remove(&desk, sent);
    assert_int_equal(prefix_table_find(sents, talk.chain[0])->engine_count, 0);
    assert_true(sents->cap > 0);
    limits.policy = NULL;
    coord_core_set_limits(desk.core, &limits);
    assert_int_equal(sents->cap, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(child__first_step__where_its_parent_lives),
        T(child__of_an_unknown_parent__like_any_other),
        T(b081_400_births_at_once__8_engines__spread),
        T(b080_40_long_prompts_at_once__4_engines__10_each_or_nearly),
        T(births__200_sessions_32_in_flight__4_engines__balanced),
        T(home__queue_within_margin__kept__beyond__spills),
        T(b087_spill__does_not_move_the_home),
        T(spill__again_and_again__becomes_the_home),
        T(b083_home__beside_an_idle_but_ill_engine__kept),
        T(home__down__sessions_spread_over_the_others_and_stay_there),
        T(b078_hot_prefix__200_at_once__in_flight_balanced),
        T(prefix_tree__same_opening__goes_where_it_was_sent),
        T(engine__fails_fast__gets_no_more_than_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
