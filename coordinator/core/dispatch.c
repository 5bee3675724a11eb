/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/dispatch.h"

#include "coordinator/core/homes.h"
#include "coordinator/core/need.h"

enum {
    RETRY_AFTER_NO_ENGINE_S = 5,
    RETRY_AFTER_QUEUE_S = 5,
    RETRY_AFTER_LIMIT_S = 1,
    RETRY_AFTER_STARTING_S = 2,
    RETRY_AFTER_MAX_S = 30,
    US_PER_S = 1000000,
};

/* Seconds until somebody may be back. */
static uint32_t retry_after_healthy(const struct coord_core *core, uint64_t now_us)
{
    uint64_t least = RETRY_AFTER_MAX_S;
    for (uint32_t i = 0; i < core->fleet.count; i++) {
        const struct coord_engine *engine = core->fleet.engines[i];
        uint64_t wait = RETRY_AFTER_STARTING_S;
        if (engine->state == COORD_ENGINE_OPEN) {
            wait = engine->open_until_us > now_us ? (engine->open_until_us - now_us) / US_PER_S + 1
                                                  : 1;
        }
        least = wait < least ? wait : least;
    }
    return (uint32_t)least;
}

void coord_refuse(struct coord_core *core,
                  struct request_id req,
                  enum coord_refuse why,
                  uint64_t now_us)
{
    struct coord_effect *ef = coord_effect_add(core, COORD_EF_REFUSE);
    ef->u.refuse.req = req;
    ef->u.refuse.why = why;
    switch (why) {
    case COORD_REFUSE_NO_ENGINE:
        ef->u.refuse.retry_after_s = RETRY_AFTER_NO_ENGINE_S;
        break;
    case COORD_REFUSE_NO_HEALTHY:
        ef->u.refuse.retry_after_s = retry_after_healthy(core, now_us);
        break;
    case COORD_REFUSE_QUEUE_FULL:
    case COORD_REFUSE_QUEUE_TIMEOUT:
        ef->u.refuse.retry_after_s = RETRY_AFTER_QUEUE_S;
        break;
    case COORD_REFUSE_LIMIT:
        ef->u.refuse.retry_after_s = RETRY_AFTER_LIMIT_S;
        break;
    case COORD_REFUSE_NO_MODEL:
    case COORD_REFUSE_FAILED:
        break;
    }
    core->counters.steps_refused++;
}

void coord_settle(struct coord_core *core,
                  const struct coord_request *request,
                  const struct coord_step_done *done,
                  uint64_t now_us)
{
    struct coord_effect *ef = coord_effect_add(core, COORD_EF_SETTLED);
    ef->u.settled.req = request->id;
    ef->u.settled.engine = request->engine->id;
    ef->u.settled.attempt = request->attempt;
    ef->u.settled.usage = coord_usage_of(core, request, done, now_us);
}

void coord_withdraw(struct coord_core *core, const struct coord_request *request)
{
    struct coord_effect *ef = coord_effect_add(core, COORD_EF_WITHDRAW);
    ef->u.withdraw.req = request->id;
    ef->u.withdraw.engine = request->engine->id;
    ef->u.withdraw.attempt = request->attempt;
}

void coord_leave_engine(struct coord_core *core, struct coord_request *request, uint64_t now_us)
{
    struct coord_engine *engine = request->engine;
    coord_request_leave(request);
    (void)coord_fleet_reap(&core->fleet, engine, now_us);
}

void coord_close_receipt(struct coord_core *core,
                         const struct coord_request *request,
                         enum coord_result result,
                         uint64_t now_us)
{
    struct coord_receipt *receipt = coord_receipts_at(&core->receipts, request->receipt);
    if (receipt == NULL) {
        return;
    }
    receipt->result = result;
    receipt->total_us = now_us - request->arrived_at_us;
    if (request->started_at_us > 0) {
        receipt->queued_us = request->started_at_us - request->submitted_at_us;
    }
    if (request->answered_at_us > 0) {
        receipt->first_us = request->answered_at_us - request->started_at_us;
    }
}

void coord_forget(struct coord_core *core,
                  struct coord_session *session,
                  bool is_over,
                  uint64_t now_us)
{
    coord_story_end(&core->stories, session, is_over, now_us);
    coord_home_forget(&core->fleet, &core->sessions, session);
    core->counters.sessions_forgotten++;
}

void coord_finish(struct coord_core *core, struct coord_request *request, uint64_t now_us)
{
    struct coord_session *session = request->session;
    if (session != NULL) {
        ASSERT(session->in_flight > 0);
        if (--session->in_flight == 0) {
            coord_home_warm(&core->sessions, session, now_us);
            if (session->story != NULL && session->story->is_released) {
                coord_forget(core, session, true, now_us);
            }
        }
    }
    coord_models_unref(&core->models, request->model);
    coord_requests_free(&core->requests, request);
}

void coord_finish_refused(struct coord_core *core,
                          struct coord_request *request,
                          enum coord_refuse why,
                          uint64_t now_us)
{
    /* An engine's own error, held for a try elsewhere that nobody could make, is what it gets. */
    bool is_error = why == COORD_REFUSE_FAILED && request->last_fail == COORD_FAIL_STATUS;
    struct coord_receipt *receipt = coord_receipts_at(&core->receipts, request->receipt);
    if (receipt != NULL && is_error) {
        receipt->http_status = request->last_status;
    }
    coord_close_receipt(core, request, is_error ? COORD_RESULT_ENGINE_ERROR : COORD_RESULT_REFUSED,
                        now_us);
    coord_story_ended(&core->stories, request, is_error ? AEG_END_FAILED : AEG_END_REFUSED, NULL,
                      now_us);
    coord_refuse(core, request->id, why, now_us);
    if (why == COORD_REFUSE_FAILED) {
        struct coord_effect *ef = &core->effects.items[core->effects.count - 1];
        ef->u.refuse.last_fail = request->last_fail;
        ef->u.refuse.last_status = request->last_status;
    }
    coord_finish(core, request, now_us);
}

void coord_submit(struct coord_core *core,
                  struct coord_request *request,
                  const struct coord_placed *placed,
                  enum coord_branch branch,
                  uint64_t now_us)
{
    struct coord_receipt *receipt = coord_receipts_at(&core->receipts, request->receipt);
    if (receipt != NULL) {
        coord_placer_explain(&core->placer, placed, receipt);
        receipt->branch = branch;
        receipt->attempt = request->attempt + 1;
    }
    uint32_t missed = request->prompt_bytes - placed->reuse_bytes;
    coord_request_submit(request, placed->engine, missed, now_us);
    struct coord_effect *ef = coord_effect_add(core, COORD_EF_SUBMIT);
    ef->u.submit.req = request->id;
    ef->u.submit.engine = placed->engine->id;
    ef->u.submit.attempt = request->attempt;
    ef->u.submit.need = coord_need_of(request);
    ef->u.submit.session = request->label;
    ef->u.submit.receipt = receipt;
}
