/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/arrive.h"

#include "common/base/hash.h"
#include "coordinator/core/dispatch.h"
#include "coordinator/core/homes.h"
#include "coordinator/core/match.h"

static const char *const match_texts[] = {
    [COORD_MATCH_NONE] = "none",     [COORD_MATCH_ID] = "id",     [COORD_MATCH_CHAIN] = "chain",
    [COORD_MATCH_NEW_ID] = "new_id", [COORD_MATCH_NEW] = "new",   [COORD_MATCH_TWIN] = "twin",
    [COORD_MATCH_FORK] = "fork",     [COORD_MATCH_BACK] = "back", [COORD_MATCH_REOPEN] = "reopen",
};

static enum coord_branch branch_of(const struct coord_session *session,
                                   const struct coord_session *parent,
                                   const struct coord_placed *placed)
{
    if (placed->is_home) {
        return COORD_BRANCH_HOME;
    }
    if (session == NULL) {
        return COORD_BRANCH_FREE;
    }
    if (placed->home_can) {
        return COORD_BRANCH_SPILL;
    }
    if (session->home.v != ENGINE_NONE.v) {
        return COORD_BRANCH_MOVED;
    }
    return parent != NULL ? COORD_BRANCH_FORK : COORD_BRANCH_NEW;
}

/* Why nobody can ever take this one, or false with its model named (one reference more, to be given
 * back). */
static enum status admit(struct coord_core *core,
                         const struct coord_step_arrived *arrived,
                         uint32_t *ret_model,
                         enum coord_refuse *ret_why)
{
    *ret_model = COORD_MODEL_NONE;
    if (core->fleet.live_count == 0) {
        *ret_why = COORD_REFUSE_NO_ENGINE;
        return ST_NOTFOUND;
    }
    if (core->requests.slab.used_nodes >= core->requests.slab.max_nodes) {
        core->counters.requests_full++;
        *ret_why = COORD_REFUSE_LIMIT;
        return ST_NOTFOUND;
    }
    if (arrived->model.len == 0) {
        return ST_OK; /* any engine will do */
    }
    *ret_why = COORD_REFUSE_NO_MODEL;
    if (arrived->model.len > COORD_MODEL_MAX) {
        return ST_NOTFOUND;
    }
    uint32_t known = coord_models_find(&core->models, arrived->model);
    bool is_served =
        known != COORD_MODEL_NONE && coord_models_at(&core->models, known)->servers > 0;
    if (!is_served && core->fleet.silent_count == 0) {
        return ST_NOTFOUND;
    }
    enum status st = coord_models_take(&core->models, arrived->model, ret_model);
    if (st == ST_FULL) {
        *ret_why = COORD_REFUSE_LIMIT;
        return ST_NOTFOUND;
    }
    return st;
}

/* A session to keep for this step; NULL with ST_OK when there is none or no room. */
static enum status keep_session(struct coord_core *core,
                                const struct coord_step_arrived *arrived,
                                struct coord_match *match,
                                struct coord_request *request,
                                uint64_t now_us)
{
    bool is_kept = match->kind != COORD_MATCH_NONE && arrived->route != COORD_ROUTE_COUNT_TOKENS;
    request->session = is_kept ? match->session : NULL;
    if (!is_kept || match->session != NULL) {
        return ST_OK;
    }
    if (core->sessions.slab.used_nodes >= core->sessions.slab.max_nodes) {
        struct coord_session *oldest = coord_sessions_oldest(&core->sessions);
        core->counters.sessions_full++;
        if (oldest == NULL) {
            return ST_OK;
        }
        if (oldest == match->parent) {
            match->parent = NULL;
        }
        coord_forget(core, oldest, false, now_us);
    }
    enum status st = coord_sessions_birth(&core->sessions, arrived, match->key, request->model,
                                          &request->session);
    if (st == ST_OK) {
        coord_models_ref(&core->models, request->model);
    }
    return st;
}

