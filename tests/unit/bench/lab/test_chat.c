/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/chat.h"

#include "tests/kit/kit.h"

#include <stdio.h>
#include <stdlib.h>

static const struct sim_profile small = {
    .b_s_per_token = 0.001, .f_s = 0.01, .kv_tokens = 100000, .context_tokens = 4000};

static enum status
read_text(struct workload *ret, const char *text, enum workload_split split, struct err *err)
{
    const struct workload_opts opts = {.kind = WORKLOAD_CHAT, .split = split, .profile = &small};
    struct lines *lines = NULL;
    assert_status(lines_open_mem(&lines, str_of(text), err), ST_OK);
    enum status st = chat_read(ret, "f", lines, &opts, err);
    lines_close(lines);
    return st;
}

#define ROW(at, in, out, ids)                                                                      \
    "{\"timestamp\":" #at ",\"input_length\":" #in ",\"output_length\":" #out ",\"hash_ids\":" ids \
    "}\n"

/* The second goes on from the first, the third is another's, the fourth goes on from the second but
 * is longer than fits, the fifth would be a second way on from the first. */
static const char text[] =
    ROW(0, 1100, 100, "[0,1,2]") ROW(30000, 1300, 50, "[0,1,3]") ROW(40000, 700, 9, "[0,4]")
        ROW(900000, 3990, 50, "[0,1,5,6,7,8,9,10]") ROW(900001, 1200, 50, "[0,1,11]");

static void read__prompts_that_begin_alike__are_one_session(void **state)
{
    (void)state;
    struct workload w;
    struct err err = {0};
    assert_status(read_text(&w, text, SPLIT_ALL, &err), ST_OK);
    /* Request 4 finds the newest prompt that ends with block 1, which is gone on from. */
    assert_int_equal(w.session_count, 3);
    assert_int_equal(w.cut_count, 1);
    const struct lab_session *s = &w.sessions[0];
    assert_int_equal(s->step_count, 2);
    assert_int_equal(s->system_tokens, 512);
    assert_int_equal(s->steps[1].prompt_tokens, 1300);
    assert_int_equal(s->steps[1].kept_tokens, 1200); /* prompt and answer */
    assert_true(s->steps[1].is_human);
    assert_int_equal(s->steps[1].gap_us, 30000000 - 1100 * 1000 - 100 * 10000);
    assert_int_equal(w.sessions[1].system_id, s->system_id);
    assert_int_equal(w.sessions[1].step_count, 1);
    workload_fini(&w);
}

static void read__halves__are_the_whole(void **state)
{
    (void)state;
    struct err err = {0};
    uint32_t sum = 0;
    for (int split = SPLIT_TRAIN; split <= SPLIT_TEST; split++) {
        struct workload w;
        if (read_text(&w, text, (enum workload_split)split, &err) == ST_OK) {
            sum += w.tree_count;
            workload_fini(&w);
        }
    }
    assert_int_equal(sum, 3);
}

static void read__wrong__says_where(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{}\n",
        "[]\n",
        "no json\n",
        ROW(0, 600, 1, "[0]"),
        ROW(0, 600, 1, "[]"),
        ROW(0, 600, -1, "[0,1]"),
    };
    struct workload w;
    struct err err = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_status(read_text(&w, rows[i], SPLIT_ALL, &err), ST_PROTO);
        assert_string_equal(err.text, "f:1: no request of a Mooncake trace (or not by time)");
    }
    assert_status(read_text(&w, ROW(5, 9, 1, "[0]") ROW(4, 9, 1, "[0]"), SPLIT_ALL, &err),
                  ST_PROTO);
    assert_status(read_text(&w, "", SPLIT_ALL, &err), ST_INVAL);
    assert_status(read_text(&w, ROW(0, 4000, 1, "[0,1,2,3,4,5,6,7]"), SPLIT_ALL, &err), ST_INVAL);
}

/* The real trace, when it is there: the numbers of docs/scenarios.md. */
static void load__conversation_trace__makes_so_many_sessions(void **state)
{
    (void)state;
    const char *folder = getenv("SAGA_TRACES");
    char path[KIT_PATH_BYTES];
    if (folder == NULL) {
        print_message("SKIPPED: SAGA_TRACES is not set\n");
        skip();
    }
    int len = snprintf(path, sizeof(path), "%s/mooncake_conversation_trace.jsonl.gz", folder);
    assert_true(len > 0 && (size_t)len < sizeof(path));
    struct sim_profile large = small;
    large.kv_tokens = 1 << 24;
    large.context_tokens = 1 << 24;
    const struct workload_opts opts = {
        .kind = WORKLOAD_CHAT, .split = SPLIT_ALL, .profile = &large};
    struct workload w;
    struct err err = {0};
    uint32_t steps = 0;
    uint32_t single = 0;
    uint32_t longest = 0;
    assert_status(chat_load(&w, path, &opts, &err), ST_OK);
    for (uint32_t i = 0; i < w.session_count; i++) {
        uint32_t count = w.sessions[i].step_count;
        steps += count;
        single += count == 1 ? 1 : 0;
        longest = count > longest ? count : longest;
    }
    assert_int_equal(w.session_count, 8099);
    assert_int_equal(steps, 12031);
    assert_int_equal(single, 6072);
    assert_int_equal(longest, 43);
    workload_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__prompts_that_begin_alike__are_one_session),
        cmocka_unit_test(read__halves__are_the_whole),
        cmocka_unit_test(read__wrong__says_where),
        cmocka_unit_test(load__conversation_trace__makes_so_many_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
