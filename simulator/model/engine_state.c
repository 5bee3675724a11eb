/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/engine_state.h"

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

void sim_engine_drop_blocks(struct sim_engine *engine, struct request *req)
{
    sim_kv_release(engine->kv, req->blocks, req->block_count);
    req->block_count = 0;
    req->stored_blocks = 0;
}
