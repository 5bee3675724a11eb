/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_svg_lane.h"

#define GAP_PX       6.0  /* height */
#define SLANT_PX     11.0 /* between two slanted texts */
#define DIGIT_PX     6.0  /* of a step's number */
#define MIN_STEP_PX  2.0
#define SLANT_BELOW  13.0
#define NUMBER_ABOVE 3.0

enum { NAME_CHARS = 22, MODEL_CHARS = 28, DEPTH_MAX = 6, DEPTH_PX = 12 };

/* --- names of the lane, at the left --- */

static void put_names(struct svg_sheet *sheet, uint32_t idx)
{
    struct view_writer *writer = sheet->writer;
    const struct aeg_lane *lane = &sheet->view->lanes[idx];
    uint32_t depth = view_depth(sheet->view, idx);
    uint32_t indent = (depth < DEPTH_MAX ? depth : DEPTH_MAX) * DEPTH_PX;
    double x = 8.0 + indent;
    double y = sheet->is_roomy ? svg_row_y(sheet, idx) + 24 : svg_row_y(sheet, idx) + 13;
    size_t cut = indent / 6;
    VIEW_FMT(writer, "<g><title>");
    view_text(writer, VIEW_XML, lane->label, SIZE_MAX);
    VIEW_FMT(writer, "</title><text class=\"name\" x=\"%.1f\" y=\"%.1f\">", x, y);
    view_text(writer, VIEW_XML, lane->label, NAME_CHARS - cut);
    VIEW_FMT(writer, "</text><text class=\"dim\" x=\"%.1f\" y=\"%.1f\">", x, y + 13);
    view_text(writer, VIEW_XML, lane->agent, MODEL_CHARS / 2);
    view_put(writer, lane->agent.len > 0 && lane->model.len > 0 ? " &#183; " : "");
    view_text(writer, VIEW_XML, lane->model, MODEL_CHARS / 2 - cut);
    view_put(writer, "</text>");
    if (sheet->is_roomy) {
        VIEW_FMT(writer, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\">%" PRIu32 " %s%s</text>", x,
                 y + 26, lane->graph->steps, lane->graph->steps == 1 ? "step" : "steps",
                 lane->is_busy       ? ", busy"
                 : lane->is_gap_open ? ", waiting for its client"
                                     : "");
    }
    view_put(writer, "</g>\n");
}

/* --- gaps --- */

static void put_gap_words(struct view_writer *writer, const struct aeg_step_view *from, uint64_t ms)
{
    if (from->tool_count > 0) {
        view_text(writer, VIEW_XML, svg_short_name(from->tools[0]), SVG_TOOL_CHARS);
        if (from->tool_count > 1) {
            VIEW_FMT(writer, "+%" PRIu32, from->tool_count - 1);
        }
        view_put(writer, " ");
    }
    view_duration(writer, ms);
}

/* last_x: where the last slanted text stands. */
static void put_gap_text(struct svg_sheet *sheet,
                         const struct aeg_step_view *from,
                         uint64_t ms,
                         const double place[3], /* from x, until x, upper border of bars */
                         double *last_x)
{
    struct view_writer *writer = sheet->writer;
    double mid = (place[0] + place[1]) / 2;
    double below = place[2] + SVG_BAR_PX + SLANT_BELOW;
    if (place[1] - place[0] >= svg_text_px(svg_gap_chars(from))) {
        VIEW_FMT(writer, "<text class=\"gap\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">", mid,
                 sheet->is_roomy ? below : place[2] + 4);
    } else if (sheet->is_roomy && mid - *last_x >= SLANT_PX) {
        VIEW_FMT(writer, "<text class=\"gap\" transform=\"translate(%.1f %.1f) rotate(60)\">",
                 mid - 4, below - 5);
        *last_x = mid;
    } else {
        return;
    }
    put_gap_words(writer, from, ms);
    view_put(writer, "</text>");
}

