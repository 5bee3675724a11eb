/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/engine.h"

#include "simulator/model/engine_state.h"
#include "simulator/model/evict.h"
#include "simulator/model/fetch.h"
#include "simulator/model/plan.h"

void sim_engine_opts_init(struct sim_engine_opts *opts, const struct sim_profile *profile)
{
    *opts = (struct sim_engine_opts){
        .profile = *profile,
        .block_tokens = 16,
        .queue_max = 4096,
        .has_prefix_cache = true,
    };
    sim_tiers_opts_init(&opts->tiers);
}

static bool has_tiers(const struct sim_engine_opts *opts)
{
    return (opts->tiers.host_tokens > 0 || opts->tiers.store != NULL) && opts->has_prefix_cache &&
           !opts->keeps_all;
}

enum status
sim_engine_new(struct sim_engine **ret, const struct mem *mem, const struct sim_engine_opts *opts)
{
    const struct sim_profile *profile = &opts->profile;
    if (opts->block_tokens == 0 || opts->queue_max > SIM_QUEUE_MAX ||
        profile->max_running > SIM_QUEUE_MAX || profile->kv_tokens / opts->block_tokens == 0 ||
        profile->max_running == 0 || profile->budget_tokens < profile->max_running ||
        (opts->admission == SIM_ADMIT_STATES && has_tiers(opts))) {
        return ST_INVAL;
    }
    struct sim_engine *engine = mem_calloc(mem, 1, sizeof(*engine));
    if (engine == NULL) {
        return ST_NOMEM;
    }
    engine->mem = mem;
    engine->opts = *opts;
    list_init(&engine->waiting);
    list_init(&engine->running);
    list_init(&engine->fetches);
    map_init(&engine->by_id, mem, opts->queue_max + profile->max_running);
    /* Per running request and iteration at most one token and one end, or one preemption. */
    engine->event_cap = (size_t)profile->max_running * 2;
    engine->events = mem_calloc(mem, engine->event_cap, sizeof(*engine->events));
    enum status st = engine->events == NULL ? ST_NOMEM : ST_OK;
    if (st == ST_OK && opts->admission == SIM_ADMIT_SECOND) {
        st =
            sim_store_new(&engine->seen, mem, UINT64_C(8) * profile->kv_tokens, opts->block_tokens);
    }
    if (st == ST_OK && has_tiers(opts)) {
        st = sim_tiers_new(&engine->tiers, mem, &opts->tiers, opts->block_tokens,
                           profile->kv_bytes_per_token);
    }
    if (st == ST_OK) {
        double size = (double)opts->block_tokens;
        const struct sim_kv_opts kv_opts = {
            .has_chains = opts->has_pins,
            .tiers = engine->tiers,
            .block_count = profile->kv_tokens / opts->block_tokens,
            .evict = opts->evict != NULL ? opts->evict : sim_evict_default(),
            .block_s = profile->b_s_per_token * size,
            .depth_s = profile->d_s_per_pair * size * size,
        };
        st = sim_kv_new(&engine->kv, mem, &kv_opts);
    }
    if (st == ST_OK && opts->has_pins) {
        st = sim_pins_new(&engine->pins, mem, engine->kv);
    }
    if (st != ST_OK) {
        sim_engine_free(engine);
        return st;
    }
    *ret = engine;
    return ST_OK;
}

static size_t request_bytes(uint32_t block_cap)
{
    return sizeof(struct request) + (size_t)block_cap * sizeof(uint32_t);
}

static void free_list(struct sim_engine *engine, struct list *head)
{
    while (!list_is_empty(head)) {
        struct request *req = request_of(head->next);
        list_remove(&req->link);
        mem_free(engine->mem, req, request_bytes(req->block_cap));
    }
}

void sim_engine_free(struct sim_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    free_list(engine, &engine->waiting);
    free_list(engine, &engine->running);
    map_fini(&engine->by_id);
    sim_fetch_cancel_all(engine);
    sim_pins_free(engine->pins);
    sim_kv_free(engine->kv);
    sim_tiers_free(engine->tiers);
    sim_store_free(engine->seen);
    mem_free(engine->mem, engine->events, engine->event_cap * sizeof(*engine->events));
    mem_free(engine->mem, engine, sizeof(*engine));
}

