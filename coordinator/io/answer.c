/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/answer.h"

#include "common/base/json.h"
#include "coordinator/io/answer_look.h"

/* Engines write invalid UTF-8 and NaN now and then; neither keeps us from reading usage. */
#define READ_FLAGS (YYJSON_READ_ALLOW_INVALID_UNICODE | YYJSON_READ_ALLOW_INF_AND_NAN)

enum {
    SMALL_EVENT_BYTES = 2048, /* parsed on the stack */
    SMALL_POOL_BYTES = 16384,
};

/* --- counts, finish, errors --- */

static uint32_t count_of(yyjson_val *obj, const char *key)
{
    uint64_t value = 0;
    if (!json_get_u64(obj, key, &value)) {
        return 0;
    }
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint32_t add_counts(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static bool is_one_of(struct str s, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (str_eq(s, str_of(*words))) {
            return true;
        }
    }
    return false;
}

static void note_finish(struct answer_facts *facts, yyjson_val *reason)
{
    static const char *const stops[] = {"stop", "end_turn", "stop_sequence", "eos", NULL};
    static const char *const lengths[] = {"length", "max_tokens", "max_output_tokens",
                                          "model_context_window_exceeded", NULL};
    static const char *const tools[] = {"tool_calls", "tool_use", "function_call", NULL};
    if (!yyjson_is_str(reason) || facts->finish == COORD_FINISH_TOOLS) {
        return; /* with several choices a tool call says most about what comes next */
    }
    struct str word = json_str(reason);
    facts->finish = is_one_of(word, stops)     ? COORD_FINISH_STOP
                    : is_one_of(word, lengths) ? COORD_FINISH_LENGTH
                    : is_one_of(word, tools)   ? COORD_FINISH_TOOLS
                                               : COORD_FINISH_OTHER;
}

static void note_tool(struct answer_facts *facts, yyjson_val *named)
{
    struct str name = STR("");
    if (json_get_str(named, "name", &name)) {
        tool_names_add(&facts->tools, name);
    }
}

/* Status that a word in an error object stands for, 0 when it says nothing. */
static uint16_t status_of_word(struct str word)
{
    static const struct {
        const char *word;
        uint16_t status;
    } words[] = {
        {"invalid_request_error", 400},
        {"BadRequestError", 400},
        {"context_length_exceeded", 400},
        {"invalid_prompt", 400},
        {"authentication_error", 401},
        {"permission_error", 403},
        {"not_found_error", 404},
        {"NotFoundError", 404},
        {"model_not_found", 404},
        {"request_too_large", 413},
        {"rate_limit_error", 429},
        {"rate_limit_exceeded", 429},
        {"insufficient_quota", 429},
        {"api_error", 500},
        {"server_error", 500},
        {"internal_error", 500},
        {"InternalServerError", 500},
        {"unavailable_error", 503},
        {"overloaded_error", 529},
        {"timeout_error", 504},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_eq(word, str_of(words[i].word))) {
            return words[i].status;
        }
    }
    return 0;
}

static uint16_t status_of_member(yyjson_val *obj, const char *key)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    uint64_t number = 0;
    if (yyjson_is_str(val) && str_to_u64(json_str(val), &number) != ST_OK) {
        return status_of_word(json_str(val));
    }
    if (!yyjson_is_str(val) && !json_get_u64(obj, key, &number)) {
        return 0;
    }
    return number >= 400 && number <= 599 ? (uint16_t)number : 0;
}

/* error: an object, or just a text. */
static void note_error(struct answer_facts *facts, yyjson_val *error)
{
    static const char *const keys[] = {"status", "status_code", "code", "type"};
    facts->has_error = true;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && facts->error_status == 0; i++) {
        facts->error_status = status_of_member(error, keys[i]);
    }
}

/* An error in an answer of any API: {"error": ...}, {"object":"error", ...} or {"type":"error",
 * ...}. */
