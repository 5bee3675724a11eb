/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/prompt.h"

#include "common/base/json.h"

enum { PART_DEPTH_MAX = 4, OPAQUE_TOKENS = 256 };

static const struct str billing = {"x-anthropic-billing-header", 26};

void sim_turn_begin(struct sim_chain *chain, struct str role)
{
    sim_chain_mark(chain, SIM_MARK_TURN, role);
}

void sim_turn_call(struct sim_chain *chain, struct str name, struct str arguments)
{
    sim_chain_mark(chain, SIM_MARK_CALL, name);
    sim_chain_text(chain, arguments);
}

void sim_turn_end(struct sim_chain *chain)
{
    sim_chain_mark(chain, SIM_MARK_END, STR(""));
}

/* Adds a JSON value as text. */
static void add_json(struct sim_chain *chain, yyjson_val *val)
{
    struct sim_out out;
    sim_out_init(&out, chain->mem);
    sim_out_val(&out, val);
    if (out.st != ST_OK) {
        chain->st = ST_NOMEM;
    }
    sim_chain_text(chain, buf_str(&out.buf));
    sim_out_fini(&out);
}

/* A picture or anything else that is no text: told apart by its content, of one size. */
static void add_opaque(struct sim_chain *chain, yyjson_val *val)
{
    struct sim_out out;
    sim_out_init(&out, chain->mem);
    sim_out_val(&out, val);
    for (int i = 0; i < OPAQUE_TOKENS; i++) {
        sim_chain_mark(chain, SIM_MARK_OPAQUE, buf_str(&out.buf));
    }
    sim_out_fini(&out);
}

/* Arguments come as text (OpenAI) or as an object (Anthropic). */
static void add_call(struct sim_chain *chain, struct str name, yyjson_val *arguments)
{
    sim_turn_call(chain, name, json_str(arguments));
    if (yyjson_is_obj(arguments)) {
        add_json(chain, arguments);
    }
}

static void add_content(struct sim_chain *chain, yyjson_val *val, int depth);

static void add_part(struct sim_chain *chain, yyjson_val *part, int depth)
{
    struct str type = {NULL, 0};
    struct str text;
    (void)json_get_str(part, "type", &type);
    if (json_get_str(part, "text", &text) || json_get_str(part, "refusal", &text) ||
        json_get_str(part, "thinking", &text)) {
        sim_chain_text(chain, str_starts(text, billing) ? STR("") : text);
    } else if (str_eq(type, STR("tool_use"))) {
        add_call(chain, json_str(yyjson_obj_get(part, "name")), yyjson_obj_get(part, "input"));
    } else if (str_eq(type, STR("tool_result"))) {
        sim_chain_mark(chain, SIM_MARK_TOOL, STR(""));
        add_content(chain, yyjson_obj_get(part, "content"), depth + 1);
    } else {
        add_opaque(chain, part);
    }
}

/* A text, or a list of parts. */
static void add_content(struct sim_chain *chain, yyjson_val *val, int depth)
{
    if (yyjson_is_str(val)) {
        sim_chain_text(chain, json_str(val));
        return;
    }
    if (!yyjson_is_arr(val) || depth > PART_DEPTH_MAX) {
        return;
    }
    size_t idx;
    size_t max;
    yyjson_val *part;
    yyjson_arr_foreach(val, idx, max, part)
    {
        if (yyjson_is_str(part)) {
            sim_chain_text(chain, json_str(part));
        } else {
            add_part(chain, part, depth);
        }
    }
}

static void add_message(struct sim_chain *chain, yyjson_val *message)
{
    sim_turn_begin(chain, json_str(yyjson_obj_get(message, "role")));
    add_content(chain, yyjson_obj_get(message, "content"), 0);
    size_t idx;
    size_t max;
    yyjson_val *call;
    yyjson_arr_foreach(yyjson_obj_get(message, "tool_calls"), idx, max, call)
    {
        yyjson_val *fn = yyjson_obj_get(call, "function");
        add_call(chain, json_str(yyjson_obj_get(fn, "name")), yyjson_obj_get(fn, "arguments"));
    }
    sim_turn_end(chain);
}

