/* SPDX-License-Identifier: Apache-2.0 */
/* Which tokens an iteration computes, as vLLM's scheduler does: running requests first, decodes
 * before prefill chunks, all within one token budget; then waiting ones in arrival order while the
 * whole prompt of the first fits. */
#include "simulator/model/plan.h"

#include "simulator/model/engine_state.h"

static uint32_t blocks_for(const struct sim_engine *engine, uint32_t tokens)
{
    uint32_t size = engine->opts.block_tokens;
    return tokens / size + (tokens % size != 0);
}

/* Back to the head of the queue, without blocks. The queue stays in arrival order because the
 * latest arrival goes first. */
static void preempt(struct sim_engine *engine, struct request *req, uint32_t *budget)
{
    *budget += req->planned_tokens;
    req->planned_tokens = 0;
    sim_engine_emit(engine, SIM_EVENT_PREEMPTED, req);
    sim_engine_drop_blocks(engine, req);
    if (req->computed_tokens > req->lost_tokens) {
        req->lost_tokens = req->computed_tokens;
    }
    req->computed_tokens = 0;
    req->is_running = false;
    list_remove(&req->link);
    list_push_front(&engine->waiting, &req->link);
    engine->running_count--;
    engine->waiting_count++;
    engine->counters.preempted_count++;
}

/* Blocks for computed + tokens; preempts the latest arrivals for them. False when the request
 * itself had to go. */
static bool grow(struct sim_engine *engine, struct request *req, uint32_t tokens, uint32_t *budget)
{
    uint32_t want = blocks_for(engine, req->computed_tokens + tokens);
    uint32_t more = want > req->block_count ? want - req->block_count : 0;
    ASSERT(want <= req->block_cap);
    while (sim_kv_alloc(engine->kv, more, req->blocks + req->block_count) != ST_OK) {
        struct request *last = request_of(engine->running.prev);
        preempt(engine, last, budget);
        if (last == req) {
            return false;
        }
    }
    req->block_count += more;
    return true;
}

static bool is_decoding(const struct request *req)
{
    return req->generated_tokens > 0 && request_known(req) - req->computed_tokens == 1;
}

static void plan_running(struct sim_engine *engine, bool decodes, uint32_t *budget)
{
    struct list *link = engine->running.next;
    while (link != &engine->running && *budget > 0) {
        struct request *req = request_of(link);
        if (req->planned_tokens == 0 && is_decoding(req) == decodes) {
            uint32_t left = request_known(req) - req->computed_tokens;
            uint32_t tokens = left < *budget ? left : *budget;
            if (!grow(engine, req, tokens, budget)) {
                return; /* it was the last one */
            }
            req->planned_tokens = tokens;
            *budget -= tokens;
        }
        link = link->next;
    }
}

static bool is_refused_still(const struct sim_engine *engine, const struct request *req)
{
    const struct refusal *last = &engine->refusal;
    return last->id.v == req->id.v &&
           last->unused_count == sim_kv_counts(engine->kv).unused_count &&
           (last->missing_hash == 0 || sim_kv_match(engine->kv, &last->missing_hash, 1, NULL) == 0);
}

/* Blocks that a waiting request can take from the prefix cache; false when there is no room for the
 * rest of what it has to compute. */
static bool fits(struct sim_engine *engine, const struct request *req, uint32_t *ret_hit)
{
    uint32_t known = request_known(req);
    uint32_t most = 0;
    uint32_t hit = 0;
    if (is_refused_still(engine, req)) {
        return false;
    }
    if (engine->opts.has_prefix_cache) {
        /* The last token is always computed: its output is what the next one is sampled from. */
        most = (known - 1) / engine->opts.block_tokens;
        most = most < req->spec.block_hash_count ? most : req->spec.block_hash_count;
        hit = sim_kv_match(engine->kv, req->spec.block_hashes, most, NULL);
    }
    struct sim_kv_counts kv = sim_kv_counts(engine->kv);
    uint64_t room = (uint64_t)kv.free_blocks + kv.cached_blocks;
    uint64_t need = blocks_for(engine, known) - hit;
    if (engine->running_count > 0) {
        need += engine->opts.watermark_blocks;
    }
    if (need + hit > room) { /* close: how many of those it takes are room now? */
        uint32_t idle_hit = 0;
        (void)sim_kv_match(engine->kv, req->spec.block_hashes, hit, &idle_hit);
        room -= idle_hit;
    }
    if (need > room) {
        engine->refusal = (struct refusal){
            .id = req->id,
            .unused_count = kv.unused_count,
            .missing_hash = hit < most ? req->spec.block_hashes[hit] : 0,
        };
        return false;
    }
    *ret_hit = hit;
    return true;
}

/* Moves the first waiting request into the batch; false when it does not fit. */
static bool admit(struct sim_engine *engine, struct request *req, uint32_t *budget)
{
    uint32_t known = request_known(req);
    uint32_t hit = 0;
    if (!fits(engine, req, &hit)) {
        return false;
    }
    sim_kv_take(engine->kv, req->spec.block_hashes, hit, req->blocks);
    req->block_count = hit;
    req->stored_blocks = hit;
    req->computed_tokens = hit * engine->opts.block_tokens;
    if (engine->opts.keeps_all) {
        uint32_t kept =
            req->lost_tokens > req->spec.given_tokens ? req->lost_tokens : req->spec.given_tokens;
        kept = kept < known ? kept : known - 1;
        req->computed_tokens = kept > req->computed_tokens ? kept : req->computed_tokens;
    }
    if (!req->was_admitted) {
        req->was_admitted = true;
        req->cached_tokens = req->computed_tokens;
        engine->counters.query_tokens += known;
        engine->counters.hit_tokens += req->cached_tokens;
    }
    req->is_running = true;
    list_remove(&req->link);
    list_push_back(&engine->running, &req->link);
    engine->waiting_count--;
    engine->running_count++;
    uint32_t left = known - req->computed_tokens;
    uint32_t tokens = left < *budget ? left : *budget;
    bool has_room = grow(engine, req, tokens, budget);
    ASSERT(has_room);
    req->planned_tokens = tokens;
    *budget -= tokens;
    return true;
}

/* Describes the plan for the cost formula and counts it. */
static void sum_up(struct sim_engine *engine)
{
    engine->batch = (struct sim_batch){0};
    LIST_FOR_EACH(link, &engine->running)
    {
        const struct request *req = request_of(link);
        if (req->planned_tokens == 0) {
            continue;
        }
        if (is_decoding(req)) {
            engine->batch.decode_requests++;
            engine->batch.decode_tokens += req->computed_tokens;
            continue;
        }
        sim_batch_add_chunk(&engine->batch, req->planned_tokens, req->computed_tokens);
        engine->counters.computed_tokens += req->planned_tokens;
        if (req->lost_tokens > req->computed_tokens) {
            uint32_t lost = req->lost_tokens - req->computed_tokens;
            engine->counters.recomputed_tokens +=
                lost < req->planned_tokens ? lost : req->planned_tokens;
        }
    }
}

void sim_engine_plan(struct sim_engine *engine)
{
    uint32_t budget = engine->opts.profile.budget_tokens;
    uint64_t preempted_before = engine->counters.preempted_count;
    plan_running(engine, true, &budget);
    plan_running(engine, false, &budget);
    while (engine->counters.preempted_count == preempted_before && budget > 0 &&
           engine->running_count < engine->opts.profile.max_running &&
           !list_is_empty(&engine->waiting)) {
        if (!admit(engine, request_of(engine->waiting.next), &budget)) {
            break;
        }
    }
    sum_up(engine);
}
