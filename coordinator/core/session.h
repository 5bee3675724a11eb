/* SPDX-License-Identifier: Apache-2.0 */
/* Which task a step belongs to: by the id its client sent, else by the prompt chain it continues.
 * A chain continues the session whose last request ended where the new chain passes
 * (docs/formulas.md#F1).
 * PURE. THREAD: core. LIMITS: max_sessions; per session the ends of the last COORD_TAILS requests
 * and of the first one. */
#ifndef COORDINATOR_CORE_SESSION_H
#define COORDINATOR_CORE_SESSION_H

#include "common/base/ids.h"
#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/slab.h"
#include "coordinator/core/event.h"

enum {
    COORD_TAILS = 8,
    COORD_TAIL_OPENING =
        COORD_TAILS, /* place of the first request's end, once the ring has passed it */
    COORD_TAIL_SLOTS,
    COORD_LABEL_BYTES = 65,
};

/* A session that was used no longer ago may be gone on with from an earlier point. */
#define COORD_BACK_US UINT64_C(900000000)

enum coord_session_state {
#define X(name, text, next) COORD_SESSION_##name,
#include "coordinator/core/session_state.def"
#undef X
};

enum {
    COORD_SESSION_STATES = 0
#define X(name, text, next) +1
#include "coordinator/core/session_state.def"
#undef X
};

/* Where a request of the session ended. */
struct coord_tail {
    uint64_t key;  /* of that boundary; with an id: the chain hash itself */
    uint32_t next; /* same key, as a reference: session index * COORD_TAIL_SLOTS + slot */
    uint32_t prev;
    bool is_used;
};

struct coord_session {
    struct list link;    /* in the list of its state */
    uint64_t key;        /* its name for placement and labels */
    char *text;          /* tenant NUL id; NULL = inferred from chains */
    uint32_t text_bytes; /* of the allocation */
    uint32_t tenant_len;
    uint64_t id_key; /* in sessions->by_id, with an id */
    uint64_t born_at_us;
    uint64_t used_at_us;
    uint64_t prompt_tokens; /* from usage */
    uint64_t cached_tokens;
    uint64_t output_tokens;
    struct engine_id home; /* ENGINE_NONE until placed */
    struct engine_id alt;  /* where it was last sent while its home was too busy */
    uint32_t home_bytes;   /* prompt bytes its home has computed */
    uint32_t alt_bytes;
    uint32_t alt_streak; /* steps in a row that ended well there */
    uint32_t model;      /* referenced in coord_models */
    uint32_t idx;        /* in the slab */
    uint32_t generation; /* of the slab place */
    uint32_t in_flight;
    uint32_t steps;
    uint32_t newest;  /* slot of the last request's tail */
    bool is_answered; /* its last request ended well */
    bool
        is_repeated; /* one came again after its answer: maybe from another task that began alike */
    enum coord_session_state state;
    struct coord_tail tails[COORD_TAIL_SLOTS];
};

struct coord_sessions {
    const struct mem *mem;
    struct slab slab;
    struct map by_id;   /* hash of tenant, model, id -> slab index */
    struct map by_tail; /* tail key -> reference of the first tail */
    struct list lists[COORD_SESSION_STATES];
    uint32_t counts[COORD_SESSION_STATES];
    uint64_t seed;
    uint64_t births; /* numbers twins and forks */
};

enum coord_match_kind {
    COORD_MATCH_NONE,   /* nothing to go by: no id, no chain */
    COORD_MATCH_ID,     /* known id */
    COORD_MATCH_CHAIN,  /* continues a known session, or repeats its last step */
    COORD_MATCH_NEW_ID, /* first step of an id */
    COORD_MATCH_NEW,    /* first step of an unknown chain */
    COORD_MATCH_TWIN,   /* same chain as a step still in flight: another task that began alike */
    COORD_MATCH_FORK,   /* continues a point that its session has left: a new task beside it */
    COORD_MATCH_BACK,   /* goes on from a point that its session has left, which nobody else has */
    COORD_MATCH_REOPEN, /* same, from the session's first request: its prompt was compacted */
};

struct coord_match {
    enum coord_match_kind kind;
    double confidence;             /* that this is right, [0,1]; docs/identity.md */
    struct coord_session *session; /* ID, CHAIN, BACK, REOPEN */
    struct coord_session *parent;  /* FORK, NEW_ID: the session it branched off, or NULL */
    uint64_t key;                  /* key of the session, existing or to be born */
    uint64_t tail_key;             /* of the new chain's end; meaningless without a chain */
    uint32_t bytes;                /* prompt bytes that the session (or parent) has sent before */
};

void coord_sessions_init(struct coord_sessions *sessions,
                         const struct mem *mem,
                         uint32_t max_sessions,
                         uint64_t seed);
void coord_sessions_fini(struct coord_sessions *sessions);

/* Key of the session with this id that the step's tenant and model have, known or not. */
uint64_t coord_sessions_id_key(const struct coord_sessions *sessions,
                               const struct coord_step_arrived *arrived,
                               struct str id);

/* Says whose step this is; changes nothing. model is the step's index in coord_models. now_us
 * decides only whether a session that is gone back to was used lately. O(chain_count). */
void coord_sessions_match(const struct coord_sessions *sessions,
                          const struct coord_step_arrived *arrived,
                          uint32_t model,
                          uint64_t now_us,
                          struct coord_match *ret);

/* A new busy session for a match without one, with no step yet. ST_OK, ST_NOMEM, ST_FULL (forget
 * one first). */
MUST_CHECK enum status coord_sessions_birth(struct coord_sessions *sessions,
                                            const struct coord_step_arrived *arrived,
                                            const struct coord_match *match,
                                            uint32_t model,
                                            struct coord_session **ret);

/* Remembers the end of the session's newest request. ST_OK or ST_NOMEM (nothing changed). */
MUST_CHECK enum status coord_sessions_advance(struct coord_sessions *sessions,
                                              struct coord_session *session,
                                              uint64_t tail_key);

/* Forgets a session that has nothing in flight; the caller has dropped its model reference and
 * engine counts. */
void coord_sessions_forget(struct coord_sessions *sessions, struct coord_session *session);

/* Moves it to the end of the list of the new state and notes the use. */
void coord_session_move(struct coord_sessions *sessions,
                        struct coord_session *session,
                        enum coord_session_state next,
                        uint64_t now_us);

/* Least recently used session of that state, NULL when none. */
struct coord_session *coord_sessions_first(const struct coord_sessions *sessions,
                                           enum coord_session_state state);

/* The one to forget when room is needed; NULL when all are busy. */
struct coord_session *coord_sessions_oldest(const struct coord_sessions *sessions);

static inline struct str coord_session_id_text(const struct coord_session *session)
{
    if (session->text == NULL) {
        return (struct str){NULL, 0};
    }
    size_t skip = (size_t)session->tenant_len + 1;
    return (struct str){session->text + skip, session->text_bytes - skip};
}

/* What clients see of it: the id itself where that is short and harmless, else a hash ("s-" and 16
 * hex digits). */
void coord_session_label(struct str id, uint64_t key, char label[static COORD_LABEL_BYTES]);

const char *coord_session_state_text(enum coord_session_state state);

#endif
