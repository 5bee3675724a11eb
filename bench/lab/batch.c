/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. threads take runs off a common list; 2. each is played and measured, and now and
 * then says how far it is; 3. whoever finds the line of progress old writes it.
 * Failures: a run that fails is noted and the others go on; a thread that does not start leaves its
 * work to the others. */
#include "bench/lab/batch.h"

#include "common/rt/clock.h"
#include "common/rt/thread.h"

#include <stdio.h>

enum { PROGRESS_EVERY_US = 500000 };
/* Sessions in flight when no more arrive are played for at most the hours times this. */
#define BATCH_LENGTH_RATIO 2

struct crew {
    struct batch *batch;
    double *done;  /* [run_count] 0 to 1 */
    double weight; /* of all runs: sessions */
    pthread_mutex_t lock;
    uint32_t next;
    uint64_t began_at_us;
    uint64_t shown_at_us;
};

struct task {
    struct crew *crew;
    uint32_t idx;
};

static void show(struct crew *crew, uint64_t now_us)
{
    const struct batch *batch = crew->batch;
    double sum = 0;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < batch->run_count; i++) {
        sum += crew->done[i] * batch->runs[i].of->draw.arrival_count;
        ended += crew->done[i] >= 1;
    }
    double share = sum / crew->weight;
    double spent_s = (double)(now_us - crew->began_at_us) / 1e6;
    crew->shown_at_us = now_us;
    (void)fprintf(stderr, "\r[%u/%u runs] %3.0f %%, %.0f s", ended, batch->run_count, share * 100,
                  spent_s);
    if (share > 0.01) {
        (void)fprintf(stderr, ", about %.0f s left", spent_s * (1 - share) / share);
    }
    (void)fputs("\033[K", stderr);
}

