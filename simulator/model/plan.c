/* SPDX-License-Identifier: Apache-2.0 */
/* Which tokens an iteration computes, as vLLM's scheduler does: running requests first, decodes
 * before prefill chunks, all within one token budget; then waiting ones by priority and arrival
 * while the whole prompt of the first fits. */
#include "simulator/model/plan.h"

#include "simulator/model/fetch.h"

static bool break_pin(struct sim_engine *engine)
{
    return engine->pins != NULL && sim_pins_break(engine->pins);
}

static uint32_t blocks_for(const struct sim_engine *engine, uint32_t tokens)
{
    uint32_t size = engine->opts.block_tokens;
    return tokens / size + (tokens % size != 0);
}

/* Back to the queue, without blocks: to its head where priorities are equal. */
static void preempt(struct sim_engine *engine, struct request *req, uint32_t *budget)
{
    *budget += req->planned_tokens;
    req->planned_tokens = 0;
    if (req->is_loading) {
        req->computed_tokens = req->stored_blocks * engine->opts.block_tokens;
    }
    sim_engine_emit(engine, SIM_EVENT_PREEMPTED, req);
    sim_engine_drop_blocks(engine, req);
    if (req->computed_tokens > req->lost_tokens) {
        req->lost_tokens = req->computed_tokens;
    }
    req->computed_tokens = 0;
    req->is_running = false;
    list_remove(&req->link);
    struct list *before = &engine->waiting;
    while (before->next != &engine->waiting && request_is_before(request_of(before->next), req)) {
        before = before->next;
    }
    list_push_front(before, &req->link);
    engine->running_count--;
    engine->waiting_count++;
    engine->counters.preempted_count++;
}

/* The running request with the worst priority, of equals the latest arrival. */
static struct request *last_to_stay(const struct sim_engine *engine)
{
    struct request *last = request_of(engine->running.prev);
    for (struct list *link = last->link.prev; link != &engine->running; link = link->prev) {
        struct request *req = request_of(link);
        last = request_is_before(last, req) ? req : last;
    }
    return last;
}

/* Blocks for computed + tokens; gives up prefetches for them, then preempts others, or breaks pins
 * where there are none. False when the request itself had to go. */
