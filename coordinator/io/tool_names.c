/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/tool_names.h"

#include "coordinator/core/event.h"

void tool_names_init(struct tool_names *names, const struct mem *mem)
{
    *names = (struct tool_names){.count = 0};
    buf_init(&names->packed, mem, (size_t)COORD_TOOLS_MAX * (COORD_TOOL_BYTES + 1));
}

void tool_names_fini(struct tool_names *names)
{
    buf_fini(&names->packed);
    names->count = 0;
}

void tool_names_reset(struct tool_names *names)
{
    names->packed.len = 0;
    names->count = 0;
}

uint32_t tool_names_list(const struct tool_names *names, struct str *ret)
{
    const char *at = names->packed.p;
    for (uint32_t i = 0; i < names->count; i++) {
        ret[i] = (struct str){at + 1, (unsigned char)*at};
        at += 1 + ret[i].len;
    }
    return names->count;
}

void tool_names_add(struct tool_names *names, struct str name)
{
    struct str known[COORD_TOOLS_MAX];
    uint32_t count = tool_names_list(names, known);
    name.len = name.len < COORD_TOOL_BYTES ? name.len : COORD_TOOL_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(known[i], name)) {
            return;
        }
    }
    if (name.len == 0 || count == COORD_TOOLS_MAX) {
        return;
    }
    const unsigned char len = (unsigned char)name.len;
    if (buf_reserve(&names->packed, 1 + name.len) != ST_OK ||
        buf_add(&names->packed, &len, 1) != ST_OK || buf_add_str(&names->packed, name) != ST_OK) {
        return;
    }
    names->count++;
}

bool tool_item_read(yyjson_val *item, struct str *ret_name, bool *ret_is_ours)
{
    static const struct {
        struct str type;
        struct str name; /* for want of one of its own */
        bool is_ours;
    } kinds[] = {
        {STR("function_call"), STR(""), true},
        {STR("custom_tool_call"), STR(""), true},
        {STR("local_shell_call"), STR("local_shell"), true},
        {STR("shell_call"), STR("shell"), true},
        {STR("apply_patch_call"), STR("apply_patch"), true},
        {STR("computer_call"), STR("computer"), true},
        {STR("tool_search_call"), STR("tool_search"), true},
        {STR("mcp_call"), STR("mcp"), false},
        {STR("web_search_call"), STR("web_search"), false},
        {STR("file_search_call"), STR("file_search"), false},
        {STR("code_interpreter_call"), STR("code_interpreter"), false},
        {STR("image_generation_call"), STR("image_generation"), false},
    };
    struct str type = STR("");
    if (!json_get_str(item, "type", &type)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_eq(type, kinds[i].type)) {
            struct str name = STR("");
            (void)json_get_str(item, "name", &name);
            *ret_name = name.len > 0 ? name : kinds[i].name;
            *ret_is_ours = kinds[i].is_ours;
            return true;
        }
    }
    return false;
}
