/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_svg_lane.h"

#define TICK_PX   92.0 /* between two texts of the axis */
#define TICK_FREE 26.0 /* a tick may be so far from its place to be a rounder time */

enum { LEGEND_PX = 86, LEGEND_X = 60, LEGEND_CHARS = 18, TITLE_CHARS = 80 };

static const char style[] =
    "<style>"
    "svg{--ink:#24292f;--dim:#6a737d;--line:#d5dae0;--back:#ffffff;--band:#f5f7f9;"
    "font:11px sans-serif;background:var(--back)}"
    "@media(prefers-color-scheme:dark){svg{--ink:#dde3ea;--dim:#98a2ad;--line:#3b444e;"
    "--back:#16191d;--band:#1e2329}}"
    "text{fill:var(--ink)}.back{fill:var(--back)}.band{fill:var(--band)}"
    ".title{font-size:14px;font-weight:bold}.name{font-size:12px;font-weight:bold}"
    ".dim{fill:var(--dim);font-size:10px}.gap,.number{fill:var(--dim);font-size:9.5px}"
    ".again{fill:#b7791f;font-size:9px;font-weight:bold}"
    ".tick{stroke:var(--line);fill:none}.cut{stroke:var(--dim);fill:none}"
    ".queued{fill:#e3b341}.first{fill:#3b7dd8}.decode{fill:#2a9d8f}.live{fill:#8f9ba8}"
    ".edge{fill:none;stroke:var(--back);stroke-width:.6}"
    ".bad{stroke:#d1345b;stroke-width:1.6}.lost{stroke:#d1345b;stroke-width:1.4;"
    "stroke-dasharray:3 2}"
    ".failed{stroke:#ffffff;stroke-width:2.4;fill:none}"
    ".gone{stroke:#ffffff;stroke-width:1.4;fill:none}"
    ".folded{fill:url(#hatch);stroke:var(--dim)}.hatch{stroke:var(--dim);stroke-width:1.5}"
    ".link{fill:none;stroke:var(--dim);stroke-width:1.2;stroke-opacity:.7}.wait{stroke-width:1.8}"
    ".head{fill:var(--dim)}.open{fill-opacity:.45}"
    ".t0{fill:#8e6bbf}.t1{fill:#c75f8b}.t2{fill:#7f9a3c}.t3{fill:#b0703a}.t4{fill:#58a5cf}"
    ".t5{fill:#c9a227}.t6{fill:#4f9d5a}.t7{fill:#d9774f}.t8{fill:#8f9ba8}.t9{fill:#b8c1cb}"
    "</style>\n"
    "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M0 0v6\"/></pattern>"
    "<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" "
    "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
    "<path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";

/* --- around the lanes --- */

static double rows_end(const struct svg_sheet *sheet)
{
    return SVG_TOP_PX + svg_row_px(sheet) * sheet->view->lane_count;
}

static double sheet_width(const struct svg_sheet *sheet)
{
    return SVG_LEFT_PX + sheet->axis.width_px + SVG_RIGHT_PX;
}

static void put_axis(struct svg_sheet *sheet)
{
    struct view_writer *writer = sheet->writer;
    const struct view_axis *axis = &sheet->axis;
    double last_x = -TICK_PX;
    uint32_t ticks = 1 + (uint32_t)(axis->width_px / TICK_PX);
    for (uint32_t i = 0; i < ticks; i++) {
        double want = TICK_PX * i;
        double from = want - TICK_FREE < 0 ? 0 : want - TICK_FREE;
        uint64_t ms = i == 0 ? 0 : view_axis_round_ms(axis, from, want + TICK_FREE);
        double x = view_axis_x(axis, ms);
        if (x - last_x < TICK_PX - 2 * TICK_FREE) {
            continue;
        }
        last_x = x;
        VIEW_FMT(writer,
                 "<path class=\"tick\" d=\"M%.1f %dV%.0f\"/>"
                 "<text class=\"dim\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">",
                 SVG_LEFT_PX + x, SVG_TOP_PX - 8, rows_end(sheet), SVG_LEFT_PX + x,
                 SVG_TOP_PX - 14);
        view_duration(writer, ms);
        view_put(writer, "</text>\n");
    }
    for (uint32_t i = 0; i + 1 < axis->count; i++) {
        if (view_axis_is_cut(axis, i)) {
            VIEW_FMT(writer, "<path class=\"cut\" d=\"M%.1f %dl4 -10m4 0l-4 10\"/>",
                     SVG_LEFT_PX + (axis->knots[i].x + axis->knots[i + 1].x) / 2 - 4,
                     SVG_TOP_PX - 1);
        }
    }
}

