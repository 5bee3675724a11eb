/* SPDX-License-Identifier: Apache-2.0 */
/* Whose step is it? Observed from outside: labels, homes, counters. */
#include "coordinator/core/session.h"

#include "tests/unit/coordinator/core/desk.h"

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

/* Label that the last arrival was given. */
static void label_of(char out[COORD_LABEL_BYTES])
{
    const struct coord_effect *ef = desk_effect(&desk, COORD_EF_SUBMIT, 0);
    assert_non_null(ef);
    (void)str_copy(out, COORD_LABEL_BYTES, str_of(ef->u.submit.session));
}

static uint64_t born(void)
{
    return coord_core_counters(desk.core)->sessions_born;
}

static void chain__grows__same_session_same_engine(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "system", 4000);
    talk_say(&talk, "do this", 200);
    uint32_t home = desk_whole_step(&desk, NULL, &talk);
    for (int i = 0; i < 20; i++) {
        talk_say(&talk, "answer", 300);
        talk_say(&talk, "tool result", 1000);
        assert_int_equal(desk_whole_step(&desk, NULL, &talk), home);
    }
    assert_int_equal(born(), 1);
    assert_int_equal(coord_core_counters(desk.core)->session_by_chain, 20);
    assert_int_equal(coord_core_counters(desk.core)->home_hits, 20);
}

static void chain__same_again_after_the_answer__same_session(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "hello", 100);
    uint32_t home = desk_whole_step(&desk, NULL, &talk);
    assert_int_equal(desk_whole_step(&desk, NULL, &talk), home);
    assert_int_equal(born(), 1);
}

static void chain__same_again_while_in_flight__other_session(void **state)
{
    (void)state;
    struct talk talk;
    char first[COORD_LABEL_BYTES];
    char second[COORD_LABEL_BYTES];
    talk_begin(&talk);
    talk_say(&talk, "hello", 100);
    uint64_t one = desk_arrive(&desk, NULL, &talk);
    label_of(first);
    uint64_t two = desk_arrive(&desk, NULL, &talk);
    label_of(second);
    assert_int_equal(born(), 2);
    assert_string_not_equal(first, second);
    desk_done(&desk, one, COORD_OUTCOME_OK);
    desk_done(&desk, two, COORD_OUTCOME_OK);

    /* From here each goes its own way, and both stay what they are. */
    struct talk left = talk;
    struct talk right = talk;
    talk_say(&left, "left", 100);
    talk_say(&right, "right", 100);
    (void)desk_whole_step(&desk, NULL, &left);
    (void)desk_whole_step(&desk, NULL, &right);
    assert_int_equal(born(), 2);
    assert_int_equal(coord_core_counters(desk.core)->sessions_forked, 0);
}

static void chain__same_again_after_the_client_left__same_session(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "hello", 100);
    uint64_t req = desk_arrive(&desk, NULL, &talk);
    uint32_t home = desk_sent_to(&desk);
    desk_gone(&desk, req);
    (void)desk_arrive(&desk, NULL, &talk);
    assert_int_equal(desk_sent_to(&desk), home);
    assert_int_equal(born(), 1);
}

/* A step whose prompt takes a while: 40 us a byte. */
static uint32_t slow_step(const struct talk *talk)
{
    uint64_t req = desk_arrive(&desk, NULL, talk);
    uint32_t engine = desk_sent_to(&desk);
    desk_start(&desk, req, 1);
    desk.now_us += (uint64_t)talk->bytes[talk->count - 1] * 40;
    desk_answer(&desk, req, 1);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    return engine;
}

static void chain__second_extension_of_a_point__fork_with_the_parents_home(void **state)
{
    (void)state;
    struct talk talk;
    char first[COORD_LABEL_BYTES];
    char second[COORD_LABEL_BYTES];
    talk_begin(&talk);
    talk_say(&talk, "plan", 60000);
    uint32_t home = slow_step(&talk);
    struct talk left = talk;
    struct talk right = talk;
    talk_say(&left, "part one", 500);
    talk_say(&right, "part two", 500);
    (void)desk_arrive(&desk, NULL, &left);
    assert_int_equal(desk_sent_to(&desk), home);
    label_of(first);
    (void)desk_arrive(&desk, NULL, &right);
    assert_int_equal(desk_sent_to(&desk), home); /* 60000 bytes are there: worth one more session */
    label_of(second);
    assert_string_not_equal(first, second);
    assert_int_equal(coord_core_counters(desk.core)->sessions_forked, 1);
}