bool sim_tool_read(yyjson_val *tool, struct str *ret_name, yyjson_val **ret_schema)
{
    yyjson_val *fn = yyjson_obj_get(tool, "function");
    yyjson_val *from = yyjson_is_obj(fn) ? fn : tool;
    if (!json_get_str(from, "name", ret_name) || ret_name->len == 0) {
        return false;
    }
    *ret_schema = yyjson_obj_get(from, "parameters");
    if (*ret_schema == NULL) {
        *ret_schema = yyjson_obj_get(from, "input_schema");
    }
    return true;
}

/* Clients move cache_control about; it is no part of the prompt. */
static void add_tools(struct sim_chain *chain, yyjson_val *tools)
{
    size_t idx;
    size_t max;
    yyjson_val *tool;
    yyjson_arr_foreach(tools, idx, max, tool)
    {
        sim_chain_mark(chain, SIM_MARK_TOOL, STR("definition"));
        if (!yyjson_is_obj(tool) || yyjson_obj_size(tool) == 0) {
            continue; /* yyjson_obj_foreach does not take these */
        }
        size_t key_idx;
        size_t key_max;
        yyjson_val *key;
        yyjson_val *val;
        yyjson_obj_foreach(tool, key_idx, key_max, key, val)
        {
            if (!yyjson_equals_str(key, "cache_control")) {
                sim_chain_text(chain, json_str(key));
                add_json(chain, val);
            }
        }
    }
}

static void add_system(struct sim_chain *chain, yyjson_val *content)
{
    if (content != NULL && !yyjson_is_null(content)) {
        sim_turn_begin(chain, STR("system"));
        add_content(chain, content, 0);
        sim_turn_end(chain);
    }
}

/* One item of a Responses input list. */
static void add_item(struct sim_chain *chain, yyjson_val *item)
{
    struct str type = {NULL, 0};
    (void)json_get_str(item, "type", &type);
    if (str_eq(type, STR("function_call"))) {
        sim_turn_begin(chain, STR("assistant"));
        add_call(chain, json_str(yyjson_obj_get(item, "name")), yyjson_obj_get(item, "arguments"));
        sim_turn_end(chain);
    } else if (str_eq(type, STR("function_call_output"))) {
        sim_turn_begin(chain, STR("tool"));
        add_content(chain, yyjson_obj_get(item, "output"), 0);
        sim_turn_end(chain);
    } else if (yyjson_obj_get(item, "role") != NULL) {
        add_message(chain, item);
    } else if (!str_eq(type, STR("reasoning"))) {
        add_opaque(chain, item);
    }
}

static bool read_messages(struct sim_ask *ask, yyjson_val *root, struct sim_refusal *refusal)
{
    yyjson_val *messages = yyjson_obj_get(root, "messages");
    if (!yyjson_is_arr(messages) || yyjson_arr_size(messages) == 0) {
        return sim_refuse(refusal, 400, "messages",
                          "messages must be a list with at least one item");
    }
    add_tools(&ask->chain, ask->tools);
    add_system(&ask->chain, yyjson_obj_get(root, "system"));
    size_t idx;
    size_t max;
    yyjson_val *message;
    yyjson_arr_foreach(messages, idx, max, message)
    {
        if (!yyjson_is_str(yyjson_obj_get(message, "role"))) {
            return sim_refuse(refusal, 400, "messages", "messages[%zu] has no role", idx);
        }
        add_message(&ask->chain, message);
    }
    sim_turn_begin(&ask->chain, STR("assistant"));
    return true;
}

static bool read_items(struct sim_ask *ask, yyjson_val *root, struct sim_refusal *refusal)
{
    yyjson_val *input = yyjson_obj_get(root, "input");
    if (!yyjson_is_str(input) && !yyjson_is_arr(input)) {
        return sim_refuse(refusal, 400, "input", "input must be a text or a list of items");
    }
    if (yyjson_is_str(yyjson_obj_get(root, "previous_response_id"))) {
        return sim_refuse(refusal, 404, "previous_response_id",
                          "responses are not stored here: send the whole conversation as input");
    }
    add_tools(&ask->chain, ask->tools);
    add_system(&ask->chain, yyjson_obj_get(root, "instructions"));
    if (yyjson_is_str(input)) {
        sim_turn_begin(&ask->chain, STR("user"));
        sim_chain_text(&ask->chain, json_str(input));
        sim_turn_end(&ask->chain);
    }
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(input, idx, max, item)
    {
        add_item(&ask->chain, item);
    }
    sim_turn_begin(&ask->chain, STR("assistant"));
    return true;
}

