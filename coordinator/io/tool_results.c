/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/tool_results.h"

/* The end of a conversation. */
struct tail {
    yyjson_val *items[TOOL_RESULTS_BACK];
    uint32_t count;
};

struct call {
    struct str id;
    struct str name;
};

/* Calls of the model's last turn. */
struct calls {
    struct call items[TOOL_RESULTS_CALLS];
    uint32_t count;
};

static struct str member(yyjson_val *obj, const char *key)
{
    struct str text = STR("");
    (void)json_get_str(obj, key, &text);
    return text;
}

static void read_tail(yyjson_val *messages, struct tail *tail)
{
    size_t i = 0;
    size_t count = 0;
    yyjson_val *item = NULL;
    tail->count = 0;
    yyjson_arr_foreach(messages, i, count, item)
    {
        if (count - i <= TOOL_RESULTS_BACK) {
            tail->items[tail->count++] = item;
        }
    }
}

static void add_call(struct calls *calls, struct str id, struct str name)
{
    if (id.len > 0 && name.len > 0 && calls->count < TOOL_RESULTS_CALLS) {
        calls->items[calls->count++] = (struct call){id, name};
    }
}

/* Calls of an assistant message of any API, or of a Responses item. */
static void add_calls(struct calls *calls, yyjson_val *item)
{
    size_t i = 0;
    size_t count = 0;
    yyjson_val *call = NULL;
    struct str name = STR("");
    bool is_ours = false;
    if (tool_item_read(item, &name, &is_ours)) {
        add_call(calls, member(item, "call_id"), name);
        return;
    }
    yyjson_arr_foreach(yyjson_obj_get(item, "tool_calls"), i, count, call)
    {
        yyjson_val *function = yyjson_obj_get(call, "function");
        yyjson_val *named = function != NULL ? function : yyjson_obj_get(call, "custom");
        add_call(calls, member(call, "id"), member(named, "name"));
    }
    yyjson_arr_foreach(yyjson_obj_get(item, "content"), i, count, call)
    {
        if (str_eq(member(call, "type"), STR("tool_use"))) {
            add_call(calls, member(call, "id"), member(call, "name"));
        }
    }
}

static void add_result(struct tool_names *names, const struct calls *calls, struct call result)
{
    for (uint32_t i = 0; i < calls->count && result.id.len > 0; i++) {
        if (str_eq(calls->items[i].id, result.id)) {
            tool_names_add(names, calls->items[i].name);
            return;
        }
    }
    tool_names_add(names, result.name);
}

/* Results in a message after the model's turn; a name of its own counts where no call is known. */
static void add_results(struct tool_names *names, const struct calls *calls, yyjson_val *item)
{
    struct str role = member(item, "role");
    struct str type = member(item, "type");
    size_t i = 0;
    size_t count = 0;
    yyjson_val *part = NULL;
    if (str_eq(role, STR("tool")) || str_eq(role, STR("function"))) {
        add_result(names, calls, (struct call){member(item, "tool_call_id"), member(item, "name")});
    } else if (role.len == 0 && type.len > 0) {
        add_result(names, calls, (struct call){member(item, "call_id"), STR("")});
    }
    yyjson_arr_foreach(yyjson_obj_get(item, "content"), i, count, part)
    {
        if (str_eq(member(part, "type"), STR("tool_result"))) {
            add_result(names, calls, (struct call){member(part, "tool_use_id"), STR("")});
        }
    }
}

/* Did the model say it? */
static bool is_turn(enum coord_route route, yyjson_val *item)
{
    struct str name = STR("");
    bool is_ours = false;
    return str_eq(member(item, "role"), STR("assistant")) ||
           (route == COORD_ROUTE_RESPONSES && (str_eq(member(item, "type"), STR("reasoning")) ||
                                               tool_item_read(item, &name, &is_ours)));
}

void tool_results_read(enum coord_route route, yyjson_val *messages, struct tool_names *names)
{
    struct tail tail;
    struct calls calls = {.count = 0};
    read_tail(messages, &tail);
    uint32_t after = tail.count;
    while (after > 0 && !is_turn(route, tail.items[after - 1])) {
        after--;
    }
    for (uint32_t i = after; i > 0 && is_turn(route, tail.items[i - 1]); i--) {
        add_calls(&calls, tail.items[i - 1]);
    }
    for (uint32_t i = after; i < tail.count; i++) {
        add_results(names, &calls, tail.items[i]);
    }
}
