/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. the file is read and parsed; 2. sessions, then rows; 3. rows are sorted and each
 * session finds its own. Failures: a message that says what is missing. */
#include "bench/lab/bench_log.h"

#include "bench/replay/trace.h"
#include "common/base/hash.h"
#include "common/base/json.h"

#include <stdio.h>
#include <stdlib.h>

enum { SYSTEM_SEED = 13 };
/* Longest time that a row may hold: a year. */
#define SECONDS_MAX 3.2e7

static bool read_u32(yyjson_val *obj, const char *key, uint32_t *ret)
{
    uint64_t n = 0;
    bool is_there = json_get_u64(obj, key, &n) && n <= TRACE_TOKENS_MAX;
    *ret = is_there ? (uint32_t)n : 0;
    return is_there;
}

static bool read_s(yyjson_val *obj, const char *key, double *ret)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    *ret = yyjson_is_num(val) ? yyjson_get_num(val) : -SECONDS_MAX;
    return yyjson_is_num(val) && *ret >= -1 && *ret <= SECONDS_MAX;
}

static enum status read_sessions(struct bench_log *log, yyjson_val *array, struct err *err)
{
    size_t count = yyjson_arr_size(array);
    if (!yyjson_is_arr(array) || count == 0 || count > ROWS_MAX) {
        return err_set(err, ST_PROTO, "no \"sessions\": run saga bench with --json --rows");
    }
    log->sessions = mem_calloc(log->mem, count, sizeof(*log->sessions));
    if (log->sessions == NULL) {
        return err_set(err, ST_NOMEM, "no memory for %zu sessions", count);
    }
    log->session_count = (uint32_t)count;
    yyjson_arr_iter iter = yyjson_arr_iter_with(array);
    for (uint32_t i = 0; i < count; i++) {
        yyjson_val *obj = yyjson_arr_iter_next(&iter);
        struct log_session *session = &log->sessions[i];
        struct str system = STR("");
        yyjson_val *parent = yyjson_obj_get(obj, "parent");
        int64_t at = yyjson_is_int(parent) ? yyjson_get_sint(parent) : INT64_MAX;
        if (at < -1 || at >= (int64_t)i || !json_get_str(obj, "system", &system) ||
            !read_u32(obj, "spawn_step", &session->spawn_step) ||
            !read_u32(obj, "tenant", &session->tenant) ||
            !read_u32(obj, "system_tokens", &session->system_tokens)) {
            return err_set(err, ST_PROTO, "session %u: a member is missing or wrong", i);
        }
        session->parent = at < 0 ? TRACE_NONE : (uint32_t)at;
        session->system_id = (uint32_t)hash_str(system, SYSTEM_SEED);
    }
    return ST_OK;
}

static bool read_row(const struct bench_log *log, yyjson_val *obj, struct row *ret)
{
    struct str engine = STR("");
    *ret = (struct row){0};
    if (!read_u32(obj, "session", &ret->run) || ret->run >= log->session_count ||
        !read_u32(obj, "step", &ret->step) ||
        !read_u32(obj, "prompt_tokens", &ret->prompt_tokens) ||
        !read_u32(obj, "cached_tokens", &ret->cached_tokens) ||
        !read_u32(obj, "output_tokens", &ret->output_tokens) ||
        !read_u32(obj, "own_tokens", &ret->own_tokens) ||
        !read_u32(obj, "kept_tokens", &ret->kept_tokens) || !read_s(obj, "gap_s", &ret->gap_s) ||
        !read_s(obj, "sent_s", &ret->sent_s) || !read_s(obj, "ttft_s", &ret->ttft_s) ||
        !read_s(obj, "step_s", &ret->step_s) || !json_get_str(obj, "engine", &engine)) {
        return false;
    }
    (void)str_copy(ret->engine, sizeof(ret->engine), engine);
    return ret->prompt_tokens > 0 && ret->cached_tokens <= ret->prompt_tokens &&
           ret->kept_tokens <= ret->prompt_tokens && ret->sent_s >= 0 && ret->gap_s >= 0 &&
           ret->step_s >= 0 && ret->step_s >= ret->ttft_s;
}