static bool read_error(struct answer_facts *facts, yyjson_val *root)
{
    struct str word = STR("");
    yyjson_val *error = yyjson_obj_get(root, "error");
    if (error != NULL && !yyjson_is_null(error)) {
        note_error(facts, error);
        return true;
    }
    if ((json_get_str(root, "object", &word) && str_eq(word, STR("error"))) ||
        (json_get_str(root, "type", &word) && str_eq(word, STR("error")))) {
        note_error(facts, root);
        return true;
    }
    return false;
}

/* --- chat and completions --- */

/* llama.cpp: tokens taken from its cache, where usage does not tell. */
static void read_timings(struct answer_facts *facts, yyjson_val *timings, bool is_cached_known)
{
    uint64_t cached = 0;
    uint64_t fresh = 0;
    if (!json_get_u64(timings, "cache_n", &cached)) {
        return;
    }
    if (facts->has_usage && !is_cached_known) {
        facts->cached_tokens = count_of(timings, "cache_n");
    }
    if (!facts->has_usage && json_get_u64(timings, "prompt_n", &fresh)) {
        facts->has_usage = true;
        facts->cached_tokens = count_of(timings, "cache_n");
        facts->prompt_tokens = add_counts(facts->cached_tokens, count_of(timings, "prompt_n"));
        facts->output_tokens = count_of(timings, "predicted_n");
    }
}

static void read_chat_usage(struct answer_facts *facts, yyjson_val *root)
{
    yyjson_val *usage = yyjson_obj_get(root, "usage");
    yyjson_val *details = yyjson_obj_get(usage, "prompt_tokens_details");
    uint64_t cached = 0;
    bool is_cached_known = json_get_u64(details, "cached_tokens", &cached);
    if (yyjson_is_obj(usage)) {
        facts->has_usage = true;
        facts->prompt_tokens = count_of(usage, "prompt_tokens");
        facts->cached_tokens = count_of(details, "cached_tokens");
        facts->output_tokens = count_of(usage, "completion_tokens");
    }
    if (yyjson_is_obj(usage) || facts->finish != COORD_FINISH_NONE) {
        read_timings(facts, yyjson_obj_get(root, "timings"), is_cached_known);
    }
}

/* A custom tool's call has its name elsewhere. */
static void note_calls(struct answer_facts *facts, yyjson_val *calls)
{
    size_t i = 0;
    size_t count = 0;
    yyjson_val *call = NULL;
    yyjson_arr_foreach(calls, i, count, call)
    {
        note_tool(facts, yyjson_obj_get(call, "function"));
        note_tool(facts, yyjson_obj_get(call, "custom"));
    }
}

static void read_chat(struct answer_facts *facts, yyjson_val *root)
{
    size_t i = 0;
    size_t count = 0;
    yyjson_val *choice = NULL;
    yyjson_arr_foreach(yyjson_obj_get(root, "choices"), i, count, choice)
    {
        yyjson_val *said = yyjson_obj_get(choice, "delta");
        if (said == NULL) {
            said = yyjson_obj_get(choice, "message");
        }
        note_calls(facts, yyjson_obj_get(said, "tool_calls"));
        note_tool(facts, yyjson_obj_get(said, "function_call"));
        note_finish(facts, yyjson_obj_get(choice, "finish_reason"));
    }
    read_chat_usage(facts, root);
}

/* --- responses --- */

/* True when the client has to run a tool. What the engine runs itself ends no step. */
static bool note_item(struct answer_facts *facts, yyjson_val *item)
{
    struct str name = STR("");
    bool is_ours = false;
    if (!tool_item_read(item, &name, &is_ours) || !is_ours) {
        return false;
    }
    tool_names_add(&facts->tools, name);
    return true;
}

