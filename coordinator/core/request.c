/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/request.h"

#include "aeg/graph.h"

#define BIT(name) (1u << (unsigned)COORD_REQUEST_##name)
static const unsigned state_next[] = {
#define X(name, text, next) next,
#include "coordinator/core/request_state.def"
#undef X
};
#undef BIT

void coord_requests_init(struct coord_requests *requests,
                         const struct mem *mem,
                         uint32_t max_requests)
{
    slab_init(&requests->slab, mem, sizeof(struct coord_request), max_requests);
    map_init(&requests->by_id, mem, max_requests);
}

void coord_requests_fini(struct coord_requests *requests)
{
    map_fini(&requests->by_id);
    slab_fini(&requests->slab);
}

enum status coord_requests_new(struct coord_requests *requests,
                               struct request_id id,
                               struct coord_request **ret)
{
    if (map_get(&requests->by_id, id.v) != NULL) {
        return ST_EXISTS;
    }
    if (requests->slab.used_nodes >= requests->slab.max_nodes) {
        return ST_FULL;
    }
    uint32_t idx = SLAB_NONE;
    struct coord_request *request = slab_alloc(&requests->slab, &idx);
    if (request == NULL) {
        return ST_NOMEM;
    }
    enum status st = map_put(&requests->by_id, id.v, idx);
    if (st != ST_OK) {
        slab_free(&requests->slab, idx);
        return st;
    }
    request->id = id;
    request->idx = idx;
    request->state = COORD_REQUEST_PLACING;
    request->step = AEG_STEP_NONE;
    request->from = AEG_STEP_NONE;
    *ret = request;
    return ST_OK;
}

void coord_requests_free(struct coord_requests *requests, struct coord_request *request)
{
    ASSERT(request->state == COORD_REQUEST_PLACING);
    (void)map_remove(&requests->by_id, request->id.v);
    slab_free(&requests->slab, request->idx);
}

struct coord_request *coord_requests_find(const struct coord_requests *requests,
                                          struct request_id id)
{
    const uint64_t *idx = map_get(&requests->by_id, id.v);
    return idx == NULL ? NULL : slab_at(&requests->slab, (uint32_t)*idx);
}

/* The one place where ->state changes: takes it off the old list, puts it on the new one, keeps the
 * counts. */
static void request_move(struct coord_request *request, enum coord_request_state next)
{
    ASSERT((state_next[request->state] & (1u << (unsigned)next)) != 0);
    struct coord_engine *engine = request->engine;
    if (request->state != COORD_REQUEST_PLACING) {
        list_remove(&request->link);
        *(request->state == COORD_REQUEST_QUEUED ? &engine->queued_count
                                                 : &engine->running_count) -= 1;
    }
    request->state = next;
    if (next == COORD_REQUEST_QUEUED) {
        list_push_back(&engine->queued, &request->link);
        engine->queued_count++;
    } else if (next != COORD_REQUEST_PLACING) {
        list_push_back(&engine->running, &request->link);
        engine->running_count++;
    }
}

static void uncharge(struct coord_request *request)
{
    request->engine->pending_bytes -= request->charged_bytes;
    request->charged_bytes = 0;
}

/* A half-open engine may be tried by somebody else. */
static void end_trial(struct coord_request *request)
{
    if (request->trial_epoch != 0 && request->trial_epoch == request->engine->epoch) {
        request->engine->has_trial = false;
    }
    request->trial_epoch = 0;
}

void coord_request_submit(struct coord_request *request,
                          struct coord_engine *engine,
                          uint32_t missed_bytes,
                          uint64_t now_us)
{
    request->engine = engine;
    request->attempt++;
    request->submitted_at_us = now_us;
    request->started_at_us = 0;
    request->answered_at_us = 0;
    request->charged_bytes = missed_bytes;
    engine->pending_bytes += missed_bytes;
    request->trial_epoch = 0;
    if (engine->state == COORD_ENGINE_HALF_OPEN) {
        engine->has_trial = true;
        request->trial_epoch = engine->epoch;
    }
    request_move(request, COORD_REQUEST_QUEUED);
}

void coord_request_move(struct coord_request *request, struct coord_engine *engine)
{
    ASSERT(request->state == COORD_REQUEST_QUEUED);
    uint32_t missed_bytes = request->charged_bytes;
    uncharge(request);
    end_trial(request);
    list_remove(&request->link);
    request->engine->queued_count--;
    request->engine = engine;
    request->charged_bytes = missed_bytes;
    engine->pending_bytes += missed_bytes;
    list_push_back(&engine->queued, &request->link);
    engine->queued_count++;
    request->is_moved = true;
}

void coord_request_start(struct coord_request *request, uint64_t now_us)
{
    request->started_at_us = now_us;
    request->backlog_bytes = request->engine->pending_bytes;
    request_move(request, COORD_REQUEST_RUNNING);
}

void coord_request_answer(struct coord_request *request, uint64_t now_us)
{
    request->answered_at_us = now_us;
    uncharge(request);
    request_move(request, COORD_REQUEST_ANSWERED);
}

void coord_request_leave(struct coord_request *request)
{
    uncharge(request);
    end_trial(request);
    request_move(request, COORD_REQUEST_PLACING);
    request->engine = NULL;
}

void coord_request_note_tried(struct coord_request *request, struct engine_id engine)
{
    if (request->tried_count < COORD_TRIED_MAX) {
        request->tried[request->tried_count++] = engine;
    }
}

bool coord_request_has_tried(const struct coord_request *request, struct engine_id engine)
{
    for (uint32_t i = 0; i < request->tried_count; i++) {
        if (request->tried[i].v == engine.v) {
            return true;
        }
    }
    return false;
}
