/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a picture an instant is. Time runs from left to right but not evenly: time in which no
 * step runs may be cut short, folded steps get one narrow place, and whatever lies between two
 * events keeps a minimum width, so that each step and each gap can be seen. PURE. THREAD: one
 * owner. */
#ifndef AEG_VIEW_AXIS_H
#define AEG_VIEW_AXIS_H

#include "aeg/view_part.h"

/* An event of some lane. Between two of them x is linear. */
struct view_knot {
    uint64_t ms;     /* since the axis began */
    double x;        /* pixels from the left */
    int32_t running; /* steps from here on */
    int32_t folded;  /* folded parts from here on */
};

struct view_axis {
    const struct mem *mem;
    struct view_knot *knots; /* [count], rising */
    uint32_t count;
    uint32_t room;
    uint64_t began_at_us; /* of the first graph */
    uint64_t cut_ms;      /* idle time is drawn as at most so much; UINT64_MAX = all of it */
    double width_px;
};

/* An axis for all lanes. ST_NOMEM. O(events * log). */
MUST_CHECK enum status
view_axis_init(struct view_axis *axis, const struct aeg_view *view, const struct mem *mem);
void view_axis_fini(struct view_axis *axis);

/* The graph's ms as the axis' own. */
uint64_t view_axis_ms(const struct view_axis *axis, const struct aeg_graph *graph, uint64_t ms);
/* Pixels from the left; what is outside is moved to the border. O(log events). */
double view_axis_x(const struct view_axis *axis, uint64_t ms);
/* Roundest instant between two places; from_x < until_x. */
uint64_t view_axis_round_ms(const struct view_axis *axis, double from_x, double until_x);
/* The idle time from this knot to the next is cut short. */
bool view_axis_is_cut(const struct view_axis *axis, uint32_t knot);

#endif