static void chain__an_earlier_state_again__fork(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "plan", 1000);
    (void)desk_whole_step(&desk, NULL, &talk);
    struct talk before = talk;
    talk_say(&talk, "part one", 500);
    (void)desk_whole_step(&desk, NULL, &talk);
    (void)desk_whole_step(&desk, NULL, &before);
    assert_int_equal(coord_core_counters(desk.core)->sessions_forked, 1);
    (void)desk_whole_step(&desk, NULL, &talk);
    assert_int_equal(born(), 2); /* the first one is where it was */
}

/* A session that has begun with a system prompt and a task, and has made that many more steps. */
static void begin(struct talk *talk, struct talk *opening, int steps)
{
    talk_begin(talk);
    talk_say(talk, "system", 4000);
    talk_say(talk, "the task", 500);
    *opening = *talk;
    (void)desk_whole_step(&desk, NULL, talk);
    for (int i = 0; i < steps; i++) {
        talk_say(talk, "answer", 300);
        talk_say(talk, "tool result", 1000);
        (void)desk_whole_step(&desk, NULL, talk);
    }
}

static const struct coord_receipt *decided(void)
{
    const struct coord_effect *ef = desk_effect(&desk, COORD_EF_SUBMIT, 0);
    assert_non_null(ef);
    assert_non_null(ef->u.submit.receipt);
    return ef->u.submit.receipt;
}

static void back__last_message_taken_back__same_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk opening;
    begin(&talk, &opening, 3);
    struct talk before = talk;
    talk_say(&talk, "answer", 300);
    talk_say(&talk, "a question that is taken back", 100);
    (void)desk_whole_step(&desk, NULL, &talk);
    talk_say(&before, "answer", 300);
    talk_say(&before, "another question", 100);
    desk.now_us += UINT64_C(3600000000); /* nobody else can hold its replies: time says nothing */
    (void)desk_arrive(&desk, NULL, &before);
    assert_string_equal(decided()->match, "back");
    assert_true(decided()->confidence < 1.0 && decided()->confidence > 0.5);
    assert_int_equal(born(), 1);
}

static void back__session_has_a_step_in_flight__fork_that_names_its_parent(void **state)
{
    (void)state;
    struct talk talk;
    struct talk opening;
    char parent[COORD_LABEL_BYTES];
    begin(&talk, &opening, 3);
    struct talk before = talk;
    talk_say(&talk, "one way", 300);
    (void)desk_arrive(&desk, NULL, &talk);
    label_of(parent);
    talk_say(&before, "another way", 300);
    (void)desk_arrive(&desk, NULL, &before);
    assert_string_equal(decided()->match, "fork");
    assert_string_equal(decided()->parent, parent);
    assert_int_equal(born(), 2);
}

static void reopen__compacted_after_many_steps__same_session_with_little_confidence(void **state)
{
    (void)state;
    struct talk talk;
    struct talk opening;
    begin(&talk, &opening, 40);
    talk_say(&opening, "a summary of all that", 800);
    (void)desk_arrive(&desk, NULL, &opening);
    assert_string_equal(decided()->match, "reopen");
    assert_true(decided()->confidence <= 0.6);
    assert_int_equal(born(), 1);
}

static void reopen__sixteen_minutes_later__another_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk opening;
    begin(&talk, &opening, 40);
    desk.now_us += UINT64_C(960000000);
    talk_say(&opening, "a summary of all that", 800);
    (void)desk_arrive(&desk, NULL, &opening);
    assert_int_equal(born(), 2);
}

static void reopen__two_sessions_began_alike__neither(void **state)
{
    (void)state;
    struct talk talk;
    struct talk opening;
    begin(&talk, &opening, 12);
    (void)desk_whole_step(&desk, NULL, &opening);
    struct talk second = opening;
    talk_say(&second, "answer of the second", 300);
    (void)desk_whole_step(&desk, NULL, &second);
    uint64_t before = born();
    talk_say(&opening, "a summary of one of them", 800);
    (void)desk_arrive(&desk, NULL, &opening);
    assert_int_equal(born(), before + 1);
}

static void reopen__first_request_came_again_after_its_answer__fork(void **state)
{
    (void)state;
    struct talk talk;
    struct talk opening;
    begin(&talk, &opening, 0);
    (void)desk_whole_step(&desk, NULL, &opening); /* a retry, or another task */
    talk_say(&talk, "answer", 300);
    (void)desk_whole_step(&desk, NULL, &talk);
    talk_say(&opening, "another answer", 300);
    (void)desk_arrive(&desk, NULL, &opening);
    assert_string_equal(decided()->match, "fork");
}

