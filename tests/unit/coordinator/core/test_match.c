/* SPDX-License-Identifier: Apache-2.0 */
/* Whose step is it? Observed from outside: labels, homes, counters. */
#include "coordinator/core/match.h"

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

static const struct coord_receipt *decided(void)
{
    const struct coord_effect *ef = desk_effect(&desk, COORD_EF_SUBMIT, 0);
    assert_non_null(ef);
    assert_non_null(ef->u.submit.receipt);
    return ef->u.submit.receipt;
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
    assert_int_equal(desk_born(&desk), 1);
    assert_int_equal(coord_core_counters(desk.core)->session_by_chain, 20);
    assert_int_equal(coord_core_counters(desk.core)->home_hits, 20);
}

static void chain__later_request_again_after_its_answer__same_session(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "hello", 100);
    uint32_t home = desk_whole_step(&desk, NULL, &talk);
    talk_say(&talk, "answer", 100);
    talk_say(&talk, "thanks", 100);
    (void)desk_whole_step(&desk, NULL, &talk);
    assert_int_equal(desk_whole_step(&desk, NULL, &talk), home);
    assert_int_equal(desk_born(&desk), 1);
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
    desk_label(&desk, first);
    uint64_t two = desk_arrive(&desk, NULL, &talk);
    desk_label(&desk, second);
    assert_int_equal(desk_born(&desk), 2);
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
    assert_int_equal(desk_born(&desk), 2);
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
    assert_int_equal(desk_born(&desk), 1);
}

static void chain__first_request_again_after_an_engine_error__same_session(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "hello", 100);
    desk_done(&desk, desk_arrive(&desk, NULL, &talk), COORD_OUTCOME_ENGINE_ERROR);
    (void)desk_arrive(&desk, NULL, &talk);
    assert_string_equal(decided()->match, "chain");
    assert_int_equal(desk_born(&desk), 1);
}

static void twin__first_request_again_after_its_answer__another_task(void **state)
{
    (void)state;
    struct talk talk;
    char first[COORD_LABEL_BYTES];
    char second[COORD_LABEL_BYTES];
    char label[COORD_LABEL_BYTES];
    talk_begin(&talk);
    talk_say(&talk, "system", 4000);
    talk_say(&talk, "the task", 500);
    uint64_t req = desk_arrive(&desk, NULL, &talk);
    desk_label(&desk, first);
    desk_done(&desk, req, COORD_OUTCOME_OK);
    desk.now_us += 1000;
    req = desk_arrive(&desk, NULL, &talk);
    desk_label(&desk, second);
    assert_string_equal(decided()->match, "twin");
    assert_string_equal(decided()->parent, first);
    desk_done(&desk, req, COORD_OUTCOME_OK);

    struct talk left = talk;
    talk_say(&left, "answer", 300);
    talk_say(&talk, "another answer", 300);
    (void)desk_arrive(&desk, NULL, &left);
    desk_label(&desk, label);
    assert_string_equal(label, first);
    (void)desk_arrive(&desk, NULL, &talk);
    desk_label(&desk, label);
    assert_string_equal(label, second);
    assert_int_equal(desk_born(&desk), 2);
}

static void twin__one_answered_one_failed__the_same_again_is_the_failed_one(void **state)
{
    (void)state;
    struct talk talk;
    char failed[COORD_LABEL_BYTES];
    char label[COORD_LABEL_BYTES];
    talk_begin(&talk);
    talk_say(&talk, "hello", 100);
    uint64_t one = desk_arrive(&desk, NULL, &talk);
    uint64_t two = desk_arrive(&desk, NULL, &talk);
    desk_label(&desk, failed);
    desk_done(&desk, one, COORD_OUTCOME_OK);
    desk.now_us += 1000;
    desk_gone(&desk, two);
    (void)desk_arrive(&desk, NULL, &talk);
    desk_label(&desk, label);
    assert_string_equal(label, failed);
    assert_int_equal(desk_born(&desk), 2);
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
    desk_label(&desk, first);
    (void)desk_arrive(&desk, NULL, &right);
    assert_int_equal(desk_sent_to(&desk), home); /* 60000 bytes are there: worth one more session */
    desk_label(&desk, second);
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
    talk_say(&talk, "answer", 300);
    (void)desk_whole_step(&desk, NULL, &talk);
    struct talk before = talk;
    talk_say(&talk, "part one", 500);
    (void)desk_whole_step(&desk, NULL, &talk);
    (void)desk_whole_step(&desk, NULL, &before);
    assert_int_equal(coord_core_counters(desk.core)->sessions_forked, 1);
    (void)desk_whole_step(&desk, NULL, &talk);
    assert_int_equal(desk_born(&desk), 2); /* the first one is where it was */
    (void)desk_whole_step(&desk, NULL, &before);
    assert_int_equal(desk_born(&desk), 2); /* the fork again: no task begins with its replies */
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
    assert_int_equal(desk_born(&desk), 1);
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
    desk_label(&desk, parent);
    talk_say(&before, "another way", 300);
    (void)desk_arrive(&desk, NULL, &before);
    assert_string_equal(decided()->match, "fork");
    assert_string_equal(decided()->parent, parent);
    assert_int_equal(desk_born(&desk), 2);
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
    assert_int_equal(desk_born(&desk), 1);
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
    assert_int_equal(desk_born(&desk), 2);
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
    uint64_t before = desk_born(&desk);
    talk_say(&opening, "a summary of one of them", 800);
    (void)desk_arrive(&desk, NULL, &opening);
    assert_int_equal(desk_born(&desk), before + 1);
}

