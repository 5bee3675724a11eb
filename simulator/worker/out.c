/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/out.h"

#include "common/base/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void sim_out_init(struct sim_out *out, const struct mem *mem)
{
    buf_init(&out->buf, mem, SIM_OUT_BYTES_MAX);
    out->st = ST_OK;
}

void sim_out_fini(struct sim_out *out)
{
    buf_fini(&out->buf);
}

void sim_out_clear(struct sim_out *out)
{
    out->buf.len = 0;
    out->st = ST_OK;
}

void sim_out_str(struct sim_out *out, struct str text)
{
    if (out->st == ST_OK) {
        out->st = buf_add_str(&out->buf, text);
    }
}

void sim_out_fmt(struct sim_out *out, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    ASSERT(len >= 0 && (size_t)len < sizeof(text));
    sim_out_str(out, (struct str){text, (size_t)len});
}

void sim_out_json(struct sim_out *out, struct str text)
{
    sim_out_str(out, STR("\""));
    if (out->st == ST_OK) {
        out->st = buf_add_json(&out->buf, text);
    }
    sim_out_str(out, STR("\""));
}

static void add_number(struct sim_out *out, yyjson_val *val)
{
    if (yyjson_is_uint(val)) {
        sim_out_fmt(out, "%" PRIu64, yyjson_get_uint(val));
    } else if (yyjson_is_sint(val)) {
        sim_out_fmt(out, "%" PRId64, yyjson_get_sint(val));
    } else {
        sim_out_fmt(out, "%.17g", yyjson_get_real(val));
    }
}

static void add_val(struct sim_out *out, yyjson_val *val, int depth)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *item;
    if (yyjson_is_str(val)) {
        sim_out_json(out, json_str(val));
    } else if (yyjson_is_num(val)) {
        add_number(out, val);
    } else if (yyjson_is_bool(val)) {
        sim_out_str(out, yyjson_get_bool(val) ? STR("true") : STR("false"));
    } else if (yyjson_is_obj(val) && yyjson_obj_size(val) == 0) {
        sim_out_str(out, STR("{}")); /* yyjson_obj_foreach does not take it */
    } else if (yyjson_is_obj(val) && depth < SIM_JSON_DEPTH_MAX) {
        sim_out_str(out, STR("{"));
        yyjson_obj_foreach(val, idx, max, key, item)
        {
            sim_out_str(out, idx == 0 ? STR("") : STR(","));
            sim_out_json(out, json_str(key));
            sim_out_str(out, STR(":"));
            add_val(out, item, depth + 1);
        }
        sim_out_str(out, STR("}"));
    } else if (yyjson_is_arr(val) && depth < SIM_JSON_DEPTH_MAX) {
        sim_out_str(out, STR("["));
        yyjson_arr_foreach(val, idx, max, item)
        {
            sim_out_str(out, idx == 0 ? STR("") : STR(","));
            add_val(out, item, depth + 1);
        }
        sim_out_str(out, STR("]"));
    } else {
        sim_out_str(out, STR("null"));
    }
}

void sim_out_val(struct sim_out *out, yyjson_val *val)
{
    add_val(out, val, 0);
}
