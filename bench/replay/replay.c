/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. the model's name is asked for; 2. a timer lets the next root session arrive; 3.
 * its first step is sent as soon as fewer than max_in_flight are out; 4. the answer joins the
 * prompt, sub-agents of this step start; 5. when the recorded wait is over or the sub-agents have
 * ended, the next step is sent; 6. after its last step the session is done;
 * 7. after the last session the replay is.
 * Failures: a step that fails ends its session (counted); its parent goes on as if it had ended. */
#include "bench/replay/replay.h"

#include "bench/replay/bound.h"
#include "bench/replay/models.h"
#include "bench/replay/rows.h"
#include "bench/replay/step.h"
#include "bench/replay/text.h"
#include "common/base/hash.h"
#include "common/io/reactor/tls.h"

#include <stdio.h>

enum run_state {
    RUN_IDLE, /* not arrived */
    RUN_HELD, /* wants to send, max_in_flight reached */
    RUN_SENT,
    RUN_GAP,      /* timer */
    RUN_CHILDREN, /* waits for sub-agents */
    RUN_OVER,
};

struct run {
    struct replay *replay;
    uint32_t idx;      /* in the plan */
    uint32_t step_idx; /* current step */
    enum run_state state;
    uint32_t children_left;
    uint32_t url;          /* of the current step */
    uint32_t bound_tokens; /* of the current step */
    uint64_t arrived_at_us;
    uint64_t gap_us;       /* planned, from the answer before to the current step */
    uint32_t known_tokens; /* prompt and answer of the step before, by its usage */
    struct list held_link;
    struct loop_timer timer;
    struct prompt prompt;
    struct step step;
    char engine[STATS_ENGINE_BYTES]; /* of the step before */
    char id[48];
};

struct replay {
    struct loop *loop;
    const struct plan *plan;
    const struct replay_options *opts;
    struct http_client *client;
    struct tls_ctx *tls;
    struct http_endpoint *endpoints[OPTIONS_URLS_MAX];
    struct models *models;
    struct step_world world;
    struct rng rng;
    struct run *runs; /* [plan->count] */
    struct list held; /* runs in RUN_HELD */
    uint32_t held_count;
    uint32_t in_flight;
    uint32_t next_root;  /* next to arrive */
    uint32_t open_count; /* roots not over */
    uint64_t round_robin;
    struct loop_timer arrival;
    uint64_t started_at_us;
    bool is_stopped;
    replay_done_fn done;
    void *done_ctx;
    struct stats stats;
    struct rows rows;
    struct bound bound;
    char model[MODELS_NAME_BYTES];
    char model_json[2 * MODELS_NAME_BYTES];
};

static void send_step(struct run *run);
static void next_step(struct run *run);
static void arrive(struct run *run);

static void finish_replay(struct replay *replay, const struct err *err)
{
    loop_timer_cancel(replay->loop, &replay->arrival);
    (void)replay_stats(replay);
    replay->is_stopped = true;
    replay->done(replay->done_ctx, err);
}

/* --- a session's life --- */

static void end_run(struct run *run, bool is_ok)
{
    struct replay *replay = run->replay;
    const struct plan_run *plan = &replay->plan->runs[run->idx];
    run->state = RUN_OVER;
    prompt_fini(&run->prompt);
    if (plan->parent != TRACE_NONE) {
        struct run *parent = &replay->runs[plan->parent];
        replay->stats.agent_done++;
        parent->children_left--;
        if (parent->state == RUN_CHILDREN && parent->children_left == 0) {
            next_step(parent);
        }
        return;
    }
    if (is_ok) {
        replay->stats.session_done++;
        samples_add(&replay->stats.tct_s,
                    (double)(loop_now_fresh_us(replay->loop) - run->arrived_at_us) * 1e-6);
    } else {
        replay->stats.session_failed++;
    }
    replay->open_count--;
    if (replay->open_count == 0) {
        struct err err = {0};
        finish_replay(replay, &err);
    }
}