/* Tools, system and a first message of 8 pieces (7 inner boundaries), in which the mark lies. */
static void open_long(struct talk *talk)
{
    talk_begin(talk);
    talk_say(talk, "tools", 4000);
    talk_say(talk, "system", 4000);
    for (int i = 0; i < 7; i++) {
        talk_say(talk, "what the project is about", 4096);
        talk->is_end[talk->count - 1] = 0;
    }
}

/* A task begins with all that and a line of its own; asked is what another prompt shares with it.
 */
static uint64_t begin_long(struct talk *talk, struct talk *asked)
{
    open_long(talk);
    *asked = *talk;
    talk_say(talk, "the task, with a reminder", 500);
    return desk_arrive(&desk, NULL, talk);
}

/* The same prompt with its end replaced, and the answer behind it. */
static const struct coord_receipt *go_on_from(struct talk *asked)
{
    talk_say(asked, "the task", 400);
    talk_say(asked, "answer", 300);
    talk_say(asked, "tool result", 300);
    (void)desk_arrive(&desk, NULL, asked);
    return decided();
}

static void mark__end_of_the_first_request_replaced__same_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk asked;
    desk_done(&desk, begin_long(&talk, &asked), COORD_OUTCOME_OK);
    const struct coord_receipt *receipt = go_on_from(&asked);
    assert_string_equal(receipt->match, "reopen");
    assert_true(receipt->confidence <= 0.6);
    assert_int_equal(desk_born(&desk), 1);
}

static void mark__many_steps_later__same_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk asked;
    desk_done(&desk, begin_long(&talk, &asked), COORD_OUTCOME_OK);
    for (int i = 0; i < 2 * COORD_TAILS; i++) {
        talk_say(&talk, "answer", 300);
        talk_say(&talk, "tool result", 300);
        (void)desk_whole_step(&desk, NULL, &talk);
    }
    assert_string_equal(go_on_from(&asked)->match, "reopen");
    assert_int_equal(desk_born(&desk), 1);
}

static void mark__another_task_of_the_same_project__another_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk asked;
    desk_done(&desk, begin_long(&talk, &asked), COORD_OUTCOME_OK);
    talk_say(&asked, "another task", 100); /* no message more than the first one */
    (void)desk_arrive(&desk, NULL, &asked);
    assert_string_equal(decided()->match, "new");
    assert_int_equal(desk_born(&desk), 2);
}

static void mark__two_tasks_of_the_same_project__neither(void **state)
{
    (void)state;
    struct talk talk;
    struct talk asked;
    desk_done(&desk, begin_long(&talk, &asked), COORD_OUTCOME_OK);
    struct talk second = asked;
    talk_say(&second, "another task", 100);
    (void)desk_whole_step(&desk, NULL, &second);
    assert_string_equal(go_on_from(&asked)->match, "new");
    assert_int_equal(desk_born(&desk), 3);
}

static void mark__only_half_of_the_first_request_is_shared__another_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk asked;
    desk_done(&desk, begin_long(&talk, &asked), COORD_OUTCOME_OK);
    asked.count = 5;
    assert_string_equal(go_on_from(&asked)->match, "new");
}

static void mark__step_in_flight__another_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk asked;
    (void)begin_long(&talk, &asked);
    talk_say(&talk, "more, without waiting for the answer", 100);
    desk_done(&desk, desk_arrive(&desk, NULL, &talk), COORD_OUTCOME_OK);
    assert_string_equal(go_on_from(&asked)->match, "new");
}

static void mark__no_answer_yet__another_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk asked;
    desk_gone(&desk, begin_long(&talk, &asked));
    assert_string_equal(go_on_from(&asked)->match, "new");
}

