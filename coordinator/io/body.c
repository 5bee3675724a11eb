/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/body.h"

#include "coordinator/io/body_read.h"
#include "coordinator/io/body_scratch.h"
#include "coordinator/io/body_splice.h"
#include "coordinator/io/chain.h"
#include "coordinator/io/opening.h"
#include "coordinator/io/tool_results.h"

/* Top-level keys that we act on: doubling one is refused, as we and the engine could read different
 * ones. */
enum body_key {
    KEY_MODEL,
    KEY_STREAM,
    KEY_STREAM_OPTIONS,
    KEY_MAX_TOKENS,
    KEY_MAX_COMPLETION_TOKENS,
    KEY_MAX_OUTPUT_TOKENS,
    KEY_N,
    KEY_MESSAGES,
    KEY_INPUT,
    KEY_PROMPT,
    KEY_SYSTEM,
    KEY_INSTRUCTIONS,
    KEY_TOOLS,
    KEY_CACHE_SALT,
    KEY_SESSION_ID,
    KEY_PROMPT_CACHE_KEY,
    KEY_METADATA,
    KEY_CLIENT_METADATA,
    KEY_VLLM_XARGS,
    KEY_PROGRAM_ID,
    KEY_EXTRA_BODY,
    KEY_AGENT_HINT,
    KEY_AGENT_HINTS,
    KEY_NVEXT,
    KEY_SESSION_PARAMS,
    KEY_DISAGGREGATED_PARAMS,
    KEY_LITELLM_SESSION_ID,
    KEY_CONVERSATION,
};

enum {
    KEY_COUNT = KEY_CONVERSATION + 1,
    KEY_IDENTITY_FIRST = KEY_SESSION_ID, /* from here on: who is calling */
    KEY_NONE = -1
};

/* Types a value may have; null is always the same as absent, but for model. */
enum {
    TYPE_STR = 1,
    TYPE_BOOL = 2,
    TYPE_NUM = 4,
    TYPE_ARR = 8,
    TYPE_OBJ = 16,
    TYPE_NULL = 32,
    TYPE_ANY = 63,
};

/* Routes whose prompt or options a key is part of; elsewhere its type is not ours to judge. */
#define ON(route)   (1U << (route))
#define ON_ALL      (~0U)
#define ON_CHAT     (ON(COORD_ROUTE_CHAT) | ON(COORD_ROUTE_COMPLETIONS))
#define ON_MESSAGES (ON(COORD_ROUTE_MESSAGES) | ON(COORD_ROUTE_COUNT_TOKENS))