static void reopen__system_prompt_alone_is_shared__another_session(void **state)
{
    (void)state;
    struct talk system;
    talk_begin(&system);
    talk_say(&system, "system", 4000);
    (void)desk_whole_step(&desk, NULL, &system);
    struct talk first = system;
    talk_say(&first, "one task", 100);
    (void)desk_whole_step(&desk, NULL, &first);
    talk_say(&system, "another task", 100);
    (void)desk_arrive(&desk, NULL, &system);
    assert_int_equal(born(), 2);
}

static void chain__two_wait_at_one_point__the_one_that_waits_longer_goes_on(void **state)
{
    (void)state;
    struct talk talk;
    char first[COORD_LABEL_BYTES];
    char label[COORD_LABEL_BYTES];
    talk_begin(&talk);
    talk_say(&talk, "system", 4000);
    talk_say(&talk, "the task", 500);
    uint64_t one = desk_arrive(&desk, NULL, &talk);
    label_of(first);
    uint64_t two = desk_arrive(&desk, NULL, &talk); /* a twin */
    desk_done(&desk, one, COORD_OUTCOME_OK);
    desk.now_us += 1000;
    desk_done(&desk, two, COORD_OUTCOME_OK);
    talk_say(&talk, "answer", 300);
    (void)desk_arrive(&desk, NULL, &talk);
    label_of(label);
    assert_string_equal(label, first);
    assert_int_equal(born(), 2);
}

static void chain__common_system_prompt__sessions_stay_apart(void **state)
{
    (void)state;
    static char labels[40][COORD_LABEL_BYTES];
    struct talk talk;
    for (uint32_t i = 0; i < 40; i++) {
        char text[32];
        talk_begin(&talk);
        talk_say(&talk, "a system prompt of 200 KB", 200000);
        (void)snprintf(text, sizeof(text), "task %u", i);
        talk_say(&talk, text, 100);
        (void)desk_arrive(&desk, NULL, &talk);
        label_of(labels[i]);
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(labels[i], labels[k]);
        }
    }
    assert_int_equal(born(), 40);
    for (uint32_t e = 1; e <= 4; e++) {
        assert_in_range((uint32_t)desk_engine_number(&desk, e, "sessions"), 9, 11);
    }
}

static void chain__a_request_of_the_system_prompt_alone__others_are_forks_at_most(void **state)
{
    (void)state;
    struct talk warm;
    talk_begin(&warm);
    talk_say(&warm, "system", 200000);
    (void)desk_whole_step(&desk, NULL, &warm);
    for (uint32_t i = 0; i < 40; i++) {
        char text[32];
        struct talk talk = warm;
        (void)snprintf(text, sizeof(text), "task %u", i);
        talk_say(&talk, text, 100);
        (void)desk_arrive(&desk, NULL, &talk);
    }
    assert_int_equal(born(), 40); /* the first one continues the warm-up */
    for (uint32_t e = 1; e <= 4; e++) {
        assert_true(desk_engine_number(&desk, e, "sessions") <= 14.0); /* 1.4 times the mean */
    }
}

static void chain__inner_boundaries__do_not_match(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "first half", 4096);
    uint64_t req = desk_arrive(&desk, NULL, &talk);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    talk_say(&talk, "second half", 4096);
    talk.is_end[0] = 0; /* now it is the inside of one long message */
    (void)desk_arrive(&desk, NULL, &talk);
    assert_int_equal(born(), 2);
}

static void chain__other_tenant__other_session(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "hello", 100);
    (void)desk_whole_step(&desk, NULL, &talk);
    struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
    ev.u.arrived = (struct coord_step_arrived){.req = {900},
                                               .name = STR("x"),
                                               .tenant = STR("other"),
                                               .model = STR("m"),
                                               .chain = talk.chain,
                                               .chain_bytes = talk.bytes,
                                               .chain_is_end = talk.is_end,
                                               .chain_count = talk.count,
                                               .prompt_bytes = 100};
    desk_event(&desk, &ev);
    assert_int_equal(born(), 2);
}

static void id__same_id__same_engine_whatever_the_prompt(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "one", 100);
    uint32_t home = desk_whole_step(&desk, "task-7", &talk);
    talk_begin(&talk);
    talk_say(&talk, "something else", 100);
    assert_int_equal(desk_whole_step(&desk, "task-7", &talk), home);
    assert_int_equal(desk_whole_step(&desk, "task-7", NULL), home);
    assert_int_equal(coord_core_counters(desk.core)->session_by_id, 2);
    assert_int_equal(born(), 1);
}

