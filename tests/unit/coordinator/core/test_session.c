/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a task, and for how long. Observed from outside: labels, homes, counters. */
#include "coordinator/core/session.h"

#include "tests/unit/coordinator/core/desk.h"

#include "coordinator/core/story.h"

#include <stdio.h>

static struct desk desk;

static int setup(void **state)
{
    (void)state;
    struct coord_limits limits = desk_limits();
    desk_open(&desk, &limits);
    desk_fleet(&desk, 4);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&desk);
    return 0;
}

static void label__harmless_id__itself__else_a_hash(void **state)
{
    (void)state;
    char label[COORD_LABEL_BYTES];
    (void)desk_arrive(&desk, "a.b:c-d_9", NULL);
    desk_label(&desk, label);
    assert_string_equal(label, "a.b:c-d_9");
    (void)desk_arrive(&desk, "has blanks\r\n", NULL);
    desk_label(&desk, label);
    assert_int_equal(strlen(label), 18);
    assert_memory_equal(label, "s-", 2);
}

static void b086_no_key__400_steps__spread_over_all_engines(void **state)
{
    (void)state;
    uint32_t counts[5] = {0};
    for (int i = 0; i < 400; i++) {
        uint64_t req = desk_arrive(&desk, i % 2 == 0 ? NULL : "", NULL);
        counts[desk_sent_to(&desk)]++;
        desk_done(&desk, req, COORD_OUTCOME_OK);
    }
    for (uint32_t e = 1; e <= 4; e++) {
        assert_in_range(counts[e], 70, 130);
    }
    assert_int_equal(coord_core_session_count(desk.core), 0);
}

static void count_tokens__goes_home__changes_no_session(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "hello", 100);
    uint32_t home = desk_whole_step(&desk, NULL, &talk);
    talk_say(&talk, "more", 100);
    (void)desk_arrive_as(&desk, NULL, &talk, "m", COORD_ROUTE_COUNT_TOKENS);
    assert_int_equal(desk_sent_to(&desk), home);
    assert_int_equal(desk_whole_step(&desk, NULL, &talk), home); /* not a twin of the count */
    assert_int_equal(desk_born(&desk), 1);
}

static void table__full__longest_idle_forgotten__busy_never(void **state)
{
    (void)state;
    desk_close(&desk);
    struct coord_limits limits = desk_limits();
    limits.max_sessions = 3;
    desk_open(&desk, &limits);
    desk_fleet(&desk, 1);
    uint64_t busy = desk_arrive(&desk, "busy", NULL);
    (void)desk_whole_step(&desk, "old", NULL);
    (void)desk_whole_step(&desk, "new", NULL);
    (void)desk_whole_step(&desk, "one more", NULL);
    assert_int_equal(coord_core_session_count(desk.core), 3);
    assert_int_equal(coord_core_counters(desk.core)->sessions_forgotten, 1);
    assert_int_equal(desk_born(&desk), 4);
    (void)desk_whole_step(&desk, "new", NULL);
    assert_int_equal(desk_born(&desk), 4); /* still known */
    (void)desk_whole_step(&desk, "old", NULL);
    assert_int_equal(desk_born(&desk), 5);
    desk_done(&desk, busy, COORD_OUTCOME_OK);
}

static void table__all_busy__step_runs_without_a_session(void **state)
{
    (void)state;
    desk_close(&desk);
    struct coord_limits limits = desk_limits();
    limits.max_sessions = 1;
    desk_open(&desk, &limits);
    desk_fleet(&desk, 1);
    (void)desk_arrive(&desk, "busy", NULL);
    uint64_t req = desk_arrive(&desk, "other", NULL);
    assert_int_equal(desk_sent_to(&desk), 1);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    assert_int_equal(coord_core_counters(desk.core)->sessions_full, 1);
}

static void idle__too_long__forgotten_and_uncounted(void **state)
{
    (void)state;
    uint32_t home = desk_whole_step(&desk, "task", NULL);
    assert_int_equal((int)desk_engine_number(&desk, home, "sessions"), 1);
    desk_tick(&desk, 31000000); /* silent for half a minute: no longer live */
    assert_int_equal((int)desk_engine_number(&desk, home, "sessions"), 0);
    assert_int_equal(coord_core_session_count(desk.core), 1);
    uint64_t req = desk_arrive(&desk, "task", NULL);
    assert_int_equal(desk_sent_to(&desk), home);
    assert_int_equal((int)desk_engine_number(&desk, home, "sessions"), 1);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    desk_tick(&desk, 3600000000u);
    assert_int_equal(coord_core_session_count(desk.core), 0);
    assert_int_equal((int)desk_engine_number(&desk, home, "sessions"), 0);
}