static const struct {
    struct str name;
    unsigned types;
    unsigned routes;
    const char *wants;
} keys[KEY_COUNT] = {
    [KEY_MODEL] = {STR("model"), TYPE_STR, ON_ALL, "a string"},
    [KEY_STREAM] = {STR("stream"), TYPE_BOOL | TYPE_NULL, ON_ALL, "true or false"},
    [KEY_STREAM_OPTIONS] = {STR("stream_options"), TYPE_OBJ | TYPE_NULL, ON_CHAT, "an object"},
    [KEY_MAX_TOKENS] = {STR("max_tokens"), TYPE_NUM | TYPE_NULL, ON_ALL, "a number"},
    [KEY_MAX_COMPLETION_TOKENS] = {STR("max_completion_tokens"), TYPE_NUM | TYPE_NULL, ON_ALL,
                                   "a number"},
    [KEY_MAX_OUTPUT_TOKENS] = {STR("max_output_tokens"), TYPE_NUM | TYPE_NULL, ON_ALL, "a number"},
    [KEY_N] = {STR("n"), TYPE_NUM | TYPE_NULL, ON_CHAT, "a number"},
    [KEY_MESSAGES] = {STR("messages"), TYPE_ARR | TYPE_NULL, ON(COORD_ROUTE_CHAT) | ON_MESSAGES,
                      "an array"},
    [KEY_INPUT] = {STR("input"), TYPE_STR | TYPE_ARR | TYPE_NULL, ON(COORD_ROUTE_RESPONSES),
                   "a string or an array"},
    [KEY_PROMPT] = {STR("prompt"), TYPE_STR | TYPE_ARR | TYPE_NULL, ON(COORD_ROUTE_COMPLETIONS),
                    "a string or an array"},
    [KEY_SYSTEM] = {STR("system"), TYPE_STR | TYPE_ARR | TYPE_NULL, ON_MESSAGES,
                    "a string or an array"},
    [KEY_INSTRUCTIONS] = {STR("instructions"), TYPE_ANY, ON_ALL, ""},
    [KEY_TOOLS] = {STR("tools"), TYPE_ARR | TYPE_NULL,
                   ON(COORD_ROUTE_CHAT) | ON(COORD_ROUTE_RESPONSES) | ON_MESSAGES, "an array"},
    [KEY_CACHE_SALT] = {STR("cache_salt"), TYPE_STR | TYPE_NULL, ON_ALL, "a string"},
    [KEY_SESSION_ID] = {STR("session_id"), TYPE_ANY, ON_ALL, ""},
    [KEY_PROMPT_CACHE_KEY] = {STR("prompt_cache_key"), TYPE_ANY, ON_ALL, ""},
    [KEY_METADATA] = {STR("metadata"), TYPE_ANY, ON_ALL, ""},
    [KEY_CLIENT_METADATA] = {STR("client_metadata"), TYPE_ANY, ON_ALL, ""},
    [KEY_VLLM_XARGS] = {STR("vllm_xargs"), TYPE_ANY, ON_ALL, ""},
    [KEY_PROGRAM_ID] = {STR("program_id"), TYPE_ANY, ON_ALL, ""},
    [KEY_EXTRA_BODY] = {STR("extra_body"), TYPE_ANY, ON_ALL, ""},
    [KEY_AGENT_HINT] = {STR("agent_hint"), TYPE_ANY, ON_ALL, ""},
    [KEY_AGENT_HINTS] = {STR("agent_hints"), TYPE_ANY, ON_ALL, ""},
    [KEY_NVEXT] = {STR("nvext"), TYPE_ANY, ON_ALL, ""},
    [KEY_SESSION_PARAMS] = {STR("session_params"), TYPE_ANY, ON_ALL, ""},
    [KEY_DISAGGREGATED_PARAMS] = {STR("disaggregated_params"), TYPE_ANY, ON_ALL, ""},
    [KEY_LITELLM_SESSION_ID] = {STR("litellm_session_id"), TYPE_ANY, ON_ALL, ""},
    [KEY_CONVERSATION] = {STR("conversation"), TYPE_ANY, ON_ALL, ""},
};

struct body_parser {
    const struct mem *mem;
    struct scratch scratch;
    struct chain chain;
    struct opening_cache openings;
    struct identity_read identity;
    struct tool_names tool_names;
    struct str tools[COORD_TOOLS_MAX]; /* in tool_names */
    char model[COORD_MODEL_MAX];
};

/* One parse. */
struct parse {
    enum coord_route route;
    struct str body;
    yyjson_val *root;
    yyjson_val *values[KEY_COUNT]; /* NULL = absent or null */
    bool has[KEY_COUNT];
};

enum status body_parser_new_in(const struct mem *mem, struct body_parser **ret)
{
    struct body_parser *parser = mem_calloc(mem, 1, sizeof(*parser));
    if (parser == NULL) {
        return ST_NOMEM;
    }
    parser->mem = mem;
    scratch_init(&parser->scratch, mem);
    identity_read_init(&parser->identity, mem);
    tool_names_init(&parser->tool_names, mem);
    enum status st = chain_init(&parser->chain, mem, COORD_CHAIN_MAX);
    if (st != ST_OK) {
        body_parser_free(parser);
        return st;
    }
    *ret = parser;
    return ST_OK;
}

enum status body_parser_new(struct body_parser **ret)
{
    return body_parser_new_in(mem_heap(), ret);
}

void body_parser_free(struct body_parser *parser)
{
    if (parser == NULL) {
        return;
    }
    chain_fini(&parser->chain);
    identity_read_fini(&parser->identity);
    tool_names_fini(&parser->tool_names);
    scratch_fini(&parser->scratch);
    mem_free(parser->mem, parser, sizeof(*parser));
}

/* --- top level --- */

static int key_of(yyjson_val *val)
{
    struct str name = {unsafe_yyjson_get_str(val), unsafe_yyjson_get_len(val)};
    for (int i = 0; i < KEY_COUNT; i++) {
        if (str_eq(keys[i].name, name)) {
            return i;
        }
    }
    return KEY_NONE;
}

static unsigned type_of(yyjson_val *val)
{
    switch (unsafe_yyjson_get_type(val)) {
    case YYJSON_TYPE_STR:
        return TYPE_STR;
    case YYJSON_TYPE_BOOL:
        return TYPE_BOOL;
    case YYJSON_TYPE_RAW: /* a number */
        return TYPE_NUM;
    case YYJSON_TYPE_ARR:
        return TYPE_ARR;
    case YYJSON_TYPE_OBJ:
        return TYPE_OBJ;
    default:
        return TYPE_NULL;
    }
}