static void mark__sixteen_minutes_later__another_session(void **state)
{
    (void)state;
    struct talk talk;
    struct talk asked;
    desk_done(&desk, begin_long(&talk, &asked), COORD_OUTCOME_OK);
    desk.now_us += UINT64_C(960000000);
    assert_string_equal(go_on_from(&asked)->match, "new");
}

static void mark__tools_and_system_alone_are_shared__another_session(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "tools", 4000);
    for (int i = 0; i < 10; i++) {
        talk_say(&talk, "a long system prompt", 4096);
        talk.is_end[talk.count - 1] = i == 9;
    }
    struct talk other = talk;
    talk_say(&talk, "a task", 500);
    (void)desk_whole_step(&desk, NULL, &talk);
    assert_string_equal(go_on_from(&other)->match, "new");
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
    assert_int_equal(desk_born(&desk), 2);
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
    desk_label(&desk, first);
    uint64_t two = desk_arrive(&desk, NULL, &talk); /* a twin */
    desk_done(&desk, one, COORD_OUTCOME_OK);
    desk.now_us += 1000;
    desk_done(&desk, two, COORD_OUTCOME_OK);
    talk_say(&talk, "answer", 300);
    (void)desk_arrive(&desk, NULL, &talk);
    desk_label(&desk, label);
    assert_string_equal(label, first);
    assert_int_equal(desk_born(&desk), 2);
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
        desk_label(&desk, labels[i]);
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(labels[i], labels[k]);
        }
    }
    assert_int_equal(desk_born(&desk), 40);
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
    assert_int_equal(desk_born(&desk), 40); /* the first one continues the warm-up */
    for (uint32_t e = 1; e <= 4; e++) {
        assert_true(desk_engine_number(&desk, e, "sessions") <= 14.0); /* 1.4 times the mean */
    }
}

static void chain__inner_boundaries__do_not_match(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    for (int i = 0; i < 7; i++) {
        talk_say(&talk, "piece of one long message", 4096);
        talk.is_end[i] = 0;
    }
    struct talk other = talk;
    talk_say(&talk, "its last piece", 4096);
    (void)desk_whole_step(&desk, NULL, &talk);
    assert_string_equal(go_on_from(&other)->match, "new");
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
    assert_int_equal(desk_born(&desk), 2);
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
    assert_int_equal(desk_born(&desk), 1);
}

static void id__compared_whole__prefix_is_another_session(void **state)
{
    (void)state;
    (void)desk_whole_step(&desk, "task-7", NULL);
    (void)desk_whole_step(&desk, "task-77", NULL);
    assert_int_equal(desk_born(&desk), 2);
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

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(chain__grows__same_session_same_engine),
        T(chain__later_request_again_after_its_answer__same_session),
        T(chain__first_request_again_after_an_engine_error__same_session),
        T(twin__first_request_again_after_its_answer__another_task),
        T(twin__one_answered_one_failed__the_same_again_is_the_failed_one),
        T(chain__same_again_while_in_flight__other_session),
        T(chain__same_again_after_the_client_left__same_session),
        T(chain__second_extension_of_a_point__fork_with_the_parents_home),
        T(chain__an_earlier_state_again__fork),
        T(back__last_message_taken_back__same_session),
        T(back__session_has_a_step_in_flight__fork_that_names_its_parent),
        T(reopen__compacted_after_many_steps__same_session_with_little_confidence),
        T(reopen__sixteen_minutes_later__another_session),
        T(reopen__two_sessions_began_alike__neither),
        T(mark__end_of_the_first_request_replaced__same_session),
        T(mark__many_steps_later__same_session),
        T(mark__another_task_of_the_same_project__another_session),
        T(mark__two_tasks_of_the_same_project__neither),
        T(mark__only_half_of_the_first_request_is_shared__another_session),
        T(mark__step_in_flight__another_session),
        T(mark__no_answer_yet__another_session),
        T(mark__sixteen_minutes_later__another_session),
        T(mark__tools_and_system_alone_are_shared__another_session),
        T(reopen__system_prompt_alone_is_shared__another_session),
        T(chain__two_wait_at_one_point__the_one_that_waits_longer_goes_on),
        T(chain__common_system_prompt__sessions_stay_apart),
        T(chain__a_request_of_the_system_prompt_alone__others_are_forks_at_most),
        T(chain__inner_boundaries__do_not_match),
        T(chain__other_tenant__other_session),
        T(id__same_id__same_engine_whatever_the_prompt),
        T(id__compared_whole__prefix_is_another_session),
        T(id__two_models__a_home_each_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