static void read_response(struct answer_facts *facts, yyjson_val *response)
{
    yyjson_val *usage = yyjson_obj_get(response, "usage");
    if (yyjson_is_obj(usage)) {
        facts->has_usage = true;
        facts->prompt_tokens = count_of(usage, "input_tokens");
        facts->cached_tokens =
            count_of(yyjson_obj_get(usage, "input_tokens_details"), "cached_tokens");
        facts->output_tokens = count_of(usage, "output_tokens");
    }
    struct str status = STR("");
    bool has_status = json_get_str(response, "status", &status);
    if (has_status && str_eq(status, STR("incomplete"))) {
        facts->finish = COORD_FINISH_OTHER;
        note_finish(facts,
                    yyjson_obj_get(yyjson_obj_get(response, "incomplete_details"), "reason"));
    } else if (has_status && str_eq(status, STR("completed"))) {
        facts->finish = COORD_FINISH_STOP;
    }
    size_t i = 0;
    size_t count = 0;
    yyjson_val *item = NULL;
    yyjson_arr_foreach(yyjson_obj_get(response, "output"), i, count, item)
    {
        if (note_item(facts, item)) {
            facts->finish = facts->finish == COORD_FINISH_STOP ? COORD_FINISH_TOOLS : facts->finish;
        }
    }
}

static void read_response_event(struct answer_facts *facts, struct str type, yyjson_val *root)
{
    yyjson_val *response = yyjson_obj_get(root, "response");
    if (str_starts(type, STR("response.output_item."))) {
        (void)note_item(facts, yyjson_obj_get(root, "item"));
    } else if (str_eq(type, STR("response.failed"))) {
        read_response(facts, response);
        note_error(facts, yyjson_obj_get(response, "error"));
    } else if (str_eq(type, STR("response.completed")) ||
               str_eq(type, STR("response.incomplete"))) {
        facts->has_done = true;
        read_response(facts, response);
    }
}

/* --- messages --- */

/* Here input_tokens leaves out what came from a cache and what went into one. */
static void read_messages_usage(struct answer_facts *facts, yyjson_val *usage)
{
    uint32_t cached = count_of(usage, "cache_read_input_tokens");
    uint32_t prompt =
        add_counts(count_of(usage, "input_tokens"),
                   add_counts(cached, count_of(usage, "cache_creation_input_tokens")));
    uint64_t output = 0;
    if (prompt > 0) { /* the event at the end may leave these out */
        facts->prompt_tokens = prompt;
        facts->cached_tokens = cached;
    }
    if (json_get_u64(usage, "output_tokens", &output)) {
        facts->output_tokens = count_of(usage, "output_tokens");
    }
}

static void note_block(struct answer_facts *facts, yyjson_val *block)
{
    struct str type = STR("");
    if (json_get_str(block, "type", &type) && str_eq(type, STR("tool_use"))) {
        note_tool(facts, block);
    }
}

static void read_messages_event(struct answer_facts *facts, struct str type, yyjson_val *root)
{
    if (str_eq(type, STR("message_start"))) {
        read_messages_usage(facts, yyjson_obj_get(yyjson_obj_get(root, "message"), "usage"));
    } else if (str_eq(type, STR("message_delta"))) {
        yyjson_val *usage = yyjson_obj_get(root, "usage");
        note_finish(facts, yyjson_obj_get(yyjson_obj_get(root, "delta"), "stop_reason"));
        if (yyjson_is_obj(usage)) {
            read_messages_usage(facts, usage);
            facts->has_usage = true;
        }
    } else if (str_eq(type, STR("content_block_start"))) {
        note_block(facts, yyjson_obj_get(root, "content_block"));
    } else if (str_eq(type, STR("message_stop"))) {
        facts->has_done = true;
    }
}

static void read_message(struct answer_facts *facts, yyjson_val *root)
{
    yyjson_val *usage = yyjson_obj_get(root, "usage");
    if (yyjson_is_obj(usage)) {
        read_messages_usage(facts, usage);
        facts->has_usage = true;
    }
    note_finish(facts, yyjson_obj_get(root, "stop_reason"));
    size_t i = 0;
    size_t count = 0;
    yyjson_val *block = NULL;
    yyjson_arr_foreach(yyjson_obj_get(root, "content"), i, count, block)
    {
        note_block(facts, block);
    }
}

/* --- events and bodies --- */

