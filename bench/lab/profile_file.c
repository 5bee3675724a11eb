/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. a built-in name is looked up; 2. else the file is read; 3. its text is checked.
 * Failures: a message that names the file, and the line where there is one. */
#include "bench/lab/profile_file.h"

#include "bench/replay/lines.h"

static bool ends_with(struct str s, struct str end)
{
    return s.len >= end.len && memcmp(s.p + s.len - end.len, end.p, end.len) == 0;
}

static enum status read_text(const char *path, struct buf *out, struct err *err)
{
    struct lines *lines = NULL;
    struct str line = STR("");
    enum status st = lines_open(&lines, path, err);
    while (st == ST_OK && (st = lines_next(lines, &line, err)) == ST_OK) {
        st = buf_add_str(out, line);
        if (st == ST_OK) {
            st = buf_add_str(out, STR("\n"));
        }
        if (st != ST_OK) {
            status_ignore(err_set(err, st, "%s", status_text(st)), "returned below");
        }
    }
    lines_close(lines);
    return st == ST_CLOSED ? ST_OK : st;
}

static enum status read_file(const char *path, struct sim_profile *ret, struct err *err)
{
    struct buf text;
    struct err why = {0};
    buf_init(&text, mem_heap(), SIM_PROFILE_TEXT_MAX);
    enum status st = read_text(path, &text, &why);
    if (st == ST_OK) {
        st = sim_profile_read(buf_str(&text), ret, &why);
    }
    if (st == ST_OK) {
        st = sim_profile_check(ret, &why);
    }
    buf_fini(&text);
    return st == ST_OK ? ST_OK : err_set(err, st, "%.100s: %s", path, why.text);
}

enum status profile_load(const char *name, struct sim_profile *ret, struct err *err)
{
    struct str text = str_of(name);
    const struct sim_profile *profile = sim_profile_find(text);
    if (profile != NULL) {
        *ret = *profile;
        return ST_OK;
    }
    if (strchr(name, '/') != NULL || ends_with(text, STR(".yaml")) ||
        ends_with(text, STR(".yml"))) {
        return read_file(name, ret, err);
    }
    return err_set(err, ST_INVAL,
                   "no profile \"%.100s\": must be a name that `saga sim profile list` knows, or a "
                   ".yaml file",
                   name);
}
