/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded sessions as the laboratory plays them: which ones, cut to what the engine can hold,
 * their waits; and a run's sessions and arrivals drawn from them. PURE. THREAD: one owner while it
 * is made, any after. OWNERSHIP: texts are the trace's. */
#ifndef BENCH_LAB_WORKLOAD_H
#define BENCH_LAB_WORKLOAD_H

#include "bench/replay/trace.h"
#include "common/base/arena.h"
#include "simulator/cluster/cluster.h"

/* swe: agentcgroup, tbench-miniswe, lmcache-miniswe. claude-code: weka-cc. mix: three sessions of
 * the first for one of the second. chat: chat.h. any: whatever is in the trace, each session as
 * likely as another. */
enum workload_kind {
    WORKLOAD_SWE,
    WORKLOAD_CLAUDE_CODE,
    WORKLOAD_MIX,
    WORKLOAD_CHAT,
    WORKLOAD_ANY
};
enum { WORKLOAD_KIND_COUNT = WORKLOAD_ANY + 1 };

/* Halves by a hash of the recorded root session. */
enum workload_split { SPLIT_ALL, SPLIT_TRAIN, SPLIT_TEST };
enum { SPLIT_COUNT = SPLIT_TEST + 1 };

extern const char *const workload_names[WORKLOAD_KIND_COUNT];
extern const char *const split_names[SPLIT_COUNT];

/* Longest wait for a person that is kept. */
#define WORKLOAD_HUMAN_MAX_US UINT64_C(600000000)
/* Share of Claude Code sessions in the mix. */
#define WORKLOAD_MIX_CLAUDE 0.25

/* A recorded root and all its sub-agents: sessions[first] is the root. */
struct workload_tree {
    uint32_t first;
    uint32_t count;
    bool is_claude;
};

struct workload {
    struct arena arena;
    enum workload_kind kind;
    struct lab_session *sessions; /* [session_count], a tree's one behind the other */
    struct workload_tree *trees;  /* [tree_count], SWE first */
    uint32_t session_count;
    uint32_t tree_count;
    uint32_t swe_count; /* of trees; none in chat */
    uint32_t cut_count; /* sessions cut for length */
};

struct workload_opts {
    enum workload_kind kind;
    enum workload_split split;
    struct str only;                   /* sources, between commas; empty = all */
    struct str leave_out;              /* likewise */
    uint32_t kv_tokens;                /* least of the engines': sessions are cut to what fits */
    const struct sim_profile *profile; /* of the engines */
};

/* trace outlives the workload. ST_INVAL with err: it has no such session, or no such source.
 * ST_NOMEM. */
MUST_CHECK enum status workload_make(struct workload *ret,
                                     const struct mem *mem,
                                     const struct trace *trace,
                                     const struct workload_opts *opts,
                                     struct err *err);
void workload_fini(struct workload *workload);

struct arrivals_times;
struct scenario;
struct scenario_part;

/* What a run is drawn with. */
struct draw_opts {
    double rate_per_s; /* root sessions, the mean over the hours */
    double burst_cv;   /* of the time between two arrivals: 1 = Poisson, else Gamma */
    double hours;      /* during which sessions arrive */
    uint64_t seed;
    const struct arrivals_times *times; /* NULL = drawn by burst_cv */
    const struct scenario *scenario;    /* load over time and tenants; NULL = none */
    const struct scenario_part *parts;  /* [scenario->tenant_count] */
};

/* A run's sessions, with replacement, and when they come. */
struct draw {
    const struct mem *mem;
    struct lab_session *sessions; /* [session_count] */
    struct lab_arrival *arrivals; /* [arrival_count] by time */
    uint32_t session_count;
    uint32_t session_cap;
    uint32_t arrival_count;
    uint32_t arrival_cap;
};

/* ST_NOMEM, ST_TOOBIG (more than DRAW_SESSIONS_MAX). At least one session comes. */
MUST_CHECK enum status draw_make(struct draw *ret,
                                 const struct mem *mem,
                                 const struct workload *workload,
                                 const struct draw_opts *opts);
void draw_fini(struct draw *draw);

enum { DRAW_SESSIONS_MAX = 1 << 22 };

#endif