static void count_match(struct coord_core *core,
                        const struct coord_match *match,
                        const struct coord_session *kept)
{
    struct coord_counters *counters = &core->counters;
    counters->session_by_id += match->kind == COORD_MATCH_ID ? 1 : 0;
    counters->session_by_chain += match->session != NULL && match->kind != COORD_MATCH_ID ? 1 : 0;
    if (match->session == NULL) {
        counters->session_new++;
        counters->sessions_born += kept != NULL ? 1 : 0;
        counters->sessions_forked += kept != NULL && match->kind == COORD_MATCH_FORK ? 1 : 0;
    }
}

static uint64_t open_receipt(struct coord_core *core,
                             const struct coord_step_arrived *arrived,
                             const char *label,
                             const struct coord_match *match,
                             uint64_t now_us)
{
    struct coord_receipt *receipt = coord_receipts_add(&core->receipts, arrived->name);
    if (receipt == NULL) {
        return 0;
    }
    receipt->arrived_at_us = now_us;
    receipt->match = match_texts[match->kind];
    receipt->confidence = match->confidence;
    receipt->prompt_bytes = arrived->prompt_bytes;
    receipt->branch = COORD_BRANCH_REFUSED;
    receipt->step = AEG_STEP_NONE;
    (void)str_copy(receipt->session, sizeof(receipt->session), str_of(label));
    (void)str_copy(receipt->schema, sizeof(receipt->schema), arrived->schema);
    (void)str_copy(receipt->agent, sizeof(receipt->agent), arrived->branch);
    if (arrived->parent.len > 0) {
        coord_session_label(arrived->parent,
                            coord_sessions_id_key(&core->sessions, arrived, arrived->parent),
                            receipt->parent);
    } else if (match->parent != NULL) {
        coord_session_label(coord_session_id_text(match->parent), match->parent->key,
                            receipt->parent);
    }
    (void)str_copy(receipt->model, sizeof(receipt->model), arrived->model);
    return receipt->number;
}

/* Which step of its session it is. */
static void note_step(struct coord_core *core, const struct coord_request *request)
{
    struct coord_receipt *receipt = coord_receipts_at(&core->receipts, request->receipt);
    if (receipt != NULL) {
        receipt->step = request->step;
        receipt->is_repeat = request->is_repeat;
        receipt->is_aside = request->is_aside;
    }
}

static void refuse_arrival(struct coord_core *core,
                           const struct coord_step_arrived *arrived,
                           enum coord_refuse why,
                           uint64_t now_us)
{
    static const struct coord_match nobody = {.kind = COORD_MATCH_NONE};
    struct coord_receipt *receipt =
        coord_receipts_at(&core->receipts, open_receipt(core, arrived, "", &nobody, now_us));
    if (receipt != NULL) {
        receipt->result = COORD_RESULT_REFUSED;
    }
    core->counters.steps_arrived++;
    coord_refuse(core, arrived->req, why, now_us);
}

static void request_fill(struct coord_request *request,
                         const struct coord_step_arrived *arrived,
                         const struct coord_match *match,
                         uint64_t now_us)
{
    request->key = match->key;
    request->tenant = hash_str(arrived->tenant, 0);
    request->pool = arrived->model.len > 0 ? hash_str(arrived->model, 0) : 0;
    request->arrived_at_us = now_us;
    request->prompt_bytes = arrived->prompt_bytes;
    request->match_bytes =
        match->bytes < arrived->prompt_bytes ? match->bytes : arrived->prompt_bytes;
    request->is_stream = arrived->is_stream;
    coord_session_label(arrived->session, match->key, request->label);
}

/* All that can fail: the session and the memory of where it is now. */
static enum status settle_session(struct coord_core *core,
                                  const struct coord_step_arrived *arrived,
                                  struct coord_match *match,
                                  struct coord_request *request,
                                  uint64_t now_us)
{
    enum status st = keep_session(core, arrived, match, request, now_us);
    struct coord_session *session = request->session;
    if (st != ST_OK || session == NULL) {
        request->session = NULL;
        return st;
    }
    uint32_t count = arrived->chain_count;
    uint64_t scope = count > 0 ? match->ends.tail_key ^ arrived->chain[count - 1] : 0;
    coord_story_look(&core->stories, session, arrived, scope, request);
    if (count > 0) {
        st = coord_sessions_advance(&core->sessions, session, &match->ends);
    }
    if (st != ST_OK && match->session == NULL) {
        coord_home_forget(&core->fleet, &core->sessions, session);
    }
    if (st != ST_OK) {
        request->session = NULL;
    } else if (match->session == NULL) {
        bool is_child = match->kind == COORD_MATCH_FORK || match->kind == COORD_MATCH_NEW_ID;
        coord_story_begin(&core->stories, session, arrived, is_child ? match->parent : NULL,
                          now_us);
    }
    return st;
}

