/* SPDX-License-Identifier: Apache-2.0 */
/* Agent sessions as recorded: lengths and waits of each model step, in the one schema of
 * data/README.md. THREAD: one owner. OWNERSHIP: everything belongs to the trace. LIMITS: below. */
#ifndef BENCH_REPLAY_TRACE_H
#define BENCH_REPLAY_TRACE_H

#include "bench/replay/lines.h"
#include "bench/replay/trace_row.h"
#include "common/base/arena.h"

enum {
    TRACE_SESSIONS_MAX = 1 << 20,
    TRACE_STEPS_MAX = 1 << 24,
    TRACE_REUSE_SLACK = 72, /* recorded reuse that misses the end of the prompt before by no more is
                               taken as whole: sources count in blocks of 64 tokens */
};

#define TRACE_NONE UINT32_MAX

struct trace_step {
    uint32_t in_tokens;    /* prompt */
    uint32_t reuse_tokens; /* of the prompt before: its first tokens that this prompt begins with */
    uint32_t out_tokens;
    const char *tools;        /* called at its end, joined by '+', "" = none; of the arena */
    uint64_t gap_us;          /* wait before the next step's request */
    bool has_gap;             /* recorded at all */
    bool is_gap_from_request; /* the wait counts from this step's request, else from its answer's
                                 end */
    bool is_tool;             /* opened by tool results, else by a user */
};

struct trace_session {
    const char *source;
    const char *id;
    const char *sys;     /* id of the shared system prompt, "" = none known */
    uint32_t sys_tokens; /* length of that prompt, the same for all sessions with this sys */
    uint32_t step_at;    /* into steps */
    uint32_t step_count;
    uint32_t parent;      /* session index, TRACE_NONE = a root */
    uint32_t spawn_step;  /* sub-agents: starts when this step of the parent (0..) has ended; the
                             parent's next step waits for its end */
    uint32_t child_first; /* list of sub-agents, TRACE_NONE = end */
    uint32_t sibling_next;
};

struct trace {
    struct arena arena;
    struct trace_session *sessions; /* [session_count], in the order of their first lines */
    uint32_t session_count;
    struct trace_step *steps; /* [step_count], grouped by session */
    uint32_t step_count;
    uint32_t root_count;
    uint64_t line_count;
    uint32_t orphan_count; /* sub-agents whose parent is not in the file: they are roots here */
};

/* Reads all lines. Blank lines are passed over. A line that is no JSON object of the schema, or
 * beyond a limit, fails the whole with ST_PROTO or ST_TOOBIG and its number in err; also what
 * lines_next returns. ST_INVAL: no step in it. ST_NOMEM. */
MUST_CHECK enum status
trace_load(struct trace *ret, const struct mem *mem, struct lines *lines, struct err *err);
/* lines_open + trace_load; err names the file. */
MUST_CHECK enum status
trace_load_file(struct trace *ret, const struct mem *mem, const char *path, struct err *err);
/* The same of what a person named: path NULL = the sample that is built in. */
MUST_CHECK enum status
trace_load_named(struct trace *ret, const struct mem *mem, const char *path, struct err *err);
void trace_fini(struct trace *trace);

static inline const struct trace_step *
trace_step_at(const struct trace *trace, uint32_t session, uint32_t step)
{
    return &trace->steps[trace->sessions[session].step_at + step];
}

#endif
