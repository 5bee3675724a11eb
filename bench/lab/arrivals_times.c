/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/arrivals_times.h"

enum { WAITS_FIRST = 4096, S_PER_DAY = 86400 };

/* Days since the civil calendar's 1970-01-01; Howard Hinnant, "chrono-compatible low-level date
 * algorithms", days_from_civil. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2 ? 1 : 0;
    int64_t era = year / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Three whole numbers between separators. */
static bool split_three(struct str text, char sep, uint64_t ret[2], struct str *ret_last)
{
    struct str part = STR("");
    for (int i = 0; i < 2; i++) {
        if (!str_split(&text, sep, &part) || str_to_u64(part, &ret[i]) != ST_OK || ret[i] > 9999) {
            return false;
        }
    }
    *ret_last = text;
    return text.len > 0;
}

static bool read_stamp(struct str text, double *ret_s)
{
    struct str date = STR("");
    struct str last = STR("");
    uint64_t two[2] = {0};
    uint64_t day = 0;
    double s = 0;
    if (str_to_f64(text, ret_s) == ST_OK) {
        return true;
    }
    if (!str_split(&text, ' ', &date) || !split_three(date, '-', two, &last) ||
        str_to_u64(last, &day) != ST_OK || two[1] < 1 || two[1] > 12 || day < 1 || day > 31) {
        return false;
    }
    double whole_s = (double)days_of((int64_t)two[0], (int64_t)two[1], (int64_t)day) * S_PER_DAY;
    if (!split_three(text, ':', two, &last) || str_to_f64(last, &s) != ST_OK || two[0] > 23 ||
        two[1] > 59 || !(s >= 0 && s < 61)) {
        return false;
    }
    *ret_s = whole_s + (double)(two[0] * 3600 + two[1] * 60) + s;
    return true;
}

static enum status add(struct arrivals_times *times, double wait_s)
{
    if (times->count == times->cap) {
        uint32_t cap = times->cap == 0 ? WAITS_FIRST : times->cap * 2;
        float *grown = cap > ARRIVALS_TIMES_MAX
                           ? NULL
                           : mem_resize(mem_heap(), times->waits, times->cap * sizeof(float),
                                        cap * sizeof(float));
        if (grown == NULL) {
            return ST_NOMEM;
        }
        times->waits = grown;
        times->cap = cap;
    }
    times->waits[times->count++] = (float)wait_s;
    return ST_OK;
}

/* All waits, in seconds; *ret_sum_s is what they come to. */
static enum status read_all(struct arrivals_times *times,
                            const char *name,
                            struct lines *lines,
                            double *ret_sum_s,
                            struct err *err)
{
    struct str line = STR("");
    struct str stamp = STR("");
    double before_s = -1;
    enum status st = ST_OK;
    while ((st = lines_next(lines, &line, err)) == ST_OK) {
        double at_s = 0;
        unsigned long long number = lines_number(lines);
        bool is_there = str_split(&line, ',', &stamp) && stamp.len > 0;
        if (!is_there || !read_stamp(stamp, &at_s)) {
            if (number == 1 || !is_there) {
                continue;
            }
            return err_set(err, ST_INVAL, "%s:%llu: no time stamp in the first column", name,
                           number);
        }
        if (before_s >= 0 && at_s < before_s) {
            return err_set(err, ST_INVAL, "%s:%llu: earlier than the line before", name, number);
        }
        st = before_s < 0 ? ST_OK : add(times, at_s - before_s);
        if (st != ST_OK) {
            return err_set(err, st, "%s: no memory for so many arrivals", name);
        }
        *ret_sum_s += before_s < 0 ? 0 : at_s - before_s;
        before_s = at_s;
    }
    return st == ST_CLOSED ? ST_OK : st;
}

enum status arrivals_times_read(struct arrivals_times *ret,
                                const char *name,
                                struct lines *lines,
                                struct err *err)
{
    struct arrivals_times times = {0};
    double sum_s = 0;
    enum status st = read_all(&times, name, lines, &sum_s, err);
    if (st == ST_OK && (times.count == 0 || sum_s <= 0)) {
        st = err_set(err, ST_INVAL, "%s: needs two arrivals at different times", name);
    }
    if (st != ST_OK) {
        arrivals_times_fini(&times);
        return st;
    }
    for (uint32_t i = 0; i < times.count; i++) {
        times.waits[i] = (float)((double)times.waits[i] * times.count / sum_s);
    }
    *ret = times;
    return ST_OK;
}

enum status arrivals_times_load(struct arrivals_times *ret, const char *path, struct err *err)
{
    struct lines *lines = NULL;
    enum status st = lines_open(&lines, path, err);
    if (st == ST_OK) {
        st = arrivals_times_read(ret, path, lines, err);
        lines_close(lines);
    }
    return st;
}

void arrivals_times_fini(struct arrivals_times *times)
{
    mem_free(mem_heap(), times->waits, times->cap * sizeof(float));
    *times = (struct arrivals_times){0};
}
