/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json_table.h"

#include "common/base/json.h"

enum { CELL_BYTES = 96, INDENT = 2 };

/* Display columns of UTF-8 text: bytes that do not continue a sequence. */
static size_t width_of(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80 ? 1 : 0;
    }
    return n;
}

static bool is_scalar(yyjson_val *val)
{
    return !yyjson_is_obj(val) && !yyjson_is_arr(val);
}

/* Appends a scalar as people read it, or any other value as JSON. */
static enum status add_value(struct buf *out, yyjson_val *val)
{
    if (val == NULL || yyjson_is_null(val)) {
        return buf_add_str(out, STR("-"));
    }
    if (yyjson_is_bool(val)) {
        return buf_add_str(out, yyjson_get_bool(val) ? STR("yes") : STR("no"));
    }
    if (yyjson_is_real(val)) {
        return buf_add_fmt(out, "%.6g", yyjson_get_real(val));
    }
    if (yyjson_is_str(val)) {
        const char *p = yyjson_get_str(val);
        enum status st = ST_OK;
        for (size_t i = 0; i < yyjson_get_len(val) && st == ST_OK; i++) {
            bool is_control = (unsigned char)p[i] < 0x20 || p[i] == 0x7F;
            st = buf_add(out, is_control ? "?" : &p[i], 1);
        }
        return st;
    }
    return json_add_val(out, val);
}

static enum status add_spaces(struct buf *out, size_t n)
{
    enum status st = ST_OK;
    for (size_t i = 0; i < n && st == ST_OK; i++) {
        st = buf_add(out, " ", 1);
    }
    return st;
}

/* Appends a cell, cut to CELL_BYTES, padded to width unless that is 0. */
static enum status add_cell(struct buf *out, yyjson_val *val, size_t width)
{
    size_t start = out->len;
    enum status st = add_value(out, val);
    if (st != ST_OK) {
        return st;
    }
    if (out->len - start > CELL_BYTES) {
        out->len = start + CELL_BYTES;
        while (out->len > start && ((unsigned char)out->p[out->len] & 0xC0) == 0x80) {
            out->len--; /* not inside a character */
        }
        st = buf_add_str(out, STR("..."));
    }
    size_t used = width_of((struct str){out->p + start, out->len - start});
    return st == ST_OK && used < width ? add_spaces(out, width - used) : st;
}

struct column {
    yyjson_val *key;
    size_t width;
};

/* Columns are the keys of all rows in order of appearance. */
static enum status find_columns(yyjson_val *rows, struct column *columns, size_t *ret_count)
{
    struct buf cell;
    size_t count = 0;
    enum status st = ST_OK;
    size_t row_idx;
    size_t row_max;
    yyjson_val *row;
    buf_init(&cell, mem_heap(), 64 << 20);
    yyjson_arr_foreach(rows, row_idx, row_max, row)
    {
        size_t idx;
        size_t max;
        yyjson_val *key;
        yyjson_val *val;
        yyjson_obj_foreach(row, idx, max, key, val)
        {
            size_t c = 0;
            while (c < count && !yyjson_equals(columns[c].key, key)) {
                c++;
            }
            if (c == JSON_TABLE_COLUMNS_MAX) {
                continue;
            }
            if (c == count) {
                columns[count++] = (struct column){key, yyjson_get_len(key)};
            }
            cell.len = 0;
            st = st == ST_OK ? add_cell(&cell, val, 0) : st;
            size_t width = width_of(buf_str(&cell));
            columns[c].width = width > columns[c].width ? width : columns[c].width;
        }
    }
    buf_fini(&cell);
    *ret_count = count;
    return st;
}