static enum status check_member(struct parse *parse, int key, yyjson_val *val, struct err *err)
{
    if (parse->has[key]) {
        return err_set(err, ST_INVAL, "duplicate key \"%s\"", keys[key].name.p);
    }
    parse->has[key] = true;
    if ((keys[key].routes & ON(parse->route)) != 0 && (keys[key].types & type_of(val)) == 0) {
        return err_set(err, ST_INVAL, "\"%s\" must be %s", keys[key].name.p, keys[key].wants);
    }
    if (!yyjson_is_null(val)) {
        parse->values[key] = val;
    }
    return ST_OK;
}

static enum status read_members(struct parse *parse, struct err *err)
{
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *val = NULL;
    yyjson_obj_foreach(parse->root, i, count, key, val)
    {
        int known = key_of(key);
        if (known != KEY_NONE) {
            enum status st = check_member(parse, known, val, err);
            if (st != ST_OK) {
                return st;
            }
        }
    }
    return ST_OK;
}

/* Largest of the values that are positive, 0 when none is. Some engines take -1 for "no limit". */
static uint32_t max_tokens(const struct parse *parse)
{
    static const enum body_key limits[] = {KEY_MAX_TOKENS, KEY_MAX_COMPLETION_TOKENS,
                                           KEY_MAX_OUTPUT_TOKENS};
    uint32_t max = 0;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        yyjson_val *val = parse->values[limits[i]];
        double real = 0;
        if (!yyjson_is_raw(val) ||
            str_to_f64((struct str){yyjson_get_raw(val), yyjson_get_len(val)}, &real) != ST_OK) {
            continue;
        }
        uint32_t tokens = real >= (double)UINT32_MAX ? UINT32_MAX : real >= 1 ? (uint32_t)real : 0;
        max = tokens > max ? tokens : max;
    }
    return max;
}

/* --- asking for usage --- */

static void splice_inside(struct parse *parse, yyjson_val *options, struct body_view *view)
{
    size_t at = 0;
    size_t len = 0;
    size_t inner = 0;
    if (!splice_find_member(parse->body, keys[KEY_STREAM_OPTIONS].name, &at, &len)) {
        return;
    }
    struct str object = {parse->body.p + at, len};
    if (options == NULL) { /* null */
        view->usage_splice_at = at;
        view->usage_splice_cut = len;
        view->usage_splice = STR("{\"include_usage\":true}");
        return;
    }
    yyjson_val *flag = yyjson_obj_get(options, "include_usage");
    if (flag == NULL && splice_find_open(object, &inner)) {
        view->usage_splice_at = at + inner + 1;
        view->usage_splice = yyjson_obj_size(options) == 0 ? STR("\"include_usage\":true")
                                                           : STR("\"include_usage\":true,");
    } else if ((yyjson_is_false(flag) || yyjson_is_null(flag)) &&
               splice_find_member(object, STR("include_usage"), &inner, &len)) {
        view->usage_splice_at = at + inner;
        view->usage_splice_cut = len;
        view->usage_splice = STR("true");
    }
}

static size_t count_members(yyjson_val *obj, const char *name)
{
    size_t i = 0;
    size_t count = 0;
    size_t hits = 0;
    yyjson_val *key = NULL;
    yyjson_val *val = NULL;
    if (obj == NULL) {
        return 0;
    }
    yyjson_obj_foreach(obj, i, count, key, val)
    {
        hits += yyjson_equals_str(key, name) ? 1 : 0;
    }
    return hits;
}

static void read_stream_options(struct parse *parse, struct body_view *view)
{
    yyjson_val *options = parse->values[KEY_STREAM_OPTIONS];
    view->has_stream_options = yyjson_is_obj(options);
    bool is_doubled = count_members(options, "include_usage") > 1;
    view->asks_usage = !is_doubled && yyjson_is_true(yyjson_obj_get(options, "include_usage"));
    if (!view->is_stream || view->asks_usage || is_doubled || (ON_CHAT & ON(parse->route)) == 0) {
        return;
    }
    size_t open = 0;
    if (parse->has[KEY_STREAM_OPTIONS]) {
        splice_inside(parse, options, view);
    } else if (splice_find_open(parse->body, &open)) {
        /* Never the only member: `stream` is there. */
        view->usage_splice_at = open + 1;
        view->usage_splice = STR("\"stream_options\":{\"include_usage\":true},");
    }
}

