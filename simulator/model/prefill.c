/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/prefill.h"

#include "common/base/heap.h"
#include "common/base/list.h"

enum { JOBS_MAX = 1 << 24 };

struct worker {
    struct sim_engine *engine;
    struct sim_link link;
    uint64_t begun_at_us;
    uint64_t ends_at_us;     /* its iteration, UINT64_MAX = it rests */
    uint64_t missing_tokens; /* of its prompts, as they were when those came */
};

struct job {
    struct list link;
    struct heap_node node; /* when its KV is there; UINT64_MAX until that is on its way */
    void *owner;
    uint32_t worker;
    uint32_t missing_tokens;
    uint32_t prompt_tokens;
    uint32_t blocks;
    uint32_t there_blocks;
    uint32_t cached_tokens; /* once it is computed */
};

struct sim_prefill {
    const struct mem *mem;
    struct sim_prefill_opts opts;
    struct worker *workers; /* [opts.engines] */
    struct list jobs;
    struct heap arrivals; /* of all jobs */
    uint64_t block_bytes;
    uint32_t block_tokens;
    uint32_t job_count;
    uint64_t job_nr; /* of the last one */
    struct sim_prefill_counts counts;
};

enum status sim_prefill_new(struct sim_prefill **ret,
                            const struct mem *mem,
                            const struct sim_prefill_opts *opts,
                            const struct sim_engine_opts *engine)
{
    if (opts->engines == 0 || !sim_link_is_sound(&opts->link)) {
        return ST_INVAL;
    }
    struct sim_prefill *pool = mem_calloc(mem, 1, sizeof(*pool));
    if (pool == NULL) {
        return ST_NOMEM;
    }
    pool->mem = mem;
    pool->opts = *opts;
    pool->block_tokens = engine->block_tokens;
    pool->block_bytes = engine->profile.kv_bytes_per_token * engine->block_tokens;
    list_init(&pool->jobs);
    heap_init(&pool->arrivals, mem, JOBS_MAX);
    pool->workers = mem_calloc(mem, opts->engines, sizeof(*pool->workers));
    enum status st = pool->workers == NULL ? ST_NOMEM : ST_OK;
    struct sim_engine_opts own = *engine;
    own.queue_max = JOBS_MAX;
    for (uint32_t i = 0; st == ST_OK && i < opts->engines; i++) {
        pool->workers[i].link.opts = opts->link;
        pool->workers[i].ends_at_us = UINT64_MAX;
        st = sim_engine_new(&pool->workers[i].engine, mem, &own);
    }
    if (st != ST_OK) {
        sim_prefill_free(pool);
        return st;
    }
    *ret = pool;
    return ST_OK;
}

static void free_job(struct sim_prefill *pool, struct job *job)
{
    list_remove(&job->link);
    mem_free(pool->mem, job, sizeof(*job));
    pool->job_count--;
}

void sim_prefill_free(struct sim_prefill *pool)
{
    if (pool == NULL) {
        return;
    }
    for (uint32_t i = 0; pool->workers != NULL && i < pool->opts.engines; i++) {
        sim_engine_free(pool->workers[i].engine);
    }
    while (!list_is_empty(&pool->jobs)) {
        free_job(pool, LIST_OWNER(pool->jobs.next, struct job, link));
    }
    heap_fini(&pool->arrivals);
    mem_free(pool->mem, pool->workers, pool->opts.engines * sizeof(*pool->workers));
    mem_free(pool->mem, pool, sizeof(*pool));
}

bool sim_prefill_wants(const struct sim_prefill *pool, uint32_t missing_tokens)
{
    return missing_tokens >= pool->opts.min_tokens;
}

static uint32_t pick(const struct sim_prefill *pool,
                     const struct sim_request_spec *spec,
                     uint32_t *ret_missing_tokens)
{
    uint32_t best = 0;
    uint64_t best_tokens = UINT64_MAX;
    for (uint32_t i = 0; i < pool->opts.engines; i++) {
        const struct worker *worker = &pool->workers[i];
        uint32_t tier_blocks = 0;
        uint32_t blocks = sim_engine_match(worker->engine, spec, &tier_blocks) + tier_blocks;
        uint32_t missing = spec->prompt_tokens - blocks * pool->block_tokens;
        if (worker->missing_tokens + missing < best_tokens) {
            best = i;
            best_tokens = worker->missing_tokens + missing;
            *ret_missing_tokens = missing;
        }
    }
    return best;
}

