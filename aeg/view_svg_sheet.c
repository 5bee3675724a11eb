/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_svg_sheet.h"

#define ROOMY_PX   66.0 /* without what slanted texts need */
#define COMPACT_PX 42.0
#define CHAR_PX    5.4 /* mean width of a character of a gap's text */
#define SLANT_SIN  0.87

enum { ROOMY_LANES = 8, TIME_CHARS = 6 };

double svg_x(const struct svg_sheet *sheet, const struct aeg_graph *graph, uint64_t ms)
{
    return SVG_LEFT_PX + view_axis_x(&sheet->axis, view_axis_ms(&sheet->axis, graph, ms));
}

double svg_row_px(const struct svg_sheet *sheet)
{
    /* A gap's text is slanted: so far down it reaches. */
    double slant_px = SLANT_SIN * svg_text_px(sheet->text_chars);
    return sheet->is_roomy ? ROOMY_PX + slant_px : COMPACT_PX;
}

double svg_row_y(const struct svg_sheet *sheet, uint32_t lane)
{
    return SVG_TOP_PX + svg_row_px(sheet) * sheet->rows[lane];
}

double svg_bar_y(const struct svg_sheet *sheet, uint32_t lane)
{
    return svg_row_y(sheet, lane) + (sheet->is_roomy ? 30 : 19);
}

uint32_t svg_tool(const struct svg_sheet *sheet, struct str name)
{
    uint32_t i = 0;
    while (i < sheet->tool_count && !str_eq(sheet->tools[i], name)) {
        i++;
    }
    return i < sheet->tool_count ? i : SVG_TOOLS;
}

struct str svg_short_name(struct str name)
{
    for (size_t i = name.len; i > 2; i--) {
        if (i < name.len && name.p[i - 1] == '_' && name.p[i - 2] == '_') {
            return (struct str){name.p + i, name.len - i};
        }
    }
    return name;
}

size_t svg_gap_chars(const struct aeg_step_view *from)
{
    size_t chars = TIME_CHARS;
    if (from->tool_count > 0) {
        chars += view_text_chars(svg_short_name(from->tools[0]), SVG_TOOL_CHARS);
        chars += from->tool_count > 1 ? 3 : 1;
    }
    return chars;
}

double svg_text_px(size_t chars)
{
    return CHAR_PX * (double)chars;
}

/* A lane comes below all that its parent has started so far. */
static void place_rows(struct svg_sheet *sheet)
{
    const struct aeg_view *view = sheet->view;
    uint32_t order[AEG_VIEW_LANES];
    for (uint32_t i = 0; i < view->lane_count; i++) {
        uint32_t at = i;
        if (view_parent(view, i) != NULL && view->lanes[i].parent < i) {
            uint32_t depth = view_depth(view, view->lanes[i].parent);
            at = 0;
            while (order[at] != view->lanes[i].parent) {
                at++;
            }
            at++;
            while (at < i && view_depth(view, order[at]) > depth) {
                at++;
            }
        }
        memmove(&order[at + 1], &order[at], (i - at) * sizeof(order[0]));
        order[at] = i;
    }
    for (uint32_t i = 0; i < view->lane_count; i++) {
        sheet->rows[order[i]] = i;
    }
}

static void find_tools(struct svg_sheet *sheet, const struct aeg_graph *graph)
{
    struct aeg_step_view step;
    for (uint32_t i = view_first(graph); i < graph->steps; i++) {
        if (!aeg_graph_step(sheet->view->pool, graph, i, &step)) {
            continue;
        }
        sheet->has_aside = sheet->has_aside || step.is_aside;
        size_t chars = svg_gap_chars(&step);
        sheet->text_chars = chars > sheet->text_chars ? chars : sheet->text_chars;
        if (step.tool_count == 0 || svg_tool(sheet, step.tools[0]) < SVG_TOOLS) {
            continue;
        }
        if (sheet->tool_count == SVG_TOOLS) {
            sheet->has_other_tools = true;
        } else {
            sheet->tools[sheet->tool_count] = step.tools[0];
            sheet->tool_count++;
        }
    }
}

enum status
svg_sheet_init(struct svg_sheet *sheet, const struct aeg_view *view, struct view_writer *writer)
{
    *sheet = (struct svg_sheet){
        .view = view, .writer = writer, .is_roomy = view->lane_count <= ROOMY_LANES};
    for (uint32_t i = 0; i < view->lane_count; i++) {
        find_tools(sheet, view->lanes[i].graph);
        sheet->has_folded = sheet->has_folded || view->lanes[i].graph->folded.steps > 0;
    }
    place_rows(sheet);
    return view_axis_init(&sheet->axis, view, writer->out->mem);
}

void svg_sheet_fini(struct svg_sheet *sheet)
{
    view_axis_fini(&sheet->axis);
}