/* A text, a list with one text, or token numbers. */
static bool read_prompt(struct sim_ask *ask, yyjson_val *root, struct sim_refusal *refusal)
{
    yyjson_val *prompt = yyjson_obj_get(root, "prompt");
    if (yyjson_is_arr(prompt) && !yyjson_is_num(yyjson_arr_get_first(prompt))) {
        if (yyjson_arr_size(prompt) != 1) {
            return sim_refuse(refusal, 400, "prompt",
                              "a list of prompts must have exactly one item");
        }
        prompt = yyjson_arr_get_first(prompt);
    }
    if (yyjson_is_str(prompt)) {
        sim_chain_text(&ask->chain, json_str(prompt));
    } else if (yyjson_is_arr(prompt)) {
        size_t idx;
        size_t max;
        yyjson_val *token;
        yyjson_arr_foreach(prompt, idx, max, token)
        {
            uint32_t number = (uint32_t)yyjson_get_uint(token);
            sim_chain_text(&ask->chain, (struct str){(const char *)&number, sizeof(number)});
        }
    }
    if (ask->chain.token_count == 0) {
        return sim_refuse(refusal, 400, "prompt", "prompt must hold at least one token");
    }
    return true;
}

static bool
read_count(yyjson_val *root, const char *key, uint32_t *ret, struct sim_refusal *refusal)
{
    yyjson_val *val = yyjson_obj_get(root, key);
    if (val == NULL || yyjson_is_null(val)) {
        return true;
    }
    uint64_t number = 0;
    if (!json_get_u64(root, key, &number) || number == 0) {
        return sim_refuse(refusal, 400, key, "%s must be at least 1", key);
    }
    *ret = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    return true;
}

static bool read_limits(struct sim_ask *ask, yyjson_val *root, struct sim_refusal *refusal)
{
    uint64_t n = 1;
    if (json_get_u64(root, "n", &n) && n != 1) {
        return sim_refuse(refusal, 400, "n",
                          "n must be 1: this engine gives one answer per request");
    }
    if (!read_count(root, "max_tokens", &ask->max_tokens, refusal) ||
        !read_count(root, "max_completion_tokens", &ask->max_tokens, refusal) ||
        !read_count(root, "max_output_tokens", &ask->max_tokens, refusal)) {
        return false;
    }
    if (ask->api == SIM_API_COMPLETIONS && ask->max_tokens == 0) {
        ask->max_tokens = 16; /* the default of this API */
    }
    uint64_t number = 0;
    if (json_get_u64(root, "min_tokens", &number)) {
        ask->min_tokens = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    }
    (void)json_get_bool(root, "ignore_eos", &ask->ignores_eos);
    (void)json_get_u64(root, "seed", &ask->seed);
    (void)json_get_bool(root, "stream", &ask->is_stream);
    yyjson_val *options = yyjson_obj_get(root, "stream_options");
    if (yyjson_is_obj(options) && !ask->is_stream) {
        return sim_refuse(refusal, 400, "stream_options", "stream_options needs stream: true");
    }
    (void)json_get_bool(options, "include_usage", &ask->wants_usage);
    (void)json_get_bool(options, "continuous_usage_stats", &ask->wants_usage_each);
    return true;
}

/* "auto" | "none" | "required" | {"type":"function","function":{"name"}} |
 * {"type":"function","name"} |
 * {"type":"auto"|"any"|"tool"|"none","name"} */
