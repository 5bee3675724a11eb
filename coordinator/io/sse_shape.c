/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/sse_shape.h"

#include "coordinator/io/answer_look.h"

void sse_shape_init(struct sse_shape *shape, const struct mem *mem)
{
    *shape = (struct sse_shape){.before_bytes = 0};
    buf_init(&shape->around, mem, SSE_SHAPE_MAX);
}

void sse_shape_fini(struct sse_shape *shape)
{
    buf_fini(&shape->around);
}

bool sse_shape_matches(const struct sse_shape *shape, struct str event)
{
    size_t before = shape->before_bytes;
    size_t after = shape->around.len - before;
    if (shape->around.len == 0 || event.len < before + after ||
        memcmp(event.p, shape->around.p, before) != 0 ||
        memcmp(event.p + (event.len - after), shape->around.p + before, after) != 0) {
        return false;
    }
    /* A quote, even an escaped one, could end the string early, and a line end the line. A
     * backslash at the end would swallow the closing quote; what that leaves is no JSON. */
    const char *text = event.p + before;
    size_t len = event.len - before - after;
    return memchr(text, '"', len) == NULL && memchr(text, '\n', len) == NULL &&
           memchr(text, '\r', len) == NULL;
}

/* The members that hold pieces of text in the streams of the four APIs. */
static bool is_text_key(struct str before)
{
    static const struct str keys[] = {
        {"\"content\"", 9},       {"\"text\"", 6},       {"\"reasoning_content\"", 19},
        {"\"reasoning\"", 11},    {"\"arguments\"", 11}, {"\"thinking\"", 10},
        {"\"partial_json\"", 14}, {"\"delta\"", 7},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        size_t len = keys[i].len;
        if (before.len >= len && memcmp(before.p + (before.len - len), keys[i].p, len) == 0) {
            return true;
        }
    }
    return false;
}

/* Where the text begins and ends in the event; false when there is none, or one with a quote in it.
 */
static bool find_text(struct str event, size_t *ret_from, size_t *ret_to)
{
    struct str rest = event;
    struct str before = STR("");
    while (answer_next_member(event, &rest, &before)) {
        if (rest.len == 0 || rest.p[0] != '"' || !is_text_key(before)) {
            continue;
        }
        const char *end = memchr(rest.p + 1, '"', rest.len - 1);
        if (end == NULL || end[-1] == '\\') {
            return false;
        }
        *ret_from = (size_t)(rest.p + 1 - event.p);
        *ret_to = (size_t)(end - event.p);
        return true;
    }
    return false;
}

void sse_shape_learn(struct sse_shape *shape, struct str event)
{
    size_t from = 0;
    size_t to = 0;
    shape->around.len = 0;
    if (event.len > SSE_SHAPE_MAX || !find_text(event, &from, &to)) {
        return;
    }
    struct str after = {event.p + to, event.len - to};
    if (buf_add(&shape->around, event.p, from) != ST_OK ||
        buf_add_str(&shape->around, after) != ST_OK) {
        shape->around.len = 0;
        return;
    }
    shape->before_bytes = from;
}
