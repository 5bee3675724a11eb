/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sessions/play.h"

#include "common/base/hash.h"
#include "common/base/heap.h"
#include "common/base/rng.h"
#include "coordinator/core/core.h"
#include "coordinator/core/receipts.h"

#include <stdio.h>
#include <string.h>

enum {
    ENGINES = 4,
    AUX_TOKENS = 900,
    AUX_SYS_TOKENS = 512,
    NEAR_BLOCKS = 2,   /* 128 tokens: a user's line */
    AUX_PER_TASK = 32, /* room in the table of tasks, on average */
    US_PER_IN_TOKEN = 100,
    US_PER_OUT_TOKEN = 15000,
    RETRY_WAIT_US = 1000000,
    TICK_US = 10000000,
};

enum task_state { TASK_DUE, TASK_RUNNING, TASK_FAILING, TASK_WAITING, TASK_OVER };

struct task {
    struct heap_node node;
    struct shape shape;
    struct score_task score;
    enum task_state state;
    uint32_t session; /* of the trace; TRACE_NONE = auxiliary */
    uint32_t parent;  /* task, TRACE_NONE = a root */
    uint32_t step;
    uint32_t waits_for; /* sub-agents at work */
    bool is_retry;
    bool is_again;   /* a retry of what was answered */
    bool has_failed; /* this step, once */
    enum shape_link link;
    uint64_t seed;
    uint64_t due_us;
    uint64_t sent_us;
    uint64_t ended_us;
    uint64_t req;
};

struct play {
    const struct mem *mem;
    const struct trace *trace;
    const struct blocks *blocks;
    const struct play_options *opts;
    struct score *score;
    struct coord_core *core;
    struct heap heap;
    struct rng rng;
    struct task **tasks;
    struct score_task **scores; /* [cap] same order */
    uint32_t count, cap;
    uint64_t now_us;
    uint64_t tick_us;
    uint64_t req;
    struct shape_chain chain;
};

/* --- tasks --- */

static enum status push(struct play *play, struct task *task, uint64_t due_us)
{
    task->due_us = due_us;
    return heap_insert(&play->heap, &task->node, due_us, task->score.idx);
}

static struct task *task_new(struct play *play, uint32_t session, uint32_t parent, uint64_t seed)
{
    if (play->count >= play->cap) {
        return NULL;
    }
    struct task *task = mem_calloc(play->mem, 1, sizeof(*task));
    if (task == NULL) {
        return NULL;
    }
    task->session = session;
    task->parent = parent;
    task->seed = seed;
    task->score.idx = play->count;
    shape_init(&task->shape, play->mem);
    task->shape.seed = seed;
    task->shape.open_seed = hash_mix(seed, 1);
    play->tasks[play->count] = task;
    play->scores[play->count++] = &task->score;
    return task;
}

static struct task *session_new(struct play *play, uint32_t session, uint32_t parent, uint64_t seed)
{
    struct task *task = task_new(play, session, parent, seed);
    if (task == NULL) {
        return NULL;
    }
    const struct trace_session *rec = &play->trace->sessions[session];
    bool has_sys = rec->sys[0] != '\0';
    task->shape.sys_seed = has_sys ? hash_str(str_of(rec->sys), 7) : hash_mix(seed, 2);
    task->shape.sys_blocks = rec->sys_tokens / BLOCK_TOKENS;
    task->score.source = score_source(play->score, rec->source);
    return task;
}

static uint32_t steps_of(const struct play *play, const struct task *task)
{
    return task->session == TRACE_NONE ? 1 : play->trace->sessions[task->session].step_count;
}

static enum status aux_start(struct play *play, const struct task *beside)
{
    struct task *task = task_new(play, TRACE_NONE, TRACE_NONE, rng_u64(&play->rng));
    if (task == NULL) {
        return ST_NOMEM;
    }
    task->shape.sys_seed = 77; /* one text for all */
    task->shape.sys_blocks = AUX_SYS_TOKENS / BLOCK_TOKENS;
    task->score.is_aux = true;
    task->score.source = beside->score.source;
    return push(play, task, play->now_us + 50000);
}

/* The sub-agents that this step of the task spawned. */
static enum status subs_start(struct play *play, struct task *task, uint32_t step)
{
    uint32_t child = play->trace->sessions[task->session].child_first;
    enum status st = ST_OK;
    while (child != TRACE_NONE && st == ST_OK) {
        const struct trace_session *rec = &play->trace->sessions[child];
        if (rec->spawn_step == step) {
            struct task *sub = session_new(play, child, task->score.idx, rng_u64(&play->rng));
            st = sub == NULL ? ST_NOMEM : push(play, sub, play->now_us + 1000);
            task->waits_for++;
        }
        child = rec->sibling_next;
    }
    return st;
}

