/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/arrivals.h"

#include "tests/kit/kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static enum status read_text(struct arrivals_times *ret, const char *text, struct err *err)
{
    struct lines *lines = NULL;
    assert_status(lines_open_mem(&lines, str_of(text), err), ST_OK);
    enum status st = arrivals_times_read(ret, "f.csv", lines, err);
    lines_close(lines);
    return st;
}

static void read__stamps__become_waits_over_their_mean(void **state)
{
    (void)state;
    struct arrivals_times times;
    struct err err = {0};
    assert_status(read_text(&times,
                            "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-12-31 23:59:58.5000000,374,44\n"
                            "2023-12-31 23:59:59.5000000,396,109\n"
                            "2024-01-01 00:00:02.5000000,396,109\n",
                            &err),
                  ST_OK);
    assert_int_equal(times.count, 2);
    assert_close(times.waits[0], 0.5, 1e-6);
    assert_close(times.waits[1], 1.5, 1e-6);
    arrivals_times_fini(&times);
    assert_status(read_text(&times, "10\n10\n14.0\n", &err), ST_OK);
    assert_close(times.waits[0], 0, 0);
    assert_close(times.waits[1], 2, 1e-6);
    arrivals_times_fini(&times);
}

static void read__leap_day__counts(void **state)
{
    (void)state;
    struct arrivals_times times;
    struct err err = {0};
    assert_status(read_text(&times,
                            "2024-02-28 00:00:00\n2024-02-29 00:00:00\n2024-03-01 00:00:00\n"
                            "2024-03-03 00:00:00\n",
                            &err),
                  ST_OK);
    assert_close(times.waits[0], 0.75, 1e-6);
    assert_close(times.waits[1], 0.75, 1e-6);
    assert_close(times.waits[2], 1.5, 1e-6);
    arrivals_times_fini(&times);
}

static void read__wrong__says_where(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"t\n1\n2\nthree\n", "f.csv:4: no time stamp in the first column"},
        {"2\n1\n", "f.csv:2: earlier than the line before"},
        {"t\n1\n", "f.csv: needs two arrivals at different times"},
        {"1\n1\n", "f.csv: needs two arrivals at different times"},
        {"t\n2023-13-01 00:00:00\n", "f.csv:2: no time stamp in the first column"},
        {"t\n2023-12-01 24:00:00\n", "f.csv:2: no time stamp in the first column"},
        {"t\n2023-12 00:00:00\n", "f.csv:2: no time stamp in the first column"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct arrivals_times times;
        struct err err = {0};
        assert_status(read_text(&times, rows[i][0], &err), ST_INVAL);
        assert_string_equal(err.text, rows[i][1]);
    }
}

static void next__of_a_file__has_its_burstiness_at_any_rate(void **state)
{
    (void)state;
    struct arrivals_times times;
    struct arrivals arrivals;
    struct err err = {0};
    assert_status(read_text(&times, "0\n0\n0\n6\n6\n12\n", &err), ST_OK);
    arrivals_init(&arrivals, 10, 1, 3);
    arrivals_use(&arrivals, &times);
    double sum = 0;
    uint32_t zeros = 0;
    for (int i = 0; i < 500; i++) {
        double s = arrivals_next_s(&arrivals);
        sum += s;
        zeros += s == 0;
        assert_true(s == 0 || fabs(s - 25) < 1e-3);
    }
    assert_close(sum / 500, 10, 1e-3);
    assert_int_equal(zeros, 300);
    arrivals_times_fini(&times);
}

/* The real file, when the traces are there. */
static void load__azure_2023__has_all_its_lines(void **state)
{
    (void)state;
    const char *folder = getenv("SAGA_TRACES");
    char path[KIT_PATH_BYTES];
    if (folder == NULL) {
        print_message("SKIPPED: SAGA_TRACES is not set\n");
        skip();
    }
    int len = snprintf(path, sizeof(path), "%s/azure2023_code.csv.gz", folder);
    assert_true(len > 0 && (size_t)len < sizeof(path));
    struct arrivals_times times;
    struct err err = {0};
    assert_status(arrivals_times_load(&times, path, &err), ST_OK);
    assert_int_equal(times.count, 8818);
    arrivals_times_fini(&times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__stamps__become_waits_over_their_mean),
        cmocka_unit_test(read__leap_day__counts),
        cmocka_unit_test(read__wrong__says_where),
        cmocka_unit_test(next__of_a_file__has_its_burstiness_at_any_rate),
        cmocka_unit_test(load__azure_2023__has_all_its_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