enum status sim_engine_submit(struct sim_engine *engine,
                              const struct sim_request_spec *spec,
                              struct sim_request_id *ret)
{
    ASSERT(!engine->is_iterating || engine->iterations == 1);
    if (spec->prompt_tokens == 0 || spec->output_tokens == 0) {
        return ST_INVAL;
    }
    /* The KV of the last token is never needed. */
    uint64_t tokens = (uint64_t)spec->prompt_tokens + spec->output_tokens - 1;
    uint32_t size = engine->opts.block_tokens;
    uint64_t blocks = (tokens + size - 1) / size;
    if (blocks > sim_kv_counts(engine->kv).total_blocks) {
        engine->counters.refused_count++;
        return ST_TOOBIG;
    }
    if (engine->waiting_count >= engine->opts.queue_max) {
        engine->counters.refused_count++;
        return ST_FULL;
    }
    struct request *req = mem_calloc(engine->mem, 1, request_bytes((uint32_t)blocks));
    if (req == NULL) {
        return ST_NOMEM;
    }
    req->spec = *spec;
    req->id.v = ++engine->last_id;
    req->block_cap = (uint32_t)blocks;
    enum status st = map_put(&engine->by_id, req->id.v, (uint64_t)(uintptr_t)req);
    if (st != ST_OK) {
        mem_free(engine->mem, req, request_bytes(req->block_cap));
        return st;
    }
    struct list *after = &engine->waiting;
    while (after->prev != &engine->waiting && request_is_before(req, request_of(after->prev))) {
        after = after->prev;
    }
    list_push_back(after, &req->link);
    engine->waiting_count++;
    engine->counters.submitted_count++;
    *ret = req->id;
    return ST_OK;
}

static void remove_request(struct sim_engine *engine, struct request *req)
{
    if (engine->tiers != NULL) {
        sim_tiers_used(engine->tiers, req->spec.block_hashes, req->stored_blocks);
    }
    sim_engine_drop_blocks(engine, req);
    if (engine->pins != NULL) {
        sim_pins_released(engine->pins, req->spec.chain);
    }
    if (req->is_running) {
        engine->running_count--;
    } else {
        engine->waiting_count--;
    }
    list_remove(&req->link);
    (void)map_remove(&engine->by_id, req->id.v);
    mem_free(engine->mem, req, request_bytes(req->block_cap));
}

bool sim_engine_abort(struct sim_engine *engine, struct sim_request_id id)
{
    ASSERT(!engine->is_iterating || engine->iterations == 1);
    const uint64_t *at = map_get(&engine->by_id, id.v);
    if (at == NULL) {
        return false;
    }
    remove_request(engine, (struct request *)(uintptr_t)*at);
    engine->counters.aborted_count++;
    return true;
}

static bool has_work(const struct sim_engine *engine)
{
    bool is_empty = engine->batch.decode_requests == 0 && engine->batch.prefill_tokens == 0;
    ASSERT(!is_empty || engine->loading_count > 0);
    return !is_empty;
}

enum status sim_engine_begin(struct sim_engine *engine, uint64_t *ret_duration_us)
{
    ASSERT(!engine->is_iterating);
    if (engine->running_count == 0 && engine->waiting_count == 0) {
        return ST_AGAIN;
    }
    engine->event_count = 0;
    sim_engine_plan(engine);
    engine->is_pause = !has_work(engine);
    if (engine->is_pause && engine->event_count > 0) {
        sim_engine_plan(engine); /* whoever was preempted leaves room for others */
        engine->is_pause = !has_work(engine);
    }
    if (engine->is_pause) {
        engine->duration_us = sim_engine_next_at_us(engine) - engine->now_us;
    } else {
        engine->duration_us = sim_engine_iteration_us(engine, &engine->batch);
        engine->counters.iteration_count++;
        engine->counters.busy_us += engine->duration_us;
    }
    engine->counted_us = engine->duration_us;
    engine->begun_at_us = engine->now_us;
    engine->iterations = 1;
    engine->is_merging = false;
    engine->is_iterating = true;
    *ret_duration_us = engine->duration_us;
    return ST_OK;
}

/* May the i-th block of the request, full and computed, be hit later? */
static bool is_admitted(struct sim_engine *engine, const struct request *req, uint32_t i)
{
    if (engine->seen == NULL || (!sim_store_put(engine->seen, req->spec.block_hashes[i]) &&
                                 (i == 0 || sim_kv_is_held(engine->kv, req->blocks[i - 1])))) {
        return true;
    }
    engine->counters.unadmitted_blocks++;
    return false;
}

/* A state is kept where the request leaves what others have too, and where it ends. */
static void keep_state(struct sim_engine *engine, const struct request *req, uint32_t blocks)
{
    if (engine->opts.admission == SIM_ADMIT_STATES && blocks > 0 &&
        sim_kv_is_held(engine->kv, req->blocks[blocks - 1])) {
        sim_kv_keep_state(engine->kv, req->blocks[blocks - 1]);
    }
}

