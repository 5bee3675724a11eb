/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/view_axis.h"

#include <stdlib.h>

#define WIDTH_MIN_PX  720.0
#define WIDTH_MAX_PX  1500.0
#define WIDTH_PART_PX 12.0 /* wished for between two events */
#define PART_MAX_PX   6.0  /* minimum between two events, if half of the width is enough for it */
#define FOLDED_PX     150.0
/* Idle time is cut when it is more than this many times the time in which steps ran. */
#define IDLE_RATIO 1.5

/* Rising; what a person calls a round time. */
static const uint64_t round_ms[] = {1,       2,       5,        10,       20,      50,      100,
                                    200,     500,     1000,     2000,     5000,    10000,   20000,
                                    30000,   60000,   120000,   300000,   600000,  1200000, 1800000,
                                    3600000, 7200000, 21600000, 43200000, 86400000};

enum { ROUND_COUNT = sizeof(round_ms) / sizeof(round_ms[0]) };

uint64_t view_axis_ms(const struct view_axis *axis, const struct aeg_graph *graph, uint64_t ms)
{
    return (graph->began_at_us - axis->began_at_us) / 1000 + ms;
}

static void add_knot(struct view_axis *axis, uint64_t ms, int32_t running, int32_t folded)
{
    ASSERT(axis->count < axis->room);
    axis->knots[axis->count] = (struct view_knot){.ms = ms, .running = running, .folded = folded};
    axis->count++;
}

static void add_lane(struct view_axis *axis, const struct aeg_view *view, uint32_t lane)
{
    const struct aeg_graph *graph = view->lanes[lane].graph;
    struct aeg_step_view step;
    uint64_t gap_ms = 0;
    for (uint32_t i = view_first(graph); i < graph->steps; i++) {
        if (aeg_graph_step(view->pool, graph, i, &step)) {
            add_knot(axis, view_axis_ms(axis, graph, step.arrived_ms), 1, 0);
            uint64_t end_ms = view_step_end(view, graph, &step);
            add_knot(axis, view_axis_ms(axis, graph, end_ms), -1, 0);
        }
    }
    if (graph->folded.steps > 0) {
        add_knot(axis, view_axis_ms(axis, graph, graph->folded.from_ms), 0, 1);
        add_knot(axis, view_axis_ms(axis, graph, graph->folded.until_ms), 0, -1);
    }
    if (view_open_gap(view, &view->lanes[lane], &step, &gap_ms)) {
        uint64_t now_ms = step.arrived_ms + step.total_ms + gap_ms;
        add_knot(axis, view_axis_ms(axis, graph, now_ms), 0, 0);
    }
}

static int knot_order(const void *a, const void *b)
{
    const struct view_knot *left = a;
    const struct view_knot *right = b;
    return (left->ms > right->ms) - (left->ms < right->ms);
}

/* One knot per instant, with what goes on from there. */
static void merge_knots(struct view_axis *axis)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < axis->count; i++) {
        struct view_knot next = axis->knots[i];
        next.running += axis->knots[last].running;
        next.folded += axis->knots[last].folded;
        last += next.ms > axis->knots[last].ms;
        axis->knots[last] = next;
    }
    axis->count = last + 1;
}

enum part { PART_BUSY, PART_IDLE, PART_FOLDED };

static enum part part_of(const struct view_knot *knot)
{
    if (knot->running > 0) {
        return PART_BUSY;
    }
    return knot->folded > 0 ? PART_FOLDED : PART_IDLE;
}

static uint64_t part_ms(const struct view_axis *axis, uint32_t knot)
{
    return axis->knots[knot + 1].ms - axis->knots[knot].ms;
}

bool view_axis_is_cut(const struct view_axis *axis, uint32_t knot)
{
    return knot + 1 < axis->count && part_of(&axis->knots[knot]) == PART_IDLE &&
           part_ms(axis, knot) > axis->cut_ms;
}

/* Cut so that what is left of idle time is about as long as the steps took. */
static void choose_cut(struct view_axis *axis)
{
    double total[3] = {0, 0, 0};
    uint32_t parts[3] = {0, 0, 0};
    for (uint32_t i = 0; i + 1 < axis->count; i++) {
        enum part part = part_of(&axis->knots[i]);
        total[part] += (double)part_ms(axis, i);
        parts[part]++;
    }
    axis->cut_ms = UINT64_MAX;
    if (total[PART_IDLE] > IDLE_RATIO * total[PART_BUSY]) {
        double mean_ms = total[PART_BUSY] / parts[PART_IDLE];
        uint32_t i = 0;
        while (i + 1 < ROUND_COUNT && (double)round_ms[i] < mean_ms) {
            i++;
        }
        axis->cut_ms = round_ms[i];
    }
}