static void
read_event(enum coord_route route, struct str type, yyjson_val *root, struct answer_facts *facts)
{
    struct str given = STR("");
    if (type.len == 0 && json_get_str(root, "type", &given)) {
        type = given;
    }
    bool is_failed = read_error(facts, root);
    if (!is_failed && str_eq(type, STR("error"))) {
        note_error(facts, root);
        is_failed = true;
    }
    switch (route) {
    case COORD_ROUTE_CHAT:
    case COORD_ROUTE_COMPLETIONS:
        read_chat(facts, root);
        break;
    case COORD_ROUTE_RESPONSES:
        read_response_event(facts, type, root);
        break;
    case COORD_ROUTE_MESSAGES:
    case COORD_ROUTE_COUNT_TOKENS:
        read_messages_event(facts, type, root);
        break;
    }
    facts->has_content |= !is_failed && !str_eq(type, STR("response.failed"));
}

bool answer_read_event(enum coord_route route,
                       struct str name,
                       struct str data,
                       struct answer_facts *facts)
{
    struct str type = answer_event_type(name, data);
    facts->event_count++;
    if (answer_is_plain(route, type, data)) {
        bool is_content = !str_eq(type, STR("ping"));
        facts->has_content |= is_content;
        return is_content;
    }
    char pool[SMALL_POOL_BYTES];
    yyjson_alc alc;
    yyjson_doc *doc = NULL;
    if (data.len <= SMALL_EVENT_BYTES && yyjson_alc_pool_init(&alc, pool, sizeof(pool))) {
        /* Without YYJSON_READ_INSITU the text is not written to. */
        doc = yyjson_read_opts((char *)(uintptr_t)data.p, data.len, READ_FLAGS, &alc, NULL);
    }
    bool is_pooled = doc != NULL;
    if (doc == NULL) {
        doc = yyjson_read_opts((char *)(uintptr_t)data.p, data.len, READ_FLAGS, NULL, NULL);
    }
    if (doc != NULL) {
        read_event(route, type, yyjson_doc_get_root(doc), facts);
    } else {
        facts->has_error |= str_eq(type, STR("error"));
        facts->has_content |= !str_eq(type, STR("error"));
    }
    if (!is_pooled) {
        yyjson_doc_free(doc);
    }
    return false;
}

void answer_skip_event(struct str name, struct answer_facts *facts)
{
    facts->event_count++;
    facts->has_done |=
        str_eq(name, STR("response.completed")) || str_eq(name, STR("response.incomplete"));
    facts->has_error |= str_eq(name, STR("error")) || str_eq(name, STR("response.failed"));
    facts->has_content |= !str_eq(name, STR("error")) && !str_eq(name, STR("response.failed"));
}

void answer_end_stream(struct answer_facts *facts)
{
    /* Only an Anthropic stream gets here with counts and no usage: its end told none. */
    facts->has_usage |= facts->has_done && facts->prompt_tokens > 0;
}

static void read_body(enum coord_route route, yyjson_val *root, struct answer_facts *facts)
{
    struct str status = STR("");
    if (read_error(facts, root)) {
        return;
    }
    if (!yyjson_is_obj(root)) {
        return;
    }
    facts->has_content = true;
    facts->has_done = true;
    switch (route) {
    case COORD_ROUTE_CHAT:
    case COORD_ROUTE_COMPLETIONS:
        read_chat(facts, root);
        break;
    case COORD_ROUTE_RESPONSES:
        read_response(facts, root);
        if (json_get_str(root, "status", &status) && str_eq(status, STR("failed"))) {
            note_error(facts, NULL);
        }
        break;
    case COORD_ROUTE_MESSAGES:
        read_message(facts, root);
        break;
    case COORD_ROUTE_COUNT_TOKENS:
        facts->prompt_tokens = count_of(root, "input_tokens");
        break;
    }
}

void answer_read_body(enum coord_route route,
                      const char *body,
                      size_t len,
                      struct answer_facts *facts)
{
    yyjson_doc *doc =
        len == 0 ? NULL : yyjson_read_opts((char *)(uintptr_t)body, len, READ_FLAGS, NULL, NULL);
    if (doc != NULL) {
        read_body(route, yyjson_doc_get_root(doc), facts);
    }
    yyjson_doc_free(doc);
}
