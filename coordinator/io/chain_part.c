/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/chain_part.h"

#include "common/base/hash.h"

/* Members whose text is long and read in order: hashed last, in this order, with boundaries inside.
 */
enum flow {
    FLOW_REASONING_CONTENT,
    FLOW_REASONING,
    FLOW_THINKING,
    FLOW_TEXT,
    FLOW_CONTENT,
    FLOW_OUTPUT,
    FLOW_ARGUMENTS,
    FLOW_TOOL_CALLS,
    FLOW_INPUT,
};

_Static_assert(FLOW_CONTENT == CHAIN_FLOW_CONTENT, "chain_part.h");

enum { FLOW_COUNT = FLOW_INPUT + 1, FLOW_NONE = -1 };

static const struct {
    struct str key;
    bool is_content; /* parts inside; otherwise text or any JSON */
} flows[FLOW_COUNT] = {
    [FLOW_REASONING_CONTENT] = {STR("reasoning_content"), true},
    [FLOW_REASONING] = {STR("reasoning"), true},
    [FLOW_THINKING] = {STR("thinking"), true},
    [FLOW_TEXT] = {STR("text"), true},
    [FLOW_CONTENT] = {STR("content"), true},
    [FLOW_OUTPUT] = {STR("output"), true},
    [FLOW_ARGUMENTS] = {STR("arguments"), false},
    [FLOW_TOOL_CALLS] = {STR("tool_calls"), false},
    [FLOW_INPUT] = {STR("input"), false},
};

/* --- values: a hash that does not depend on the order of an object's members --- */

static uint64_t scalar_hash(struct chain *chain, yyjson_val *val)
{
    if (yyjson_is_str(val) || yyjson_is_raw(val)) {
        struct str s = chain_text_of(val);
        bool is_cut = chain->opaque_depth > 0 && s.len > CHAIN_OPAQUE_BYTES;
        chain_count(chain, is_cut ? CHAIN_OPAQUE_BYTES : s.len);
        return hash_str(s, yyjson_is_str(val) ? TAG_STRING : TAG_NUMBER);
    }
    chain_count(chain, CHAIN_TOKEN_BYTES);
    return hash_mix(TAG_VALUE, (uint64_t)yyjson_get_tag(val));
}

/* A container too deep to walk: its values one after another as they lie in the document, with
 * their counts. */
static uint64_t deep_hash(struct chain *chain, yyjson_val *val)
{
    yyjson_val *end = unsafe_yyjson_get_next(val);
    uint64_t hash = TAG_DEEP;
    for (yyjson_val *at = val; at < end; at++) {
        uint64_t shape = (uint64_t)unsafe_yyjson_get_len(at) << 8 | unsafe_yyjson_get_type(at);
        uint64_t payload = unsafe_yyjson_is_ctn(at) ? TAG_ARRAY : scalar_hash(chain, at);
        hash = hash_mix(hash, hash_mix(shape, payload));
    }
    return hash;
}

static uint64_t value_hash(struct chain *chain, yyjson_val *val, unsigned depth);

uint64_t chain_member_hash(struct chain *chain, struct str key, yyjson_val *val, unsigned depth)
{
    chain_count(chain, key.len);
    return hash_mix(hash_str(key, TAG_KEY), value_hash(chain, val, depth));
}

/* Recursion ends at CHAIN_DEPTH_MAX. */
static uint64_t value_hash(struct chain *chain, yyjson_val *val, unsigned depth)
{
    if (!yyjson_is_ctn(val)) {
        return scalar_hash(chain, val);
    }
    if (depth >= CHAIN_DEPTH_MAX) {
        return deep_hash(chain, val);
    }
    uint64_t hash = 0;
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *item = NULL;
    if (yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, i, count, item)
        {
            hash = hash_mix(hash, value_hash(chain, item, depth + 1));
        }
        return hash_mix(hash ^ TAG_ARRAY, count);
    }
    yyjson_obj_foreach(val, i, count, key, item)
    {
        hash += chain_member_hash(chain, chain_text_of(key), item,
                                  depth + 1); /* a sum: order does not matter */
    }
    return hash_mix(hash ^ TAG_OBJECT, count);
}

void chain_put_value(struct chain *chain, yyjson_val *val)
{
    chain_fold(chain, TAG_VALUE, value_hash(chain, val, 0));
    chain_step(chain);
}

/* --- text and parts --- */

