/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_part.h"

enum { DOT_LABEL_CHARS = 48, DOT_TOOL_CHARS = 24 };

static void put_folded(struct view_writer *writer, uint32_t lane, const struct aeg_folded *folded)
{
    VIEW_FMT(writer,
             "    l%" PRIu32 "_folded [style=\"dashed\", label=\"%" PRIu32 " steps folded\\n", lane,
             folded->steps);
    view_duration(writer, folded->until_ms - folded->from_ms);
    view_put(writer, ", busy ");
    view_duration(writer, folded->busy_ms);
    view_put(writer, "\\n");
    view_count(writer, folded->output_tokens);
    view_put(writer, " out\"];\n");
}

static void put_step(struct view_writer *writer,
                     const struct aeg_view *view,
                     uint32_t lane,
                     const struct aeg_step_view *step)
{
    VIEW_FMT(writer, "    l%" PRIu32 "_s%" PRIu32 " [", lane, step->number);
    if (step->is_aside) {
        view_put(writer, "shape=ellipse, ");
    }
    if (step->end >= AEG_END_REFUSED) {
        view_put(writer, "color=\"#d1495b\", ");
    }
    VIEW_FMT(writer, "label=\"#%" PRIu32 " %s", step->number, aeg_end_text(step->end));
    if (step->attempts > 1) {
        VIEW_FMT(writer, ", sent %" PRIu32 " times", step->attempts);
    }
    if (step->end != AEG_END_OPEN) {
        view_put(writer, "\\n");
        view_duration(writer, step->total_ms);
    }
    if (step->engine.v != ENGINE_NONE.v) {
        view_put(writer, " on ");
        view_engine(writer, VIEW_DOT, view, step->engine);
    }
    if (step->prompt_tokens > 0) {
        view_put(writer, "\\n");
        view_count(writer, step->prompt_tokens);
        view_put(writer, " in (");
        view_count(writer, step->cached_tokens);
        view_put(writer, " cached), ");
        view_count(writer, step->output_tokens);
        view_put(writer, " out");
    }
    view_put(writer, "\"];\n");
}

static void put_edge(struct view_writer *writer,
                     const struct aeg_view *view,
                     uint32_t lane,
                     const struct aeg_step_view *step)
{
    const struct aeg_graph *graph = view->lanes[lane].graph;
    struct aeg_step_view from;
    uint64_t ms = 0;
    if (step->from == AEG_STEP_NONE || step->from < view_first(graph)) {
        if (step->from != AEG_STEP_NONE && graph->folded.steps > 0) {
            VIEW_FMT(writer, "    l%" PRIu32 "_folded -> l%" PRIu32 "_s%" PRIu32 ";\n", lane, lane,
                     step->number);
        }
        return;
    }
    VIEW_FMT(writer, "    l%" PRIu32 "_s%" PRIu32 " -> l%" PRIu32 "_s%" PRIu32, lane, step->from,
             lane, step->number);
    if (view_gap(view, graph, step, &from, &ms)) {
        view_put(writer, " [label=\"");
        view_duration(writer, ms);
        for (uint32_t i = 0; i < from.tool_count && i < AEG_STEP_TOOLS; i++) {
            view_put(writer, "\\n");
            view_text(writer, VIEW_DOT, from.tools[i], DOT_TOOL_CHARS);
        }
        if (from.tool_count > AEG_STEP_TOOLS) {
            VIEW_FMT(writer, "\\n+%" PRIu32, from.tool_count - AEG_STEP_TOOLS);
        }
        view_put(writer, "\"]");
    }
    view_put(writer, ";\n");
}

static void put_lane(struct view_writer *writer, const struct aeg_view *view, uint32_t idx)
{
    const struct aeg_lane *lane = &view->lanes[idx];
    struct aeg_step_view step;
    VIEW_FMT(writer, "  subgraph cluster_%" PRIu32 " {\n    label=\"", idx);
    view_text(writer, VIEW_DOT, lane->label, DOT_LABEL_CHARS);
    view_put(writer, "\\n");
    view_text(writer, VIEW_DOT, lane->agent, DOT_LABEL_CHARS);
    view_put(writer, lane->agent.len > 0 && lane->model.len > 0 ? ", " : "");
    view_text(writer, VIEW_DOT, lane->model, DOT_LABEL_CHARS);
    view_put(writer, "\";\n");
    if (lane->graph->folded.steps > 0) {
        put_folded(writer, idx, &lane->graph->folded);
    }
    for (uint32_t i = view_first(lane->graph); i < lane->graph->steps; i++) {
        if (aeg_graph_step(view->pool, lane->graph, i, &step)) {
            put_step(writer, view, idx, &step);
            put_edge(writer, view, idx, &step);
        }
    }
    view_put(writer, "  }\n");
}

/* The node where a lane that has steps begins or ends. */
static void
put_border(struct view_writer *writer, const struct aeg_view *view, uint32_t idx, bool is_begin)
{
    const struct aeg_graph *graph = view->lanes[idx].graph;
    if (graph->folded.steps > 0 && (is_begin || graph->kept == 0)) {
        VIEW_FMT(writer, "l%" PRIu32 "_folded", idx);
    } else {
        VIEW_FMT(writer, "l%" PRIu32 "_s%" PRIu32, idx,
                 is_begin ? view_first(graph) : graph->steps - 1);
    }
}

static void put_links(struct view_writer *writer, const struct aeg_view *view, uint32_t idx)
{
    const struct aeg_lane *lane = &view->lanes[idx];
    if (view_parent(view, idx) == NULL || lane->graph->steps == 0) {
        return;
    }
    if (lane->spawned_by != AEG_STEP_NONE) {
        VIEW_FMT(writer, "  l%" PRIu32 "_s%" PRIu32 " -> ", lane->parent, lane->spawned_by);
        put_border(writer, view, idx, true);
        view_put(writer, " [style=dashed, label=\"starts\"];\n");
    }
    if (lane->joined_by != AEG_STEP_NONE) {
        view_put(writer, "  ");
        put_border(writer, view, idx, false);
        VIEW_FMT(writer, " -> l%" PRIu32 "_s%" PRIu32 " [style=%s, label=\"%s\"];\n", lane->parent,
                 lane->joined_by, lane->is_waited_for ? "bold" : "dashed",
                 lane->is_waited_for ? "waited for" : "done before");
    }
}

enum status aeg_view_dot(const struct aeg_view *view, struct buf *out)
{
    struct view_writer writer;
    view_begin(&writer, out);
    view_put(&writer, "digraph saga {\n"
                      "  charset=\"UTF-8\";\n"
                      "  node [shape=box, style=\"rounded\", fontsize=10];\n"
                      "  edge [fontsize=9];\n");
    for (uint32_t i = 0; i < view->lane_count; i++) {
        put_lane(&writer, view, i);
    }
    for (uint32_t i = 0; i < view->lane_count; i++) {
        put_links(&writer, view, i);
    }
    if (view->hidden_lanes > 0) {
        VIEW_FMT(&writer, "  hidden [shape=plaintext, label=\"and %" PRIu32 " more sessions\"];\n",
                 view->hidden_lanes);
    }
    view_put(&writer, "}\n");
    return view_end(&writer);
}