/* Starts the sub-agents that belong to the step that just ended. */
static void start_children(struct run *run)
{
    const struct plan *plan = run->replay->plan;
    /* Held as one more child, so that one that ends at once does not wake this run. */
    run->children_left = 1;
    for (uint32_t at = plan->runs[run->idx].child_first; at != TRACE_NONE;
         at = plan->runs[at].sibling_next) {
        if (plan->trace->sessions[plan->runs[at].session].spawn_step == run->step_idx) {
            run->children_left++;
            arrive(&run->replay->runs[at]);
        }
    }
    run->children_left--;
}

static void gap_over(struct loop_timer *timer)
{
    next_step(LIST_OWNER(timer, struct run, timer));
}

/* After a successful step. */
static void go_on(struct run *run)
{
    struct replay *replay = run->replay;
    const struct plan *plan = replay->plan;
    start_children(run);
    run->gap_us = 0;
    if (run->children_left > 0) {
        run->state = RUN_CHILDREN;
        return;
    }
    if (run->step_idx + 1 == plan->runs[run->idx].step_count) {
        next_step(run);
        return;
    }
    const struct trace_step *step =
        trace_step_at(plan->trace, plan->runs[run->idx].session, run->step_idx);
    uint64_t now_us = loop_now_us(replay->loop);
    uint64_t from_us = step->is_gap_from_request ? run->step.started_at_us : now_us;
    uint64_t at_us = from_us + plan_gap_us(plan, run->idx, run->step_idx);
    run->gap_us = at_us > now_us ? at_us - now_us : 0;
    run->state = RUN_GAP;
    if (loop_timer_set(replay->loop, &run->timer, at_us > now_us ? at_us : now_us) != ST_OK) {
        stats_step_failed(&replay->stats, STATS_OURS, "out of memory");
        end_run(run, false);
    }
}

static void next_step(struct run *run)
{
    run->step_idx++;
    if (run->step_idx >= run->replay->plan->runs[run->idx].step_count) {
        end_run(run, true);
    } else {
        send_step(run);
    }
}

/* --- one step --- */

/* Lets steps go that waited for others to end. */
static void release_held(struct replay *replay)
{
    while (replay->in_flight < replay->opts->max_in_flight && !list_is_empty(&replay->held)) {
        struct run *run = LIST_OWNER(list_first(&replay->held), struct run, held_link);
        list_remove(&run->held_link);
        replay->held_count--;
        send_step(run);
    }
}

static void note_row(struct run *run, const struct stats_step *done, const char *engine)
{
    struct replay *replay = run->replay;
    struct prompt_step plan = plan_prompt_step(replay->plan, run->idx, run->step_idx);
    /* What the trace says is in tokens of the bench; the engine counts its own. */
    double ratio = done->own_tokens > 0 ? (double)done->prompt_tokens / done->own_tokens : 1;
    uint32_t kept = plan.keeps_all ? run->known_tokens : (uint32_t)(plan.reuse_tokens * ratio);
    struct row row = {
        .run = run->idx,
        .step = run->step_idx,
        .prompt_tokens = done->prompt_tokens,
        .cached_tokens = done->cached_tokens,
        .output_tokens = done->output_tokens,
        .own_tokens = done->own_tokens,
        .kept_tokens = kept < done->prompt_tokens ? kept : done->prompt_tokens,
        .gap_s = (double)run->gap_us * 1e-6,
        .sent_s = (double)(run->step.started_at_us - replay->started_at_us) * 1e-6,
        .ttft_s = done->ttft_s,
        .step_s = done->step_s,
    };
    (void)str_copy(row.engine, sizeof(row.engine), str_of(engine));
    run->known_tokens = done->prompt_tokens + done->output_tokens;
    if (rows_add(&replay->rows, &row) != ST_OK) {
        stats_step_failed(&replay->stats, STATS_OURS, "no memory for the rows");
    }
}

