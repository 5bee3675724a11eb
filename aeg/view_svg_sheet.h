/* SPDX-License-Identifier: Apache-2.0 */
/* The sheet that the swim lanes are drawn on: what is to be drawn and where. view_svg.c draws what
 * is around the lanes, view_svg_lane.c one lane. PURE. THREAD: one owner. */
#ifndef AEG_VIEW_SVG_SHEET_H
#define AEG_VIEW_SVG_SHEET_H

#include "aeg/view_axis.h"

enum {
    SVG_TOOLS = 8,     /* with a colour of their own */
    SVG_LEFT_PX = 196, /* names of lanes */
    SVG_RIGHT_PX = 70,
    SVG_TOP_PX = 78,
    SVG_BAR_PX = 18,     /* height of a step */
    SVG_TOOL_CHARS = 16, /* of a tool's name beside its gap */
};

struct svg_sheet {
    const struct aeg_view *view;
    struct view_writer *writer;
    struct view_axis axis;
    struct str tools[SVG_TOOLS]; /* [tool_count] in order of appearance */
    uint32_t tool_count;
    bool has_other_tools;
    bool has_aside;
    bool has_folded;
    uint32_t rows[AEG_VIEW_LANES]; /* [lane_count] from the top */
    size_t text_chars;             /* of the longest text of a gap */
    bool is_roomy; /* few lanes: place below each for texts that do not fit into their gap */
};

/* ST_NOMEM. */
MUST_CHECK enum status
svg_sheet_init(struct svg_sheet *sheet, const struct aeg_view *view, struct view_writer *writer);
void svg_sheet_fini(struct svg_sheet *sheet);

/* Left border of an instant of the graph, on the sheet. */
double svg_x(const struct svg_sheet *sheet, const struct aeg_graph *graph, uint64_t ms);
/* Upper border of a lane, and of its bars. */
double svg_row_px(const struct svg_sheet *sheet);
double svg_row_y(const struct svg_sheet *sheet, uint32_t lane);
double svg_bar_y(const struct svg_sheet *sheet, uint32_t lane);
/* Class of a tool's colour: 0 ... SVG_TOOLS - 1, SVG_TOOLS = none of them. */
uint32_t svg_tool(const struct svg_sheet *sheet, struct str name);

/* What a person wants of "mcp__server__tool": the tool. */
struct str svg_short_name(struct str name);
/* Width of so many characters of a gap's text, about. */
double svg_text_px(size_t chars);
/* Characters of the text of the gap after this step, about. */
size_t svg_gap_chars(const struct aeg_step_view *from);

#endif
