/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of recent decisions behind receipt.h.
 * PURE. THREAD: core. LIMITS: max_receipts; the oldest is overwritten. */
#ifndef COORDINATOR_CORE_RECEIPTS_H
#define COORDINATOR_CORE_RECEIPTS_H

#include "common/base/ids.h"
#include "common/base/map.h"
#include "common/base/slab.h"
#include "coordinator/core/event.h"
#include "coordinator/core/receipt.h"

/* Why this engine. */
enum coord_branch {
    COORD_BRANCH_FREE,    /* no session is known: least cost */
    COORD_BRANCH_NEW,     /* first step of a session: least cost */
    COORD_BRANCH_FORK,    /* same, and the parent's engine has part of the prompt */
    COORD_BRANCH_HOME,    /* its session's engine */
    COORD_BRANCH_SPILL,   /* the home's queue is too long, just for now */
    COORD_BRANCH_MOVED,   /* the home cannot take it: the session has a new one */
    COORD_BRANCH_RETRY,   /* the attempt before failed */
    COORD_BRANCH_REHOMED, /* it was waiting for an engine that went away or would not have it */
    COORD_BRANCH_REFUSED, /* nobody could take it */
};

enum coord_result {
    COORD_RESULT_PENDING,
    COORD_RESULT_OK,
    COORD_RESULT_CLIENT_ERROR,
    COORD_RESULT_ENGINE_ERROR,
    COORD_RESULT_CUT,
    COORD_RESULT_GONE,
    COORD_RESULT_REFUSED,
};

enum {
    COORD_RECEIPT_CANDIDATES = 8,
    COORD_RECEIPT_ENGINE_BYTES = 32,
    COORD_RECEIPT_PRIOR = 3,
    COORD_RECEIPT_TEXT_BYTES = 65,
    COORD_RECEIPT_SCHEMA_BYTES = 40
};

struct coord_candidate {
    char engine[COORD_RECEIPT_ENGINE_BYTES]; /* cut when longer */
    double cost_us;
    uint32_t reuse_bytes;
    uint32_t queued;
    uint32_t running;
};

struct coord_prior {
    char engine[COORD_RECEIPT_ENGINE_BYTES];
    enum coord_fail why;
    uint16_t http_status;
};

struct coord_receipt {
    uint64_t number; /* 1 = first ever; 0 = empty */
    uint64_t arrived_at_us;
    char name[COORD_NAME_MAX + 1];
    char session[COORD_RECEIPT_TEXT_BYTES];
    char model[COORD_RECEIPT_TEXT_BYTES];    /* cut when longer */
    char engine[COORD_RECEIPT_ENGINE_BYTES]; /* chosen; "" = none */
    enum coord_branch branch;
    const char *match;                       /* how the session was found; static text */
    double confidence;                       /* that this is right, [0,1] */
    char schema[COORD_RECEIPT_SCHEMA_BYTES]; /* how the client said whose it is; "" = it did not */
    char parent[COORD_RECEIPT_TEXT_BYTES];   /* label of the session that started this one */
    char agent[COORD_RECEIPT_TEXT_BYTES];    /* branch of the client's session; cut when longer */
    uint32_t step;  /* number in its session's graph, from 0; UINT32_MAX = in none */
    bool is_repeat; /* the client had sent this step before */
    bool is_aside;  /* beside the session's line of steps */
    uint32_t attempt;
    uint32_t prompt_bytes;
    uint32_t reuse_bytes; /* predicted */
    double wait_us;       /* predicted cost of the chosen one */
    uint32_t total;       /* candidates looked at; 0 = the home was kept without looking */
    uint32_t count;       /* of them shown */
    struct coord_candidate candidates[COORD_RECEIPT_CANDIDATES]; /* [count] least cost first */
    uint32_t prior_count;
    struct coord_prior prior[COORD_RECEIPT_PRIOR]; /* [prior_count] failed attempts */
    enum coord_result result;
    uint16_t http_status;
    bool has_usage;
    uint32_t prompt_tokens;
    uint32_t cached_tokens;
    uint32_t output_tokens;
    uint64_t queued_us; /* last attempt: submitted to started */
    uint64_t first_us;  /* started to the engine's head */
    uint64_t total_us;  /* arrived to over */
};

struct coord_receipts {
    struct slab slab;
    struct map by_name; /* hash of the request's name -> number of its latest receipt */
    uint32_t max;
    uint64_t last; /* number of the newest */
    uint64_t lost; /* not kept for want of memory */
};

void coord_receipts_init(struct coord_receipts *receipts,
                         const struct mem *mem,
                         uint32_t max_receipts);
void coord_receipts_fini(struct coord_receipts *receipts);

/* A fresh one, numbered, in place of the oldest; NULL when none are kept or memory is short
 * (counted). */
struct coord_receipt *coord_receipts_add(struct coord_receipts *receipts, struct str name);

/* The one with this number while it is in the ring, else NULL. */
struct coord_receipt *coord_receipts_at(const struct coord_receipts *receipts, uint64_t number);

/* The latest one of a request's name, else NULL. */
const struct coord_receipt *coord_receipts_find(const struct coord_receipts *receipts,
                                                struct str name);

struct buf;
/* The whole of it as a JSON object. ST_OK, ST_FULL, ST_NOMEM. */
MUST_CHECK enum status coord_receipt_write(const struct coord_receipt *receipt, struct buf *out);

#endif