/* How long a part counts: without folded ones, which have a width of their own. */
static double scaled_ms(const struct view_axis *axis, uint32_t knot)
{
    enum part part = part_of(&axis->knots[knot]);
    if (part == PART_FOLDED) {
        return 0;
    }
    return (double)(view_axis_is_cut(axis, knot) ? axis->cut_ms : part_ms(axis, knot));
}

static void place_knots(struct view_axis *axis)
{
    double total_ms = 0;
    uint32_t folded = 0;
    uint32_t parts = axis->count - 1;
    for (uint32_t i = 0; i < parts; i++) {
        total_ms += scaled_ms(axis, i);
        folded += part_of(&axis->knots[i]) == PART_FOLDED;
    }
    double wished_px = WIDTH_PART_PX * parts;
    double width_px = wished_px < WIDTH_MIN_PX ? WIDTH_MIN_PX : wished_px;
    width_px = width_px > WIDTH_MAX_PX ? WIDTH_MAX_PX : width_px;
    double min_px = parts == 0 ? 0 : width_px / 2 / parts;
    min_px = min_px > PART_MAX_PX ? PART_MAX_PX : min_px;
    double px_per_ms = total_ms > 0 ? (width_px - min_px * parts) / total_ms : 0;
    double x = 0;
    for (uint32_t i = 0; i < parts; i++) {
        bool is_folded = part_of(&axis->knots[i]) == PART_FOLDED;
        axis->knots[i].x = x;
        x += min_px + px_per_ms * scaled_ms(axis, i) + (is_folded ? FOLDED_PX / folded : 0);
    }
    axis->knots[parts].x = x;
    axis->width_px = x > WIDTH_MIN_PX ? x : WIDTH_MIN_PX;
}

enum status
view_axis_init(struct view_axis *axis, const struct aeg_view *view, const struct mem *mem)
{
    *axis = (struct view_axis){.mem = mem, .room = 1, .began_at_us = UINT64_MAX};
    for (uint32_t i = 0; i < view->lane_count; i++) {
        const struct aeg_graph *graph = view->lanes[i].graph;
        axis->room += 2 * graph->kept + 3;
        axis->began_at_us =
            graph->began_at_us < axis->began_at_us ? graph->began_at_us : axis->began_at_us;
    }
    axis->knots = mem_calloc(mem, axis->room, sizeof(axis->knots[0]));
    if (axis->knots == NULL) {
        return ST_NOMEM;
    }
    add_knot(axis, 0, 0, 0);
    for (uint32_t i = 0; i < view->lane_count; i++) {
        add_lane(axis, view, i);
    }
    qsort(axis->knots, axis->count, sizeof(axis->knots[0]), knot_order);
    merge_knots(axis);
    choose_cut(axis);
    place_knots(axis);
    return ST_OK;
}

void view_axis_fini(struct view_axis *axis)
{
    mem_free(axis->mem, axis->knots, axis->room * sizeof(axis->knots[0]));
    axis->knots = NULL;
}

double view_axis_x(const struct view_axis *axis, uint64_t ms)
{
    uint32_t low = 0;
    uint32_t high = axis->count - 1;
    if (ms >= axis->knots[high].ms) {
        return axis->knots[high].x;
    }
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (axis->knots[mid].ms <= ms) {
            low = mid;
        } else {
            high = mid;
        }
    }
    const struct view_knot *left = &axis->knots[low];
    double share = (double)(ms - left->ms) / (double)part_ms(axis, low);
    return left->x + share * (left[1].x - left->x);
}

static double ms_at(const struct view_axis *axis, double x)
{
    uint32_t i = 0;
    while (i + 1 < axis->count && axis->knots[i + 1].x <= x) {
        i++;
    }
    double width_px = i + 1 < axis->count ? axis->knots[i + 1].x - axis->knots[i].x : 0;
    double share = width_px > 0 ? (x - axis->knots[i].x) / width_px : 0;
    return (double)axis->knots[i].ms + (share > 0 ? share * (double)part_ms(axis, i) : 0);
}

uint64_t view_axis_round_ms(const struct view_axis *axis, double from_x, double until_x)
{
    uint64_t from_ms = (uint64_t)ms_at(axis, from_x);
    uint64_t until_ms = (uint64_t)ms_at(axis, until_x);
    for (uint32_t i = ROUND_COUNT; i > 0; i--) {
        uint64_t at_ms = until_ms / round_ms[i - 1] * round_ms[i - 1];
        if (at_ms >= from_ms) {
            return at_ms;
        }
    }
    return until_ms;
}