/* Blocks that are now full can be hit. */
static void store_full(struct sim_engine *engine, struct request *req)
{
    uint32_t full = request_full_blocks(engine, req);
    for (; req->stored_blocks < full; req->stored_blocks++) {
        uint32_t i = req->stored_blocks;
        if (!is_admitted(engine, req, i)) {
            continue;
        }
        uint32_t parent = i == 0 ? SIM_BLOCK_NONE : req->blocks[i - 1];
        sim_kv_store(engine->kv, req->blocks[i], req->spec.block_hashes[i], parent);
        if (engine->tiers != NULL) {
            sim_tiers_computed(engine->tiers, req->spec.block_hashes[i]);
        }
        if (i + 1 == req->branch_blocks) {
            keep_state(engine, req, i + 1);
        }
    }
}

static void complete(struct sim_engine *engine, struct request *req)
{
    req->computed_tokens += req->planned_tokens;
    req->planned_tokens = 0;
    store_full(engine, req);
    if (req->computed_tokens < request_known(req)) {
        return;
    }
    if (req->generated_tokens == 0) {
        engine->counters.prompt_tokens += req->spec.prompt_tokens;
    }
    req->generated_tokens++;
    engine->counters.generated_tokens++;
    if (!engine->is_merging || req->generated_tokens == 1) {
        sim_engine_emit(engine, SIM_EVENT_TOKEN, req);
    }
    if (req->generated_tokens == req->spec.output_tokens) {
        sim_engine_emit(engine, SIM_EVENT_FINISHED, req);
        keep_state(engine, req, req->stored_blocks);
        engine->counters.finished_count++;
        remove_request(engine, req);
    }
}

const struct sim_event *sim_engine_end(struct sim_engine *engine, size_t *ret_count)
{
    ASSERT(engine->is_iterating);
    sim_engine_settle_run(engine);
    engine->is_iterating = false;
    engine->counters.load_wait_us += engine->is_pause ? engine->duration_us : 0;
    sim_engine_set_now(engine, engine->begun_at_us + engine->duration_us);
    struct list *link = engine->running.next;
    while (link != &engine->running) {
        struct request *req = request_of(link);
        link = link->next;
        if (req->planned_tokens > 0) {
            complete(engine, req);
        }
    }
    *ret_count = engine->event_count;
    return engine->events;
}

void sim_engine_set_now(struct sim_engine *engine, uint64_t now_us)
{
    if (now_us > engine->now_us) {
        engine->now_us = now_us;
        sim_kv_set_now(engine->kv, now_us);
        if (engine->tiers != NULL) {
            sim_tiers_set_now(engine->tiers, now_us);
        }
        if (engine->pins != NULL) {
            sim_pins_expire(engine->pins, now_us);
        }
    }
}

void sim_engine_hint(struct sim_engine *engine, uint64_t chain, const struct sim_chain_hint *hint)
{
    if (engine->pins == NULL || !sim_pins_hint(engine->pins, chain, hint)) {
        sim_kv_hint(engine->kv, chain, hint);
    }
}

enum status sim_engine_pin(struct sim_engine *engine, uint64_t chain, uint64_t until_us)
{
    ASSERT(engine->pins != NULL && (!engine->is_iterating || engine->iterations == 1));
    return sim_pins_set(engine->pins, chain, until_us > engine->now_us ? until_us : 0);
}

uint32_t
sim_engine_prefetch(struct sim_engine *engine, const uint64_t *hashes, uint32_t n, uint64_t chain)
{
    ASSERT(!engine->is_iterating || engine->iterations == 1);
    return sim_fetch_begin(engine, hashes, n, chain);
}

uint32_t
sim_engine_receive(struct sim_engine *engine, const uint64_t *hashes, uint32_t n, uint64_t chain)
{
    ASSERT(!engine->is_iterating || engine->iterations == 1);
    return sim_fetch_receive(engine, hashes, n, chain);
}

uint32_t sim_engine_match(const struct sim_engine *engine,
                          const struct sim_request_spec *spec,
                          uint32_t *ret_tier_blocks)
{
    uint32_t most = spec_most_hits(engine, spec, spec->prompt_tokens);
    uint32_t match = 0;
    uint32_t hit = sim_engine_hit(engine, spec->block_hashes, most, &match);
    uint32_t given = engine->opts.keeps_all ? spec->given_tokens / engine->opts.block_tokens : 0;
    given = given < most ? given : most;
    hit = hit > given ? hit : given;
    *ret_tier_blocks = engine->tiers == NULL
                           ? 0
                           : sim_tiers_match(engine->tiers, spec->block_hashes + hit, most - hit);
    return hit;
}

