/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/steps.h"

#include "coordinator/core/dispatch.h"
#include "coordinator/core/homes.h"

enum { BACKLOG_MIN_BYTES = 4096 }; /* less says nothing about the speed of prefill */

#define STEP_ALPHA      0.1
#define BYTE_ALPHA      0.05
#define US_PER_BYTE_MIN 0.001
#define US_PER_BYTE_MAX 1000.0
#define DIED_CREDIT_US  10000000u

/* Places a step that has been on an engine before; false when nobody can take it. */
static bool place_again(struct coord_core *core,
                        struct coord_request *request,
                        enum coord_branch branch,
                        uint64_t now_us)
{
    struct coord_ask ask = {
        .request = request, .session = request->session, .may_settle = request->session != NULL};
    struct coord_placed placed;
    if (!coord_place(&core->placer, &core->fleet, &ask, &core->limits, &placed)) {
        return false;
    }
    coord_submit(core, request, &placed, branch, now_us);
    if (request->session != NULL) {
        bool is_home = placed.is_home;
        core->counters.home_hits += is_home ? 1 : 0;
        core->counters.home_moves += is_home ? 0 : 1;
    }
    return true;
}

/* The step, if it is on an engine and this is its current attempt. */
static struct coord_request *
find_attempt(const struct coord_core *core, struct request_id req, uint32_t attempt)
{
    struct coord_request *request = coord_requests_find(&core->requests, req);
    return request != NULL && request->attempt == attempt ? request : NULL;
}

/* The node began with an attempt before it was told that it is withdrawn: there it is over. */
static void end_withdrawn(struct coord_core *core,
                          const struct coord_request *request,
                          uint32_t attempt,
                          struct engine_id engine)
{
    if (request != NULL && attempt < request->attempt) {
        struct coord_effect *ef = coord_effect_add(core, COORD_EF_SETTLED);
        ef->u.settled.req = request->id;
        ef->u.settled.engine = engine;
        ef->u.settled.attempt = attempt;
    }
}

void coord_on_started(struct coord_core *core,
                      struct request_id req,
                      uint32_t attempt,
                      struct engine_id engine,
                      uint64_t now_us)
{
    struct coord_request *request = find_attempt(core, req, attempt);
    if (request == NULL) {
        end_withdrawn(core, coord_requests_find(&core->requests, req), attempt, engine);
        return;
    }
    if (request->state != COORD_REQUEST_QUEUED) {
        return;
    }
    if (engine.v != ENGINE_NONE.v && engine.v != request->engine->id.v) {
        struct coord_engine *other = coord_fleet_find(&core->fleet, engine);
        if (other != NULL) {
            coord_request_move(request, other);
        }
    }
    coord_request_start(request, now_us);
}

void coord_on_answered(struct coord_core *core,
                       struct request_id req,
                       uint32_t attempt,
                       uint64_t now_us)
{
    struct coord_request *request = find_attempt(core, req, attempt);
    if (request == NULL) {
        return;
    }
    coord_on_started(core, req, attempt, ENGINE_NONE, now_us); /* if that event was not sent */
    if (request->state == COORD_REQUEST_RUNNING) {
        coord_request_answer(request, now_us);
    }
}

/* How fast the engine is, from a step that ended well there. docs/formulas.md#F2 */
static void
learn_speed(struct coord_fleet *fleet, const struct coord_request *request, uint64_t now_us)
{
    struct coord_engine *engine = request->engine;
    if (request->started_at_us == 0) {
        return;
    }
    double step_us = (double)(now_us - request->started_at_us);
    coord_speed_learn(&engine->step_us, step_us, STEP_ALPHA);
    coord_speed_learn(&fleet->step_us, step_us, STEP_ALPHA);
    if (!request->is_stream || request->answered_at_us == 0 ||
        request->backlog_bytes < BACKLOG_MIN_BYTES) {
        return; /* without a stream the head comes with the end */
    }
    double sample =
        (double)(request->answered_at_us - request->started_at_us) / (double)request->backlog_bytes;
    sample = sample < US_PER_BYTE_MIN ? US_PER_BYTE_MIN : sample;
    sample = sample > US_PER_BYTE_MAX ? US_PER_BYTE_MAX : sample;
    coord_speed_learn(&engine->us_per_byte, sample, BYTE_ALPHA);
    coord_speed_learn(&fleet->us_per_byte, sample, BYTE_ALPHA);
}

static void note_usage(struct coord_core *core,
                       const struct coord_request *request,
                       const struct coord_step_done *done)
{
    if (!done->has_usage) {
        return;
    }
    core->counters.prompt_tokens += done->prompt_tokens;
    core->counters.cached_tokens += done->cached_tokens;
    core->counters.output_tokens += done->output_tokens;
    if (request->session != NULL) {
        request->session->prompt_tokens += done->prompt_tokens;
        request->session->cached_tokens += done->cached_tokens;
        request->session->output_tokens += done->output_tokens;
    }
    struct coord_receipt *receipt = coord_receipts_at(&core->receipts, request->receipt);
    if (receipt != NULL) {
        receipt->has_usage = true;
        receipt->prompt_tokens = done->prompt_tokens;
        receipt->cached_tokens = done->cached_tokens;
        receipt->output_tokens = done->output_tokens;
    }
}