/* --- the core --- */

static const struct coord_effects *tell(struct play *play, const struct coord_event *ev)
{
    const struct coord_effects *effects = NULL;
    return coord_core_step(play->core, ev, play->now_us, &effects) == ST_OK ? effects : NULL;
}

static bool add_engines(struct play *play)
{
    static const struct str model = {"m", 1};
    for (uint32_t i = 1; i <= ENGINES; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "e%u", i);
        const struct coord_event added = {
            .kind = COORD_EV_ENGINE_ADDED,
            .u.engine_added = {.engine = {i}, .name = str_of(name), .max_running = 1024}};
        const struct coord_event probed = {
            .kind = COORD_EV_ENGINE_PROBED,
            .u.engine_probed = {.engine = {i}, .is_up = true, .models = &model, .model_count = 1}};
        if (tell(play, &added) == NULL || tell(play, &probed) == NULL) {
            return false;
        }
    }
    return true;
}

static enum status
score_submit(struct play *play, struct task *task, const struct coord_effects *effects)
{
    const struct coord_effect *submit = NULL;
    for (uint32_t i = 0; effects != NULL && i < effects->count; i++) {
        submit = effects->items[i].kind == COORD_EF_SUBMIT ? &effects->items[i] : submit;
    }
    if (submit == NULL || submit->u.submit.receipt == NULL) {
        return ST_FULL;
    }
    const struct coord_receipt *receipt = submit->u.submit.receipt;
    const struct score_request request = {
        .label = str_of(submit->u.submit.session),
        .parent = str_of(receipt->parent),
        .match = receipt->match,
        .link = task->link,
        .is_retry = task->is_retry && !task->is_again,
        .is_again = task->is_again,
        .gap_us = play->now_us - task->ended_us,
    };
    return score_request(play->score, play->scores, &task->score, &request);
}

static enum status shape_task(struct play *play, struct task *task)
{
    struct shape_step in = {.in_tokens = AUX_TOKENS};
    if (task->session != TRACE_NONE) {
        const struct trace_session *rec = &play->trace->sessions[task->session];
        const struct trace_step *step = trace_step_at(play->trace, task->session, task->step);
        in = (struct shape_step){.blocks = play->blocks,
                                 .row = blocks_find(play->blocks, str_of(rec->id), task->step),
                                 .in_tokens = step->in_tokens,
                                 .reuse_tokens = step->reuse_tokens,
                                 .out_tokens = step->out_tokens,
                                 .is_tool = step->is_tool};
    }
    return shape_advance(&task->shape, &in, &task->link);
}

static uint64_t duration_us(const struct play *play, const struct task *task)
{
    if (task->session == TRACE_NONE) {
        return 1000000;
    }
    const struct trace_step *step = trace_step_at(play->trace, task->session, task->step);
    return (uint64_t)(step->in_tokens - step->reuse_tokens) * US_PER_IN_TOKEN +
           (uint64_t)step->out_tokens * US_PER_OUT_TOKEN + 1000;
}

static enum status on_due(struct play *play, struct task *task)
{
    enum status st = task->is_retry ? ST_OK : shape_task(play, task);
    if (st != ST_OK) {
        return st;
    }
    shape_chain(&task->shape, &play->chain);
    uint32_t last = play->chain.count - 1;
    char name[32];
    task->req = ++play->req;
    (void)snprintf(name, sizeof(name), "r%llu", (unsigned long long)task->req);
    const struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED,
                                   .u.arrived = {.req = {task->req},
                                                 .name = str_of(name),
                                                 .model = STR("m"),
                                                 .chain = play->chain.hashes,
                                                 .chain_bytes = play->chain.bytes,
                                                 .chain_is_end = play->chain.is_end,
                                                 .chain_count = play->chain.count,
                                                 .prompt_bytes = play->chain.bytes[last]}};
    st = score_submit(play, task, tell(play, &ev));
    const struct coord_event started = {.kind = COORD_EV_STEP_STARTED,
                                        .u.started = {.req = {task->req}, .attempt = 1}};
    if (st != ST_OK || tell(play, &started) == NULL) {
        return st == ST_OK ? ST_NOMEM : st;
    }
    task->sent_us = play->now_us;
    bool is_failing = !task->has_failed && rng_unit(&play->rng) < play->opts->retry_share;
    task->has_failed = is_failing;
    task->state = is_failing ? TASK_FAILING : TASK_RUNNING;
    uint64_t wait_us = duration_us(play, task);
    bool has_aux = task->session != TRACE_NONE && !task->is_retry &&
                   rng_unit(&play->rng) < play->opts->aux_share && play->count < play->cap / 2;
    if (has_aux && (st = aux_start(play, task)) != ST_OK) {
        return st;
    }
    return push(play, task, play->now_us + (is_failing ? wait_us / 2 : wait_us));
}

