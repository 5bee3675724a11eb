/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/engine_state.h"

#include <math.h>

uint64_t sim_engine_iteration_us(const struct sim_engine *engine, const struct sim_batch *batch)
{
    double us = ceil(sim_profile_iteration_s(&engine->opts.profile, batch) * 1e6);
    return us < 1.0 ? 1 : (uint64_t)us;
}

void sim_engine_emit(struct sim_engine *engine, enum sim_event_kind kind, const struct request *req)
{
    ASSERT(engine->event_count < engine->event_cap);
    engine->events[engine->event_count++] = (struct sim_event){
        .kind = kind,
        .id = req->id,
        .owner = req->spec.owner,
        .token_idx = kind == SIM_EVENT_TOKEN ? req->generated_tokens - 1 : 0,
        .cached_tokens = req->cached_tokens,
    };
}

void sim_engine_settle_run(struct sim_engine *engine)
{
    uint64_t passed = engine->iterations - 1;
    if (passed == 0) {
        return;
    }
    LIST_FOR_EACH(link, &engine->running)
    {
        struct request *req = request_of(link);
        req->computed_tokens += (uint32_t)passed;
        req->generated_tokens += (uint32_t)passed;
    }
    engine->batch.decode_tokens += passed * engine->batch.decode_requests;
    engine->counters.generated_tokens += passed * engine->batch.decode_requests;
    engine->counters.iteration_count += passed;
    engine->counters.busy_us += engine->duration_us - engine->counted_us;
    engine->counted_us = engine->duration_us;
    engine->iterations = 1;
}

void sim_engine_drop_blocks(struct sim_engine *engine, struct request *req)
{
    sim_kv_release(engine->kv, req->blocks, req->block_count, req->spec.chain);
    req->block_count = 0;
    req->stored_blocks = 0;
}
