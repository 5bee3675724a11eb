/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/schema.h"

#include "common/base/json.h"

#include <inttypes.h>

/* Three letters each, so that a word and its space are one token. */
static const char words[] =
    "the and for new old log job run set map key row bit bug fix log net cpu ram tag "
    "now all one two six ten day way out end top low mid big red own try use add get "
    "put cut sum max min avg raw hot few any per its has had was are may can did let "
    "see saw ask say";

enum { WORD_COUNT = sizeof(words) / 4 };

struct maker {
    struct sim_out *out;
    struct rng *rng;
    yyjson_val *root; /* what $ref starts from */
};

struct str sim_word(uint64_t idx)
{
    return (struct str){words + 4 * (idx % WORD_COUNT), 3};
}

static void make(const struct maker *mk, yyjson_val *schema, struct str name, int depth);

static bool is_required(yyjson_val *schema, yyjson_val *key, size_t idx)
{
    yyjson_val *required = yyjson_obj_get(schema, "required");
    if (!yyjson_is_arr(required)) {
        return idx == 0; /* nothing is: give the first */
    }
    size_t i;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(required, i, max, item)
    {
        if (yyjson_equals(item, key)) {
            return true;
        }
    }
    return false;
}

static void make_object(const struct maker *mk, yyjson_val *schema, int depth)
{
    bool is_first = true;
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    if (!yyjson_is_obj(properties) || yyjson_obj_size(properties) == 0) {
        sim_out_str(mk->out, STR("{}")); /* yyjson_obj_foreach does not take these */
        return;
    }
    sim_out_str(mk->out, STR("{"));
    yyjson_obj_foreach(properties, idx, max, key, val)
    {
        if (is_required(schema, key, idx)) {
            sim_out_str(mk->out, is_first ? STR("") : STR(","));
            sim_out_json(mk->out, json_str(key));
            sim_out_str(mk->out, STR(":"));
            make(mk, val, json_str(key), depth + 1);
            is_first = false;
        }
    }
    sim_out_str(mk->out, STR("}"));
}

static void make_array(const struct maker *mk, yyjson_val *schema, struct str name, int depth)
{
    uint64_t count = 1;
    (void)json_get_u64(schema, "minItems", &count);
    count = count < 8 ? count : 8;
    sim_out_str(mk->out, STR("["));
    for (uint64_t i = 0; i < count; i++) {
        sim_out_str(mk->out, i == 0 ? STR("") : STR(","));
        make(mk, yyjson_obj_get(schema, "items"), name, depth + 1);
    }
    sim_out_str(mk->out, STR("]"));
}

static void make_string(const struct maker *mk, yyjson_val *schema, struct str name)
{
    if (str_eq(name, STR("command")) || str_eq(name, STR("cmd"))) {
        sim_out_str(mk->out, STR("\"echo hello\""));
        return;
    }
    uint64_t min = 0;
    uint64_t max = 15;
    (void)json_get_u64(schema, "minLength", &min);
    (void)json_get_u64(schema, "maxLength", &max);
    min = min < 4096 ? min : 4096;
    uint64_t len = max < 15 ? max : 15;
    len = len < min ? min : len;
    sim_out_str(mk->out, STR("\""));
    for (uint64_t at = 0; at < len; at += 4) {
        struct str word = sim_word(rng_u64(mk->rng));
        sim_out_str(mk->out, at == 0 ? STR("") : STR(" "));
        word.len = len - at < 3 ? (size_t)(len - at) : 3;
        sim_out_str(mk->out, word);
        if (len - at == 4) {
            sim_out_str(mk->out, STR("."));
        }
    }
    sim_out_str(mk->out, STR("\""));
}

