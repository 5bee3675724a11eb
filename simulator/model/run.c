/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: iterations in which the same requests get a token each and no block changes hands differ
 * only in their context, so that planning the first one plans them all. Whoever waits was refused
 * for want of blocks or of a place in the batch, and neither comes back within a run. */
#include "simulator/model/engine.h"
#include "simulator/model/engine_state.h"
#include "simulator/model/plan.h"

/* Iterations from the planned one to the first that ends a request or fills a block. */
static uint64_t run_most(const struct sim_engine *engine, uint64_t preempted_before)
{
    uint64_t most = UINT64_MAX;
    if (engine->batch.decode_requests + engine->loading_count != engine->running_count ||
        engine->counters.preempted_count != preempted_before) {
        return 1; /* prefills, or a place for those that wait in the next iteration */
    }
    LIST_FOR_EACH(link, &engine->running)
    {
        const struct request *req = request_of(link);
        if (req->is_loading) {
            continue;
        }
        uint64_t room = (uint64_t)req->block_count * engine->opts.block_tokens;
        uint64_t in_block = room - req->computed_tokens;
        uint64_t to_end = req->spec.output_tokens - req->generated_tokens;
        if (req->stored_blocks < request_full_blocks(engine, req)) {
            return 1; /* given tokens of opts.keeps_all, stored when the iteration ends */
        }
        most = in_block < most ? in_block : most;
        most = to_end < most ? to_end : most;
    }
    return most;
}

/* Sets the run to its first iterations, at most `most`, until their end reaches limit_us. */
static void run_set(struct sim_engine *engine, uint64_t most, uint64_t limit_us)
{
    struct sim_batch batch = engine->batch;
    engine->iterations = 1;
    engine->duration_us = engine->counted_us;
    while (engine->iterations < most && engine->duration_us < limit_us) {
        batch.decode_tokens += batch.decode_requests;
        engine->duration_us += sim_engine_iteration_us(engine, &batch);
        engine->iterations++;
    }
}

/* What the time brings about must happen between the iterations between which it does in single
 * ones. */
static uint64_t run_limit(const struct sim_engine *engine, uint64_t max_us)
{
    uint64_t at_us = sim_engine_next_at_us(engine);
    uint64_t left_us = at_us == UINT64_MAX ? at_us : at_us - engine->begun_at_us;
    return left_us < max_us ? left_us : max_us;
}

enum status
sim_engine_begin_run(struct sim_engine *engine, uint64_t max_us, uint64_t *ret_duration_us)
{
    uint64_t preempted_before = engine->counters.preempted_count;
    enum status st = sim_engine_begin(engine, ret_duration_us);
    if (st != ST_OK) {
        return st;
    }
    if (engine->is_pause) {
        return ST_OK;
    }
    engine->is_merging = true;
    run_set(engine, run_most(engine, preempted_before), run_limit(engine, max_us));
    *ret_duration_us = engine->duration_us;
    return ST_OK;
}

uint64_t sim_engine_cut_run(struct sim_engine *engine, uint64_t elapsed_us)
{
    ASSERT(engine->is_iterating);
    if (engine->is_pause && elapsed_us < engine->duration_us) {
        engine->duration_us = elapsed_us;
    } else if (engine->iterations > 1) {
        run_set(engine, engine->iterations, elapsed_us);
        sim_engine_settle_run(engine);
    }
    return engine->duration_us;
}
