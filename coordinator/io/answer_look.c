/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/answer_look.h"

static bool ends_with(struct str s, struct str end)
{
    return s.len >= end.len && str_eq((struct str){s.p + (s.len - end.len), end.len}, end);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_nothing(struct str value)
{
    return str_starts(value, STR("null")) || str_starts(value, STR("[]"));
}

bool answer_next_member(struct str data, struct str *rest, struct str *ret_before)
{
    const char *colon = rest->len == 0 ? NULL : memchr(rest->p, ':', rest->len);
    if (colon == NULL) {
        return false;
    }
    const char *end = data.p + data.len;
    const char *key_end = colon;
    while (key_end > data.p && is_space(key_end[-1])) {
        key_end--;
    }
    *ret_before = (struct str){data.p, (size_t)(key_end - data.p)};
    for (colon++; colon < end && is_space(*colon); colon++) {
    }
    *rest = (struct str){colon, (size_t)(end - colon)};
    return true;
}

bool answer_has_member(struct str data, struct str quoted)
{
    struct str rest = data;
    struct str before = STR("");
    while (answer_next_member(data, &rest, &before)) {
        if (ends_with(before, quoted) && !is_nothing(rest)) {
            return true;
        }
    }
    return false;
}

/* One pass, and nearly every key is dismissed by its last letter. A call tells something where it
 * has a name: the pieces of its arguments have none. */
static bool is_plain_chat(struct str type, struct str data)
{
    struct str rest = data;
    struct str before = STR("");
    bool is_call = false;
    bool is_named = false;
    while (answer_next_member(data, &rest, &before)) {
        bool is_telling = false;
        switch (before.len < 2 ? 0 : before.p[before.len - 2]) {
        case 'e':
            is_telling = ends_with(before, STR("\"usage\"")) && !is_nothing(rest);
            is_named |= ends_with(before, STR("\"name\"")) && !is_nothing(rest) &&
                        !str_starts(rest, STR("\"\""));
            break;
        case 'l':
            is_call |= ends_with(before, STR("\"function_call\"")) && !is_nothing(rest);
            break;
        case 'n':
            is_telling = ends_with(before, STR("\"finish_reason\"")) && !is_nothing(rest);
            break;
        case 'r':
            is_telling = ends_with(before, STR("\"error\"")) && !is_nothing(rest);
            break;
        case 's':
            is_call |= ends_with(before, STR("\"tool_calls\"")) && !is_nothing(rest);
            break;
        case 't':
            is_telling = ends_with(before, STR("\"object\"")) && str_starts(rest, STR("\"error\""));
            break;
        default:
            break;
        }
        if (is_telling || (is_call && is_named)) {
            return false;
        }
    }
    return !str_eq(type, STR("error"));
}

static bool is_plain_response(struct str type)
{
    return str_starts(type, STR("response.")) && !str_starts(type, STR("response.output_item.")) &&
           !ends_with(type, STR(".completed")) && !ends_with(type, STR(".incomplete")) &&
           !ends_with(type, STR(".failed"));
}

static bool is_plain_message(struct str type)
{
    return str_eq(type, STR("content_block_delta")) || str_eq(type, STR("content_block_stop")) ||
           str_eq(type, STR("ping"));
}

struct str answer_event_type(struct str name, struct str data)
{
    if (name.len > 0) {
        return name;
    }
    static const struct str starts[] = {{"{\"type\":\"", 9}, {"{\"type\": \"", 10}};
    for (size_t i = 0; i < 2; i++) {
        if (str_starts(data, starts[i])) {
            struct str rest = {data.p + starts[i].len, data.len - starts[i].len};
            struct str type = STR("");
            return str_split(&rest, '"', &type) ? type : STR("");
        }
    }
    return STR("");
}

bool answer_is_plain(enum coord_route route, struct str type, struct str data)
{
    switch (route) {
    case COORD_ROUTE_CHAT:
    case COORD_ROUTE_COMPLETIONS:
        return is_plain_chat(type, data);
    case COORD_ROUTE_RESPONSES:
        return is_plain_response(type);
    case COORD_ROUTE_MESSAGES:
    case COORD_ROUTE_COUNT_TOKENS:
        break;
    }
    return is_plain_message(type);
}
