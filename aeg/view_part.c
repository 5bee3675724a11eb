/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_part.h"

#define REPLACEMENT "\xEF\xBF\xBD"

void view_begin(struct view_writer *writer, struct buf *out)
{
    *writer = (struct view_writer){.out = out, .old_len = out->len, .st = ST_OK};
}

enum status view_end(struct view_writer *writer)
{
    if (writer->st != ST_OK) {
        writer->out->len = writer->old_len;
    }
    return writer->st;
}

void view_note(struct view_writer *writer, enum status st)
{
    writer->st = writer->st == ST_OK ? st : writer->st;
}

static void put(struct view_writer *writer, struct str text)
{
    view_note(writer, buf_add_str(writer->out, text));
}

void view_put(struct view_writer *writer, const char *text)
{
    put(writer, str_of(text));
}

/* --- text --- */

/* Cuts the next character off; one that is not well-formed is its first byte. */
static struct str next_char(struct str *rest, bool *ret_is_valid)
{
    unsigned char lead = (unsigned char)rest->p[0];
    size_t len = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    struct str one = {rest->p, len < rest->len ? len : rest->len};
    *ret_is_valid = str_is_utf8(one, NULL);
    if (!*ret_is_valid) {
        one.len = 1;
    }
    rest->p += one.len;
    rest->len -= one.len;
    return one;
}

static bool is_control(struct str one)
{
    unsigned char c = (unsigned char)one.p[0];
    return one.len == 1 && (c < 0x20 || c == 0x7F);
}

/* A well-formed character that must not reach a page: C1 controls (C2 80..9F), marks of direction
 * (U+200E, 200F, 202A..202E, 2066..2069), and U+FFFE, FFFF, which are not allowed in XML. */
static bool is_unwanted(struct str one)
{
    const unsigned char *p = (const unsigned char *)one.p;
    if (one.len == 2) {
        return p[0] == 0xC2 && p[1] < 0xA0;
    }
    if (one.len != 3) {
        return false;
    }
    if (p[0] == 0xEF) {
        return p[1] == 0xBF && p[2] >= 0xBE;
    }
    bool is_mark = p[1] == 0x80 && (p[2] == 0x8E || p[2] == 0x8F || (p[2] >= 0xAA && p[2] <= 0xAE));
    bool is_isolate = p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9;
    return p[0] == 0xE2 && (is_mark || is_isolate);
}

static struct str escape_xml(char c)
{
    switch (c) {
    case '&':
        return STR("&amp;");
    case '<':
        return STR("&lt;");
    case '>':
        return STR("&gt;");
    case '"':
        return STR("&quot;");
    case '\'':
        return STR("&#39;");
    default:
        return (struct str){NULL, 0};
    }
}

/* Graphviz reads entities inside labels too. */
static struct str escape_dot(char c)
{
    switch (c) {
    case '"':
        return STR("\\\"");
    case '\\':
        return STR("\\\\");
    default:
        return escape_xml(c);
    }
}

static void put_char(struct view_writer *writer, enum view_escape how, struct str one)
{
    if (how == VIEW_JSON) {
        view_note(writer, buf_add_json(writer->out, one));
        return;
    }
    struct str escaped = how == VIEW_DOT ? escape_dot(one.p[0]) : escape_xml(one.p[0]);
    put(writer, escaped.len > 0 ? escaped : one);
}

void view_text(struct view_writer *writer, enum view_escape how, struct str text, size_t max_chars)
{
    for (size_t i = 0; text.len > 0; i++) {
        if (i == max_chars) {
            view_put(writer, "..");
            return;
        }
        bool is_valid = false;
        struct str one = next_char(&text, &is_valid);
        bool is_plain = is_valid && !is_unwanted(one) && (how == VIEW_JSON || !is_control(one));
        put_char(writer, how, is_plain ? one : STR(REPLACEMENT));
    }
}

size_t view_text_chars(struct str text, size_t max_chars)
{
    size_t chars = 0;
    bool is_valid = false;
    for (; text.len > 0; chars++) {
        if (chars == max_chars) {
            return chars + 2;
        }
        (void)next_char(&text, &is_valid);
    }
    return chars;
}

