/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/chain.h"

#include "common/base/hash.h"
#include "common/base/json.h"
#include "coordinator/io/chain_part.h"

enum segment { SEGMENT_TOOLS, SEGMENT_SYSTEM, SEGMENT_MESSAGE, SEGMENT_TEXT };

static void begin_segment(struct chain *chain, enum segment kind)
{
    chain_fold(chain, TAG_SEGMENT, (uint64_t)kind);
}

static void end_segment(struct chain *chain)
{
    chain_fold(chain, TAG_STOP, TAG_SEGMENT);
    chain_count(chain, CHAIN_SEGMENT_BYTES); /* so an end never lies where an inner boundary does */
    chain_note_end(chain);
}

static void end_opening(struct chain *chain)
{
    end_segment(chain);
    chain->opening = chain->hash;
}

static void put_tools(struct chain *chain, yyjson_val *tools)
{
    if (!yyjson_is_arr(tools) || yyjson_arr_size(tools) == 0) {
        return;
    }
    begin_segment(chain, SEGMENT_TOOLS);
    size_t i = 0;
    size_t count = 0;
    yyjson_val *tool = NULL;
    yyjson_arr_foreach(tools, i, count, tool)
    {
        if (!yyjson_is_obj(tool)) {
            chain_put_value(chain, tool);
            continue;
        }
        uint64_t sum = 0;
        size_t k = 0;
        size_t members = 0;
        yyjson_val *key = NULL;
        yyjson_val *val = NULL;
        yyjson_obj_foreach(tool, k, members, key, val)
        {
            if (!yyjson_is_null(val) && !str_eq(chain_text_of(key), STR("cache_control"))) {
                sum += chain_member_hash(chain, chain_text_of(key), val, 1);
            }
        }
        chain_fold(chain, TAG_OBJECT, sum);
        chain_step(chain);
    }
    end_opening(chain);
}

bool chain_is_billing_block(yyjson_val *val)
{
    yyjson_val *text = yyjson_obj_get(val, "text");
    return yyjson_is_str(text) &&
           str_starts(chain_text_of(text), STR("x-anthropic-billing-header:"));
}

static void put_system(struct chain *chain, yyjson_val *system)
{
    if (system == NULL || yyjson_is_null(system)) {
        return;
    }
    if (!yyjson_is_arr(system)) {
        begin_segment(chain, SEGMENT_SYSTEM);
        chain_put_content(chain, system, 0);
        end_opening(chain);
        return;
    }
    size_t skip = chain_is_billing_block(yyjson_arr_get_first(system)) ? 1 : 0;
    if (yyjson_arr_size(system) == skip) {
        return;
    }
    begin_segment(chain, SEGMENT_SYSTEM);
    size_t i = 0;
    size_t count = 0;
    yyjson_val *part = NULL;
    yyjson_arr_foreach(system, i, count, part)
    {
        if (i >= skip) {
            chain_put_part(chain, part, 0);
        }
    }
    chain_fold(chain, TAG_STOP, count - skip);
    end_opening(chain);
}

bool chain_is_system_message(yyjson_val *message)
{
    struct str role = {NULL, 0};
    return json_get_str(message, "role", &role) &&
           (str_eq(role, STR("system")) || str_eq(role, STR("developer")));
}

/* A string as the whole input: what {"role":"user","content":text} gives. */
static void put_user_text(struct chain *chain, yyjson_val *text)
{
    struct str role = STR("role");
    struct str user = STR("user");
    uint64_t member = hash_mix(hash_str(role, TAG_KEY), hash_str(user, TAG_STRING));
    begin_segment(chain, SEGMENT_MESSAGE);
    chain_count(chain, role.len + user.len);
    chain_fold(chain, TAG_OBJECT, hash_mix(member, 1));
    chain_fold(chain, TAG_MEMBER, CHAIN_FLOW_CONTENT);
    chain_put_content(chain, text, 1);
    chain_fold(chain, TAG_STOP, TAG_OBJECT);
    end_segment(chain);
}

static void put_messages(struct chain *chain, yyjson_val *messages)
{
    if (yyjson_is_str(messages)) {
        put_user_text(chain, messages);
        return;
    }
    size_t i = 0;
    size_t count = 0;
    yyjson_val *message = NULL;
    bool is_opening = true;
    yyjson_arr_foreach(messages, i, count, message)
    {
        is_opening = is_opening && chain_is_system_message(message);
        begin_segment(chain, SEGMENT_MESSAGE);
        chain_put_part(chain, message, 0);
        if (is_opening) {
            end_opening(chain);
        } else {
            end_segment(chain);
        }
    }
}

static void put_tokens(struct chain *chain, yyjson_val *tokens)
{
    begin_segment(chain, SEGMENT_TEXT);
    size_t i = 0;
    size_t count = 0;
    yyjson_val *token = NULL;
    yyjson_arr_foreach(tokens, i, count, token)
    {
        if (yyjson_is_raw(token)) {
            chain->hash = hash_str(chain_text_of(token), chain->hash + TAG_TOKENS);
            chain_count(chain, CHAIN_TOKEN_BYTES);
            chain_step(chain);
        } else {
            chain_put_value(chain, token);
        }
    }
    chain_fold(chain, TAG_STOP, count);
    end_segment(chain);
}

static void put_prompt_text(struct chain *chain, yyjson_val *text)
{
    begin_segment(chain, SEGMENT_TEXT);
    chain_put_part(chain, text, 0);
    end_segment(chain);
}

static void put_texts(struct chain *chain, yyjson_val *texts)
{
    if (texts == NULL || yyjson_is_null(texts)) {
        return;
    }
    if (!yyjson_is_arr(texts)) {
        put_prompt_text(chain, texts);
        return;
    }
    if (yyjson_is_raw(yyjson_arr_get_first(texts))) {
        put_tokens(chain, texts);
        return;
    }
    size_t i = 0;
    size_t count = 0;
    yyjson_val *text = NULL;
    yyjson_arr_foreach(texts, i, count, text)
    {
        if (yyjson_is_arr(text)) {
            put_tokens(chain, text);
        } else {
            put_prompt_text(chain, text);
        }
    }
}

void chain_build(struct chain *chain, const struct chain_prompt *prompt)
{
    chain_reset(chain);
    chain->hash =
        hash_mix(hash_str(prompt->model, TAG_MODEL), hash_str(prompt->cache_salt, TAG_SALT));
    put_tools(chain, prompt->tools);
    put_system(chain, prompt->system);
    put_messages(chain, prompt->messages);
    put_texts(chain, prompt->texts);
    chain_close(chain);
}