static void put_text(struct chain *chain, struct str s)
{
    size_t len = s.len;
    chain_step(chain);
    while (s.len > 0) {
        size_t room = CHAIN_STEP_BYTES - chain->since_bytes;
        size_t piece = s.len < room ? s.len : room;
        chain->hash = hash_bytes(s.p, piece, chain->hash + TAG_TEXT);
        chain_count(chain, piece);
        chain_step(chain);
        s.p += piece;
        s.len -= piece;
    }
    chain_fold(chain, TAG_STOP, len);
}

static int flow_of(struct str key)
{
    for (int i = 0; i < FLOW_COUNT; i++) {
        if (str_eq(flows[i].key, key)) {
            return i;
        }
    }
    return FLOW_NONE;
}

static bool is_text_type(yyjson_val *val)
{
    struct str type = chain_text_of(val);
    return str_eq(type, STR("text")) || str_eq(type, STR("input_text")) ||
           str_eq(type, STR("output_text"));
}

/* An object of the conversation, sorted into what is hashed in order and the rest. */
struct parts {
    yyjson_val *flow[FLOW_COUNT];
    uint64_t rest_hash; /* sum over the other members */
    uint32_t rest_count;
    uint32_t flow_count;
    yyjson_val *text_type; /* the `type` of a text part, not in the rest */
};

static void sort_member(struct chain *chain, yyjson_val *key, yyjson_val *val, struct parts *parts)
{
    struct str name = chain_text_of(key);
    if (yyjson_is_null(val) || str_eq(name, STR("cache_control"))) {
        return; /* null is absent; a cache marker moves from turn to turn and is no content */
    }
    if (str_eq(name, STR("type")) && yyjson_is_str(val)) {
        if (str_eq(chain_text_of(val), STR("message"))) {
            return; /* the type an input item has when none is given */
        }
        if (is_text_type(val) && parts->text_type == NULL) {
            parts->text_type = val;
            return;
        }
    }
    int flow = flow_of(name);
    if (flow != FLOW_NONE && parts->flow[flow] == NULL) {
        parts->flow[flow] = val;
        parts->flow_count++;
        return;
    }
    chain->opaque_depth++;
    parts->rest_hash += chain_member_hash(chain, name, val, 1);
    parts->rest_count++;
    chain->opaque_depth--;
}

/* A message, input item or part. A part that is only a text is that text and nothing else. */
static void put_object(struct chain *chain, yyjson_val *obj, unsigned depth)
{
    struct parts parts = {.rest_hash = 0};
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *val = NULL;
    yyjson_obj_foreach(obj, i, count, key, val)
    {
        sort_member(chain, key, val, &parts);
    }
    yyjson_val *text = parts.flow[FLOW_TEXT];
    if (parts.text_type != NULL && parts.rest_count == 0 && parts.flow_count == 1 &&
        yyjson_is_str(text)) {
        put_text(chain, chain_text_of(text));
        return;
    }
    if (parts.text_type != NULL) {
        parts.rest_hash += chain_member_hash(chain, STR("type"), parts.text_type, 1);
        parts.rest_count++;
    }
    chain_fold(chain, TAG_OBJECT, hash_mix(parts.rest_hash, parts.rest_count));
    chain_step(chain);
    for (int flow = 0; flow < FLOW_COUNT; flow++) {
        val = parts.flow[flow];
        if (val == NULL) {
            continue;
        }
        chain_fold(chain, TAG_MEMBER, (uint64_t)flow);
        if (flows[flow].is_content) {
            chain_put_content(chain, val, depth + 1);
        } else if (yyjson_is_str(val)) {
            put_text(chain, chain_text_of(val));
        } else {
            chain_put_value(chain, val);
        }
    }
    chain_fold(chain, TAG_STOP, TAG_OBJECT);
}

void chain_put_part(struct chain *chain, yyjson_val *val, unsigned depth)
{
    if (yyjson_is_str(val)) {
        put_text(chain, chain_text_of(val));
    } else if (yyjson_is_obj(val) && depth < CHAIN_DEPTH_MAX) {
        put_object(chain, val, depth);
    } else {
        chain_put_value(chain, val);
    }
}

/* A string, or a list of parts: a string equals one text part. Recursion (a tool result holds
 * parts) ends in chain_put_part. */
void chain_put_content(struct chain *chain, yyjson_val *val, unsigned depth)
{
    size_t i = 0;
    size_t count = 1;
    yyjson_val *item = NULL;
    if (yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, i, count, item)
        {
            chain_put_part(chain, item, depth);
        }
    } else {
        chain_put_part(chain, val, depth);
    }
    chain_fold(chain, TAG_STOP, count);
}
