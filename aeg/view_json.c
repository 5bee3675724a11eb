/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_part.h"

static void put_number(struct view_writer *writer, const char *key, uint64_t value, bool is_known)
{
    if (is_known) {
        VIEW_FMT(writer, ",\"%s\":%" PRIu64, key, value);
    } else {
        VIEW_FMT(writer, ",\"%s\":null", key);
    }
}

static void
put_step(struct view_writer *writer, const struct aeg_view *view, const struct aeg_step_view *step)
{
    bool is_over = step->end != AEG_END_OPEN;
    VIEW_FMT(writer, "{\"step\":%" PRIu32, step->number);
    put_number(writer, "from", step->from, step->from != AEG_STEP_NONE);
    put_number(writer, "attempts", step->attempts, true);
    VIEW_FMT(writer, ",\"aside\":%s,\"end\":\"%s\",\"engine\":", step->is_aside ? "true" : "false",
             aeg_end_text(step->end));
    if (step->engine.v == ENGINE_NONE.v) {
        view_put(writer, "null");
    } else {
        view_put(writer, "\"");
        view_engine(writer, VIEW_JSON, view, step->engine);
        view_put(writer, "\"");
    }
    put_number(writer, "arrived_ms", step->arrived_ms, true);
    put_number(writer, "queued_ms", step->queued_ms, is_over);
    put_number(writer, "first_ms", step->first_ms, is_over);
    put_number(writer, "total_ms", step->total_ms, is_over);
    put_number(writer, "prompt_tokens", step->prompt_tokens, step->prompt_tokens > 0);
    put_number(writer, "cached_tokens", step->cached_tokens, step->prompt_tokens > 0);
    put_number(writer, "output_tokens", step->output_tokens, step->output_tokens > 0);
    put_number(writer, "tool_count", step->tool_count, true);
    view_put(writer, ",\"tools\":[");
    for (uint32_t i = 0; i < step->tool_count && i < AEG_STEP_TOOLS; i++) {
        view_put(writer, i == 0 ? "\"" : ",\"");
        view_text(writer, VIEW_JSON, step->tools[i], SIZE_MAX);
        view_put(writer, "\"");
    }
    view_put(writer, "]}");
}

static void put_gap(struct view_writer *writer,
                    const struct aeg_step_view *from,
                    const struct aeg_step_view *to, /* NULL: still open */
                    uint64_t ms)
{
    VIEW_FMT(writer, "{\"from\":%" PRIu32, from->number);
    put_number(writer, "to", to == NULL ? 0 : to->number, to != NULL);
    put_number(writer, "ms", ms, true);
    if (to != NULL && to->prompt_tokens > 0 && from->prompt_tokens > 0) {
        int64_t before = (int64_t)from->prompt_tokens + from->output_tokens;
        VIEW_FMT(writer, ",\"new_tokens\":%" PRId64 "}", (int64_t)to->prompt_tokens - before);
    } else {
        view_put(writer, ",\"new_tokens\":null}");
    }
}

static void
put_gaps(struct view_writer *writer, const struct aeg_view *view, const struct aeg_lane *lane)
{
    const struct aeg_graph *graph = lane->graph;
    const char *comma = "";
    struct aeg_step_view step;
    struct aeg_step_view from;
    uint64_t ms = 0;
    for (uint32_t i = view_first(graph); i < graph->steps; i++) {
        if (aeg_graph_step(view->pool, graph, i, &step) &&
            view_gap(view, graph, &step, &from, &ms)) {
            view_put(writer, comma);
            put_gap(writer, &from, &step, ms);
            comma = ",";
        }
    }
    if (view_open_gap(view, lane, &from, &ms)) {
        view_put(writer, comma);
        put_gap(writer, &from, NULL, ms);
    }
}

static void put_folded(struct view_writer *writer, const struct aeg_folded *folded)
{
    if (folded->steps == 0) {
        view_put(writer, "null");
        return;
    }
    VIEW_FMT(writer, "{\"steps\":%" PRIu32, folded->steps);
    put_number(writer, "from_ms", folded->from_ms, true);
    put_number(writer, "until_ms", folded->until_ms, true);
    put_number(writer, "busy_ms", folded->busy_ms, true);
    put_number(writer, "prompt_tokens", folded->prompt_tokens, true);
    put_number(writer, "cached_tokens", folded->cached_tokens, true);
    put_number(writer, "output_tokens", folded->output_tokens, true);
    put_number(writer, "tool_steps", folded->tool_steps, true);
    put_number(writer, "failed_steps", folded->failed_steps, true);
    put_number(writer, "open_steps", folded->open_steps, true);
    view_put(writer, "}");
}

enum status aeg_view_json(const struct aeg_view *view, uint32_t lane, struct buf *out)
{
    struct view_writer writer;
    const struct aeg_graph *graph = view->lanes[lane].graph;
    struct aeg_step_view step;
    view_begin(&writer, out);
    view_put(&writer, "\"steps\":[");
    for (uint32_t i = view_first(graph); i < graph->steps; i++) {
        if (aeg_graph_step(view->pool, graph, i, &step)) {
            view_put(&writer, i == view_first(graph) ? "" : ",");
            put_step(&writer, view, &step);
        }
    }
    view_put(&writer, "],\"gaps\":[");
    put_gaps(&writer, view, &view->lanes[lane]);
    view_put(&writer, "],\"folded\":");
    put_folded(&writer, &graph->folded);
    return view_end(&writer);
}