static void put_gap(struct svg_sheet *sheet,
                    uint32_t idx,
                    const struct aeg_step_view *from,
                    const struct aeg_step_view *to, /* NULL: still open */
                    uint64_t ms,
                    double *last_x)
{
    struct view_writer *writer = sheet->writer;
    const struct aeg_graph *graph = sheet->view->lanes[idx].graph;
    uint64_t from_ms = from->arrived_ms + from->total_ms;
    double x0 = svg_x(sheet, graph, from_ms);
    double x1 = svg_x(sheet, graph, from_ms + ms);
    double y = svg_bar_y(sheet, idx);
    uint32_t colour = from->tool_count == 0 ? SVG_TOOLS + 1 : svg_tool(sheet, from->tools[0]);
    VIEW_FMT(writer, "<g><title>gap after step %" PRIu32 ": ", from->number);
    view_duration(writer, ms);
    view_put(writer, to == NULL ? " so far" : "");
    for (uint32_t i = 0; i < from->tool_count && i < AEG_STEP_TOOLS; i++) {
        view_put(writer, i == 0 ? "\ncalls " : ", ");
        view_text(writer, VIEW_XML, from->tools[i], SIZE_MAX);
    }
    if (from->tool_count > AEG_STEP_TOOLS) {
        VIEW_FMT(writer, " and %" PRIu32 " more", from->tool_count - AEG_STEP_TOOLS);
    }
    VIEW_FMT(writer,
             "</title><rect class=\"t%" PRIu32
             "%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/>",
             colour, to == NULL ? " open" : "", x0, y + (SVG_BAR_PX - GAP_PX) / 2, x1 - x0, GAP_PX);
    const double place[3] = {x0, x1, y};
    put_gap_text(sheet, from, ms, place, last_x);
    view_put(writer, "</g>\n");
}

/* --- steps --- */

static void put_tooltip(struct svg_sheet *sheet, const struct aeg_step_view *step)
{
    struct view_writer *writer = sheet->writer;
    VIEW_FMT(writer, "<title>step %" PRIu32 ": %s", step->number, aeg_end_text(step->end));
    view_put(writer, step->is_aside ? ", aside" : "");
    if (step->engine.v != ENGINE_NONE.v) {
        view_put(writer, "\non ");
        view_engine(writer, VIEW_XML, sheet->view, step->engine);
    }
    if (step->end != AEG_END_OPEN) {
        view_put(writer, "\nqueued ");
        view_duration(writer, step->queued_ms);
        view_put(writer, ", first token ");
        view_duration(writer, step->first_ms);
        view_put(writer, ", answer ");
        view_duration(writer, step->total_ms - step->queued_ms - step->first_ms);
    }
    if (step->prompt_tokens > 0) {
        VIEW_FMT(writer, "\n%" PRIu32 " tokens in, %" PRIu32 " cached, %" PRIu32 " out",
                 step->prompt_tokens, step->cached_tokens, step->output_tokens);
    }
    for (uint32_t i = 0; i < step->tool_count && i < AEG_STEP_TOOLS; i++) {
        view_put(writer, i == 0 ? "\ncalls " : ", ");
        view_text(writer, VIEW_XML, step->tools[i], SIZE_MAX);
    }
    if (step->attempts > 1) {
        VIEW_FMT(writer, "\nsent %" PRIu32 " times", step->attempts);
    }
    if (step->from != AEG_STEP_NONE && step->from + 1 != step->number) {
        VIEW_FMT(writer, "\ngoes on from step %" PRIu32, step->from);
    }
    view_put(writer, "</title>");
}

static void
put_part(struct view_writer *writer, const char *name, double x0, double x1, const double span[2])
{
    if (x1 > x0) {
        VIEW_FMT(writer,
                 "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", name,
                 x0, span[0], x1 - x0, span[1]);
    }
}

/* How far above the bars a step's number stands. */
static double number_above(const struct svg_sheet *sheet)
{
    return NUMBER_ABOVE + (sheet->has_aside ? SVG_BAR_PX / 2.0 + 1 : 0);
}

/* Cross of a step without an answer, "2x" of one that was sent again. */
static void
put_marks(const struct svg_sheet *sheet, const struct aeg_step_view *step, double mid, double y)
{
    if (step->end >= AEG_END_REFUSED) {
        VIEW_FMT(sheet->writer, "<path class=\"%s\" d=\"M%.1f %.1fl7 7m0 -7l-7 7\"/>",
                 step->end == AEG_END_GONE ? "gone" : "failed", mid - 3.5, y + 5.5);
    }
    if (step->attempts > 1) {
        VIEW_FMT(sheet->writer,
                 "<text class=\"again\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%" PRIu32
                 "x</text>",
                 mid, y - number_above(sheet) - DIGIT_PX - NUMBER_ABOVE, step->attempts);
    }
}

