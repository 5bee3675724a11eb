/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/opening.h"

#include "common/base/json.h"
#include "coordinator/io/sketch.h"

/* Chat nests a tool's name; a tool without one is of a kind that the API knows. */
static void add_tools(struct sketch *sketch, yyjson_val *tools)
{
    size_t i = 0;
    size_t count = 0;
    yyjson_val *tool = NULL;
    struct str name = STR("");
    yyjson_arr_foreach(tools, i, count, tool)
    {
        if (json_get_str(yyjson_obj_get(tool, "function"), "name", &name) ||
            json_get_str(yyjson_obj_get(tool, "custom"), "name", &name) ||
            json_get_str(tool, "name", &name) || json_get_str(tool, "type", &name)) {
            sketch_name(sketch, name);
        }
    }
}

/* A string, or a list of strings and text parts. */
static void add_content(struct sketch *sketch, yyjson_val *content)
{
    size_t i = 0;
    size_t count = 0;
    yyjson_val *part = NULL;
    if (yyjson_is_str(content)) {
        sketch_text(sketch, json_str(content));
        return;
    }
    yyjson_arr_foreach(content, i, count, part)
    {
        yyjson_val *text = yyjson_is_str(part) ? part : yyjson_obj_get(part, "text");
        if (yyjson_is_str(text) && !(i == 0 && chain_is_billing_block(part))) {
            sketch_text(sketch, json_str(text));
        }
    }
}

static uint64_t sketch_of(const struct chain_prompt *prompt)
{
    struct sketch sketch;
    size_t i = 0;
    size_t count = 0;
    yyjson_val *message = NULL;
    sketch_begin(&sketch);
    add_tools(&sketch, prompt->tools);
    add_content(&sketch, prompt->system);
    yyjson_arr_foreach(prompt->messages, i, count, message)
    {
        if (!chain_is_system_message(message)) {
            break;
        }
        add_content(&sketch, yyjson_obj_get(message, "content"));
    }
    return sketch_end(&sketch);
}

uint64_t
opening_sketch(struct opening_cache *cache, uint64_t opening, const struct chain_prompt *prompt)
{
    if (opening == 0) {
        return 0;
    }
    struct opening_sketch *item = &cache->items[opening % OPENING_CACHE];
    if (item->opening != opening) {
        *item = (struct opening_sketch){.opening = opening, .sketch = sketch_of(prompt)};
    }
    return item->sketch;
}
