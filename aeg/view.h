/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of one task for people and programs: sessions as lanes over time, in JSON, DOT and SVG.
 * All texts are untrusted: escaped, and what is no UTF-8 is replaced.
 * PURE. THREAD: any. LIMITS: AEG_VIEW_LANES. */
#ifndef AEG_VIEW_H
#define AEG_VIEW_H

#include "aeg/graph.h"

enum { AEG_VIEW_LANES = 64 };

struct aeg_lane {
    struct str label; /* the session's */
    struct str agent; /* name inside the client's session, class or "" */
    struct str model;
    uint32_t parent;     /* lane that started this one; AEG_STEP_NONE */
    uint32_t spawned_by; /* step of the parent after which it began; AEG_STEP_NONE */
    uint32_t joined_by;  /* step of the parent that came after its end; AEG_STEP_NONE */
    bool is_waited_for;  /* the parent did nothing in between */
    bool is_busy;        /* a step is in flight */
    bool is_gap_open;    /* the client is to come back */
    const struct aeg_graph *graph;
};

struct aeg_engine_name {
    struct engine_id engine;
    struct str name;
};

struct aeg_view {
    const struct aeg_graph_pool *pool;
    struct aeg_lane lanes[AEG_VIEW_LANES];
    uint32_t lane_count;
    uint32_t hidden_lanes; /* found no room */
    const struct aeg_engine_name
        *engines; /* [engine_count], for names of engines that still exist */
    uint32_t engine_count;
    uint64_t now_us;
};

/* Fills spawned_by, joined_by and is_waited_for of all lanes from the times of the graphs. A lane
 * began after the last step of its parent that arrived before its own first, and is joined by the
 * first that arrived after its end; asides do not count, and what would be a folded step is
 * AEG_STEP_NONE. O(lanes * kept). */
void aeg_view_link(struct aeg_view *view);

/* One lane's graph as JSON members without braces around: "steps":[{...}],"gaps":[...],
 * "folded":{...} or null. What is not known is null. On failure (ST_NOMEM, ST_FULL) out is as
 * before; so with the other two. */
MUST_CHECK enum status aeg_view_json(const struct aeg_view *view, uint32_t lane, struct buf *out);
/* Graphviz source: a cluster per lane, edges labelled with gap and tools. */
MUST_CHECK enum status aeg_view_dot(const struct aeg_view *view, struct buf *out);
/* Swim lanes over time, standing alone (no script, no font or style from elsewhere). */
MUST_CHECK enum status aeg_view_svg(const struct aeg_view *view, struct buf *out);

#endif