static void put_heading(struct svg_sheet *sheet)
{
    struct view_writer *writer = sheet->writer;
    const struct aeg_view *view = sheet->view;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < view->lane_count; i++) {
        steps += view->lanes[i].graph->steps;
    }
    view_put(writer, "<text class=\"title\" x=\"8\" y=\"20\">");
    if (view->lane_count > 0) {
        view_text(writer, VIEW_XML, view->lanes[0].label, TITLE_CHARS);
    }
    VIEW_FMT(writer,
             "</text>\n<text class=\"dim\" x=\"8\" y=\"36\">%" PRIu32 " %s, %" PRIu64 " steps, ",
             view->lane_count, view->lane_count == 1 ? "session" : "sessions", steps);
    view_duration(writer, sheet->axis.knots[sheet->axis.count - 1].ms);
    if (view->hidden_lanes > 0) {
        VIEW_FMT(writer, "; %" PRIu32 " more sessions are not shown", view->hidden_lanes);
    }
    if (sheet->axis.cut_ms != UINT64_MAX) {
        view_put(writer, "; idle time over ");
        view_duration(writer, sheet->axis.cut_ms);
        view_put(writer, " is cut short where the axis has //");
    }
    view_put(writer, "; short bars are widened to be seen</text>\n");
}

static void put_bands(struct svg_sheet *sheet)
{
    for (uint32_t row = 0; row < sheet->view->lane_count; row += 2) {
        VIEW_FMT(sheet->writer,
                 "<rect class=\"band\" x=\"0\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>",
                 SVG_TOP_PX + svg_row_px(sheet) * row, sheet_width(sheet), svg_row_px(sheet));
    }
    view_put(sheet->writer, "\n");
}

/* --- arrows between lanes --- */

struct point {
    double x;
    double y;
};

static void
put_arrow(struct view_writer *writer, const char *name, struct point from, struct point to)
{
    double mid = (from.y + to.y) / 2;
    VIEW_FMT(writer,
             "<path class=\"link%s\" marker-end=\"url(#head)\" "
             "d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n",
             name, from.x, from.y, from.x, mid, to.x, mid, to.x, to.y);
}

/* Where the lane's first step begins, or its last one ends. */
static double lane_x(const struct svg_sheet *sheet, const struct aeg_graph *graph, bool is_begin)
{
    uint64_t from_ms = graph->folded.steps > 0 ? graph->folded.from_ms : UINT64_MAX;
    uint64_t until_ms = graph->folded.until_ms;
    struct aeg_step_view step;
    for (uint32_t i = view_first(graph); i < graph->steps; i++) {
        if (aeg_graph_step(sheet->view->pool, graph, i, &step)) {
            uint64_t end_ms = view_step_end(sheet->view, graph, &step);
            from_ms = step.arrived_ms < from_ms ? step.arrived_ms : from_ms;
            until_ms = end_ms > until_ms ? end_ms : until_ms;
        }
    }
    return svg_x(sheet, graph, is_begin ? from_ms : until_ms);
}

static void put_links(struct svg_sheet *sheet, uint32_t idx)
{
    const struct aeg_lane *lane = &sheet->view->lanes[idx];
    const struct aeg_lane *parent = view_parent(sheet->view, idx);
    struct aeg_step_view step;
    if (parent == NULL || lane->graph->steps == 0) {
        return;
    }
    bool is_below = sheet->rows[idx] > sheet->rows[lane->parent];
    double above = svg_bar_y(sheet, lane->parent) + (is_below ? SVG_BAR_PX : 0);
    double own = svg_bar_y(sheet, idx) + (is_below ? 0 : SVG_BAR_PX);
    if (aeg_graph_step(sheet->view->pool, parent->graph, lane->spawned_by, &step)) {
        double begin = lane_x(sheet, lane->graph, true);
        double x = svg_x(sheet, parent->graph, view_step_end(sheet->view, parent->graph, &step));
        put_arrow(sheet->writer, "", (struct point){x < begin ? x : begin, above},
                  (struct point){begin + 1, own});
    }
    if (aeg_graph_step(sheet->view->pool, parent->graph, lane->joined_by, &step)) {
        double x = svg_x(sheet, parent->graph, step.arrived_ms);
        put_arrow(sheet->writer, lane->is_waited_for ? " wait" : "",
                  (struct point){lane_x(sheet, lane->graph, false) - 1, own},
                  (struct point){x + 1, above});
    }
}