static enum status add_rows(struct buf *out, yyjson_val *rows, size_t indent)
{
    struct column columns[JSON_TABLE_COLUMNS_MAX];
    size_t count = 0;
    enum status st = find_columns(rows, columns, &count);
    st = st == ST_OK ? add_spaces(out, indent) : st;
    for (size_t c = 0; c < count && st == ST_OK; c++) {
        st = add_cell(out, columns[c].key, c + 1 < count ? columns[c].width + INDENT : 0);
    }
    st = st == ST_OK ? buf_add_str(out, STR("\n")) : st;
    size_t row_idx;
    size_t row_max;
    yyjson_val *row;
    yyjson_arr_foreach(rows, row_idx, row_max, row)
    {
        st = st == ST_OK ? add_spaces(out, indent) : st;
        for (size_t c = 0; c < count && st == ST_OK; c++) {
            yyjson_val *val = yyjson_obj_getn(row, yyjson_get_str(columns[c].key),
                                              yyjson_get_len(columns[c].key));
            st = add_cell(out, val, c + 1 < count ? columns[c].width + INDENT : 0);
        }
        st = st == ST_OK ? buf_add_str(out, STR("\n")) : st;
    }
    return st;
}

static bool is_rows(yyjson_val *val)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (!yyjson_is_arr(val) || yyjson_arr_size(val) == 0) {
        return false;
    }
    yyjson_arr_foreach(val, idx, max, item)
    {
        if (!yyjson_is_obj(item)) {
            return false;
        }
    }
    return true;
}

/* A table inside, so that the object does not fit into one row. */
static bool has_rows(yyjson_val *obj)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(obj, idx, max, key, val)
    {
        size_t i;
        size_t n;
        yyjson_val *inner_key;
        yyjson_val *inner;
        if (is_rows(val)) {
            return true;
        }
        yyjson_obj_foreach(val, i, n, inner_key, inner)
        {
            if (is_rows(inner)) {
                return true;
            }
        }
    }
    return false;
}

static enum status add_any(struct buf *out, yyjson_val *val, size_t depth);

static size_t key_width(yyjson_val *obj)
{
    size_t width = 0;
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(obj, idx, max, key, val)
    {
        if (is_scalar(val) && yyjson_get_len(key) > width) {
            width = yyjson_get_len(key);
        }
    }
    return width;
}

static enum status
add_member(struct buf *out, yyjson_val *key, yyjson_val *val, size_t depth, size_t width)
{
    bool is_nested = depth < JSON_TABLE_DEPTH_MAX && (yyjson_is_obj(val) || is_rows(val));
    enum status st = add_spaces(out, depth * INDENT);
    st = st == ST_OK ? add_cell(out, key, is_nested ? 0 : width + INDENT) : st;
    if (st == ST_OK && !is_nested) {
        st = add_value(out, val);
    }
    st = st == ST_OK ? buf_add_str(out, STR("\n")) : st;
    return st == ST_OK && is_nested ? add_any(out, val, depth + 1) : st;
}

static enum status add_object(struct buf *out, yyjson_val *obj, size_t depth)
{
    size_t width = key_width(obj);
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    enum status st = ST_OK;
    yyjson_obj_foreach(obj, idx, max, key, val)
    {
        if (st == ST_OK) {
            st = add_member(out, key, val, depth, width);
        }
    }
    return st;
}

/* Objects one after the other, with an empty line between them. */
static enum status add_blocks(struct buf *out, yyjson_val *list, size_t depth)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    enum status st = ST_OK;
    yyjson_arr_foreach(list, idx, max, item)
    {
        st = st == ST_OK && idx > 0 ? buf_add_str(out, STR("\n")) : st;
        st = st == ST_OK ? add_object(out, item, depth) : st;
    }
    return st;
}

static enum status add_any(struct buf *out, yyjson_val *val, size_t depth)
{
    if (yyjson_is_obj(val)) {
        return add_object(out, val, depth);
    }
    if (is_rows(val) && has_rows(yyjson_arr_get_first(val))) {
        return add_blocks(out, val, depth);
    }
    if (is_rows(val)) {
        return add_rows(out, val, depth * INDENT);
    }
    enum status st = add_value(out, val);
    return st == ST_OK ? buf_add_str(out, STR("\n")) : st;
}

enum status json_table(struct buf *out, yyjson_val *val)
{
    return add_any(out, val, 0);
}