static void note_success(struct run *run)
{
    struct replay *replay = run->replay;
    const struct step *step = &run->step;
    uint64_t now_us = loop_now_fresh_us(replay->loop);
    struct stats_step done = {
        .prompt_tokens = step->stream.prompt_tokens,
        .cached_tokens = step->stream.cached_tokens,
        .output_tokens = step->stream.output_tokens,
        .has_usage = step->stream.has_usage,
        .bound_tokens = run->bound_tokens,
        .own_tokens = prompt_tokens(&run->prompt),
        .ttft_s =
            step->first_at_us == 0 ? -1 : (double)(step->first_at_us - step->started_at_us) * 1e-6,
        .step_s = (double)(now_us - step->started_at_us) * 1e-6,
    };
    char engine[STATS_ENGINE_BYTES];
    (void)str_copy(engine, sizeof(engine), str_of(step->engine));
    if (engine[0] == '\0' && replay->opts->url_count > 1) {
        (void)snprintf(engine, sizeof(engine), "url-%u", run->url);
    }
    stats_step_done(&replay->stats, &done);
    stats_engine(&replay->stats, engine, run->engine);
    if (replay->opts->has_rows && done.has_usage) {
        note_row(run, &done, engine);
    }
    (void)str_copy(run->engine, sizeof(run->engine), str_of(engine));
}

static void step_over(struct step *step, bool is_ok, enum stats_error why)
{
    struct run *run = LIST_OWNER(step, struct run, step);
    struct replay *replay = run->replay;
    replay->in_flight--;
    if (is_ok) {
        note_success(run);
        go_on(run);
    } else {
        stats_step_failed(&replay->stats, why, step->error);
        end_run(run, false);
    }
    if (!replay->is_stopped) {
        release_held(replay);
    }
}

static uint32_t pick_url(struct run *run)
{
    struct replay *replay = run->replay;
    uint32_t count = replay->opts->url_count;
    switch (replay->opts->spread) {
    case SPREAD_RANDOM:
        return (uint32_t)rng_below(&replay->rng, count);
    case SPREAD_ROUND_ROBIN:
        return (uint32_t)(replay->round_robin++ % count);
    case SPREAD_SESSION:
        return run->idx % count;
    }
    return 0;
}

/* Makes the prompt of the current step. */
static enum status make_prompt(struct run *run)
{
    struct replay *replay = run->replay;
    struct prompt_step plan = plan_prompt_step(replay->plan, run->idx, run->step_idx);
    enum status st = prompt_advance(&run->prompt, &plan, buf_str(&run->step.stream.reply));
    if (st != ST_OK) {
        return st;
    }
    struct str flat = prompt_flat(&run->prompt);
    /* The last token of an answer is given out but never computed. */
    if (run->prompt.answer_end >= TEXT_TOKEN_BYTES) {
        bound_note(&replay->bound, (struct str){flat.p, run->prompt.answer_end - TEXT_TOKEN_BYTES});
    }
    run->bound_tokens = bound_offer(&replay->bound, flat);
    return ST_OK;
}

static void send_step(struct run *run)
{
    struct replay *replay = run->replay;
    if (replay->in_flight >= replay->opts->max_in_flight) {
        run->state = RUN_HELD;
        list_push_back(&replay->held, &run->held_link);
        replay->held_count++;
        return;
    }
    enum status st = make_prompt(run);
    run->url = pick_url(run);
    struct step_ask ask = {
        .endpoint = replay->endpoints[run->url],
        .messages = prompt_json(&run->prompt),
        .session = run->id,
        .tenant = replay->plan->runs[run->idx].tenant,
        .output_tokens = plan_output_tokens(replay->plan, run->idx, run->step_idx),
    };
    run->state = RUN_SENT;
    if (st == ST_OK) {
        st = step_start(&run->step, &ask);
    }
    if (st != ST_OK) {
        stats_step_failed(&replay->stats, STATS_OURS, status_text(st));
        end_run(run, false);
        return;
    }
    replay->in_flight++;
}

static void arrive(struct run *run)
{
    run->arrived_at_us = loop_now_fresh_us(run->replay->loop);
    send_step(run);
}

/* --- the whole --- */

