/* SPDX-License-Identifier: Apache-2.0 */
/* One model step over HTTP: sends a prompt, reads the streamed answer, tries again where that is
 * allowed, and says how it went. THREAD: reactor. OWNERSHIP: embedded in its session's run; the
 * prompt must not change until it is over. */
#ifndef BENCH_REPLAY_STEP_H
#define BENCH_REPLAY_STEP_H

#include "bench/replay/stats.h"
#include "bench/replay/stream.h"
#include "common/base/rng.h"
#include "common/io/reactor/http_client.h"

enum { STEP_BODY_MAX = 65536 }; /* of an error answer, kept */

/* What all steps of a replay share. */
struct step_world {
    struct loop *loop;
    struct samples *gap_s; /* time between text events goes here */
    uint64_t *delta_count; /* text events so far */
    uint64_t *retry_count;
    struct rng *rng;     /* for back-off */
    uint64_t timeout_us; /* of a step, all tries together */
    uint32_t retries;
    const char *model;   /* JSON-escaped */
    const char *api_key; /* NULL = none */
    uint32_t tenants;    /* 0 = none */
    bool has_session_header;
    bool ignores_eos;
};

struct step;

/* The step is over; ok: the answer is in step->stream. Otherwise why and step->error. May start the
 * next one. */
typedef void (*step_done_fn)(struct step *step, bool is_ok, enum stats_error why);

/* What to ask. */
struct step_ask {
    struct http_endpoint *endpoint;
    struct str messages; /* JSON, without the brackets; borrowed until the end */
    const char *session; /* id for the header */
    uint32_t tenant;
    uint32_t output_tokens;
};

struct step {
    const struct step_world *world;
    step_done_fn done;
    struct step_ask ask;
    struct http_call *call;  /* NULL: waiting for a retry, or idle */
    struct loop_timer timer; /* time-out of the try, or the next try */
    struct buf head;
    struct buf body_start;
    struct buf error_body;
    struct stream stream;
    uint64_t started_at_us;  /* first try */
    uint64_t first_at_us;    /* first text, 0 = none yet */
    uint64_t last_at_us;     /* latest text */
    uint64_t retry_after_us; /* from the answer, 0 = none said */
    uint32_t tries;
    int status;
    bool is_waiting;                 /* the timer means the next try */
    char engine[STATS_ENGINE_BYTES]; /* x-saga-engine, "" = not said */
    char error[STATS_ERROR_BYTES];
};

/* world is borrowed for the step's life. */
void step_init(struct step *step, const struct step_world *world, step_done_fn done);
/* Ends a call in progress without a word. */
void step_fini(struct step *step);
/* Starts; done is never called from inside. ST_NOMEM, ST_FULL: not started. */
MUST_CHECK enum status step_start(struct step *step, const struct step_ask *ask);

#endif
