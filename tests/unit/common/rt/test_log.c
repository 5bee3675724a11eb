/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/rt/clock.h"
#include "common/rt/log.h"
#include "common/rt/thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[KIT_PATH_BYTES];
static int fd = -1;

static int open_log(void **state)
{
    (void)state;
    kit_tmp_file(path, "", 0);
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    log_set_fd(fd);
    log_set_level(LOG_LEVEL_INFO);
    return fd < 0 ? -1 : 0;
}

static int close_log(void **state)
{
    (void)state;
    log_flush(clock_now_us(), true);
    log_set_fd(STDERR_FILENO);
    (void)close(fd);
    kit_tmp_remove(path);
    return 0;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n' ? 1 : 0;
    }
    return n;
}

static void log__one_line__has_stamp_level_component_message(void **state)
{
    (void)state;
    log_warn("front", "engine down name=%s fails=%d", "e1", 3);
    char *text = kit_read_file(path);
    assert_int_equal(text[4], '-');
    assert_int_equal(text[10], 'T');
    assert_string_equal(text + 23, "Z warn front engine down name=e1 fails=3\n");
    free(text);
}

static void log__level__decides_what_is_written(void **state)
{
    (void)state;
    log_debug("x", "hidden");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("x", "shown");
    log_set_level(LOG_LEVEL_ERROR);
    log_warn("x", "hidden");
    assert_true(log_is_on(LOG_LEVEL_ERROR));
    assert_false(log_is_on(LOG_LEVEL_WARN));
    char *text = kit_read_file(path);
    assert_int_equal(count_lines(text), 1);
    assert_non_null(strstr(text, "debug x shown"));
    free(text);
}

static void log__control_bytes__cannot_forge_a_line(void **state)
{
    (void)state;
    log_info("x", "a%sb", "\n\x1b[31m\r\x7f");
    char *text = kit_read_file(path);
    assert_int_equal(count_lines(text), 1);
    assert_non_null(strstr(text, "a\\n\\x1b[31m\\x0d\\x7fb\n"));
    free(text);
}

static void log_quote__foreign_value__stays_one_value(void **state)
{
    (void)state;
    assert_string_equal(log_quote(STR("a \"b\" \\ \n")).text, "\"a \\\"b\\\" \\\\ \\n\"");
    char big[1000];
    memset(big, '"', sizeof(big));
    struct log_quoted q = log_quote((struct str){big, sizeof(big)});
    size_t len = strlen(q.text);
    assert_true(len < LOG_QUOTED_BYTES);
    assert_int_equal(q.text[len - 1], '"');
    assert_int_equal(len % 2, 0); /* no lone backslash before the end */
}

static void log__long_line__is_cut_to_one_line(void **state)
{
    (void)state;
    log_info("x", "%05000d", 1);
    char *text = kit_read_file(path);
    assert_int_equal(strlen(text), LOG_LINE_BYTES);
    assert_int_equal(text[LOG_LINE_BYTES - 1], '\n');
    free(text);
}

static void repeat(int times)
{
    for (int i = 0; i < times; i++) {
        log_error("x", "again %d", i);
    }
}

static void log__repeats_of_a_site__are_held_back_and_counted(void **state)
{
    (void)state;
    repeat(LOG_BURST + 612);
    char *text = kit_read_file(path);
    assert_int_equal(count_lines(text), LOG_BURST);
    free(text);
    log_flush(clock_now_us() + LOG_WINDOW_US, false);
    text = kit_read_file(path);
    assert_int_equal(count_lines(text), LOG_BURST + 1);
    assert_non_null(strstr(text, "error x repeated (612 more in 10 s)\n"));
    free(text);
    log_flush(clock_now_us() + LOG_WINDOW_US, true); /* nothing left to tell */
    text = kit_read_file(path);
    assert_int_equal(count_lines(text), LOG_BURST + 1);
    free(text);
}

static void log__debug_level__is_never_held_back(void **state)
{
    (void)state;
    log_set_level(LOG_LEVEL_DEBUG);
    for (int i = 0; i < LOG_BURST * 3; i++) {
        log_debug("x", "%d", i);
    }
    char *text = kit_read_file(path);
    assert_int_equal(count_lines(text), LOG_BURST * 3);
    free(text);
}

static void log__closed_descriptor__is_counted(void **state)
{
    (void)state;
    uint64_t lost = log_lost_count();
    log_set_fd(-1);
    log_info("x", "to nowhere");
    assert_int_equal(log_lost_count(), lost + 1);
}

enum { THREADS = 4, LINES = 200 };

static void write_many(void *arg)
{
    const char *letter = arg;
    for (int i = 0; i < LINES; i++) {
        log_debug("t", "%s%s%s%s", letter, letter, letter, letter);
    }
}

static void log__many_threads__lines_stay_whole(void **state)
{
    (void)state;
    static char letters[THREADS][2] = {"a", "b", "c", "d"};
    struct thread threads[THREADS];
    log_set_level(LOG_LEVEL_DEBUG);
    for (int i = 0; i < THREADS; i++) {
        assert_status(thread_start(&threads[i], "logger", write_many, letters[i], NULL), ST_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        thread_join(&threads[i]);
    }
    char *text = kit_read_file(path);
    assert_int_equal(count_lines(text), THREADS * LINES);
    size_t whole = 0;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *msg = strstr(line, "debug t ");
        assert_non_null(msg);
        msg += 8;
        assert_int_equal(strlen(msg), 4);
        whole += msg[0] == msg[1] && msg[1] == msg[2] && msg[2] == msg[3] ? 1 : 0;
    }
    assert_int_equal(whole, THREADS * LINES);
    free(text);
}

#define WITH_LOG(f) cmocka_unit_test_setup_teardown(f, open_log, close_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOG(log__one_line__has_stamp_level_component_message),
        WITH_LOG(log__level__decides_what_is_written),
        WITH_LOG(log__control_bytes__cannot_forge_a_line),
        WITH_LOG(log_quote__foreign_value__stays_one_value),
        WITH_LOG(log__long_line__is_cut_to_one_line),
        WITH_LOG(log__repeats_of_a_site__are_held_back_and_counted),
        WITH_LOG(log__debug_level__is_never_held_back),
        WITH_LOG(log__closed_descriptor__is_counted),
        WITH_LOG(log__many_threads__lines_stay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
