/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/trace_row.h"

/* A year: no recorded wait is longer. Recorders subtract clocks: a little below zero is zero. */
#define SECONDS_MAX  31536000.0
#define SECONDS_SKEW 1.0

static enum status read_id(yyjson_val *obj, const char *key, struct str *ret, struct err *err)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    *ret = STR("");
    if (val == NULL) {
        return ST_OK;
    }
    struct str s = json_str(val);
    if (s.p == NULL || s.len == 0 || s.len > TRACE_ID_MAX || memchr(s.p, '\0', s.len) != NULL) {
        return err_set(err, ST_PROTO, "\"%s\" must be text of 1 to %d bytes", key, TRACE_ID_MAX);
    }
    *ret = s;
    return ST_OK;
}

/* fallback is used when the key is absent; UINT32_MAX = it is required. */
static enum status
read_tokens(yyjson_val *obj, const char *key, uint32_t fallback, uint32_t *ret, struct err *err)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    uint64_t n = fallback;
    if (val == NULL && fallback == UINT32_MAX) {
        return err_set(err, ST_PROTO, "\"%s\" is missing", key);
    }
    if (val != NULL && (!json_get_u64(obj, key, &n) || n > TRACE_TOKENS_MAX)) {
        return err_set(err, ST_PROTO, "\"%s\" must be a whole number from 0 to %d", key,
                       TRACE_TOKENS_MAX);
    }
    *ret = (uint32_t)n;
    return ST_OK;
}

static enum status read_seconds(yyjson_val *obj, const char *key, double *ret, struct err *err)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    *ret = 0;
    if (val == NULL) {
        return ST_OK;
    }
    double s = yyjson_is_num(val) ? yyjson_get_num(val) : SECONDS_MAX * 2;
    if (!(s >= -SECONDS_SKEW && s <= SECONDS_MAX)) {
        return err_set(err, ST_PROTO, "\"%s\" must be seconds from 0 to %.0f", key, SECONDS_MAX);
    }
    *ret = s < 0 ? 0 : s;
    return ST_OK;
}

static enum status read_subs(yyjson_val *obj, yyjson_val **ret, struct err *err)
{
    yyjson_val *subs = yyjson_obj_get(obj, "subs");
    *ret = subs;
    if (subs == NULL) {
        return ST_OK;
    }
    size_t idx = 0;
    size_t max = 0;
    yyjson_val *val = NULL;
    bool is_fine = yyjson_is_arr(subs);
    yyjson_arr_foreach(subs, idx, max, val)
    {
        is_fine = is_fine && yyjson_is_str(val) && yyjson_get_len(val) <= TRACE_ID_MAX;
    }
    return is_fine ? ST_OK : err_set(err, ST_PROTO, "\"subs\" must be a list of session ids");
}

static enum status read_ids(yyjson_val *obj, struct trace_row *row, struct err *err)
{
    enum status st = read_id(obj, "s", &row->session, err);
    if (st == ST_OK && row->session.len == 0) {
        return err_set(err, ST_PROTO, "\"s\" is missing");
    }
    if (st == ST_OK) {
        st = read_id(obj, "src", &row->source, err);
    }
    if (st == ST_OK) {
        st = read_id(obj, "par", &row->parent, err);
    }
    if (st == ST_OK) {
        st = read_id(obj, "sys", &row->sys, err);
    }
    if (st == ST_OK) {
        st = read_id(obj, "tool", &row->tools, err);
    }
    return st == ST_OK ? read_subs(obj, &row->subs, err) : st;
}

static enum status read_lengths(yyjson_val *obj, struct trace_row *row, struct err *err)
{
    enum status st = read_tokens(obj, "in", UINT32_MAX, &row->in_tokens, err);
    if (st == ST_OK) {
        st = read_tokens(obj, "out", UINT32_MAX, &row->out_tokens, err);
    }
    if (st == ST_OK) {
        st = read_tokens(obj, "new", row->in_tokens, &row->new_tokens, err);
    }
    if (st == ST_OK) {
        st = read_tokens(obj, "sys_tok", 0, &row->sys_tokens, err);
    }
    if (st == ST_OK && row->new_tokens > row->in_tokens) {
        return err_set(err, ST_PROTO, "\"new\" is larger than \"in\"");
    }
    return st;
}

enum status trace_row_read(yyjson_val *obj, struct trace_row *ret, struct err *err)
{
    struct trace_row row = {0};
    if (!yyjson_is_obj(obj)) {
        return err_set(err, ST_PROTO, "not a JSON object");
    }
    enum status st = read_ids(obj, &row, err);
    if (st == ST_OK) {
        st = read_lengths(obj, &row, err);
    }
    if (st == ST_OK) {
        st = read_seconds(obj, "t", &row.t_s, err);
    }
    if (st == ST_OK) {
        st = read_seconds(obj, "llm_s", &row.llm_s, err);
    }
    if (st == ST_OK) {
        st = read_seconds(obj, "gap", &row.gap_s, err);
    }
    if (st != ST_OK) {
        return st;
    }
    row.has_gap = yyjson_obj_get(obj, "gap") != NULL;
    row.is_tool = str_eq(json_str(yyjson_obj_get(obj, "kind")), STR("tool"));
    row.is_gap_from_request = str_eq(json_str(yyjson_obj_get(obj, "gap_kind")), STR("llm+tool"));
    *ret = row;
    return ST_OK;
}