static bool grow(struct sim_engine *engine, struct request *req, uint32_t tokens, uint32_t *budget)
{
    uint32_t want = blocks_for(engine, req->computed_tokens + tokens);
    uint32_t more = want > req->block_count ? want - req->block_count : 0;
    ASSERT(want <= req->block_cap);
    while (sim_kv_alloc(engine->kv, more, req->blocks + req->block_count) != ST_OK) {
        if (sim_fetch_cancel(engine) || (engine->running_count == 1 && break_pin(engine))) {
            continue;
        }
        struct request *last = last_to_stay(engine);
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
        if (req->planned_tokens == 0 && !req->is_loading && is_decoding(req) == decodes) {
            uint32_t left = request_known(req) - req->computed_tokens;
            uint32_t tokens = left < *budget ? left : *budget;
            if (!grow(engine, req, tokens, budget)) {
                link = engine->running.next; /* who comes next may have gone too */
                continue;
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
static bool fits(struct sim_engine *engine, struct request *req, uint32_t *ret_hit)
{
    uint32_t known = request_known(req);
    if (is_refused_still(engine, req)) {
        return false;
    }
    uint32_t most = spec_most_hits(engine, &req->spec, known);
    uint32_t hit = sim_engine_hit(engine, req->spec.block_hashes, most, &req->branch_blocks);
    struct sim_kv_counts kv = sim_kv_counts(engine->kv);
    uint64_t room = (uint64_t)kv.free_blocks + kv.cached_blocks;
    uint64_t need =
        blocks_for(engine, known) - hit - sim_fetch_coming(engine, req, hit, most - hit);
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

/* Asks the tiers for the blocks that follow those that were hit, most of them at most. */
static void load_rest(struct sim_engine *engine, struct request *req, uint32_t most)
{
    uint64_t came_at_us = 0;
    uint32_t coming = sim_fetch_take_over(engine, req, most, &came_at_us);
    const uint64_t *rest = req->spec.block_hashes + req->block_count;
    uint32_t more = sim_tiers_match(engine->tiers, rest, most - coming);
    if (coming + more == 0) {
        return;
    }
    req->loaded_at_us = more > 0 ? sim_tiers_load(engine->tiers, rest, more) : came_at_us;
    req->loaded_at_us = came_at_us > req->loaded_at_us ? came_at_us : req->loaded_at_us;
    req->is_loading = true;
    req->computed_tokens += (coming + more) * engine->opts.block_tokens;
    engine->loading_count++;
    engine->counters.load_count++;
}

/* Takes the blocks that were hit, and asks the tiers for those that follow. */
static void take_hits(struct sim_engine *engine, struct request *req, uint32_t hit)
{
    uint32_t known = request_known(req);
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
    if (engine->tiers != NULL) {
        load_rest(engine, req, spec_most_hits(engine, &req->spec, known) - hit);
    }
}

/* Moves the first waiting request into the batch; false when it does not fit. */
static bool admit(struct sim_engine *engine, struct request *req, uint32_t *budget)
{
    uint32_t known = request_known(req);
    uint32_t hit = 0;
    if (!fits(engine, req, &hit)) {
        return false;
    }
    take_hits(engine, req, hit);
    if (!req->was_admitted) {
        req->was_admitted = true;
        req->cached_tokens = req->computed_tokens;
        engine->counters.query_tokens += known;
        engine->counters.hit_tokens += req->cached_tokens;
    }
    if (engine->pins != NULL) {
        sim_pins_used(engine->pins, req->spec.chain);
    }
    req->is_running = true;
    list_remove(&req->link);
    list_push_back(&engine->running, &req->link);
    engine->waiting_count--;
    engine->running_count++;
    uint32_t left = known - req->computed_tokens;
    uint32_t tokens = left < *budget ? left : *budget;
    tokens = req->is_loading ? 0 : tokens;
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

/* Those whose blocks have come from the tiers go on. */
static void end_loads(struct sim_engine *engine)
{
    LIST_FOR_EACH(link, &engine->running)
    {
        struct request *req = request_of(link);
        if (req->is_loading && req->loaded_at_us <= engine->now_us) {
            for (uint32_t i = req->stored_blocks; i < req->block_count; i++) {
                sim_engine_place(engine, req->spec.block_hashes, req->blocks, i);
            }
            req->stored_blocks = req->block_count;
            req->is_loading = false;
            engine->loading_count--;
        }
    }
}

void sim_engine_plan(struct sim_engine *engine)
{
    uint32_t budget = engine->opts.profile.budget_tokens;
    if (!list_is_empty(&engine->fetches)) {
        sim_fetch_end_due(engine);
    }
    if (engine->loading_count > 0) {
        end_loads(engine);
    }
    uint64_t preempted_before = engine->counters.preempted_count;
    plan_running(engine, true, &budget);
    plan_running(engine, false, &budget);
    while (engine->counters.preempted_count == preempted_before && budget > 0 &&
           engine->running_count < engine->opts.profile.max_running &&
           !list_is_empty(&engine->waiting)) {
        if (!admit(engine, request_of(engine->waiting.next), &budget) &&
            (engine->running_count > 0 || !(sim_fetch_cancel(engine) || break_pin(engine)))) {
            break;
        }
    }
    sum_up(engine);
}

uint64_t sim_engine_next_at_us(const struct sim_engine *engine)
{
    uint64_t pin_at_us = engine->pins != NULL ? sim_pins_next_at_us(engine->pins) : UINT64_MAX;
    uint64_t at_us = sim_fetch_next_at_us(engine);
    at_us = pin_at_us < at_us ? pin_at_us : at_us;
    if (engine->loading_count == 0) {
        return at_us;
    }
    LIST_FOR_EACH(link, &engine->running)
    {
        const struct request *req = request_of(link);
        if (req->is_loading && req->loaded_at_us < at_us) {
            at_us = req->loaded_at_us;
        }
    }
    return at_us;
}
