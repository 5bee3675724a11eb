/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks we know, each with its engine and with the ends of its requests, by which its next step
 * is recognised (match.h).
 * PURE. THREAD: core. LIMITS: max_sessions; per session the ends of the last COORD_TAILS requests
 * and of the first one, and a mark inside that. */
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
    COORD_TAIL_MARK, /* of a boundary inside the first request */
    COORD_TAIL_SLOTS,
    COORD_LABEL_BYTES = 65,
};

#define COORD_TAIL_NONE UINT32_MAX /* no reference */

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
    uint32_t step; /* number of that request in the session's graph (story.h) */
    bool is_used;
};

/* What is remembered of a prompt. */
struct coord_ends {
    uint64_t tail_key;
    uint64_t mark_key; /* of a boundary late in it */
    uint32_t segments; /* 0 = a fork, without a mark */
    bool has_mark;
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
    uint32_t newest;           /* slot of the last request's tail */
    uint32_t opening_segments; /* of its first request; 0 for a fork: that one holds replies */
    bool is_answered;          /* its last request ended well */
    enum coord_session_state state;
    struct coord_story *story; /* NULL: no memory for one */
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

void coord_sessions_init(struct coord_sessions *sessions,
                         const struct mem *mem,
                         uint32_t max_sessions,
                         uint64_t seed);
void coord_sessions_fini(struct coord_sessions *sessions);

static inline struct coord_session *coord_sessions_at(const struct coord_sessions *sessions,
                                                      uint32_t idx)
{
    return slab_at(&sessions->slab, idx);
}

static inline struct coord_tail *coord_sessions_tail(const struct coord_sessions *sessions,
                                                     uint32_t ref)
{
    return &coord_sessions_at(sessions, ref / COORD_TAIL_SLOTS)->tails[ref % COORD_TAIL_SLOTS];
}

/* The client named its session. */
static inline bool coord_step_has_id(const struct coord_step_arrived *arrived)
{
    return arrived->session.len > 0 && arrived->session.len <= COORD_SESSION_MAX;
}

/* Key of the session with this id that the step's tenant and model have, known or not. */
uint64_t coord_sessions_id_key(const struct coord_sessions *sessions,
                               const struct coord_step_arrived *arrived,
                               struct str id);

/* That session, NULL when it is not known. */
struct coord_session *coord_sessions_find_id(const struct coord_sessions *sessions,
                                             const struct coord_step_arrived *arrived,
                                             struct str id,
                                             uint32_t model);

/* A new busy session with no step yet, under the step's id where it has one; key is that of the id
 * then. ST_OK, ST_NOMEM, ST_FULL (forget one first). */
MUST_CHECK enum status coord_sessions_birth(struct coord_sessions *sessions,
                                            const struct coord_step_arrived *arrived,
                                            uint64_t key,
                                            uint32_t model,
                                            struct coord_session **ret);

/* Remembers the end of the session's newest request; of its first one the mark too. ST_OK or
 * ST_NOMEM (nothing changed). */
MUST_CHECK enum status coord_sessions_advance(struct coord_sessions *sessions,
                                              struct coord_session *session,
                                              const struct coord_ends *ends);

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

/* Silent for so long that it counts nowhere. */
static inline bool coord_session_is_cold(const struct coord_session *session)
{
    return session->state == COORD_SESSION_COLD || session->state == COORD_SESSION_ONCE_COLD;
}

const char *coord_session_state_text(enum coord_session_state state);

#endif