static void birth__no_memory_at_any_call__nothing_is_left_of_it(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    for (int k = 0; k < 10; k++) {
        talk_say(&talk, "a part of it", 100); /* long enough for a mark */
    }
    struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
    ev.u.arrived = (struct coord_step_arrived){.req = {900},
                                               .name = STR("x"),
                                               .model = STR("m"),
                                               .chain = talk.chain,
                                               .chain_bytes = talk.bytes,
                                               .chain_is_end = talk.is_end,
                                               .chain_count = talk.count,
                                               .prompt_bytes = 1000};
    uint64_t refused = 0;
    for (uint64_t n = 1; desk.km.call_count >= desk.km.fail_at; n++) {
        struct coord_limits limits = desk_limits();
        desk_close(&desk);
        desk_open(&desk, &limits);
        desk_fleet(&desk, 1);
        desk.km.fail_at = desk.km.call_count + n;
        if (coord_core_step(desk.core, &ev, desk.now_us, &desk.effects) == ST_NOMEM) {
            refused++;
            assert_int_equal(coord_core_session_count(desk.core), 0);
            desk_done(&desk, desk_arrive(&desk, NULL, &talk), COORD_OUTCOME_OK);
            assert_int_equal(desk_born(&desk), 1);
        }
    }
    assert_true(refused >= 2); /* a session, an index */
}

static void table__flooded_with_new_ids__tasks_that_went_on_are_kept(void **state)
{
    (void)state;
    struct talk talk;
    char id[32];
    for (uint32_t i = 0; i < 200; i++) {
        (void)snprintf(id, sizeof(id), "task %u", i % 100);
        talk_begin(&talk);
        talk_say(&talk, id, 100);
        if (i >= 100) {
            talk_say(&talk, "more", 100);
        }
        (void)desk_whole_step(&desk, id, &talk);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        (void)snprintf(id, sizeof(id), "flood %u", i);
        (void)desk_whole_step(&desk, id, NULL);
    }
    uint64_t born = desk_born(&desk);
    for (uint32_t i = 0; i < 100; i++) {
        (void)snprintf(id, sizeof(id), "task %u", i);
        (void)desk_whole_step(&desk, id, NULL);
    }
    assert_int_equal(desk_born(&desk), born);
}

static void record__idle_session__at_most_a_kibibyte_and_four_with_its_graph(void **state)
{
    (void)state;
    struct talk talk;
    size_t before = 0;
    enum { MANY = 1000 };
    for (uint32_t i = 0; i < MANY; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "task %u", i);
        talk_begin(&talk);
        for (int k = 0; k < 3; k++) {
            talk_say(&talk, text, 100); /* long enough for a mark */
        }
        for (int k = 0; k < 10; k++) {
            talk_say(&talk, text, 100);
            (void)desk_whole_step(&desk, NULL, &talk);
        }
        before = i == 0 ? desk.km.live_bytes : before; /* tables that exist anyway */
    }
    double per_session = (double)(desk.km.live_bytes - before) / MANY;
    print_message("%zu bytes a record, %.0f bytes a session with index and table growth\n",
                  sizeof(struct coord_session), per_session);
    assert_true(sizeof(struct coord_session) <= 512);
    assert_true(sizeof(struct coord_session) + sizeof(struct coord_story) <= 1024);
    assert_true(per_session <= 4096.0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(label__harmless_id__itself__else_a_hash),
        T(b086_no_key__400_steps__spread_over_all_engines),
        T(count_tokens__goes_home__changes_no_session),
        T(table__full__longest_idle_forgotten__busy_never),
        T(table__all_busy__step_runs_without_a_session),
        T(idle__too_long__forgotten_and_uncounted),
        T(birth__no_memory_at_any_call__nothing_is_left_of_it),
        T(table__flooded_with_new_ids__tasks_that_went_on_are_kept),
        T(record__idle_session__at_most_a_kibibyte_and_four_with_its_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