static void read_tool_choice(struct sim_ask *ask, yyjson_val *root)
{
    yyjson_val *choice = yyjson_obj_get(root, "tool_choice");
    struct str kind = json_str(choice);
    (void)json_get_str(choice, "type", &kind);
    (void)json_get_str(choice, "name", &ask->tool_name);
    (void)json_get_str(yyjson_obj_get(choice, "function"), "name", &ask->tool_name);
    if (str_eq(kind, STR("none"))) {
        ask->tool_choice = SIM_TOOL_NEVER;
    } else if (str_eq(kind, STR("required")) || str_eq(kind, STR("any")) ||
               str_eq(kind, STR("tool")) || str_eq(kind, STR("function"))) {
        ask->tool_choice = SIM_TOOL_REQUIRED;
    }
}

/* response_format {"type","json_schema":{"schema"}} of chat, text.format {"type","schema"} of
 * responses. */
static void read_format(struct sim_ask *ask, yyjson_val *root)
{
    yyjson_val *format = yyjson_obj_get(root, "response_format");
    if (format == NULL) {
        format = yyjson_obj_get(yyjson_obj_get(root, "text"), "format");
    }
    struct str type = {NULL, 0};
    (void)json_get_str(format, "type", &type);
    ask->wants_json = str_eq(type, STR("json_object")) || str_eq(type, STR("json_schema"));
    yyjson_val *inner = yyjson_obj_get(format, "json_schema");
    ask->json_schema = yyjson_obj_get(inner != NULL ? inner : format, "schema");
}

static bool read_tools(struct sim_ask *ask, yyjson_val *root, struct sim_refusal *refusal)
{
    yyjson_val *tools = yyjson_obj_get(root, "tools");
    if (tools != NULL && !yyjson_is_null(tools) && !yyjson_is_arr(tools)) {
        return sim_refuse(refusal, 400, "tools", "tools must be a list");
    }
    ask->tools = yyjson_arr_size(tools) > 0 ? tools : NULL;
    read_tool_choice(ask, root);
    read_format(ask, root);
    if (ask->tool_choice == SIM_TOOL_REQUIRED && ask->tools == NULL) {
        return sim_refuse(refusal, 400, "tool_choice", "tool_choice needs tools");
    }
    return true;
}

static bool read_turns(struct sim_ask *ask, yyjson_val *root, struct sim_refusal *refusal)
{
    switch (ask->api) {
    case SIM_API_CHAT:
    case SIM_API_MESSAGES:
    case SIM_API_COUNT:
        return read_messages(ask, root, refusal);
    case SIM_API_RESPONSES:
        return read_items(ask, root, refusal);
    case SIM_API_COMPLETIONS:
        return read_prompt(ask, root, refusal);
    case SIM_API_TOKENIZE:
        return yyjson_obj_get(root, "messages") != NULL ? read_messages(ask, root, refusal)
                                                        : read_prompt(ask, root, refusal);
    }
    return false;
}

bool sim_ask_read(struct sim_ask *ret,
                  enum sim_api api,
                  yyjson_val *root,
                  struct str model,
                  const struct mem *mem,
                  struct sim_refusal *ret_refusal)
{
    if (!yyjson_is_obj(root)) {
        return sim_refuse(ret_refusal, 400, NULL, "the body must be a JSON object");
    }
    struct str name = model;
    if (json_get_str(root, "model", &name) && !str_eq(name, model)) {
        return sim_refuse(ret_refusal, 404, "model", "The model `%.*s` does not exist.",
                          (int)(name.len < 128 ? name.len : 128), name.p);
    }
    struct str salt = {NULL, 0};
    if (json_get_str(root, "cache_salt", &salt) && salt.len == 0) {
        return sim_refuse(ret_refusal, 400, "cache_salt", "cache_salt must not be empty");
    }
    struct sim_ask ask = {.api = api};
    sim_chain_init(&ask.chain, mem, model, salt);
    ask.chain.keeps_tokens = api == SIM_API_TOKENIZE;
    bool is_ok = read_limits(&ask, root, ret_refusal) && read_tools(&ask, root, ret_refusal) &&
                 read_turns(&ask, root, ret_refusal);
    if (is_ok && ask.chain.st != ST_OK) {
        is_ok = sim_refuse(ret_refusal, 503, NULL, "out of memory");
    }
    if (!is_ok) {
        sim_chain_fini(&ask.chain);
        return false;
    }
    *ret = ask;
    return true;
}

void sim_ask_fini(struct sim_ask *ask)
{
    sim_chain_fini(&ask->chain);
}
