/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/homes.h"

enum { SPILLS_TO_MOVE = 3 };

static void count(const struct coord_fleet *fleet, struct engine_id home, bool is_in)
{
    struct coord_engine *engine = coord_fleet_find(fleet, home);
    if (engine != NULL) {
        engine->sessions += is_in ? 1 : UINT32_MAX; /* adding UINT32_MAX takes one away */
    }
}

void coord_home_set(const struct coord_fleet *fleet,
                    struct coord_session *session,
                    struct engine_id home,
                    uint32_t bytes)
{
    if (!coord_session_is_cold(session)) {
        count(fleet, session->home, false);
        count(fleet, home, true);
    }
    session->home = home;
    session->home_bytes = bytes;
    session->alt = ENGINE_NONE;
    session->alt_bytes = 0;
    session->alt_streak = 0;
}

void coord_home_busy(const struct coord_fleet *fleet,
                     struct coord_sessions *sessions,
                     struct coord_session *session,
                     uint64_t now_us)
{
    if (coord_session_is_cold(session)) {
        count(fleet, session->home, true);
    }
    coord_session_move(sessions, session, COORD_SESSION_BUSY, now_us);
}

void coord_home_warm(struct coord_sessions *sessions,
                     struct coord_session *session,
                     uint64_t now_us)
{
    coord_session_move(sessions, session,
                       session->steps <= 1 ? COORD_SESSION_ONCE : COORD_SESSION_WARM, now_us);
}

void coord_home_cold(const struct coord_fleet *fleet,
                     struct coord_sessions *sessions,
                     struct coord_session *session,
                     uint64_t now_us)
{
    count(fleet, session->home, false);
    bool is_once = session->state == COORD_SESSION_ONCE;
    coord_session_move(sessions, session, is_once ? COORD_SESSION_ONCE_COLD : COORD_SESSION_COLD,
                       now_us);
}

void coord_home_forget(const struct coord_fleet *fleet,
                       struct coord_sessions *sessions,
                       struct coord_session *session)
{
    if (!coord_session_is_cold(session)) {
        count(fleet, session->home, false);
    }
    coord_models_unref(fleet->models, session->model);
    coord_sessions_forget(sessions, session);
}

bool coord_home_learn(const struct coord_fleet *fleet,
                      struct coord_session *session,
                      struct engine_id engine,
                      uint32_t prompt_bytes,
                      bool home_failed)
{
    if (engine.v == session->home.v) {
        session->home_bytes = prompt_bytes;
        session->alt_streak = 0;
        return false;
    }
    session->alt_streak = session->alt.v == engine.v ? session->alt_streak + 1 : 1;
    session->alt = engine;
    session->alt_bytes = prompt_bytes;
    const struct coord_engine *home = coord_fleet_find(fleet, session->home);
    bool is_down = home == NULL || !coord_engine_is_open_for(home, true);
    if (!home_failed && !is_down && session->alt_streak < SPILLS_TO_MOVE) {
        return false;
    }
    coord_home_set(fleet, session, engine, prompt_bytes);
    return true;
}

void coord_home_recount(const struct coord_sessions *sessions, struct coord_engine *engine)
{
    static const enum coord_session_state live[] = {COORD_SESSION_BUSY, COORD_SESSION_WARM,
                                                    COORD_SESSION_ONCE};
    engine->sessions = 0;
    for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++) {
        LIST_FOR_EACH(link, &sessions->lists[live[i]])
        {
            const struct coord_session *session = LIST_OWNER(link, struct coord_session, link);
            engine->sessions += session->home.v == engine->id.v ? 1 : 0;
        }
    }
}
