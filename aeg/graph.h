/* SPDX-License-Identifier: Apache-2.0 */
/* What happened in one session: its steps as vertices, each with the step that it goes on from; the
 * gap between the two is the edge. The newest AEG_GRAPH_KEPT steps are kept whole, older ones are
 * folded one by one into a sum.
 * PURE. THREAD: one owner. OWNERSHIP: a graph is the caller's storage, what it points to lives in
 * the pool. LIMITS: blocks of the pool; AEG_GRAPH_KEPT steps, AEG_GRAPH_NAMES tool names and
 * AEG_GRAPH_NAME_BYTES of them per graph, then "other". */
#ifndef AEG_GRAPH_H
#define AEG_GRAPH_H

#include "common/base/ids.h"
#include "common/base/slab.h"
#include "common/base/str.h"

enum {
    AEG_GRAPH_KEPT = 64,
    AEG_GRAPH_NAMES = 24, /* distinct tools */
    AEG_GRAPH_NAME_BYTES =
        480,             /* of all of them, at most; less when one just misses a block's end */
    AEG_TOOL_BYTES = 64, /* of one name */
    AEG_STEP_TOOLS = 4,  /* of one step that are named; the rest is counted */
    AEG_GRAPH_BLOCK_BYTES = 256,
    AEG_GRAPH_BLOCKS = 8, /* of steps */
};

#define AEG_STEP_NONE UINT32_MAX

/* How a step ended. */
enum aeg_end {
    AEG_END_OPEN,    /* not yet */
    AEG_END_ANSWER,  /* a final answer */
    AEG_END_TOOLS,   /* it calls tools */
    AEG_END_LENGTH,  /* cut at its limit of tokens */
    AEG_END_OTHER,   /* complete, nobody said why */
    AEG_END_REFUSED, /* never reached an engine, or the engine said no */
    AEG_END_FAILED,  /* engine error, or vanished on the way */
    AEG_END_GONE,    /* client left */
};

/* Blocks of steps and names for many graphs. */
struct aeg_graph_pool {
    struct slab blocks;
    uint64_t folded_count; /* steps */
    uint64_t lost_count;   /* steps that found no room; they are in the sums all the same */
    uint64_t other_count;  /* names that found no room */
};

/* Sums over steps that are no longer kept. */
struct aeg_folded {
    uint64_t from_ms;  /* since the graph began: the first arrival */
    uint64_t until_ms; /* the last end */
    uint64_t prompt_tokens;
    uint64_t cached_tokens;
    uint64_t output_tokens;
    uint64_t busy_ms;         /* arrival to end */
    uint64_t open_arrived_ms; /* arrivals of those that are open */
    uint32_t steps;
    uint32_t tool_steps;   /* that ended in a tool call */
    uint32_t failed_steps; /* refused, failed or gone */
    uint32_t open_steps;   /* folded before their end */
};

struct aeg_graph {
    uint64_t began_at_us;
    uint32_t steps; /* opened so far, folded ones included; the next one's number */
    uint32_t kept;  /* the newest so many can be seen; AEG_GRAPH_KEPT unless the pool is full */
    uint32_t blocks[AEG_GRAPH_BLOCKS]; /* SLAB_NONE; a ring: step n is in (n / 8) % 8 */
    uint32_t name_block;               /* SLAB_NONE */
    struct aeg_folded folded;
};

/* What is said at a step's end. Instants out of order are moved to the one before. */
struct aeg_step_end {
    enum aeg_end end;
    struct engine_id engine; /* ENGINE_NONE when it had none */
    uint32_t prompt_tokens;  /* 0 = not known, as the other two */
    uint32_t cached_tokens;
    uint32_t output_tokens;
    uint64_t started_at_us;  /* handed to the engine; 0 = never: all its time was queueing */
    uint64_t answered_at_us; /* its head came; 0 = never */
    uint64_t ended_at_us;
};

/* A kept step, decoded. Durations are within 0.1 %, queued + first <= total. */
struct aeg_step_view {
    uint32_t number;   /* 0 = the session's first */
    uint32_t from;     /* step it goes on from; AEG_STEP_NONE: none, or more than 255 ago */
    uint32_t attempts; /* times that the client sent it; 255 = as many or more */
    bool is_aside;     /* beside the line: title, summary, guard */
    enum aeg_end end;
    struct engine_id engine;
    uint64_t arrived_ms; /* since the graph began; of the last attempt; at most UINT32_MAX */
    uint64_t queued_ms;  /* arrival to engine */
    uint64_t first_ms;   /* engine to head of the answer */
    uint64_t total_ms;   /* arrival to end; 0 while open */
    uint32_t prompt_tokens;
    uint32_t cached_tokens;
    uint32_t output_tokens;
    uint32_t tool_count; /* called; 255 = as many or more */
    struct str
        tools[AEG_STEP_TOOLS]; /* [min(tool_count, AEG_STEP_TOOLS)] untrusted bytes, borrowed
                                * until the graph changes; "other" when names were too many */
};

void aeg_graph_pool_init(struct aeg_graph_pool *pool, const struct mem *mem, uint32_t max_blocks);
void aeg_graph_pool_fini(struct aeg_graph_pool *pool); /* all graphs end with it */

void aeg_graph_init(struct aeg_graph *graph, uint64_t now_us);
void aeg_graph_fini(struct aeg_graph_pool *pool, struct aeg_graph *graph);

/* A step arrived. from: the step whose prompt and answer it goes on from, or AEG_STEP_NONE. Folds
 * the oldest when too many are kept, and more of them when the pool is full; when there is none to
 * fold it is lost (counted), only part of the sums. Returns its number. O(1). */
uint32_t aeg_graph_open(struct aeg_graph_pool *pool,
                        struct aeg_graph *graph,
                        uint32_t from,
                        bool is_aside,
                        uint64_t now_us);
/* The same step once more: the client repeats it. What was known of its end is forgotten. Nothing
 * happens when it is folded. */
void aeg_graph_reopen(struct aeg_graph_pool *pool,
                      struct aeg_graph *graph,
                      uint32_t number,
                      uint64_t now_us);
/* It turned out to be beside the line. Nothing happens when it is folded. */
void aeg_graph_set_aside(struct aeg_graph_pool *pool, struct aeg_graph *graph, uint32_t number);
/* It ended; a second end replaces the first. Of a step that was folded while open the sums are
 * completed; with no such step nothing happens. */
void aeg_graph_close(struct aeg_graph_pool *pool,
                     struct aeg_graph *graph,
                     uint32_t number,
                     const struct aeg_step_end *end);
/* The tools that it calls, [tool_count]; replaces what was known. Names are cut at AEG_TOOL_BYTES;
 * an empty one is "other". Nothing happens when the step is folded. O(names). */
void aeg_graph_tools(struct aeg_graph_pool *pool,
                     struct aeg_graph *graph,
                     uint32_t number,
                     const struct str *tools,
                     uint32_t tool_count);

/* A kept step; false when it is folded, lost or not yet there. O(names). */
bool aeg_graph_step(const struct aeg_graph_pool *pool,
                    const struct aeg_graph *graph,
                    uint32_t number,
                    struct aeg_step_view *ret);

/* "open", "answer", "tools" ...; static storage. */
const char *aeg_end_text(enum aeg_end end);

#endif