static void put_step(struct svg_sheet *sheet, uint32_t idx, const struct aeg_step_view *step)
{
    struct view_writer *writer = sheet->writer;
    const struct aeg_graph *graph = sheet->view->lanes[idx].graph;
    double y = svg_bar_y(sheet, idx);
    uint64_t queued_until = step->arrived_ms + step->queued_ms;
    double x0 = svg_x(sheet, graph, step->arrived_ms);
    double x1 = svg_x(sheet, graph, view_step_end(sheet->view, graph, step));
    x1 = x1 < x0 + MIN_STEP_PX ? x0 + MIN_STEP_PX : x1;
    const double span[2] = {step->is_aside ? y - SVG_BAR_PX / 2.0 - 1 : y,
                            step->is_aside ? SVG_BAR_PX / 2.0 : SVG_BAR_PX};
    view_put(writer, "<g>");
    put_tooltip(sheet, step);
    if (step->end == AEG_END_OPEN) {
        put_part(writer, "live", x0, x1, span);
    } else {
        double queued = svg_x(sheet, graph, queued_until);
        double first = svg_x(sheet, graph, queued_until + step->first_ms);
        put_part(writer, "queued", x0, queued, span);
        put_part(writer, "first", queued, first, span);
        put_part(writer, "decode", first, x1, span);
    }
    put_part(writer,
             step->end == AEG_END_GONE      ? "edge lost"
             : step->end >= AEG_END_REFUSED ? "edge bad"
                                            : "edge",
             x0, x1, span);
    put_marks(sheet, step, (x0 + x1) / 2, y);
    view_put(writer, "</g>\n");
}

static void
put_number(struct svg_sheet *sheet, uint32_t idx, const struct aeg_step_view *step, double *last_x)
{
    const struct aeg_graph *graph = sheet->view->lanes[idx].graph;
    double x = (svg_x(sheet, graph, step->arrived_ms) +
                svg_x(sheet, graph, view_step_end(sheet->view, graph, step))) /
               2;
    double digits = step->number < 10 ? 2 : step->number < 100 ? 3 : step->number < 1000 ? 4 : 8;
    if (step->is_aside || x - *last_x < DIGIT_PX * digits) {
        return;
    }
    VIEW_FMT(sheet->writer,
             "<text class=\"number\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%" PRIu32
             "</text>\n",
             x, svg_bar_y(sheet, idx) - number_above(sheet), step->number);
    *last_x = x;
}

static void put_folded(struct svg_sheet *sheet, uint32_t idx)
{
    struct view_writer *writer = sheet->writer;
    const struct aeg_graph *graph = sheet->view->lanes[idx].graph;
    const struct aeg_folded *sum = &graph->folded;
    double x0 = svg_x(sheet, graph, sum->from_ms);
    double x1 = svg_x(sheet, graph, sum->until_ms);
    double y = svg_bar_y(sheet, idx);
    VIEW_FMT(writer, "<g><title>%" PRIu32 " steps folded: busy ", sum->steps);
    view_duration(writer, sum->busy_ms);
    view_put(writer, " of ");
    view_duration(writer, sum->until_ms - sum->from_ms);
    VIEW_FMT(writer,
             "\n%" PRIu64 " tokens in, %" PRIu64 " cached, %" PRIu64 " out\n%" PRIu32
             " called tools, %" PRIu32 " gave no answer</title>",
             sum->prompt_tokens, sum->cached_tokens, sum->output_tokens, sum->tool_steps,
             sum->failed_steps);
    VIEW_FMT(writer, "<rect class=\"folded\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
             x0, y, x1 > x0 + MIN_STEP_PX ? x1 - x0 : MIN_STEP_PX, SVG_BAR_PX);
    if (x1 - x0 > 60) {
        VIEW_FMT(writer,
                 "<text class=\"gap\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%" PRIu32
                 " steps, ",
                 (x0 + x1) / 2, sheet->is_roomy ? y + SVG_BAR_PX + SLANT_BELOW : y - 4, sum->steps);
        view_duration(writer, sum->until_ms - sum->from_ms);
        view_put(writer, "</text>");
    }
    view_put(writer, "</g>\n");
}

void svg_put_lane(struct svg_sheet *sheet, uint32_t lane)
{
    const struct aeg_graph *graph = sheet->view->lanes[lane].graph;
    struct aeg_step_view step;
    struct aeg_step_view from;
    uint64_t ms = 0;
    double last_text = 0;
    double last_number = 0;
    put_names(sheet, lane);
    if (graph->folded.steps > 0) {
        put_folded(sheet, lane);
    }
    /* Gaps first: steps lie over them. */
    for (uint32_t i = view_first(graph); i < graph->steps; i++) {
        if (aeg_graph_step(sheet->view->pool, graph, i, &step) && !step.is_aside &&
            view_gap(sheet->view, graph, &step, &from, &ms)) {
            put_gap(sheet, lane, &from, &step, ms, &last_text);
        }
    }
    if (view_open_gap(sheet->view, &sheet->view->lanes[lane], &from, &ms)) {
        put_gap(sheet, lane, &from, NULL, ms, &last_text);
    }
    for (uint32_t i = view_first(graph); i < graph->steps; i++) {
        if (aeg_graph_step(sheet->view->pool, graph, i, &step)) {
            put_step(sheet, lane, &step);
            put_number(sheet, lane, &step, &last_number);
        }
    }
}
