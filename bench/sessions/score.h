/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the session that each request was put into with the task it came from.
 * PURE. THREAD: one owner. LIMITS: SCORE_SOURCES_MAX; labels as many as requests. */
#ifndef BENCH_SESSIONS_SCORE_H
#define BENCH_SESSIONS_SCORE_H

#include "bench/sessions/shape.h"

enum { SCORE_SOURCES_MAX = 16, SCORE_MATCHES_MAX = 16, SCORE_LABELS_MAX = 1 << 22 };

/* One task: a session of the trace, a sub-agent, or an auxiliary call. */
struct score_task {
    uint32_t idx; /* of its round */
    uint32_t source;
    uint64_t label; /* of its newest request; 0 = none yet */
    bool is_aux;
    bool is_twin;   /* begins exactly as another one */
    bool is_near;   /* begins as another one but for a few blocks */
    bool is_broken; /* split, or joined with another */
    bool has_cut;   /* compactions or clears in it */
    uint32_t steps;
};

struct score_request {
    struct str label;
    struct str parent; /* label of the session it was said to be a child of, "" = none */
    const char *match; /* how it was found */
    enum shape_link link;
    bool is_retry;
    bool is_again;   /* a retry after a complete answer */
    uint64_t gap_us; /* since the end of the task's request before */
};

struct score_match {
    const char *name;
    uint64_t right; /* as it should be */
    uint64_t wrong; /* put into another task's session */
    uint64_t split; /* taken for a new one though its task went on */
};

struct score_source {
    const char *name;
    uint64_t tasks, intact;
    uint64_t uncut, uncut_intact; /* tasks without compaction or clear */
    uint64_t links, kept;         /* whole and rewind */
};

struct score {
    struct map owner;  /* label -> index of its first task + 1, of this round */
    struct map latest; /* label -> index of the task of its newest request + 1 */
    uint64_t links[SHAPE_LINKS];
    uint64_t kept[SHAPE_LINKS];    /* same session as before */
    uint64_t linked[SHAPE_LINKS];  /* another one, known as its child */
    uint64_t joined, joined_right; /* requests put into a known session; of them the task's own */
    uint64_t retries, retries_kept;
    uint64_t agains, agains_kept;
    uint64_t late, late_kept; /* of links: after more than the idle time of sessions */
    uint64_t twins, twins_apart;
    uint64_t nears, nears_apart;
    uint64_t aux, aux_apart;
    uint64_t subs, subs_intact;
    struct score_match matches[SCORE_MATCHES_MAX];
    struct score_source sources[SCORE_SOURCES_MAX];
    uint32_t match_count, source_count;
    uint64_t idle_us;
};

void score_init(struct score *score, const struct mem *mem, uint64_t idle_us);
void score_fini(struct score *score);

/* Row of this source. */
uint32_t score_source(struct score *score, const char *name);

/* A new round: the labels of the one before mean nothing any more. */
void score_round(struct score *score, const struct mem *mem);

/* tasks: of this round, by index. ST_OK, ST_NOMEM. */
MUST_CHECK enum status score_request(struct score *score,
                                     struct score_task *const *tasks,
                                     struct score_task *task,
                                     const struct score_request *request);

/* Counts a task that is over. */
void score_task_end(struct score *score, const struct score_task *task, bool is_sub);

#endif