/* What the end says about the engine, and about where the session's prompt lies. */
static enum coord_result judge(struct coord_core *core,
                               const struct coord_request *request,
                               enum coord_outcome outcome,
                               uint64_t now_us)
{
    struct coord_engine *engine = request->engine;
    switch (outcome) {
    case COORD_OUTCOME_OK:
        learn_speed(&core->fleet, request, now_us);
        coord_fleet_success(engine, request->submitted_at_us, now_us);
        if (request->session != NULL) {
            request->session->is_answered = true;
            (void)coord_home_learn(&core->fleet, request->session, engine->id,
                                   request->prompt_bytes,
                                   request->has_home_failed || request->is_moved);
        }
        return COORD_RESULT_OK;
    case COORD_OUTCOME_ENGINE_ERROR:
    case COORD_OUTCOME_CUT:
        coord_fleet_failure(&core->fleet, engine, &core->limits, request->submitted_at_us, now_us);
        return outcome == COORD_OUTCOME_CUT ? COORD_RESULT_CUT : COORD_RESULT_ENGINE_ERROR;
    case COORD_OUTCOME_CLIENT_ERROR:
        return COORD_RESULT_CLIENT_ERROR;
    case COORD_OUTCOME_GONE:
        return COORD_RESULT_GONE;
    }
    return COORD_RESULT_GONE;
}

/* What the end is called in the session's graph. */
static enum aeg_end end_of(const struct coord_step_done *done)
{
    static const enum aeg_end finishes[] = {
        [COORD_FINISH_NONE] = AEG_END_OTHER,    [COORD_FINISH_STOP] = AEG_END_ANSWER,
        [COORD_FINISH_LENGTH] = AEG_END_LENGTH, [COORD_FINISH_TOOLS] = AEG_END_TOOLS,
        [COORD_FINISH_OTHER] = AEG_END_OTHER,
    };
    switch (done->outcome) {
    case COORD_OUTCOME_OK:
        return done->tool_count > 0 ? AEG_END_TOOLS : finishes[done->finish];
    case COORD_OUTCOME_CLIENT_ERROR:
        return AEG_END_REFUSED;
    case COORD_OUTCOME_ENGINE_ERROR:
    case COORD_OUTCOME_CUT:
        return AEG_END_FAILED;
    case COORD_OUTCOME_GONE:
        return AEG_END_GONE;
    }
    return AEG_END_GONE;
}

/* The client left: the step is over wherever it was. */
static void end_gone(struct coord_core *core,
                     struct coord_request *request,
                     const struct coord_step_done *done,
                     uint64_t now_us)
{
    coord_close_receipt(core, request, COORD_RESULT_GONE, now_us);
    coord_story_ended(&core->stories, request, AEG_END_GONE, done, now_us);
    if (request->state == COORD_REQUEST_QUEUED) {
        coord_withdraw(core, request);
    }
    coord_settle(core, request, done, now_us);
    core->counters.steps_gone++;
    coord_leave_engine(core, request, now_us);
    coord_finish(core, request, now_us);
}

void coord_on_gone(struct coord_core *core, struct request_id req, uint64_t now_us)
{
    struct coord_request *request = coord_requests_find(&core->requests, req);
    if (request != NULL) {
        end_gone(core, request, NULL, now_us);
    }
}

void coord_on_done(struct coord_core *core, const struct coord_step_done *done, uint64_t now_us)
{
    struct coord_request *request = coord_requests_find(&core->requests, done->req);
    if (request == NULL) {
        return;
    }
    note_usage(core, request, done);
    if (done->outcome == COORD_OUTCOME_GONE) {
        end_gone(core, request, done, now_us);
        return;
    }
    enum coord_result result = judge(core, request, done->outcome, now_us);
    struct coord_receipt *receipt = coord_receipts_at(&core->receipts, request->receipt);
    if (receipt != NULL) {
        receipt->http_status = done->http_status;
    }
    coord_close_receipt(core, request, result, now_us);
    coord_story_ended(&core->stories, request, end_of(done), done, now_us);
    coord_settle(core, request, done, now_us);
    core->counters.steps_done++;
    coord_leave_engine(core, request, now_us);
    coord_finish(core, request, now_us);
}

/* --- failures --- */

/* A dying engine takes all its steps with it: so many of them may go elsewhere beside the budget.
 * docs/formulas.md#F4 */
static bool take_died_credit(struct coord_engine *engine, uint64_t now_us)
{
    if (now_us >= engine->died_until_us) {
        engine->died_until_us = now_us + DIED_CREDIT_US;
        engine->died_credit = engine->queued_count + engine->running_count;
    }
    if (engine->died_credit == 0) {
        return false;
    }
    engine->died_credit--;
    return true;
}