static void set_arrival(struct replay *replay)
{
    const struct plan *plan = replay->plan;
    if (replay->next_root >= plan->root_count || replay->is_stopped) {
        return;
    }
    uint64_t at_us = replay->started_at_us + plan->runs[replay->next_root].arrival_us;
    if (loop_timer_set(replay->loop, &replay->arrival, at_us) != ST_OK) {
        struct err err = {0};
        status_ignore(err_set(&err, ST_NOMEM, "no memory for a timer"), "passed on");
        finish_replay(replay, &err);
    }
}

static void arrival_due(struct loop_timer *timer)
{
    struct replay *replay = LIST_OWNER(timer, struct replay, arrival);
    uint32_t root = replay->next_root++;
    set_arrival(replay);
    if (!replay->is_stopped) {
        arrive(&replay->runs[root]);
    }
}

static enum status set_model(struct replay *replay, const char *name)
{
    struct buf text;
    buf_init(&text, mem_heap(), sizeof(replay->model_json) - 1);
    (void)str_copy(replay->model, sizeof(replay->model), str_of(name));
    enum status st = buf_add_json(&text, str_of(replay->model));
    (void)str_copy(replay->model_json, sizeof(replay->model_json), buf_str(&text));
    buf_fini(&text);
    return st;
}

static void begin(struct replay *replay)
{
    replay->started_at_us = loop_now_fresh_us(replay->loop);
    set_arrival(replay);
}

static void model_known(void *ctx, const char *name, const struct err *err)
{
    struct replay *replay = ctx;
    struct err why = *err;
    replay->models = NULL;
    if (name[0] != '\0' && set_model(replay, name) != ST_OK) {
        status_ignore(err_set(&why, ST_TOOBIG, "the model's name is too long"), "passed on");
    }
    if (why.status != ST_OK) {
        finish_replay(replay, &why);
    } else {
        begin(replay);
    }
}

enum status replay_start(struct replay *replay, replay_done_fn done, void *ctx)
{
    replay->done = done;
    replay->done_ctx = ctx;
    if (replay->opts->model == NULL) {
        return models_ask(replay->endpoints[0], replay->loop, replay->opts->api_key, model_known,
                          replay, &replay->models);
    }
    enum status st = set_model(replay, replay->opts->model);
    if (st == ST_OK) {
        begin(replay);
    }
    return st;
}

