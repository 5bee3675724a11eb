/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/engine_state.h"

#include <math.h>

uint32_t sim_engine_hit(const struct sim_engine *engine,
                        const uint64_t *hashes,
                        uint32_t n,
                        uint32_t *ret_match)
{
    *ret_match = sim_kv_match(engine->kv, hashes, n, NULL);
    return engine->opts.admission == SIM_ADMIT_STATES
               ? sim_kv_match_state(engine->kv, hashes, *ret_match)
               : *ret_match;
}

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

void sim_engine_place(struct sim_engine *engine,
                      const uint64_t *hashes,
                      const uint32_t *blocks,
                      uint32_t i)
{
    sim_kv_store(engine->kv, blocks[i], hashes[i], i == 0 ? SIM_BLOCK_NONE : blocks[i - 1]);
    if (engine->tiers != NULL) {
        sim_tiers_arrived(engine->tiers, hashes[i]);
    }
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
        if (req->planned_tokens > 0) {
            req->computed_tokens += (uint32_t)passed;
            req->generated_tokens += (uint32_t)passed;
        }
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
    if (req->is_loading) {
        req->is_loading = false;
        engine->loading_count--;
    }
}