void view_duration(struct view_writer *writer, uint64_t ms)
{
    uint64_t s = ms / 1000;
    if (ms < 1000) {
        VIEW_FMT(writer, "%" PRIu64 " ms", ms);
    } else if (s < 60 && ms % 1000 < 100) {
        VIEW_FMT(writer, "%" PRIu64 " s", s);
    } else if (s < 60) {
        VIEW_FMT(writer, "%" PRIu64 ".%" PRIu64 " s", s, ms % 1000 / 100);
    } else if (s < 3600) {
        VIEW_FMT(writer, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    } else {
        VIEW_FMT(writer, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
        if (s % 60 > 0) {
            VIEW_FMT(writer, "%02" PRIu64 "s", s % 60);
        }
    }
}

void view_count(struct view_writer *writer, uint64_t count)
{
    if (count < 1000) {
        VIEW_FMT(writer, "%" PRIu64, count);
    } else if (count < 1000000) {
        VIEW_FMT(writer, "%" PRIu64 ".%" PRIu64 "k", count / 1000, count % 1000 / 100);
    } else {
        VIEW_FMT(writer, "%" PRIu64 ".%" PRIu64 "M", count / 1000000, count % 1000000 / 100000);
    }
}

/* --- lanes --- */

uint32_t view_first(const struct aeg_graph *graph)
{
    return graph->steps - graph->kept;
}

static uint64_t graph_ms(const struct aeg_graph *graph, uint64_t at_us)
{
    return at_us > graph->began_at_us ? (at_us - graph->began_at_us) / 1000 : 0;
}

uint64_t view_step_end(const struct aeg_view *view,
                       const struct aeg_graph *graph,
                       const struct aeg_step_view *step)
{
    uint64_t now_ms = graph_ms(graph, view->now_us);
    if (step->end != AEG_END_OPEN) {
        return step->arrived_ms + step->total_ms;
    }
    return now_ms > step->arrived_ms ? now_ms : step->arrived_ms;
}

bool view_gap(const struct aeg_view *view,
              const struct aeg_graph *graph,
              const struct aeg_step_view *step,
              struct aeg_step_view *ret_from,
              uint64_t *ret_ms)
{
    if (step->from == AEG_STEP_NONE || !aeg_graph_step(view->pool, graph, step->from, ret_from) ||
        ret_from->end == AEG_END_OPEN) {
        return false;
    }
    uint64_t end_ms = ret_from->arrived_ms + ret_from->total_ms;
    *ret_ms = step->arrived_ms > end_ms ? step->arrived_ms - end_ms : 0;
    return true;
}

bool view_open_gap(const struct aeg_view *view,
                   const struct aeg_lane *lane,
                   struct aeg_step_view *ret_from,
                   uint64_t *ret_ms)
{
    const struct aeg_graph *graph = lane->graph;
    if (!lane->is_gap_open) {
        return false;
    }
    for (uint32_t i = 0; i < graph->kept; i++) {
        if (aeg_graph_step(view->pool, graph, graph->steps - 1 - i, ret_from) &&
            !ret_from->is_aside) {
            uint64_t now_ms = graph_ms(graph, view->now_us);
            uint64_t end_ms = ret_from->arrived_ms + ret_from->total_ms;
            *ret_ms = now_ms > end_ms ? now_ms - end_ms : 0;
            return ret_from->end != AEG_END_OPEN;
        }
    }
    return false;
}

const struct aeg_lane *view_parent(const struct aeg_view *view, uint32_t lane)
{
    uint32_t parent = view->lanes[lane].parent;
    return parent < view->lane_count && parent != lane ? &view->lanes[parent] : NULL;
}

uint32_t view_depth(const struct aeg_view *view, uint32_t lane)
{
    uint32_t depth = 0;
    const struct aeg_lane *parent = view_parent(view, lane);
    while (parent != NULL && depth < view->lane_count) {
        depth++;
        parent = view_parent(view, (uint32_t)(parent - view->lanes));
    }
    return depth;
}

void view_engine(struct view_writer *writer,
                 enum view_escape how,
                 const struct aeg_view *view,
                 struct engine_id engine)
{
    if (engine.v == ENGINE_NONE.v) {
        return;
    }
    for (uint32_t i = 0; i < view->engine_count; i++) {
        if (view->engines[i].engine.v == engine.v) {
            view_text(writer, how, view->engines[i].name, SIZE_MAX);
            return;
        }
    }
    VIEW_FMT(writer, "engine %" PRIu32, engine.v);
}