struct sim_tiers_counts sim_engine_tiers(const struct sim_engine *engine)
{
    return engine->tiers != NULL ? sim_tiers_counts(engine->tiers) : (struct sim_tiers_counts){0};
}

struct sim_store_counts sim_engine_host(const struct sim_engine *engine)
{
    return engine->tiers != NULL ? sim_tiers_host(engine->tiers) : (struct sim_store_counts){0};
}

struct sim_pin_counts sim_engine_pins(const struct sim_engine *engine)
{
    return engine->pins != NULL ? sim_pins_counts(engine->pins) : (struct sim_pin_counts){0};
}

bool sim_engine_is_iterating(const struct sim_engine *engine)
{
    return engine->is_iterating;
}

uint32_t sim_engine_running(const struct sim_engine *engine)
{
    return engine->running_count;
}

uint32_t sim_engine_waiting(const struct sim_engine *engine)
{
    return engine->waiting_count;
}

struct sim_kv_counts sim_engine_kv(const struct sim_engine *engine)
{
    return sim_kv_counts(engine->kv);
}

const struct sim_engine_counters *sim_engine_counters(const struct sim_engine *engine)
{
    return &engine->counters;
}

const struct sim_batch *sim_engine_batch(const struct sim_engine *engine)
{
    return &engine->batch;
}

void sim_engine_lose_cache(struct sim_engine *engine)
{
    sim_kv_reset(engine->kv);
}

bool sim_engine_reset_cache(struct sim_engine *engine)
{
    if (engine->running_count > 0) {
        return false;
    }
    sim_fetch_cancel_all(engine);
    if (engine->pins != NULL) {
        sim_pins_break_all(engine->pins);
    }
    if (engine->tiers != NULL) {
        sim_tiers_reset(engine->tiers);
    }
    sim_kv_reset(engine->kv);
    return true;
}

/* Requests of one priority ran in order of arrival; quadratic. */
static bool is_in_order(const struct sim_engine *engine, const struct request *req)
{
    for (struct list *link = req->link.next; link != &engine->running; link = link->next) {
        const struct request *later = request_of(link);
        if (later->spec.priority == req->spec.priority && later->id.v < req->id.v) {
            return false;
        }
    }
    return true;
}

static bool are_running_sound(const struct sim_engine *engine, uint64_t *ret_blocks)
{
    uint32_t running = 0;
    uint32_t loading = 0;
    LIST_FOR_EACH(link, &engine->running)
    {
        const struct request *req = request_of(link);
        uint64_t room = (uint64_t)req->block_count * engine->opts.block_tokens;
        loading += req->is_loading;
        if (req->stored_blocks > req->block_count ||
            (req->is_loading && (req->planned_tokens > 0 || req->loaded_at_us == 0))) {
            return false;
        }
        if (!req->is_running || !is_in_order(engine, req) || req->block_count > req->block_cap ||
            req->computed_tokens + req->planned_tokens > room) {
            return false;
        }
        *ret_blocks += req->block_count;
        running++;
    }
    return running == engine->running_count && loading == engine->loading_count &&
           running <= engine->opts.profile.max_running;
}

static bool are_waiting_sound(const struct sim_engine *engine)
{
    uint32_t waiting = 0;
    const struct request *before = NULL;
    LIST_FOR_EACH(link, &engine->waiting)
    {
        const struct request *req = request_of(link);
        if (req->is_running || req->is_loading || req->block_count != 0 ||
            (before != NULL && !request_is_before(before, req))) {
            return false;
        }
        before = req;
        waiting++;
    }
    return waiting == engine->waiting_count;
}

bool sim_engine_check(const struct sim_engine *engine)
{
    const struct sim_engine_counters *n = &engine->counters;
    uint32_t held = engine->running_count + engine->waiting_count;
    uint64_t refs = sim_engine_pins(engine).blocks;
    return are_running_sound(engine, &refs) && are_waiting_sound(engine) &&
           sim_fetch_check(engine, &refs) && engine->by_id.count == held &&
           n->submitted_count == n->finished_count + n->aborted_count + held &&
           sim_kv_refs(engine->kv) == refs && sim_kv_check(engine->kv) &&
           (engine->pins == NULL || sim_pins_check(engine->pins)) &&
           (engine->tiers == NULL || sim_tiers_check(engine->tiers));
}
