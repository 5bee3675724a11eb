/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/options.h"

#include <stdio.h>
#include <string.h>

enum { ARGS_MAX = 16 };

/* Words separated by blanks. */
static enum status parse(const char *line, struct replay_options *ret, struct err *err)
{
    static char words[512];
    char *argv[ARGS_MAX] = {0};
    int argc = 0;
    (void)snprintf(words, sizeof(words), "bench %s", line);
    for (char *at = words; at != NULL && argc < ARGS_MAX; argc++) {
        argv[argc] = at;
        at = strchr(at, ' ');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    return options_parse(argc, argv, ret, err);
}

static void options_parse__url_alone__gives_the_defaults(void **state)
{
    (void)state;
    struct replay_options opts;
    struct err err = {0};
    assert_status(parse("--url http://x:1", &opts, &err), ST_OK);
    assert_int_equal(opts.url_count, 1);
    assert_string_equal(opts.urls[0], "http://x:1");
    assert_null(opts.trace);
    assert_int_equal(opts.sessions, 0);
    assert_int_equal(opts.retries, 0);
    assert_close(opts.speed, 20, 0);
    assert_true(opts.arrivals == ARRIVALS_POISSON && opts.spread == SPREAD_SESSION);
    assert_false(opts.has_session_header);
    assert_true(opts.ignores_eos);
}

static void options_parse__everything__is_taken(void **state)
{
    (void)state;
    struct replay_options opts;
    struct err err = {0};
    assert_status(parse("--url a --url b --spread random --sessions 7 --speed 2.5 --seed 9 --json",
                        &opts, &err),
                  ST_OK);
    assert_int_equal(opts.url_count, 2);
    assert_true(opts.spread == SPREAD_RANDOM);
    assert_int_equal(opts.sessions, 7);
    assert_close(opts.speed, 2.5, 0);
    assert_int_equal(opts.seed, 9);
    assert_true(opts.is_json);
    assert_status(parse("--url a --session-header on --ignore-eos off --arrivals burst --retry 0",
                        &opts, &err),
                  ST_OK);
    assert_true(opts.has_session_header);
    assert_false(opts.ignores_eos);
    assert_true(opts.arrivals == ARRIVALS_BURST);
}

struct bad_line {
    const char *line;
    const char *complaint;
};

static void options_parse__wrong_use__is_refused_with_what_is_allowed(void **state)
{
    (void)state;
    const struct bad_line cases[] = {
        {"--sessions 3", "--url is missing"},
        {"--url", "--url needs a value"},
        {"--url a --frobnicate 3", "unknown option --frobnicate"},
        {"--url a stray", "unknown option stray"},
        {"--url a --sessions 0", "from 1 to"},
        {"--url a --sessions x", "whole number"},
        {"--url a --sessions 1.5", "whole number"},
        {"--url a --speed 0", "from 0.001"},
        {"--url a --speed nan", "number"},
        {"--url a --spread all", "session, random or round_robin"},
        {"--url a --arrivals all", "poisson, burst"},
        {"--url a --session-header", "needs a value"},
        {"--url a --session-header maybe", "off, on"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct replay_options opts;
        struct err err = {0};
        enum status st = parse(cases[i].line, &opts, &err);
        if (st != ST_INVAL || strstr(err.text, cases[i].complaint) == NULL) {
            fail_msg("%s: %s, %s", cases[i].line, status_name(st), err.text);
        }
    }
}

static void options_parse__help__needs_nothing_else(void **state)
{
    (void)state;
    struct replay_options opts;
    struct err err = {0};
    assert_status(parse("--help", &opts, &err), ST_OK);
    assert_true(opts.wants_help);
    assert_non_null(strstr(options_help(), "--scale-tokens"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_parse__url_alone__gives_the_defaults),
        cmocka_unit_test(options_parse__everything__is_taken),
        cmocka_unit_test(options_parse__wrong_use__is_refused_with_what_is_allowed),
        cmocka_unit_test(options_parse__help__needs_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