static enum status make_endpoints(struct replay *replay, struct err *err)
{
    const struct replay_options *opts = replay->opts;
    for (uint32_t i = 0; i < opts->url_count; i++) {
        struct str url = str_of(opts->urls[i]);
        bool is_https = str_istarts(url, STR("https://"));
        enum status st = ST_OK;
        if (is_https && replay->tls == NULL) {
            st = tls_client_new(&replay->tls, "", !opts->is_insecure, err);
        }
        if (st == ST_OK) {
            st = http_endpoint_new(&replay->endpoints[i], replay->client, url,
                                   is_https ? replay->tls : NULL, err);
        }
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status make_client(struct replay *replay, struct err *err)
{
    uint64_t timeout_us = (uint64_t)(replay->opts->timeout_s * 1e6);
    struct http_client_limits limits = {
        .header_bytes = 65536,
        .connect_timeout_us = timeout_us < 10000000 ? timeout_us : 10000000,
        .first_byte_timeout_us = timeout_us,
        .idle_timeout_us = timeout_us,
        .keepalive_idle_us = 30000000,
        .pool_idle_max = replay->opts->max_in_flight,
    };
    enum status st = http_client_new(&replay->client, replay->loop, &limits);
    return st == ST_OK ? make_endpoints(replay, err)
                       : err_set(err, st, "no memory for the HTTP client");
}

static enum status make_runs(struct replay *replay, struct err *err)
{
    const struct plan *plan = replay->plan;
    replay->runs = mem_calloc(mem_heap(), plan->count, sizeof(*replay->runs));
    if (replay->runs == NULL) {
        return err_set(err, ST_NOMEM, "no memory for %u sessions", plan->count);
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        struct run *run = &replay->runs[i];
        run->replay = replay;
        run->idx = i;
        run->timer.fn = gap_over;
        prompt_init(&run->prompt, mem_heap());
        step_init(&run->step, &replay->world, step_over);
        (void)snprintf(run->id, sizeof(run->id), "bench-%u-%016llx", i,
                       (unsigned long long)plan->runs[i].seed);
    }
    return ST_OK;
}

enum status replay_new(struct replay **ret,
                       struct loop *loop,
                       const struct plan *plan,
                       const struct replay_options *opts,
                       struct err *err)
{
    struct replay *replay = mem_calloc(mem_heap(), 1, sizeof(*replay));
    if (replay == NULL) {
        return err_set(err, ST_NOMEM, "no memory for the replay");
    }
    replay->loop = loop;
    replay->plan = plan;
    replay->opts = opts;
    replay->open_count = plan->root_count;
    replay->arrival.fn = arrival_due;
    list_init(&replay->held);
    rng_init(&replay->rng, hash_mix(opts->seed, 6));
    stats_init(&replay->stats, mem_heap(), opts->seed);
    replay->stats.session_total = plan->root_count;
    replay->stats.step_total = plan->step_total;
    bound_init(&replay->bound, mem_heap());
    rows_init(&replay->rows, mem_heap());
    replay->world = (struct step_world){
        .loop = loop,
        .gap_s = &replay->stats.gap_s,
        .delta_count = &replay->stats.delta_count,
        .retry_count = &replay->stats.retry_count,
        .rng = &replay->rng,
        .timeout_us = (uint64_t)(opts->timeout_s * 1e6),
        .retries = opts->retries,
        .model = replay->model_json,
        .api_key = opts->api_key,
        .tenants = opts->tenants,
        .has_session_header = opts->has_session_header,
        .ignores_eos = opts->ignores_eos,
    };
    enum status st = make_runs(replay, err);
    if (st == ST_OK) {
        st = make_client(replay, err);
    }
    if (st != ST_OK) {
        replay_free(replay);
        return st;
    }
    *ret = replay;
    return ST_OK;
}

void replay_stop(struct replay *replay)
{
    (void)replay_stats(replay);
    replay->is_stopped = true;
    models_cancel(replay->models);
    replay->models = NULL;
    loop_timer_cancel(replay->loop, &replay->arrival);
    for (uint32_t i = 0; replay->runs != NULL && i < replay->plan->count; i++) {
        struct run *run = &replay->runs[i];
        loop_timer_cancel(replay->loop, &run->timer);
        step_fini(&run->step);
        prompt_fini(&run->prompt);
        run->state = RUN_OVER;
    }
    list_init(&replay->held);
    replay->held_count = 0;
    replay->in_flight = 0;
}

void replay_free(struct replay *replay)
{
    if (replay == NULL) {
        return;
    }
    replay_stop(replay);
    if (replay->runs != NULL) {
        mem_free(mem_heap(), replay->runs, replay->plan->count * sizeof(*replay->runs));
    }
    for (uint32_t i = 0; i < replay->opts->url_count; i++) {
        if (replay->endpoints[i] != NULL) {
            http_endpoint_release(replay->endpoints[i]);
        }
    }
    if (replay->client != NULL) {
        http_client_free(replay->client);
    }
    tls_free(replay->tls);
    stats_fini(&replay->stats);
    bound_fini(&replay->bound);
    rows_fini(&replay->rows);
    mem_free(mem_heap(), replay, sizeof(*replay));
}

struct stats *replay_stats(struct replay *replay)
{
    if (!replay->is_stopped && replay->started_at_us != 0) {
        replay->stats.elapsed_s =
            (double)(loop_now_fresh_us(replay->loop) - replay->started_at_us) * 1e-6;
    }
    return &replay->stats;
}

const struct rows *replay_rows(const struct replay *replay)
{
    return &replay->rows;
}

uint32_t replay_in_flight(const struct replay *replay)
{
    return replay->in_flight;
}

uint32_t replay_waiting(const struct replay *replay)
{
    return replay->held_count;
}

const char *replay_model(const struct replay *replay)
{
    return replay->model;
}

bool replay_bound_is_complete(const struct replay *replay)
{
    return replay->bound.is_complete;
}
