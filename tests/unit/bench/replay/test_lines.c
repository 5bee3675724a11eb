/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/lines.h"
#include "bench/replay/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { ZIP_MAX = 1 << 20 };

/* text as one gzip member at the end of out. */
static void add_gzip(struct buf *out, const char *text, size_t len)
{
    z_stream z = {0};
    assert_status(buf_reserve(out, len + 1024), ST_OK);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)len;
    z.next_out = (unsigned char *)out->p + out->len;
    z.avail_out = (uInt)(out->cap - out->len);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->len = out->cap - z.avail_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
}

static void expect_line(struct lines *lines, const char *expected)
{
    struct str line;
    struct err err = {0};
    assert_status(lines_next(lines, &line, &err), ST_OK);
    assert_int_equal(line.len, strlen(expected));
    assert_memory_equal(line.p, expected, line.len);
}

static enum status next_status(struct lines *lines, struct err *err)
{
    struct str line;
    return lines_next(lines, &line, err);
}

static void lines__plain_text__come_one_by_one_with_or_without_a_last_end(void **state)
{
    (void)state;
    struct lines *lines = NULL;
    struct err err = {0};
    assert_status(lines_open_mem(&lines, STR("one\r\n\ntwo"), &err), ST_OK);
    expect_line(lines, "one");
    expect_line(lines, "");
    expect_line(lines, "two");
    assert_int_equal(lines_number(lines), 3);
    assert_status(next_status(lines, &err), ST_CLOSED);
    assert_status(next_status(lines, &err), ST_CLOSED);
    lines_close(lines);
}

static void lines__nothing__is_closed_at_once(void **state)
{
    (void)state;
    struct lines *lines = NULL;
    struct err err = {0};
    assert_status(lines_open_mem(&lines, STR(""), &err), ST_OK);
    assert_status(next_status(lines, &err), ST_CLOSED);
    lines_close(lines);
}

static void lines__two_gzip_members__read_as_one_text(void **state)
{
    (void)state;
    struct lines *lines = NULL;
    struct err err = {0};
    struct buf zip;
    buf_init(&zip, mem_heap(), ZIP_MAX);
    add_gzip(&zip, "one\ntw", 6);
    add_gzip(&zip, "o\n", 2);
    assert_status(lines_open_mem(&lines, buf_str(&zip), &err), ST_OK);
    expect_line(lines, "one");
    expect_line(lines, "two");
    assert_status(next_status(lines, &err), ST_CLOSED);
    lines_close(lines);
    buf_fini(&zip);
}

static void lines__gzip_cut_anywhere__is_an_error_never_a_short_text(void **state)
{
    (void)state;
    struct buf zip;
    buf_init(&zip, mem_heap(), ZIP_MAX);
    add_gzip(&zip, "one\ntwo\n", 8);
    for (size_t len = 2; len < zip.len; len++) {
        struct lines *lines = NULL;
        struct err err = {0};
        enum status st = ST_OK;
        assert_status(lines_open_mem(&lines, (struct str){zip.p, len}, &err), ST_OK);
        while (st == ST_OK) {
            st = next_status(lines, &err);
        }
        if (st != ST_PROTO) {
            fail_msg("cut at %zu: %s", len, status_name(st));
        }
        lines_close(lines);
    }
    buf_fini(&zip);
}

static void lines__line_over_the_limit__is_refused_with_its_number(void **state)
{
    (void)state;
    struct lines *lines = NULL;
    struct err err = {0};
    size_t len = LINES_LINE_MAX + 3;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'x', len);
    memcpy(text, "a\n", 2);
    assert_status(lines_open_mem(&lines, (struct str){text, len}, &err), ST_OK);
    expect_line(lines, "a");
    assert_status(next_status(lines, &err), ST_TOOBIG);
    assert_non_null(strstr(err.text, "line 2"));
    lines_close(lines);
    free(text);
}

static void lines__line_of_exactly_the_limit__is_read(void **state)
{
    (void)state;
    struct lines *lines = NULL;
    struct err err = {0};
    struct str line;
    size_t len = LINES_LINE_MAX + 1;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'x', len);
    text[len - 1] = '\n';
    assert_status(lines_open_mem(&lines, (struct str){text, len}, &err), ST_OK);
    assert_status(lines_next(lines, &line, &err), ST_OK);
    assert_int_equal(line.len, LINES_LINE_MAX);
    lines_close(lines);
    free(text);
}

static void lines_open__no_such_file__says_its_name(void **state)
{
    (void)state;
    struct lines *lines = NULL;
    struct err err = {0};
    assert_status(lines_open(&lines, "no-such-file.jsonl", &err), ST_IO);
    assert_non_null(strstr(err.text, "no-such-file.jsonl"));
}

static void lines_open__a_file__gives_the_same_lines_as_memory(void **state)
{
    (void)state;
    char path[KIT_PATH_BYTES];
    struct str data = sample_data();
    struct lines *from_file = NULL;
    struct lines *from_mem = NULL;
    struct err err = {0};
    kit_tmp_file(path, data.p, data.len);
    assert_status(lines_open(&from_file, path, &err), ST_OK);
    assert_status(lines_open_mem(&from_mem, data, &err), ST_OK);
    struct str a;
    struct str b;
    enum status st = lines_next(from_file, &a, &err);
    while (st == ST_OK) {
        assert_status(lines_next(from_mem, &b, &err), ST_OK);
        assert_true(str_eq(a, b));
        st = lines_next(from_file, &a, &err);
    }
    assert_status(st, ST_CLOSED);
    assert_status(lines_next(from_mem, &b, &err), ST_CLOSED);
    assert_true(lines_number(from_file) > 1000);
    lines_close(from_file);
    lines_close(from_mem);
    kit_tmp_remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines__plain_text__come_one_by_one_with_or_without_a_last_end),
        cmocka_unit_test(lines__nothing__is_closed_at_once),
        cmocka_unit_test(lines__two_gzip_members__read_as_one_text),
        cmocka_unit_test(lines__gzip_cut_anywhere__is_an_error_never_a_short_text),
        cmocka_unit_test(lines__line_over_the_limit__is_refused_with_its_number),
        cmocka_unit_test(lines__line_of_exactly_the_limit__is_read),
        cmocka_unit_test(lines_open__no_such_file__says_its_name),
        cmocka_unit_test(lines_open__a_file__gives_the_same_lines_as_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
