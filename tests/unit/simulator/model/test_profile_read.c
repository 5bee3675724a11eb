/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/model/profile_read.h"

#define GOOD                                         \
    "---\n"                                          \
    "# a machine\n"                                  \
    "name: mine\n"                                   \
    "text: \"one line: with a # sign\"  # comment\n" \
    "a_s: 1e-3 # comment\n"                          \
    "b_s_per_token: 0.00001\r\n"                     \
    "d_s_per_pair: 1e-9\n"                           \
    "f_s: '0.005'\n"                                 \
    "g_s_per_request: 0\n"                           \
    "h_s_per_token: 5e-8\n"                          \
    "\n"                                             \
    "kv_bytes_per_token: 131072\n"                   \
    "kv_tokens: 100000\n"                            \
    "max_running: 64\n"                              \
    "budget_tokens: 2048\n"                          \
    "context_tokens: 32768"

static void read__a_whole_file__gives_every_field(void **state)
{
    (void)state;
    struct sim_profile p;
    struct err err = {0};
    assert_status(sim_profile_read(STR(GOOD), &p, &err), ST_OK);
    assert_string_equal(p.name, "mine");
    assert_string_equal(p.text, "one line: with a # sign");
    assert_close(p.a_s, 1e-3, 1e-15);
    assert_close(p.b_s_per_token, 1e-5, 1e-17);
    assert_close(p.d_s_per_pair, 1e-9, 1e-21);
    assert_close(p.f_s, 5e-3, 1e-15);
    assert_close(p.g_s_per_request, 0, 0);
    assert_close(p.h_s_per_token, 5e-8, 1e-20);
    assert_int_equal(p.kv_bytes_per_token, 131072);
    assert_int_equal(p.kv_tokens, 100000);
    assert_int_equal(p.max_running, 64);
    assert_int_equal(p.budget_tokens, 2048);
    assert_int_equal(p.context_tokens, 32768);
    assert_status(sim_profile_check(&p, &err), ST_OK);
}

static void write__each_built_in__reads_back_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; sim_profile_at(i) != NULL; i++) {
        const struct sim_profile *p = sim_profile_at(i);
        struct sim_profile again;
        struct err err = {0};
        struct buf text;
        buf_init(&text, mem_heap(), SIM_PROFILE_TEXT_MAX);
        assert_status(sim_profile_write(p, &text), ST_OK);
        assert_status(sim_profile_read(buf_str(&text), &again, &err), ST_OK);
        assert_string_equal(again.name, p->name);
        assert_string_equal(again.text, p->text);
        assert_memory_equal(&again.a_s, &p->a_s, sizeof(p->a_s));
        assert_memory_equal(&again.b_s_per_token, &p->b_s_per_token, sizeof(p->a_s));
        assert_memory_equal(&again.d_s_per_pair, &p->d_s_per_pair, sizeof(p->a_s));
        assert_memory_equal(&again.f_s, &p->f_s, sizeof(p->a_s));
        assert_memory_equal(&again.g_s_per_request, &p->g_s_per_request, sizeof(p->a_s));
        assert_memory_equal(&again.h_s_per_token, &p->h_s_per_token, sizeof(p->a_s));
        assert_int_equal(again.kv_bytes_per_token, p->kv_bytes_per_token);
        assert_int_equal(again.kv_tokens, p->kv_tokens);
        assert_int_equal(again.max_running, p->max_running);
        assert_int_equal(again.budget_tokens, p->budget_tokens);
        assert_int_equal(again.context_tokens, p->context_tokens);
        buf_fini(&text);
    }
}

static void write__a_number_of_many_digits__comes_back_exactly(void **state)
{
    (void)state;
    struct sim_profile p = *sim_profile_at(1);
    struct sim_profile again;
    struct err err = {0};
    struct buf text;
    p.b_s_per_token = 1.0 / 3;
    buf_init(&text, mem_heap(), SIM_PROFILE_TEXT_MAX);
    assert_status(sim_profile_write(&p, &text), ST_OK);
    assert_status(sim_profile_read(buf_str(&text), &again, &err), ST_OK);
    assert_memory_equal(&again.b_s_per_token, &p.b_s_per_token, sizeof(double));
    buf_fini(&text);
}

static void read__mistakes__are_named_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"name: x\nspeed: 3\n", "line 2: no key \"speed\""},
        {"name: x\nname: y\n", "line 2: name is in line 1"},
        {"a_s: -1\n", "line 1: a_s: must be a number from 0 to 3600"},
        {"a_s: 1h\n", "line 1: a_s"},
        {"a_s: nan\n", "line 1: a_s"},
        {"a_s:\n", "line 1: a_s"},
        {"\n\nkv_tokens: 1.5\n", "line 3: kv_tokens: must be a whole number"},
        {"kv_tokens: 5000000000\n", "line 1: kv_tokens"},
        {"name: two words\n", "line 1: name: must be 1 to 63"},
        {"name:\n", "line 1: name"},
        {"text: \"open\n", "line 1: must be \"key: value\""},
        {"text: \"a\" b\n", "line 1: must be"},
        {"  a_s: 1\n", "line 1: must be"},
        {"a_s 1\n", "line 1: must be"},
        {"a_s:1\n", "line 1: must be"},
        {"- a_s\n", "line 1: must be"},
        {"name: x\n---\n", "line 2: must be"},
        {"text: \x01\n", "line 1: text"},
        {"text: \xff\n", "line 1: text"},
        {"", "name is missing"},
        {"name: x\n", "a_s is missing: fixed cost of an iteration"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sim_profile p = {.a_s = 7};
        struct err err = {0};
        assert_status(sim_profile_read(str_of(cases[i].text), &p, &err), ST_INVAL);
        if (strncmp(err.text, cases[i].words, strlen(cases[i].words)) != 0) {
            fail_msg("%s: says \"%s\"", cases[i].words, err.text);
        }
        assert_close(p.a_s, 7, 0);
    }
}

static void read__too_long__is_refused(void **state)
{
    (void)state;
    static char text[SIM_PROFILE_TEXT_MAX + 1];
    struct sim_profile p;
    struct err err = {0};
    memset(text, '\n', sizeof(text));
    assert_status(sim_profile_read((struct str){text, sizeof(text)}, &p, &err), ST_TOOBIG);
}

static void check__values_that_do_not_fit__are_refused(void **state)
{
    (void)state;
    struct sim_profile good = *sim_profile_at(1);
    struct err err = {0};
    assert_status(sim_profile_check(&good, &err), ST_INVAL);
    assert_non_null(strstr(err.text, "built-in"));
    (void)str_copy(good.name, sizeof(good.name), STR("mine"));
    assert_status(sim_profile_check(&good, &err), ST_OK);
    struct sim_profile bad = good;
    bad.budget_tokens = bad.max_running - 1;
    assert_status(sim_profile_check(&bad, &err), ST_INVAL);
    bad = good;
    bad.f_s = bad.a_s / 2;
    assert_status(sim_profile_check(&bad, &err), ST_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__a_whole_file__gives_every_field),
        cmocka_unit_test(write__each_built_in__reads_back_the_same),
        cmocka_unit_test(write__a_number_of_many_digits__comes_back_exactly),
        cmocka_unit_test(read__mistakes__are_named_with_their_line),
        cmocka_unit_test(read__too_long__is_refused),
        cmocka_unit_test(check__values_that_do_not_fit__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