/* --- legend --- */

static void
legend_item(struct svg_sheet *sheet, struct point *at, const char *name, struct str text)
{
    double width = 36 + 6 * (double)view_text_chars(text, LEGEND_CHARS);
    if (at->x + width > sheet_width(sheet)) {
        at->x = LEGEND_X;
        at->y += 18;
    }
    VIEW_FMT(sheet->writer,
             "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"10\"/>"
             "<text x=\"%.1f\" y=\"%.1f\">",
             name, at->x, at->y - 9, at->x + 17, at->y);
    view_text(sheet->writer, VIEW_XML, text, LEGEND_CHARS);
    view_put(sheet->writer, "</text>\n");
    at->x += width;
}

static void legend_head(struct svg_sheet *sheet, struct point *at, const char *text)
{
    VIEW_FMT(sheet->writer, "<text class=\"dim\" x=\"8\" y=\"%.1f\">%s</text>", at->y, text);
    at->x = LEGEND_X;
}

static void put_legend(struct svg_sheet *sheet)
{
    static const char *const colours[SVG_TOOLS + 2] = {"t0", "t1", "t2", "t3", "t4",
                                                       "t5", "t6", "t7", "t8", "t9"};
    struct point at = {0, rows_end(sheet) + 24};
    legend_head(sheet, &at, "Steps");
    legend_item(sheet, &at, "queued", STR("queued"));
    legend_item(sheet, &at, "first", STR("to first token"));
    legend_item(sheet, &at, "decode", STR("answer"));
    legend_item(sheet, &at, "live", STR("in flight"));
    legend_item(sheet, &at, "decode bad", STR("failed"));
    legend_item(sheet, &at, "decode lost", STR("client left"));
    if (sheet->has_aside) {
        legend_item(sheet, &at, "decode", STR("half height: aside"));
    }
    if (sheet->has_folded) {
        legend_item(sheet, &at, "folded", STR("folded steps"));
    }
    at.y += 22;
    legend_head(sheet, &at, "Gaps");
    for (uint32_t i = 0; i < sheet->tool_count; i++) {
        legend_item(sheet, &at, colours[i], sheet->tools[i]);
    }
    if (sheet->has_other_tools) {
        legend_item(sheet, &at, colours[SVG_TOOLS], STR("other tools"));
    }
    legend_item(sheet, &at, colours[SVG_TOOLS + 1], STR("no tool called"));
}

/* --- the whole --- */

static void put_sheet(struct svg_sheet *sheet)
{
    const struct aeg_view *view = sheet->view;
    double width = sheet_width(sheet);
    double height = rows_end(sheet) + LEGEND_PX;
    VIEW_FMT(sheet->writer,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
             "viewBox=\"0 0 %.0f %.0f\">\n",
             width, height, width, height);
    view_put(sheet->writer, style);
    VIEW_FMT(sheet->writer, "<rect class=\"back\" width=\"%.0f\" height=\"%.0f\"/>\n", width,
             height);
    put_bands(sheet);
    put_heading(sheet);
    put_axis(sheet);
    for (uint32_t i = 0; i < view->lane_count; i++) {
        svg_put_lane(sheet, i);
    }
    for (uint32_t i = 0; i < view->lane_count; i++) {
        put_links(sheet, i);
    }
    put_legend(sheet);
    view_put(sheet->writer, "</svg>\n");
}

enum status aeg_view_svg(const struct aeg_view *view, struct buf *out)
{
    struct view_writer writer;
    struct svg_sheet sheet;
    view_begin(&writer, out);
    enum status st = svg_sheet_init(&sheet, view, &writer);
    if (st != ST_OK) {
        return st;
    }
    put_sheet(&sheet);
    svg_sheet_fini(&sheet);
    return view_end(&writer);
}
