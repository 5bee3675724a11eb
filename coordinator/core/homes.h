/* SPDX-License-Identifier: Apache-2.0 */
/* Which engine is whose home, kept in step with each engine's count of live sessions.
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_HOMES_H
#define COORDINATOR_CORE_HOMES_H

#include "coordinator/core/fleet.h"
#include "coordinator/core/session.h"

/* Gives the session a new home that has computed bytes of its prompt. */
void coord_home_set(const struct coord_fleet *fleet,
                    struct coord_session *session,
                    struct engine_id home,
                    uint32_t bytes);

/* State changes, with the home's count: a step came in, the last one ended, long silence. */
void coord_home_busy(const struct coord_fleet *fleet,
                     struct coord_sessions *sessions,
                     struct coord_session *session,
                     uint64_t now_us);
void coord_home_warm(struct coord_sessions *sessions,
                     struct coord_session *session,
                     uint64_t now_us);
void coord_home_cold(const struct coord_fleet *fleet,
                     struct coord_sessions *sessions,
                     struct coord_session *session,
                     uint64_t now_us);

/* Forgets the session and its place in the counts; its model reference goes too. */
void coord_home_forget(const struct coord_fleet *fleet,
                       struct coord_sessions *sessions,
                       struct coord_session *session);

/* A step of the session ended well on engine: learns what that one holds now. home_failed: an
 * earlier attempt of this step on its home failed. A spill moves the home only when it keeps
 * happening. True when the home moved. */
bool coord_home_learn(const struct coord_fleet *fleet,
                      struct coord_session *session,
                      struct engine_id engine,
                      uint32_t prompt_bytes,
                      bool home_failed);

/* Counts the engine's live sessions anew: it came back under an id that sessions still name.
 * O(sessions). */
void coord_home_recount(const struct coord_sessions *sessions, struct coord_engine *engine);

#endif