/* The client gives up, or the engine does; the same request comes once more. */
static enum status on_failing(struct play *play, struct task *task)
{
    const struct coord_event gone = {.kind = COORD_EV_STEP_GONE, .u.gone = {.req = {task->req}}};
    const struct coord_event failed = {
        .kind = COORD_EV_STEP_DONE,
        .u.done = {.req = {task->req}, .outcome = COORD_OUTCOME_ENGINE_ERROR, .http_status = 500}};
    if (tell(play, rng_below(&play->rng, 2) == 0 ? &gone : &failed) == NULL) {
        return ST_NOMEM;
    }
    task->state = TASK_DUE;
    task->is_retry = true;
    return push(play, task, play->now_us + RETRY_WAIT_US);
}

static enum status task_over(struct play *play, struct task *task)
{
    task->state = TASK_OVER;
    shape_fini(&task->shape);
    shape_init(&task->shape, play->mem);
    if (task->parent == TRACE_NONE) {
        return ST_OK;
    }
    struct task *parent = play->tasks[task->parent];
    parent->waits_for--;
    if (parent->state != TASK_WAITING || parent->waits_for > 0) {
        return ST_OK;
    }
    parent->state = TASK_DUE;
    return push(play, parent, parent->due_us > play->now_us ? parent->due_us : play->now_us);
}

static enum status on_end(struct play *play, struct task *task)
{
    const struct coord_event answered = {
        .kind = COORD_EV_STEP_ANSWERED,
        .u.answered = {.req = {task->req}, .attempt = 1, .http_status = 200}};
    const struct coord_event done = {
        .kind = COORD_EV_STEP_DONE,
        .u.done = {.req = {task->req}, .outcome = COORD_OUTCOME_OK, .http_status = 200}};
    if (tell(play, &answered) == NULL || tell(play, &done) == NULL) {
        return ST_NOMEM;
    }
    task->ended_us = play->now_us;
    bool is_unhappy = task->session != TRACE_NONE && !task->is_again &&
                      play->opts->again_share > 0 && rng_unit(&play->rng) < play->opts->again_share;
    task->is_retry = is_unhappy;
    task->is_again = is_unhappy;
    task->has_failed = false;
    if (is_unhappy) {
        task->state = TASK_DUE;
        return push(play, task, play->now_us + RETRY_WAIT_US);
    }
    enum status st = task->session != TRACE_NONE ? subs_start(play, task, task->step) : ST_OK;
    if (st != ST_OK) {
        return st;
    }
    if (task->step + 1 >= steps_of(play, task)) {
        return task->waits_for == 0 ? task_over(play, task) : ST_OK;
    }
    const struct trace_step *rec = trace_step_at(play->trace, task->session, task->step++);
    double pace = task->score.is_twin || task->score.is_near ? 0.5 + rng_unit(&play->rng)
                                                             : 1.0; /* not in step with it */
    uint64_t due_us = (rec->is_gap_from_request ? task->sent_us : play->now_us) +
                      (uint64_t)((double)rec->gap_us * pace);
    task->due_us = due_us > play->now_us ? due_us : play->now_us;
    task->state = task->waits_for > 0 ? TASK_WAITING : TASK_DUE;
    return task->waits_for > 0 ? ST_OK : push(play, task, task->due_us);
}

/* --- a round --- */

static uint32_t draw(struct play *play)
{
    for (int tries = 0;; tries++) {
        ASSERT(tries < 1000000); /* main has seen that there is one */
        uint32_t i = (uint32_t)rng_below(&play->rng, play->trace->session_count);
        const struct trace_session *session = &play->trace->sessions[i];
        bool is_skipped =
            play->opts->skip != NULL && strcmp(session->source, play->opts->skip) == 0;
        if (session->parent == TRACE_NONE && !is_skipped) {
            return i;
        }
    }
}

