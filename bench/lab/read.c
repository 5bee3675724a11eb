/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/read.h"

enum status lab_read_bad(struct err *err, const char *name, struct str value, const char *must)
{
    return err_set(err, ST_INVAL, "%s %.*s: must be %s", name, (int)value.len, value.p, must);
}

enum status lab_read_number(
    const char *name, struct str text, double min, double max, double *ret, struct err *err)
{
    double x = 0;
    if (str_to_f64(text, &x) != ST_OK || !(x >= min && x <= max)) {
        return err_set(err, ST_INVAL, "%s %.*s: must be a number from %g to %g", name,
                       (int)text.len, text.p, min, max);
    }
    *ret = x;
    return ST_OK;
}

enum status lab_read_whole(
    const char *name, struct str text, uint64_t min, uint64_t max, uint64_t *ret, struct err *err)
{
    uint64_t n = 0;
    if (str_to_u64(text, &n) != ST_OK || n < min || n > max) {
        return err_set(err, ST_INVAL, "%s %.*s: must be a whole number from %llu to %llu", name,
                       (int)text.len, text.p, (unsigned long long)min, (unsigned long long)max);
    }
    *ret = n;
    return ST_OK;
}

enum status lab_read_list(
    const char *name, struct str text, struct str *ret, uint32_t *ret_count, struct err *err)
{
    uint32_t count = 0;
    struct str part = STR("");
    while (str_split(&text, ',', &part)) {
        if (part.len == 0) {
            return err_set(err, ST_INVAL, "%s: an empty entry", name);
        }
        if (count == LAB_LIST_MAX) {
            return err_set(err, ST_INVAL, "%s: more than %d", name, LAB_LIST_MAX);
        }
        ret[count++] = part;
    }
    if (count == 0) {
        return err_set(err, ST_INVAL, "%s: nothing given", name);
    }
    *ret_count = count;
    return ST_OK;
}

enum status lab_read_name(const char *name,
                          struct str text,
                          const char *const *names,
                          uint32_t count,
                          uint32_t *ret,
                          struct err *err)
{
    char all[256] = "one of";
    size_t len = strlen(all);
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(text, str_of(names[i]))) {
            *ret = i;
            return ST_OK;
        }
        if (len + 2 < sizeof(all)) {
            all[len++] = ' ';
            len += str_copy(all + len, sizeof(all) - len, str_of(names[i]));
        }
    }
    return lab_read_bad(err, name, text, all);
}
