/* SPDX-License-Identifier: Apache-2.0 */
/* What a session has done so far, and what is learnt from it: its graph (aeg/graph.h), its part of
 * the forecasts (aeg/learn.h), who started it and whom it started.
 * PURE. THREAD: core. OWNERSHIP: a story belongs to its session and ends with it. LIMITS: one per
 * session; coord_story_limits. */
#ifndef COORDINATOR_CORE_STORY_H
#define COORDINATOR_CORE_STORY_H

#include "aeg/forecast.h"
#include "aeg/graph.h"
#include "aeg/run.h"
#include "coordinator/core/classes.h"
#include "coordinator/core/request.h"
#include "coordinator/core/workflows.h"

enum {
    COORD_AGENT_BYTES = 64,
    COORD_STORY_TWINS = 8, /* sessions of one label that can be found: one per model of an id */
};

struct coord_story_limits {
    uint32_t max_sessions;
    uint32_t max_blocks; /* of all graphs */
    struct aeg_limits aeg;
};

struct coord_story {
    struct list sibling;           /* in its parent's children, or alone */
    struct list children;          /* stories, oldest first */
    struct coord_session *session; /* NULL = this place of the slab is free */
    struct coord_story *parent;    /* NULL = a root, or not known any more */
    struct aeg_session aeg;
    struct aeg_graph graph;
    struct aeg_run run;
    uint64_t opening;              /* of the line: see coord_step_arrived */
    uint64_t swept_at_us;          /* when its open gap was last counted */
    uint32_t idx;                  /* in the slab */
    uint32_t line_step;            /* newest step of the line, AEG_STEP_NONE before */
    uint32_t line_bytes;           /* of its prompt */
    uint32_t line_output_tokens;   /* of its answer */
    float tokens_per_byte;         /* 0 = never told */
    bool is_gap_named;             /* the open gap's tools are known */
    bool is_ended;                 /* its client said so */
    bool is_released;              /* to be forgotten when nothing is in flight */
    char agent[COORD_AGENT_BYTES]; /* what its client calls it, cut */
};

struct coord_stories {
    const struct mem *mem;
    struct slab slab;
    struct map by_label; /* hash of the label, or one of those after it -> slab index */
    struct aeg_graph_pool graphs;
    struct coord_classes classes;
    struct coord_workflows *workflows; /* borrowed */
    struct aeg aeg;
    uint32_t sweep_at;   /* next place of the slab to be looked at */
    uint64_t lost_count; /* sessions without a story */
};

/* ST_INVAL (limits.aeg), ST_NOMEM. */
MUST_CHECK enum status coord_stories_init(struct coord_stories *stories,
                                          const struct mem *mem,
                                          const struct coord_story_limits *limits,
                                          struct coord_workflows *workflows);
void coord_stories_fini(struct coord_stories *stories);

/* A session was born by this step. No memory: it goes without a story (counted). parent: the
 * session it branched off, NULL = a root, or one that the step names itself. */
void coord_story_begin(struct coord_stories *stories,
                       struct coord_session *session,
                       const struct coord_step_arrived *arrived,
                       struct coord_session *parent,
                       uint64_t now_us);
/* The session is about to be forgotten. is_over: it would not have come back. */
void coord_story_end(struct coord_stories *stories,
                     struct coord_session *session,
                     bool is_over,
                     uint64_t now_us);

/* Before the session notes the end of this request: finds the step that it goes on from or repeats,
 * and fills in the request's from, is_repeat, is_aside. scope: what a chain hash is combined with
 * in a tail's key. */
void coord_story_look(const struct coord_stories *stories,
                      const struct coord_session *session,
                      const struct coord_step_arrived *arrived,
                      uint64_t scope,
                      struct coord_request *request);
/* The step is on its way, its request's end is the session's newest. */
void coord_story_arrived(struct coord_stories *stories,
                         struct coord_request *request,
                         const struct coord_step_arrived *arrived,
                         uint64_t now_us);
/* The step is over; it has not left its engine and session yet. done: what its answer said, NULL =
 * there was none. */
void coord_story_ended(struct coord_stories *stories,
                       const struct coord_request *request,
                       enum aeg_end end,
                       const struct coord_step_done *done,
                       uint64_t now_us);
/* Counts gaps that are still open, of a part of the sessions at each call. */
void coord_story_sweep(struct coord_stories *stories, uint64_t now_us);

/* Sessions with this label, at most max. Returns how many. */
uint32_t coord_stories_find(const struct coord_stories *stories,
                            struct str label,
                            struct coord_story **ret,
                            uint32_t max);

/* What comes next, from what was learnt and declared. */
void coord_story_forecast(const struct coord_stories *stories,
                          const struct coord_story *story,
                          uint64_t now_us,
                          struct aeg_forecast *ret);

#endif