static bool on_progress(void *ctx, double done_ratio)
{
    const struct task *task = ctx;
    struct crew *crew = task->crew;
    if (!crew->batch->shows_progress) {
        return true;
    }
    (void)pthread_mutex_lock(&crew->lock);
    uint64_t now_us = clock_now_us();
    crew->done[task->idx] = done_ratio;
    if (now_us - crew->shown_at_us > PROGRESS_EVERY_US) {
        show(crew, now_us);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return true;
}

/* Lets the run keep what comes out. */
static enum status prepare(const struct batch *batch, struct batch_run *run)
{
    const struct draw *draw = &run->of->draw;
    uint32_t count = draw->arrival_count;
    run->timeline = (struct timeline){.engines = batch->engines,
                                      .keeps_all = batch->keeps_timeline,
                                      .until_us = draw->arrivals[count - 1].at_us};
    run->sessions = mem_calloc(mem_heap(), count, sizeof(*run->sessions));
    return run->sessions == NULL ? ST_NOMEM : ST_OK;
}

static enum status play(struct task *task, struct batch_run *run)
{
    const struct batch *batch = task->crew->batch;
    const struct draw *draw = &run->of->draw;
    struct lab_result result = {0};
    struct lab_plan plan = {
        .sessions = draw->sessions,
        .session_count = draw->session_count,
        .arrivals = draw->arrivals,
        .arrival_count = draw->arrival_count,
        .engines = batch->engines,
        .engine = run->engine,
        .prefill = lab_engine_spec_prefill(&run->entry->engine),
        .store_tokens = run->entry->engine.store_tokens,
        .policy = run->entry->policy,
        .params = run->entry->params,
        .config = &run->entry->config,
        .seed = run->of->seed,
        .network_us = batch->network_us,
        .until_us = (uint64_t)(batch->hours * 3600e6 * BATCH_LENGTH_RATIO),
        .is_unlimited = run->entry->is_unlimited,
        .on_sample = timeline_add,
        .sample_ctx = &run->timeline,
        .sample_every_us = TIMELINE_EVERY_US,
    };
    struct scenario_run scenario;
    if (batch->scenario != NULL) {
        scenario_run_init(&scenario, batch->scenario, batch->engines);
        plan.scenario = &scenario.lab;
        plan.network_us =
            batch->scenario->latency_us > 0 ? batch->scenario->latency_us : plan.network_us;
    }
    enum status st = prepare(batch, run);
    if (st == ST_OK) {
        st = lab_run(&plan, mem_heap(), on_progress, task, &result);
    }
    if (st == ST_OK) {
        st = metrics_make(&plan, &result, batch->alone_us, run->sessions, &run->metrics);
        run->metrics.mean_kv_used = timeline_kv_mean(&run->timeline);
        run->metrics.max_kv_used = run->timeline.kv_max;
        if (st == ST_OK) {
            st = tenants_make(&plan, run->sessions, &run->tenants);
        }
        run->event_hash = result.event_hash;
        lab_result_fini(&result, mem_heap());
    }
    return st == ST_OK && run->timeline.is_short ? ST_NOMEM : st;
}

static void work(void *arg)
{
    struct crew *crew = arg;
    for (;;) {
        (void)pthread_mutex_lock(&crew->lock);
        struct task task = {.crew = crew, .idx = crew->next++};
        (void)pthread_mutex_unlock(&crew->lock);
        if (task.idx >= crew->batch->run_count) {
            return;
        }
        struct batch_run *run = &crew->batch->runs[task.idx];
        run->status = play(&task, run);
        (void)on_progress(&task, 1);
    }
}

static void start_all(struct crew *crew)
{
    struct thread threads[LAB_JOBS_MAX] = {0};
    uint32_t count =
        crew->batch->jobs < crew->batch->run_count ? crew->batch->jobs : crew->batch->run_count;
    struct err err = {0};
    for (uint32_t i = 1; i < count && i < LAB_JOBS_MAX; i++) {
        status_ignore(thread_start(&threads[i], "sim", work, crew, &err), "others do its work");
    }
    work(crew);
    for (uint32_t i = 1; i < count && i < LAB_JOBS_MAX; i++) {
        thread_join(&threads[i]);
    }
}

enum status batch_run_all(struct batch *batch, struct err *err)
{
    struct crew crew = {.batch = batch, .began_at_us = clock_now_us()};
    for (uint32_t i = 0; i < batch->run_count; i++) {
        crew.weight += batch->runs[i].of->draw.arrival_count;
    }
    crew.done = mem_calloc(mem_heap(), batch->run_count, sizeof(*crew.done));
    if (crew.done == NULL || pthread_mutex_init(&crew.lock, NULL) != 0) {
        mem_free(mem_heap(), crew.done, batch->run_count * sizeof(*crew.done));
        return err_set(err, ST_NOMEM, "no memory for the runs");
    }
    start_all(&crew);
    if (batch->shows_progress) {
        (void)fputs("\r\033[K", stderr);
    }
    (void)pthread_mutex_destroy(&crew.lock);
    mem_free(mem_heap(), crew.done, batch->run_count * sizeof(*crew.done));
    for (uint32_t i = 0; i < batch->run_count; i++) {
        const struct batch_run *run = &batch->runs[i];
        if (run->status != ST_OK) {
            return err_set(err, run->status, "policy %.*s, seed %llu: %s",
                           (int)run->entry->label.len, run->entry->label.p,
                           (unsigned long long)run->of->seed, status_text(run->status));
        }
    }
    return ST_OK;
}

void batch_release(struct batch *batch)
{
    for (uint32_t i = 0; i < batch->run_count; i++) {
        struct batch_run *run = &batch->runs[i];
        timeline_fini(&run->timeline);
        if (run->sessions != NULL) {
            mem_free(mem_heap(), run->sessions,
                     run->of->draw.arrival_count * sizeof(*run->sessions));
            run->sessions = NULL;
        }
    }
}

enum status batch_alone(const struct batch *batch, uint64_t *ret, struct err *err)
{
    const struct workload *workload = batch->workload;
    const struct lab_plan plan = {
        .sessions = workload->sessions,
        .session_count = workload->session_count,
        .engines = 1,
        .engine = batch->alone,
        .policy = STR("round_robin"), /* there is one engine */
        .network_us = batch->network_us,
    };
    for (uint32_t i = 0; i < workload->tree_count; i++) {
        uint32_t root = workload->trees[i].first;
        enum status st = lab_alone_us(&plan, root, mem_heap(), &ret[root]);
        if (st != ST_OK) {
            return err_set(err, st, "session %u alone: %s", root, status_text(st));
        }
    }
    return ST_OK;
}