static enum status start(struct play *play)
{
    uint64_t at_us = 0;
    struct task *before = NULL;
    for (uint32_t i = 0; i < play->opts->sessions; i++) {
        bool is_pair = before != NULL && !before->score.is_twin && !before->score.is_near;
        double dice = is_pair ? rng_unit(&play->rng) : 1.0;
        bool is_twin = is_pair && dice < play->opts->same_share;
        bool is_near =
            is_pair && !is_twin && dice < play->opts->same_share + play->opts->near_share;
        const struct task *like = is_twin || is_near ? before : NULL;
        uint32_t session = like != NULL ? like->session : draw(play);
        struct task *task = session_new(play, session, TRACE_NONE, rng_u64(&play->rng));
        if (task == NULL) {
            return ST_NOMEM;
        }
        task->score.is_twin = is_twin;
        task->score.is_near = is_near;
        task->shape.own_blocks = is_near ? NEAR_BLOCKS : 0;
        if (like != NULL) {
            task->shape.open_seed = like->shape.open_seed;
            task->shape.sys_seed = like->shape.sys_seed;
        }
        at_us += (uint64_t)rng_exp(&play->rng, (double)play->opts->start_us);
        enum status st = push(play, task, at_us);
        if (st != ST_OK) {
            return st;
        }
        before = task;
    }
    return ST_OK;
}

static enum status run(struct play *play)
{
    struct heap_node *node;
    enum status st = ST_OK;
    while (st == ST_OK && (node = heap_min(&play->heap)) != NULL) {
        struct task *task = HEAP_OWNER(node, struct task, node);
        heap_remove(&play->heap, node);
        play->now_us = task->due_us;
        if (play->now_us >= play->tick_us) {
            const struct coord_event tick = {.kind = COORD_EV_TICK};
            play->tick_us = play->now_us + TICK_US;
            st = tell(play, &tick) == NULL ? ST_NOMEM : ST_OK;
        }
        if (st != ST_OK) {
            break;
        }
        st = task->state == TASK_DUE       ? on_due(play, task)
             : task->state == TASK_FAILING ? on_failing(play, task)
                                           : on_end(play, task);
    }
    return st;
}

static enum status begin(struct play *play)
{
    const struct coord_limits limits = {.max_sessions = 100000,
                                        .max_requests = 100000,
                                        .max_engines = ENGINES,
                                        .max_receipts = 1024,
                                        .session_idle_us = play->opts->idle_us,
                                        .margin_steps = 4,
                                        .health_interval_us = UINT64_MAX / 2,
                                        .health_fail_count = 1000000,
                                        .health_open_us = 1};
    play->cap = play->opts->sessions * AUX_PER_TASK + play->trace->session_count;
    heap_init(&play->heap, play->mem, play->cap);
    rng_init(&play->rng, play->opts->seed);
    play->tasks = mem_calloc(play->mem, play->cap, sizeof(struct task *));
    play->scores = mem_calloc(play->mem, play->cap, sizeof(struct score_task *));
    if (play->tasks == NULL || play->scores == NULL) {
        return ST_NOMEM;
    }
    enum status st = coord_core_new(&play->core, play->mem, &limits, play->opts->seed);
    return st == ST_OK && !add_engines(play) ? ST_NOMEM : st;
}

static void end(struct play *play)
{
    for (uint32_t i = 0; i < play->count; i++) {
        struct task *task = play->tasks[i];
        shape_fini(&task->shape);
        mem_free(play->mem, task, sizeof(*task));
    }
    if (play->core != NULL) {
        coord_core_free(play->core);
    }
    heap_fini(&play->heap);
    mem_free(play->mem, play->tasks, play->cap * sizeof(struct task *));
    mem_free(play->mem, play->scores, play->cap * sizeof(struct score_task *));
    mem_free(play->mem, play, sizeof(*play));
}

enum status play_round(const struct trace *trace,
                       const struct blocks *blocks,
                       const struct play_options *opts,
                       struct score *score,
                       struct err *err)
{
    struct play *play = mem_calloc(mem_heap(), 1, sizeof(*play));
    if (play == NULL) {
        return err_set(err, ST_NOMEM, "out of memory");
    }
    *play = (struct play){
        .mem = mem_heap(), .trace = trace, .blocks = blocks, .opts = opts, .score = score};
    score_round(score, play->mem);
    enum status st = begin(play);
    st = st == ST_OK ? start(play) : st;
    st = st == ST_OK ? run(play) : st;
    for (uint32_t i = 0; st == ST_OK && i < play->count; i++) {
        const struct task *task = play->tasks[i];
        score_task_end(score, &task->score, task->parent != TRACE_NONE);
    }
    end(play);
    return st == ST_OK ? ST_OK : err_set(err, st, "a step could not be played");
}