static void id__compared_whole__prefix_is_another_session(void **state)
{
    (void)state;
    (void)desk_whole_step(&desk, "task-7", NULL);
    (void)desk_whole_step(&desk, "task-77", NULL);
    assert_int_equal(born(), 2);
}

static void id__two_models__a_home_each_kept(void **state)
{
    (void)state;
    const struct str both[] = {STR("m"), STR("n")};
    for (uint32_t e = 1; e <= 4; e++) {
        const struct coord_event ev = {
            .kind = COORD_EV_ENGINE_PROBED,
            .u.engine_probed = {.engine = {e}, .is_up = true, .models = both, .model_count = 2}};
        desk_event(&desk, &ev);
    }
    (void)desk_arrive_as(&desk, "task", NULL, "m", COORD_ROUTE_CHAT);
    uint32_t home_m = desk_sent_to(&desk);
    (void)desk_arrive_as(&desk, "task", NULL, "n", COORD_ROUTE_CHAT);
    uint32_t home_n = desk_sent_to(&desk);
    assert_int_not_equal(home_m, home_n); /* the second birth saw the first one's load */
    for (int i = 0; i < 3; i++) {
        (void)desk_arrive_as(&desk, "task", NULL, "m", COORD_ROUTE_CHAT);
        assert_int_equal(desk_sent_to(&desk), home_m);
        (void)desk_arrive_as(&desk, "task", NULL, "n", COORD_ROUTE_CHAT);
        assert_int_equal(desk_sent_to(&desk), home_n);
    }
}

static void label__harmless_id__itself__else_a_hash(void **state)
{
    (void)state;
    char label[COORD_LABEL_BYTES];
    (void)desk_arrive(&desk, "a.b:c-d_9", NULL);
    label_of(label);
    assert_string_equal(label, "a.b:c-d_9");
    (void)desk_arrive(&desk, "has blanks\r\n", NULL);
    label_of(label);
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
    assert_int_equal(born(), 1);
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
    assert_int_equal(born(), 4);
    (void)desk_whole_step(&desk, "new", NULL);
    assert_int_equal(born(), 4); /* still known */
    (void)desk_whole_step(&desk, "old", NULL);
    assert_int_equal(born(), 5);
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
    desk_tick(&desk, 301000000); /* silent for five minutes: no longer live */
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

static void record__idle_session__at_most_a_kibibyte(void **state)
{
    (void)state;
    struct talk talk;
    size_t before = 0;
    enum { MANY = 1000 };
    for (uint32_t i = 0; i < MANY; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "task %u", i);
        talk_begin(&talk);
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
    assert_true(per_session <= 1024.0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(chain__grows__same_session_same_engine),
        T(chain__same_again_after_the_answer__same_session),
        T(chain__same_again_while_in_flight__other_session),
        T(chain__same_again_after_the_client_left__same_session),
        T(chain__second_extension_of_a_point__fork_with_the_parents_home),
        T(chain__an_earlier_state_again__fork),
        T(back__last_message_taken_back__same_session),
        T(back__session_has_a_step_in_flight__fork_that_names_its_parent),
        T(reopen__compacted_after_many_steps__same_session_with_little_confidence),
        T(reopen__sixteen_minutes_later__another_session),
        T(reopen__two_sessions_began_alike__neither),
        T(reopen__first_request_came_again_after_its_answer__fork),
        T(reopen__system_prompt_alone_is_shared__another_session),
        T(chain__two_wait_at_one_point__the_one_that_waits_longer_goes_on),
        T(chain__common_system_prompt__sessions_stay_apart),
        T(chain__a_request_of_the_system_prompt_alone__others_are_forks_at_most),
        T(chain__inner_boundaries__do_not_match),
        T(chain__other_tenant__other_session),
        T(id__same_id__same_engine_whatever_the_prompt),
        T(id__compared_whole__prefix_is_another_session),
        T(id__two_models__a_home_each_kept),
        T(label__harmless_id__itself__else_a_hash),
        T(b086_no_key__400_steps__spread_over_all_engines),
        T(count_tokens__goes_home__changes_no_session),
        T(table__full__longest_idle_forgotten__busy_never),
        T(table__all_busy__step_runs_without_a_session),
        T(idle__too_long__forgotten_and_uncounted),
        T(record__idle_session__at_most_a_kibibyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