static enum status read_rows(struct bench_log *log, yyjson_val *array, struct err *err)
{
    size_t count = yyjson_arr_size(array);
    if (!yyjson_is_arr(array) || count == 0) {
        return err_set(err, ST_PROTO, "no \"rows\": run saga bench with --json --rows");
    }
    yyjson_arr_iter iter = yyjson_arr_iter_with(array);
    for (size_t i = 0; i < count; i++) {
        struct row row;
        if (!read_row(log, yyjson_arr_iter_next(&iter), &row)) {
            return err_set(err, ST_PROTO, "row %zu: a member is missing or wrong", i);
        }
        enum status st = rows_add(&log->rows, &row);
        if (st != ST_OK) {
            return err_set(err, st, "%zu rows: %s", count, status_text(st));
        }
    }
    return ST_OK;
}

static int by_session(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->run != y->run) {
        return x->run < y->run ? -1 : 1;
    }
    return x->step < y->step ? -1 : x->step > y->step;
}

/* A session ends at its first step that was not answered. */
static void sort_rows(struct bench_log *log)
{
    struct row *rows = log->rows.rows;
    uint32_t kept = 0;
    qsort(rows, log->rows.count, sizeof(*rows), by_session);
    for (uint32_t i = 0; i < log->rows.count; i++) {
        struct log_session *session = &log->sessions[rows[i].run];
        if (rows[i].step == session->row_count) {
            session->row_at = session->row_count == 0 ? kept : session->row_at;
            session->row_count++;
            rows[kept++] = rows[i];
        }
    }
    log->rows.count = kept;
}

enum status
bench_log_read(struct bench_log *ret, const struct mem *mem, struct str text, struct err *err)
{
    struct bench_log log = {.mem = mem};
    rows_init(&log.rows, mem);
    yyjson_doc *doc = yyjson_read(text.p, text.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    enum status st = doc == NULL ? err_set(err, ST_PROTO, "not JSON") : ST_OK;
    if (st == ST_OK) {
        st = read_sessions(&log, yyjson_obj_get(root, "sessions"), err);
    }
    if (st == ST_OK) {
        st = read_rows(&log, yyjson_obj_get(root, "rows"), err);
    }
    yyjson_doc_free(doc);
    if (st == ST_OK) {
        sort_rows(&log);
        *ret = log;
    } else {
        bench_log_fini(&log);
    }
    return st;
}

static enum status read_file(const char *path, struct buf *out, struct err *err)
{
    char piece[65536];
    size_t len = 0;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return err_set(err, ST_IO, "cannot read %.100s", path);
    }
    enum status st = ST_OK;
    while (st == ST_OK && (len = fread(piece, 1, sizeof(piece), file)) > 0) {
        st = buf_add(out, piece, len);
    }
    bool is_broken = ferror(file) != 0;
    (void)fclose(file);
    if (is_broken) {
        return err_set(err, ST_IO, "cannot read %.100s", path);
    }
    return st == ST_OK ? ST_OK : err_set(err, st, "%.100s: %s", path, status_text(st));
}

enum status
bench_log_load(struct bench_log *ret, const struct mem *mem, const char *path, struct err *err)
{
    struct buf text;
    struct err why = {0};
    buf_init(&text, mem, BENCH_LOG_BYTES_MAX);
    enum status st = read_file(path, &text, err);
    if (st == ST_OK) {
        st = bench_log_read(ret, mem, buf_str(&text), &why);
        st = st == ST_OK ? ST_OK : err_set(err, st, "%.100s: %s", path, why.text);
    }
    buf_fini(&text);
    return st;
}

void bench_log_fini(struct bench_log *log)
{
    if (log != NULL && log->mem != NULL) {
        rows_fini(&log->rows);
        mem_free(log->mem, log->sessions, log->session_count * sizeof(*log->sessions));
        *log = (struct bench_log){0};
    }
}