enum status sim_prefill_submit(struct sim_prefill *pool,
                               const struct sim_request_spec *spec,
                               uint32_t there_blocks,
                               uint64_t now_us)
{
    uint32_t missing_tokens = 0;
    uint32_t idx = pick(pool, spec, &missing_tokens);
    struct worker *worker = &pool->workers[idx];
    struct job *job = mem_calloc(pool->mem, 1, sizeof(*job));
    if (job == NULL) {
        return ST_NOMEM;
    }
    uint32_t full = spec->prompt_tokens / pool->block_tokens;
    struct sim_request_spec prompt = *spec;
    prompt.owner = job;
    prompt.output_tokens = 1;
    if (sim_engine_is_iterating(worker->engine)) {
        worker->ends_at_us =
            worker->begun_at_us + sim_engine_cut_run(worker->engine, now_us - worker->begun_at_us);
    }
    struct sim_request_id id;
    enum status st = heap_insert(&pool->arrivals, &job->node, UINT64_MAX, ++pool->job_nr);
    if (st == ST_OK) {
        st = sim_engine_submit(worker->engine, &prompt, &id);
        if (st != ST_OK) {
            heap_remove(&pool->arrivals, &job->node);
        }
    }
    if (st != ST_OK) {
        mem_free(pool->mem, job, sizeof(*job));
        return st;
    }
    job->owner = spec->owner;
    job->worker = idx;
    job->missing_tokens = missing_tokens;
    job->prompt_tokens = spec->prompt_tokens;
    job->blocks = full < spec->block_hash_count ? full : spec->block_hash_count;
    job->there_blocks = there_blocks < job->blocks ? there_blocks : job->blocks;
    worker->missing_tokens += missing_tokens;
    list_push_back(&pool->jobs, &job->link);
    pool->job_count++;
    return ST_OK;
}

/* The prompt is computed: its KV goes. */
static void send(struct sim_prefill *pool, struct job *job, uint32_t cached_tokens, uint64_t now_us)
{
    struct worker *worker = &pool->workers[job->worker];
    uint64_t bytes = (job->blocks - job->there_blocks) * pool->block_bytes;
    uint64_t at_us = sim_link_load(&worker->link, bytes, now_us);
    job->cached_tokens = cached_tokens;
    worker->missing_tokens -= job->missing_tokens;
    pool->counts.prompts++;
    pool->counts.cached_tokens += cached_tokens;
    pool->counts.computed_tokens += job->prompt_tokens - cached_tokens;
    pool->counts.moved_bytes += bytes;
    heap_update(&pool->arrivals, &job->node, at_us, job->node.tie);
}

static void end(struct sim_prefill *pool, struct worker *worker)
{
    size_t count = 0;
    const struct sim_event *events = sim_engine_end(worker->engine, &count);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == SIM_EVENT_FINISHED) {
            send(pool, events[i].owner, events[i].cached_tokens, worker->ends_at_us);
        }
    }
    worker->ends_at_us = UINT64_MAX;
}

void sim_prefill_advance(struct sim_prefill *pool, uint64_t now_us)
{
    for (uint32_t i = 0; i < pool->opts.engines; i++) {
        struct worker *worker = &pool->workers[i];
        uint64_t us = 0;
        if (worker->ends_at_us <= now_us) {
            end(pool, worker);
        }
        sim_engine_set_now(worker->engine, now_us);
        if (worker->ends_at_us == UINT64_MAX &&
            sim_engine_begin_run(worker->engine, UINT64_MAX, &us) == ST_OK) {
            worker->begun_at_us = now_us;
            worker->ends_at_us = now_us + us;
        }
    }
}

uint64_t sim_prefill_next_at_us(const struct sim_prefill *pool)
{
    const struct heap_node *node = heap_min(&pool->arrivals);
    uint64_t at_us = node != NULL ? node->key : UINT64_MAX;
    for (uint32_t i = 0; i < pool->opts.engines; i++) {
        uint64_t ends_at_us = pool->workers[i].ends_at_us;
        at_us = ends_at_us < at_us ? ends_at_us : at_us;
    }
    return at_us;
}

bool sim_prefill_pop(struct sim_prefill *pool, uint64_t now_us, struct sim_prefill_done *ret)
{
    struct heap_node *node = heap_min(&pool->arrivals);
    if (node == NULL || node->key > now_us) {
        return false;
    }
    struct job *job = HEAP_OWNER(node, struct job, node);
    *ret = (struct sim_prefill_done){
        .owner = job->owner, .blocks = job->blocks, .cached_tokens = job->cached_tokens};
    heap_remove(&pool->arrivals, node);
    free_job(pool, job);
    return true;
}

uint32_t sim_prefill_held(const struct sim_prefill *pool)
{
    return pool->job_count;
}

struct sim_prefill_counts sim_prefill_counts(const struct sim_prefill *pool)
{
    return pool->counts;
}

bool sim_prefill_check(const struct sim_prefill *pool)
{
    uint32_t held = 0;
    uint64_t missing_tokens = 0;
    for (uint32_t i = 0; i < pool->opts.engines; i++) {
        const struct worker *worker = &pool->workers[i];
        held += sim_engine_running(worker->engine) + sim_engine_waiting(worker->engine);
        missing_tokens += worker->missing_tokens;
        if (!sim_engine_check(worker->engine) ||
            sim_engine_is_iterating(worker->engine) != (worker->ends_at_us != UINT64_MAX)) {
            return false;
        }
    }
    LIST_FOR_EACH(link, &pool->jobs)
    {
        const struct job *job = LIST_OWNER(link, struct job, link);
        bool is_moving = job->node.key != UINT64_MAX;
        missing_tokens -= is_moving ? 0 : job->missing_tokens;
        held += is_moving;
    }
    return held == pool->job_count && pool->arrivals.count == held && missing_tokens == 0;
}
