/* SPDX-License-Identifier: Apache-2.0 */
/* Which task a step belongs to: by the id its client sent, else by the prompt chain it continues.
 * A chain continues the session whose last request ended where the new chain passes
 * (docs/formulas.md#F1).
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_MATCH_H
#define COORDINATOR_CORE_MATCH_H

#include "coordinator/core/session.h"

/* A session that was used no longer ago may be gone on with from an earlier point. */
#define COORD_BACK_US UINT64_C(900000000)

enum coord_match_kind {
    COORD_MATCH_NONE,   /* nothing to go by: no id, no chain */
    COORD_MATCH_ID,     /* known id */
    COORD_MATCH_CHAIN,  /* continues a known session, or repeats its last step */
    COORD_MATCH_NEW_ID, /* first step of an id */
    COORD_MATCH_NEW,    /* first step of an unknown chain */
    COORD_MATCH_TWIN,   /* same chain as a step in flight or an answered first one: began alike */
    COORD_MATCH_FORK,   /* continues a point that its session has left: a new task beside it */
    COORD_MATCH_BACK,   /* goes on from a point that its session has left, which nobody else has */
    COORD_MATCH_REOPEN, /* same, from the session's first request or its mark: end replaced */
};

struct coord_match {
    enum coord_match_kind kind;
    double confidence;             /* that this is right, [0,1]; docs/identity.md */
    struct coord_session *session; /* ID, CHAIN, BACK, REOPEN */
    struct coord_session *parent;  /* FORK, TWIN, NEW_ID: whose engine has part of it, or NULL */
    uint64_t key;                  /* key of the session, existing or to be born */
    struct coord_ends ends;        /* of the new chain; meaningless without one */
    uint32_t bytes;                /* prompt bytes that the session (or parent) has sent before */
};

/* Says whose step this is; changes nothing. model is the step's index in coord_models. now_us
 * decides only whether a session that is gone back to was used lately. O(chain_count). */
void coord_match_step(const struct coord_sessions *sessions,
                      const struct coord_step_arrived *arrived,
                      uint32_t model,
                      uint64_t now_us,
                      struct coord_match *ret);

#endif
