/* SPDX-License-Identifier: Apache-2.0 */
/* Steps in progress and where each one is. Every step is on exactly one list of one engine, or
 * being placed.
 * PURE. THREAD: core. LIMITS: max_requests. */
#ifndef COORDINATOR_CORE_REQUEST_H
#define COORDINATOR_CORE_REQUEST_H

#include "coordinator/core/fleet.h"
#include "coordinator/core/session.h"

enum coord_request_state {
#define X(name, text, next) COORD_REQUEST_##name,
#include "coordinator/core/request_state.def"
#undef X
};

enum { COORD_TRIED_MAX = 8 };

struct coord_request {
    struct list link; /* engine->queued or engine->running */
    struct request_id id;
    uint32_t idx; /* in the slab */
    enum coord_request_state state;
    struct coord_engine *engine;   /* NULL while PLACING */
    struct coord_session *session; /* NULL = none is kept for it */
    uint64_t key;                  /* of the session, for placement */
    uint64_t tenant;               /* hash of its name */
    uint64_t pool;                 /* of the model's, 0 = any model will do */
    uint64_t receipt;              /* number of its receipt, 0 = none */
    uint64_t arrived_at_us;
    uint64_t submitted_at_us; /* this attempt */
    uint64_t started_at_us;
    uint64_t answered_at_us;
    uint64_t backlog_bytes; /* engine's pending bytes when it was started, its own included */
    uint32_t model;         /* referenced; COORD_MODEL_NONE = any will do */
    uint32_t attempt;       /* 1 = first */
    uint32_t prompt_bytes;
    uint32_t match_bytes;   /* of the prompt, sent before by its session (or that one's parent) */
    uint32_t charged_bytes; /* what it added to engine->pending_bytes */
    struct engine_id tried[COORD_TRIED_MAX]; /* engines that failed or refused it */
    uint32_t tried_count;
    uint32_t trial_epoch; /* engine->epoch when it was sent as a half-open trial, 0 = it is none */
    bool is_retried;      /* run again after a failure once already */
    bool has_home_failed; /* an attempt on its session's home did */
    bool is_moved;        /* its node gave it to another engine than it was placed on */
    bool is_stream;
    bool is_repeat;        /* its client sends a step again */
    bool is_learnt;        /* same, and that one was answered */
    bool is_aside;         /* beside its session's line of steps: title, summary, guard */
    bool begins_line;      /* what its session had before was beside it */
    bool is_final;         /* its client says that no other follows */
    uint32_t step;         /* in its session's graph; AEG_STEP_NONE = in none */
    uint32_t from;         /* step that it goes on from, likewise */
    uint32_t reply_tokens; /* of the answer before it, when its prompt holds that */
    enum coord_fail last_fail;
    uint16_t last_status;
    char label[COORD_LABEL_BYTES]; /* of the session, for x-saga-session */
};

struct coord_requests {
    struct slab slab;
    struct map by_id;
};

void coord_requests_init(struct coord_requests *requests,
                         const struct mem *mem,
                         uint32_t max_requests);
void coord_requests_fini(struct coord_requests *requests);

/* A zeroed one in state PLACING. ST_OK, ST_NOMEM, ST_FULL, ST_EXISTS (an id in use). */
MUST_CHECK enum status coord_requests_new(struct coord_requests *requests,
                                          struct request_id id,
                                          struct coord_request **ret);

/* Forgets one that is PLACING. */
void coord_requests_free(struct coord_requests *requests, struct coord_request *request);

struct coord_request *coord_requests_find(const struct coord_requests *requests,
                                          struct request_id id);

/* PLACING -> QUEUED on that engine, as the next attempt; missed_bytes of its prompt will have to be
 * computed there. */
void coord_request_submit(struct coord_request *request,
                          struct coord_engine *engine,
                          uint32_t missed_bytes,
                          uint64_t now_us);
/* QUEUED: its node gives it to that engine instead. */
void coord_request_move(struct coord_request *request, struct coord_engine *engine);
/* QUEUED -> RUNNING. */
void coord_request_start(struct coord_request *request, uint64_t now_us);
/* RUNNING -> ANSWERED: the prompt is computed. */
void coord_request_answer(struct coord_request *request, uint64_t now_us);
/* Any -> PLACING: leaves its engine, whose counts are corrected. */
void coord_request_leave(struct coord_request *request);

void coord_request_note_tried(struct coord_request *request, struct engine_id engine);
bool coord_request_has_tried(const struct coord_request *request, struct engine_id engine);

#endif
