/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_part.h"

/* Times are kept in ms and durations within 0.1 %: a step that follows at once may seem to be a
 * little early. */
enum { JOIN_SLACK_US = 2000 };

/* Begin and end of a lane in monotonic us. An open step has not ended yet. */
struct span {
    uint64_t from_us;
    uint64_t until_us;
};

static uint64_t graph_us(const struct aeg_graph *graph, uint64_t ms)
{
    return graph->began_at_us + ms * 1000;
}

static struct span span_of(const struct aeg_view *view, const struct aeg_graph *graph)
{
    uint64_t from_ms = graph->folded.steps > 0 ? graph->folded.from_ms : UINT64_MAX;
    uint64_t until_ms = graph->folded.until_ms;
    struct aeg_step_view step;
    for (uint32_t i = view_first(graph); i < graph->steps; i++) {
        if (aeg_graph_step(view->pool, graph, i, &step)) {
            uint64_t end_ms = step.arrived_ms + step.total_ms;
            from_ms = step.arrived_ms < from_ms ? step.arrived_ms : from_ms;
            until_ms = end_ms > until_ms ? end_ms : until_ms;
        }
    }
    from_ms = from_ms == UINT64_MAX ? 0 : from_ms;
    return (struct span){graph_us(graph, from_ms), graph_us(graph, until_ms)};
}

static void link_lane(struct aeg_view *view, struct aeg_lane *lane, const struct aeg_lane *parent)
{
    struct span own = span_of(view, lane->graph);
    const struct aeg_graph *above = parent->graph;
    bool is_over = !lane->is_busy && !lane->is_gap_open;
    /* A folded step may be the one that joined. */
    bool is_known =
        above->folded.steps == 0 || own.until_us >= graph_us(above, above->folded.until_ms);
    enum aeg_end spawn_end = AEG_END_OTHER;
    uint32_t between = 0;
    struct aeg_step_view step;
    for (uint32_t i = view_first(above); i < above->steps; i++) {
        if (!aeg_graph_step(view->pool, above, i, &step) || step.is_aside) {
            continue;
        }
        uint64_t at_us = graph_us(above, step.arrived_ms);
        if (at_us <= own.from_us) {
            lane->spawned_by = i;
            spawn_end = step.end;
        } else if (is_over && is_known && at_us + JOIN_SLACK_US >= own.until_us) {
            lane->joined_by = i;
            break;
        } else {
            between++;
        }
    }
    bool is_waiting = lane->joined_by != AEG_STEP_NONE || (!is_over && spawn_end == AEG_END_TOOLS);
    lane->is_waited_for = lane->spawned_by != AEG_STEP_NONE && between == 0 && is_waiting;
}

void aeg_view_link(struct aeg_view *view)
{
    for (uint32_t i = 0; i < view->lane_count; i++) {
        struct aeg_lane *lane = &view->lanes[i];
        const struct aeg_lane *parent = view_parent(view, i);
        lane->spawned_by = AEG_STEP_NONE;
        lane->joined_by = AEG_STEP_NONE;
        lane->is_waited_for = false;
        if (parent != NULL) {
            link_lane(view, lane, parent);
        }
    }
}