/* A whole number within minimum and maximum, near zero where that is allowed. */
static void make_number(const struct maker *mk, yyjson_val *schema)
{
    yyjson_val *min = yyjson_obj_get(schema, "minimum");
    yyjson_val *max = yyjson_obj_get(schema, "maximum");
    double low = yyjson_is_num(min) ? yyjson_get_num(min) : 0.0;
    double high = yyjson_is_num(max) ? yyjson_get_num(max) : low + 9.0;
    if (!yyjson_is_num(min) && high < low) {
        low = high;
    }
    double span = high - low;
    span = span >= 0.0 && span < 9.0 ? span : 9.0;
    double val = low + (double)rng_below(mk->rng, (uint64_t)span + 1);
    if (val > -9e15 && val < 9e15 && val != (double)(int64_t)val) {
        val = (double)(int64_t)val + (val > 0.0 ? 1.0 : 0.0);
    }
    sim_out_fmt(mk->out, "%.17g", val);
}

/* "type" may be a list: the first that is not null counts. */
static struct str type_of(yyjson_val *schema)
{
    yyjson_val *type = yyjson_obj_get(schema, "type");
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(type, idx, max, item)
    {
        if (!yyjson_equals_str(item, "null")) {
            return json_str(item);
        }
    }
    if (yyjson_is_str(type)) {
        return json_str(type);
    }
    return yyjson_obj_get(schema, "properties") != NULL ? STR("object") : STR("string");
}

/* The schema behind $ref, anyOf, oneOf and allOf; itself when there is none of them. */
static yyjson_val *follow(const struct maker *mk, yyjson_val *schema)
{
    for (int i = 0; i < SIM_SCHEMA_DEPTH_MAX; i++) {
        struct str ref;
        yyjson_val *next = NULL;
        if (json_get_str(schema, "$ref", &ref) && str_starts(ref, STR("#/"))) {
            next = yyjson_ptr_getn(mk->root, ref.p + 1, ref.len - 1);
        } else if (yyjson_obj_get(schema, "type") == NULL) {
            static const char *const lists[] = {"anyOf", "oneOf", "allOf"};
            for (size_t k = 0; next == NULL && k < sizeof(lists) / sizeof(lists[0]); k++) {
                next = yyjson_arr_get_first(yyjson_obj_get(schema, lists[k]));
            }
        }
        if (next == NULL) {
            break;
        }
        schema = next;
    }
    return schema;
}

static void make(const struct maker *mk, yyjson_val *schema, struct str name, int depth)
{
    if (depth > SIM_SCHEMA_DEPTH_MAX || mk->out->buf.len > SIM_SCHEMA_BYTES_MAX ||
        mk->out->st != ST_OK) {
        sim_out_str(mk->out, STR("null"));
        return;
    }
    schema = follow(mk, schema);
    yyjson_val *choices = yyjson_obj_get(schema, "enum");
    yyjson_val *fixed = yyjson_obj_get(schema, "const");
    if (yyjson_arr_size(choices) > 0) {
        fixed = yyjson_arr_get(choices, rng_below(mk->rng, yyjson_arr_size(choices)));
    }
    struct str type = type_of(schema);
    if (fixed != NULL) {
        sim_out_val(mk->out, fixed);
    } else if (str_eq(type, STR("object"))) {
        make_object(mk, schema, depth);
    } else if (str_eq(type, STR("array"))) {
        make_array(mk, schema, name, depth);
    } else if (str_eq(type, STR("integer")) || str_eq(type, STR("number"))) {
        make_number(mk, schema);
    } else if (str_eq(type, STR("boolean"))) {
        sim_out_str(mk->out, rng_below(mk->rng, 2) != 0 ? STR("true") : STR("false"));
    } else if (str_eq(type, STR("null"))) {
        sim_out_str(mk->out, STR("null"));
    } else {
        make_string(mk, schema, name);
    }
}

void sim_schema_write(struct sim_out *out, yyjson_val *schema, struct rng *rng)
{
    struct maker mk = {.out = out, .rng = rng, .root = schema};
    if (!yyjson_is_obj(schema) || yyjson_obj_size(schema) == 0) {
        sim_out_str(out, STR("{}"));
        return;
    }
    make(&mk, schema, STR(""), 0);
}