/* Nothing can fail any more: the step is counted, its session is busy, its engine has it. */
static void commit(struct coord_core *core,
                   const struct coord_step_arrived *arrived,
                   const struct coord_match *match,
                   struct coord_request *request,
                   const struct coord_placed *placed,
                   uint64_t now_us)
{
    struct coord_session *session = request->session;
    enum coord_branch branch = branch_of(session, match->parent, placed);
    core->counters.steps_arrived++;
    coord_budget_note_step(&core->budget, now_us);
    count_match(core, match, session);
    request->receipt = open_receipt(core, arrived, request->label, match, now_us);
    if (session != NULL) {
        session->in_flight++;
        session->steps += request->is_repeat ? 0 : 1;
        session->is_answered = false;
        session->born_at_us = match->session == NULL ? now_us : session->born_at_us;
        coord_home_busy(&core->fleet, &core->sessions, session, now_us);
        bool had_home = session->home.v != ENGINE_NONE.v;
        core->counters.home_hits += placed->is_home ? 1 : 0;
        core->counters.home_moves += had_home && !placed->is_home ? 1 : 0;
        if (!placed->home_can) {
            coord_home_set(&core->fleet, session, placed->engine->id, 0);
        }
        coord_story_arrived(&core->stories, request, arrived, now_us);
        note_step(core, request);
    }
    coord_submit(core, request, placed, branch, now_us);
}

static enum status arrive(struct coord_core *core,
                          const struct coord_step_arrived *arrived,
                          uint32_t model,
                          uint64_t now_us)
{
    struct coord_request *request = NULL;
    enum status st = coord_requests_new(&core->requests, arrived->req, &request);
    if (st != ST_OK) {
        coord_models_unref(&core->models, model);
        return st == ST_EXISTS ? ST_OK : st; /* the same arrival twice: the first one counts */
    }
    request->model = model;
    struct coord_match match;
    coord_match_step(&core->sessions, arrived, model, now_us, &match);
    request_fill(request, arrived, &match, now_us);
    bool is_computed = arrived->route != COORD_ROUTE_COUNT_TOKENS;
    bool may_settle = match.kind != COORD_MATCH_NONE && is_computed;
    struct coord_ask ask = {.request = request,
                            .arrived = is_computed ? arrived : NULL,
                            .session = match.session,
                            .parent = match.parent,
                            .may_settle = may_settle};
    struct coord_placed placed;
    bool is_placed = coord_place(&core->placer, &core->fleet, &ask, &core->limits, &placed);
    if (is_placed) {
        st = settle_session(core, arrived, &match, request, now_us);
    }
    if (st != ST_OK || !is_placed) {
        coord_models_unref(&core->models, model);
        coord_requests_free(&core->requests, request);
        if (st == ST_OK) {
            refuse_arrival(core, arrived, COORD_REFUSE_NO_HEALTHY, now_us);
        }
        return st;
    }
    commit(core, arrived, &match, request, &placed, now_us);
    return ST_OK;
}

enum status
coord_on_arrived(struct coord_core *core, const struct coord_step_arrived *arrived, uint64_t now_us)
{
    uint32_t model = COORD_MODEL_NONE;
    enum coord_refuse why = COORD_REFUSE_LIMIT;
    enum status st = admit(core, arrived, &model, &why);
    if (st == ST_NOTFOUND) {
        refuse_arrival(core, arrived, why, now_us);
        return ST_OK;
    }
    return st == ST_OK ? arrive(core, arrived, model, now_us) : st;
}