/* The step may be tried once more, elsewhere. Takes from the budget. */
static bool may_retry(struct coord_core *core,
                      const struct coord_request *request,
                      enum coord_fail why,
                      uint64_t now_us)
{
    if (request->is_retried) {
        return false;
    }
    bool has_leave = false;
    switch (why) {
    case COORD_FAIL_CONNECT:
        return true; /* never reached the engine: costs nobody anything */
    case COORD_FAIL_DIED:
        has_leave = core->limits.retry_executed;
        if (has_leave && take_died_credit(request->engine, now_us)) {
            return true;
        }
        break;
    case COORD_FAIL_STATUS:
        has_leave = true;
        break;
    case COORD_FAIL_TIMEOUT:    /* the engine may still be at it */
    case COORD_FAIL_OVERLOADED: /* we are short of something: another engine does not help */
        break;
    }
    if (!has_leave) {
        return false;
    }
    bool is_allowed = coord_budget_take(&core->budget, core->limits.retry_budget_ratio, now_us);
    core->counters.retries_denied_budget += is_allowed ? 0 : 1;
    return is_allowed;
}

static bool blames_engine(const struct coord_attempt_failed *failed)
{
    if (failed->why == COORD_FAIL_STATUS) {
        return failed->http_status >= 500;
    }
    return failed->why != COORD_FAIL_OVERLOADED;
}

static void note_failure(struct coord_core *core,
                         struct coord_request *request,
                         const struct coord_attempt_failed *failed)
{
    const struct coord_engine *engine = request->engine;
    request->last_fail = failed->why;
    request->last_status = failed->http_status;
    coord_request_note_tried(request, engine->id);
    if (request->session != NULL && request->session->home.v == engine->id.v) {
        request->has_home_failed = true;
    }
    struct coord_receipt *receipt = coord_receipts_at(&core->receipts, request->receipt);
    if (receipt != NULL && receipt->prior_count < COORD_RECEIPT_PRIOR) {
        struct coord_prior *prior = &receipt->prior[receipt->prior_count++];
        *prior = (struct coord_prior){.why = failed->why, .http_status = failed->http_status};
        (void)str_copy(prior->engine, sizeof(prior->engine), str_of(engine->name));
    }
}

void coord_on_failed(struct coord_core *core,
                     const struct coord_attempt_failed *failed,
                     uint64_t now_us)
{
    struct coord_request *request = find_attempt(core, failed->req, failed->attempt);
    if (request == NULL) {
        return;
    }
    note_failure(core, request, failed);
    bool is_again = may_retry(core, request, failed->why, now_us);
    if (blames_engine(failed)) {
        coord_fleet_failure(&core->fleet, request->engine, &core->limits, request->submitted_at_us,
                            now_us);
    }
    coord_settle(core, request, NULL, now_us);
    coord_leave_engine(core, request, now_us);
    if (is_again && place_again(core, request, COORD_BRANCH_RETRY, now_us)) {
        request->is_retried = true;
        core->counters.retries++;
        return;
    }
    coord_finish_refused(core, request, COORD_REFUSE_FAILED, now_us);
}

void coord_on_node_refused(struct coord_core *core,
                           struct request_id req,
                           uint32_t attempt,
                           bool is_timeout,
                           uint64_t now_us)
{
    struct coord_request *request = find_attempt(core, req, attempt);
    if (request == NULL) {
        return;
    }
    coord_request_note_tried(request, request->engine->id);
    bool is_again = !is_timeout && request->tried_count < COORD_TRIED_MAX;
    coord_leave_engine(core, request, now_us);
    if (!is_again || !place_again(core, request, COORD_BRANCH_REHOMED, now_us)) {
        coord_finish_refused(core, request,
                             is_timeout ? COORD_REFUSE_QUEUE_TIMEOUT : COORD_REFUSE_QUEUE_FULL,
                             now_us);
    }
}

/* --- re-homing --- */

/* Moves what waits for this engine; false when effects ran out of room. */
static bool rehome_engine(struct coord_core *core, struct coord_engine *engine, uint64_t now_us)
{
    struct list *link = engine->queued.next;
    uint32_t left = engine->queued_count;
    for (; left > 0; left--) {
        if (!coord_effects_has_room(core)) {
            return false;
        }
        struct coord_request *request = LIST_OWNER(link, struct coord_request, link);
        link = link->next;
        struct coord_ask ask = {.request = request,
                                .session = request->session,
                                .may_settle = request->session != NULL};
        struct coord_placed placed;
        if (coord_place(&core->placer, &core->fleet, &ask, &core->limits, &placed) &&
            placed.engine != engine) {
            coord_withdraw(core, request);
            coord_request_leave(request);
            coord_submit(core, request, &placed, COORD_BRANCH_REHOMED, now_us);
        }
    }
    engine->needs_rehome = false;
    return true;
}

void coord_rehome(struct coord_core *core, uint64_t now_us)
{
    if (!core->fleet.needs_rehome) {
        return;
    }
    bool is_over = true;
    for (uint32_t i = core->fleet.count; i-- > 0;) {
        struct coord_engine *engine = core->fleet.engines[i];
        if (engine->needs_rehome) {
            is_over = rehome_engine(core, engine, now_us) && is_over;
            (void)coord_fleet_reap(&core->fleet, engine, now_us);
        }
    }
    core->fleet.needs_rehome = !is_over;
}