/* --- all of it --- */

static struct str text_value(yyjson_val *val)
{
    return yyjson_is_str(val) ? (struct str){yyjson_get_str(val), yyjson_get_len(val)}
                              : (struct str){NULL, 0};
}

static void
read_prompt(struct body_parser *parser, const struct parse *parse, struct body_view *view)
{
    struct chain_prompt prompt = {
        .model = view->model,
        .cache_salt = text_value(parse->values[KEY_CACHE_SALT]),
        .tools = parse->values[KEY_TOOLS],
    };
    switch (parse->route) {
    case COORD_ROUTE_CHAT:
        prompt.messages = parse->values[KEY_MESSAGES];
        break;
    case COORD_ROUTE_COMPLETIONS:
        prompt.tools = NULL;
        prompt.texts = parse->values[KEY_PROMPT];
        break;
    case COORD_ROUTE_RESPONSES:
        prompt.system = parse->values[KEY_INSTRUCTIONS];
        prompt.messages = parse->values[KEY_INPUT];
        break;
    case COORD_ROUTE_MESSAGES:
    case COORD_ROUTE_COUNT_TOKENS:
        prompt.system = parse->values[KEY_SYSTEM];
        prompt.messages = parse->values[KEY_MESSAGES];
        break;
    }
    struct chain *chain = &parser->chain;
    chain_build(chain, &prompt);
    view->chain = chain->hashes;
    view->chain_bytes = chain->bytes;
    view->chain_is_end = chain->is_end;
    view->chain_count = chain->count;
    view->prompt_bytes = chain->prompt_bytes;
    view->opening = chain->opening;
    view->opening_sketch = opening_sketch(&parser->openings, chain->opening, &prompt);
    tool_names_reset(&parser->tool_names);
    tool_results_read(parse->route, prompt.messages, &parser->tool_names);
    view->tools = parser->tools;
    view->tool_count = tool_names_list(&parser->tool_names, parser->tools);
}

static void find_billing(const struct parse *parse, struct body_view *view)
{
    size_t array_at = 0;
    size_t array_len = 0;
    size_t at = 0;
    size_t len = 0;
    if ((ON_MESSAGES & ON(parse->route)) != 0 && yyjson_is_arr(parse->values[KEY_SYSTEM]) &&
        chain_is_billing_block(yyjson_arr_get_first(parse->values[KEY_SYSTEM])) &&
        splice_find_member(parse->body, keys[KEY_SYSTEM].name, &array_at, &array_len) &&
        splice_find_first_item((struct str){parse->body.p + array_at, array_len}, &at, &len)) {
        view->billing_at = array_at + at;
        view->billing_cut = len;
    }
}

static void read_identity(struct identity_read *reader, const struct parse *parse)
{
    identity_read_begin(reader);
    for (int key = KEY_IDENTITY_FIRST; key < KEY_COUNT; key++) {
        if (parse->values[key] != NULL) {
            identity_read_member(reader, keys[key].name, parse->values[key]);
        }
    }
}

static enum status
parse_view(struct body_parser *parser, struct parse *parse, struct body_view *view, struct err *err)
{
    enum status st = body_read(&parser->scratch, parse->body, &parse->root, err);
    if (st == ST_OK) {
        st = read_members(parse, err);
    }
    if (st != ST_OK) {
        return st;
    }
    struct str model = text_value(parse->values[KEY_MODEL]);
    if (model.len > sizeof(parser->model)) {
        return err_set(err, ST_INVAL, "\"model\" is longer than %zu bytes", sizeof(parser->model));
    }
    if (model.len > 0) {
        memcpy(parser->model, model.p, model.len);
    }
    view->model = (struct str){parser->model, model.len};
    view->is_stream = yyjson_is_true(parse->values[KEY_STREAM]);
    view->max_output_tokens = max_tokens(parse);
    view->usage_splice = STR("");
    read_stream_options(parse, view);
    find_billing(parse, view);
    read_identity(&parser->identity, parse);
    view->identity = &parser->identity;
    read_prompt(parser, parse, view);
    return ST_OK;
}

enum status body_parse(struct body_parser *parser,
                       enum coord_route route,
                       const char *body,
                       size_t len,
                       struct body_view *ret,
                       struct err *err)
{
    struct parse parse = {.route = route, .body = {body, len}};
    struct body_view view = {.usage_splice_at = 0};
    enum status st = parse_view(parser, &parse, &view, err);
    scratch_end(&parser->scratch);
    if (st == ST_OK) {
        *ret = view;
    }
    return st;
}
