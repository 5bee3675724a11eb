/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/aeg/xml_look.h"

enum { DEPTH_MAX = 16 };

static bool cut(struct str *rest, struct str prefix)
{
    if (!str_starts(*rest, prefix)) {
        return false;
    }
    rest->p += prefix.len;
    rest->len -= prefix.len;
    return true;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static struct str cut_name(struct str *rest)
{
    struct str name = {rest->p, 0};
    while (rest->len > 0 && is_name_char(rest->p[0])) {
        name.len++;
        rest->p++;
        rest->len--;
    }
    return name;
}

/* Text up to the byte end, without it. */
static bool skip_text(struct str *rest, char end)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#183;"};
    while (rest->len > 0 && rest->p[0] != end) {
        unsigned char c = (unsigned char)rest->p[0];
        bool is_known = c != '&';
        for (size_t i = 0; c == '&' && i < sizeof(entities) / sizeof(entities[0]); i++) {
            is_known = is_known || cut(rest, str_of(entities[i]));
        }
        if (!is_known || c == '<' || (c < 0x20 && c != '\n')) {
            return false;
        }
        if (c != '&') {
            rest->p++;
            rest->len--;
        }
    }
    return true;
}

/* Behind "<name": attributes and the end of the tag. */
static bool skip_attributes(struct str *rest, bool *ret_is_empty)
{
    while (cut(rest, STR(" "))) {
        struct str name = cut_name(rest);
        if (name.len == 0 || !cut(rest, STR("=\"")) || !skip_text(rest, '"') ||
            !cut(rest, STR("\""))) {
            return false;
        }
    }
    *ret_is_empty = cut(rest, STR("/"));
    return cut(rest, STR(">"));
}

bool xml_is_well_formed(struct str text)
{
    struct str open[DEPTH_MAX];
    size_t depth = 0;
    if (!str_is_utf8(text, NULL)) {
        return false;
    }
    while (text.len > 0) {
        bool is_empty = false;
        if (cut(&text, STR("</"))) {
            struct str name = cut_name(&text);
            if (depth == 0 || !str_eq(open[depth - 1], name) || !cut(&text, STR(">"))) {
                return false;
            }
            depth--;
        } else if (cut(&text, STR("<"))) {
            struct str name = cut_name(&text);
            if (name.len == 0 || depth == DEPTH_MAX || !skip_attributes(&text, &is_empty)) {
                return false;
            }
            open[depth] = name;
            depth += !is_empty;
        } else if (!skip_text(&text, '<')) {
            return false;
        }
        if (depth == 0 && text.len > 0 && !str_eq(text, STR("\n"))) {
            return false;
        }
        if (depth == 0) {
            return true;
        }
    }
    return false;
}
