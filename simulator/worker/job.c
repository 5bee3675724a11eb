/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path:
 *   1. the body is collected;
 *   2. it is parsed, the prompt becomes a token chain, the reply is decided;
 *   3. the engine gets both lengths and the hashes;
 *   4. each token event becomes an SSE event, or the last one the body;
 *   5. the exchange closes, the job is freed.
 * Failures: bad input is 4xx before the engine hears of it; a full queue 503; a client that leaves
 * at any point is aborted in the engine at once; no memory is 503, or a cut connection when the
 * answer has begun. */
#include "simulator/worker/job.h"

#include "common/base/hash.h"
#include "simulator/worker/dialect.h"

#include <inttypes.h>
#include <stdio.h>

enum { ID_BYTES = 129 };

struct job {
    struct sim_jobs *jobs;
    struct http_exchange *ex; /* NULL once closed */
    struct loop_grave grave;
    struct loop_timer delay;
    enum sim_api api;
    struct buf body;
    struct sim_fault fault;
    struct sim_ask ask;     /* has_ask */
    struct sim_reply reply; /* has_reply */
    struct sim_render render;
    struct sim_reply_pos pos;      /* rendered up to here */
    struct sim_request_id request; /* in the engine, v 0 = not there */
    uint64_t arrived_at_us;
    uint64_t token_at_us; /* last one */
    uint32_t produced_tokens;
    bool is_answered; /* the response is whole or has been given up: nothing more is sent */
    bool forces_tool;
    bool has_ask;
    bool has_reply;
    char id[ID_BYTES];
};

static void job_free(struct loop_grave *grave)
{
    struct job *job = LIST_OWNER(grave, struct job, grave);
    if (job->has_ask) {
        sim_ask_fini(&job->ask);
    }
    if (job->has_reply) {
        sim_reply_fini(&job->reply);
    }
    buf_fini(&job->body);
    mem_free(mem_heap(), job, sizeof(*job));
}

static void on_close(void *ctx, enum http_close why)
{
    struct job *job = ctx;
    struct sim_jobs *jobs = job->jobs;
    job->ex = NULL;
    job->is_answered = true;
    loop_timer_cancel(jobs->loop, &job->delay);
    if (job->request.v != 0 && sim_engine_abort(jobs->engine, job->request)) {
        jobs->metrics.aborted_count++;
    }
    job->request.v = 0;
    if (why != HTTP_CLOSE_DONE) {
        jobs->gone_count++;
    }
    jobs->count--;
    loop_bury(jobs->loop, &job->grave);
}

void sim_respond_refusal(struct sim_jobs *jobs,
                         struct http_exchange *ex,
                         const struct sim_refusal *refusal,
                         bool is_anthropic)
{
    sim_out_clear(&jobs->scratch);
    if (is_anthropic) {
        sim_refusal_anthropic(refusal, &jobs->scratch);
    } else {
        sim_refusal_openai(refusal, &jobs->scratch);
    }
    bool is_busy = refusal->status == 503 || refusal->status == 429;
    http_respond(ex, refusal->status,
                 is_busy ? STR("content-type: application/json\r\nretry-after: 1\r\n")
                         : STR("content-type: application/json\r\n"),
                 buf_str(&jobs->scratch.buf));
}

static void refuse(struct job *job, const struct sim_refusal *refusal)
{
    job->is_answered = true;
    if (refusal->status >= 500) {
        job->jobs->metrics.error_count++;
    }
    sim_respond_refusal(job->jobs, job->ex, refusal,
                        job->api == SIM_API_MESSAGES || job->api == SIM_API_COUNT);
}

static void refuse_text(struct job *job, int status, const char *param, const char *text)
{
    struct sim_refusal refusal;
    (void)sim_refuse(&refusal, status, param, "%s", text);
    refuse(job, &refusal);
}

/* Sends what the scratch holds as (a part of) the body. */
static void send_scratch(struct job *job, size_t len, bool is_last)
{
    const struct buf *buf = &job->jobs->scratch.buf;
    struct iovec iov = {.iov_base = buf->p, .iov_len = len};
    http_respond_data(job->ex, &iov, len > 0 ? 1 : 0, is_last);
}

static void cut(struct job *job)
{
    job->is_answered = true;
    http_respond_abort(job->ex);
}

/* Renders the next token with all that belongs to it; true when it was the last one. */
static bool render_token(struct job *job, struct sim_out *out)
{
    const struct sim_dialect *dialect = sim_dialect_of(job->api);
    struct sim_piece piece;
    bool has_piece = sim_reply_next(&job->reply, &job->pos, &piece);
    ASSERT(has_piece);
    sim_out_clear(out);
    job->render.output_tokens = job->pos.token_idx;
    if (job->pos.token_idx == 1 && dialect->first != NULL) {
        dialect->first(&job->render, out);
    }
    dialect->piece(&job->render, &piece, out);
    if (job->pos.token_idx == 1 && job->fault.is_garbage) {
        sim_out_str(out, STR("data: {\"choices\":[{\"delta\":\xff}\n\n"));
    }
    bool is_last = job->pos.token_idx == job->reply.token_count;
    if (is_last) {
        dialect->close(&job->render, out);
    }
    return is_last;
}

/* Sends what the engine has produced and the client has room for. */
static void pump(struct job *job)
{
    while (!job->is_answered && job->pos.token_idx < job->produced_tokens &&
           !http_respond_is_full(job->ex)) {
        if (job->pos.token_idx == job->fault.stall_after) {
            job->is_answered = true;
            return;
        }
        bool is_last = render_token(job, &job->jobs->scratch);
        bool is_cut = job->jobs->scratch.st != ST_OK ||
                      job->pos.token_idx == job->fault.reset_after ||
                      (is_last && job->fault.is_short);
        send_scratch(job, job->jobs->scratch.buf.len, is_last && !is_cut);
        if (job->ex == NULL) {
            return;
        }
        job->is_answered = is_last;
        if (is_cut) {
            cut(job);
        }
    }
}

/* The whole answer at once, with what faults leave of it. */
static void send_whole(struct job *job)
{
    struct sim_out *out = &job->jobs->scratch;
    job->render.output_tokens = job->reply.token_count;
    job->is_answered = true;
    sim_out_clear(out);
    if (job->fault.is_garbage) {
        sim_out_str(out, STR("{\"id\":\xff"));
    }
    sim_dialect_of(job->api)->whole(&job->render, out);
    if (out->st != ST_OK) {
        refuse_text(job, 503, NULL, "out of memory");
        return;
    }
    struct str fields = STR("content-type: application/json\r\n");
    size_t len = out->buf.len;
    size_t sent = job->fault.is_short ? len / 2 : len;
    sent = job->fault.stall_after < sent ? (size_t)job->fault.stall_after : sent;
    sent = job->fault.reset_after < sent ? (size_t)job->fault.reset_after : sent;
    if (sent == len) {
        http_respond(job->ex, 200, fields, buf_str(&out->buf));
        return;
    }
    http_respond_begin(job->ex, 200, fields, (int64_t)len);
    send_scratch(job, sent, false);
    if (job->ex != NULL && job->fault.stall_after == SIM_FAULT_NEVER) {
        cut(job);
    }
}

/* Gives the request to the engine. */
static void submit(struct job *job)
{
    struct sim_jobs *jobs = job->jobs;
    struct sim_request_spec spec = {
        .owner = job,
        .block_hashes = job->ask.chain.hashes,
        .block_hash_count = job->ask.chain.hash_count,
        .prompt_tokens = job->render.prompt_tokens,
        .output_tokens = job->reply.token_count,
    };
    enum status st = sim_engine_submit(jobs->engine, &spec, &job->request);
    if (st == ST_FULL) {
        jobs->metrics.queue_refused_count++;
        refuse_text(job, 503, NULL, "The waiting queue is full.");
        return;
    }
    if (st != ST_OK) {
        refuse_text(job, st == ST_TOOBIG ? 400 : 503, NULL, status_text(st));
        return;
    }
    sim_clock_kick(&jobs->clock);
    if (!job->ask.is_stream) {
        return;
    }
    http_respond_begin(job->ex, 200,
                       STR("content-type: text/event-stream; charset=utf-8\r\n"
                           "cache-control: no-cache\r\n"),
                       -1);
    const struct sim_dialect *dialect = sim_dialect_of(job->api);
    if (job->ex != NULL && dialect->open != NULL) {
        sim_out_clear(&jobs->scratch);
        dialect->open(&job->render, &jobs->scratch);
        send_scratch(job, jobs->scratch.buf.len, false);
    }
}

static uint32_t context_tokens(const struct sim_jobs *jobs)
{
    return jobs->opts.engine.profile.context_tokens;
}

/* Decides the reply; false when the request has been refused. */
static bool decide(struct job *job)
{
    struct sim_jobs *jobs = job->jobs;
    uint64_t prompt = job->ask.chain.token_count;
    if (prompt >= context_tokens(jobs)) {
        struct sim_refusal refusal;
        (void)sim_refuse(&refusal, 400, "input_tokens",
                         "This model's maximum context length is %" PRIu32
                         " tokens. However, your request has %" PRIu64
                         " input tokens. Please reduce the length of the input messages.",
                         context_tokens(jobs), prompt);
        refuse(job, &refusal);
        return false;
    }
    bool is_turn = job->ask.tools != NULL && jobs->opts.tool_every != 0 &&
                   ++jobs->tool_seq % jobs->opts.tool_every == 0;
    struct sim_reply_opts opts = {
        .seed = jobs->opts.seed,
        .mean_tokens = jobs->opts.mean_tokens,
        .room_tokens = context_tokens(jobs) - (uint32_t)prompt,
        .calls_tool = is_turn || job->forces_tool,
    };
    if (sim_reply_make(&job->reply, &job->ask, &opts) != ST_OK) {
        refuse_text(job, 503, NULL, "out of memory");
        return false;
    }
    job->has_reply = true;
    job->render = (struct sim_render){
        .api = job->api,
        .wants_usage = job->ask.wants_usage,
        .wants_usage_each = job->ask.wants_usage_each,
        .lacks_done = job->fault.lacks_done,
        .id = str_of(job->id),
        .model = jobs->model,
        .created_s = (job->arrived_at_us + jobs->wall_offset_us) / 1000000,
        .max_tokens = job->ask.max_tokens,
        .prompt_tokens = (uint32_t)prompt,
        .reply = &job->reply,
    };
    return true;
}

/* Answers count_tokens and tokenize. */
static void answer_count(struct job *job)
{
    struct sim_out *out = &job->jobs->scratch;
    const struct sim_chain *chain = &job->ask.chain;
    sim_out_clear(out);
    if (job->api == SIM_API_COUNT) {
        sim_out_fmt(out, "{\"input_tokens\":%" PRIu64 "}", chain->token_count);
    } else {
        sim_out_fmt(out, "{\"count\":%" PRIu64 ",\"max_model_len\":%" PRIu32 ",\"tokens\":[",
                    chain->token_count, context_tokens(job->jobs));
        for (uint64_t i = 0; i < chain->token_count; i++) {
            sim_out_fmt(out, i == 0 ? "%" PRIu32 : ",%" PRIu32, chain->tokens[i]);
        }
        sim_out_str(out, STR("],\"token_strs\":null}"));
    }
    job->is_answered = true;
    http_respond(job->ex, 200, STR("content-type: application/json\r\n"), buf_str(&out->buf));
}

/* Reads the collected body; false when the request has been refused. */
static bool read_body(struct job *job)
{
    yyjson_read_err why;
    yyjson_doc *doc = yyjson_read_opts(job->body.p == NULL ? (char[]){""} : job->body.p,
                                       job->body.len, YYJSON_READ_NOFLAG, NULL, &why);
    struct sim_refusal refusal;
    bool is_ok = doc != NULL;
    if (!is_ok) {
        (void)sim_refuse(&refusal, 400, NULL, "the body is no JSON: %s at byte %zu", why.msg,
                         why.pos);
        refuse(job, &refusal);
        return false;
    }
    job->has_ask = sim_ask_read(&job->ask, job->api, yyjson_doc_get_root(doc), job->jobs->model,
                                mem_heap(), &refusal);
    if (!job->has_ask) {
        refuse(job, &refusal);
        is_ok = false;
    } else if (sim_dialect_of(job->api) == NULL) {
        answer_count(job);
        is_ok = false;
    } else {
        is_ok = decide(job);
    }
    /* The ask points into the document; nobody follows it from here on. */
    job->ask.tools = NULL;
    job->ask.json_schema = NULL;
    yyjson_doc_free(doc);
    buf_fini(&job->body);
    return is_ok;
}

static void run(struct job *job)
{
    if (job->fault.error_status != 0) {
        refuse_text(job, job->fault.error_status, NULL, "asked to fail");
    } else if (job->fault.is_stalled) {
        job->is_answered = true;
    } else if (job->fault.reset_after == 0) {
        cut(job);
    } else if (read_body(job)) {
        submit(job);
    }
}

static void on_delay(struct loop_timer *timer)
{
    run(LIST_OWNER(timer, struct job, delay));
}

static void on_body(void *ctx, const char *data, size_t len)
{
    struct job *job = ctx;
    if (job->is_answered) {
        return;
    }
    enum status st = buf_add(&job->body, data, len);
    if (st == ST_FULL) {
        refuse_text(job, 413, NULL, "The request body is too large.");
    } else if (st != ST_OK) {
        refuse_text(job, 503, NULL, "out of memory");
    }
}

static void on_end(void *ctx)
{
    struct job *job = ctx;
    if (job->is_answered) {
        return;
    }
    job->arrived_at_us = loop_now_us(job->jobs->loop);
    if (job->fault.delay_ms == 0) {
        run(job);
        return;
    }
    uint64_t at_us = job->arrived_at_us + job->fault.delay_ms * 1000;
    if (loop_timer_set(job->jobs->loop, &job->delay, at_us) != ST_OK) {
        refuse_text(job, 503, NULL, "out of memory");
    }
}

static void on_drain(void *ctx)
{
    pump(ctx);
}

static const struct http_exchange_ops ops = {
    .on_body = on_body,
    .on_end = on_end,
    .on_drain = on_drain,
    .on_close = on_close,
};

/* The client's id where it sends a sane one, else one of our own. */
static void choose_id(struct job *job, const struct http_head *head)
{
    struct str id;
    if (http_head_get(head, STR("x-request-id"), &id) && id.len > 0 && id.len < ID_BYTES) {
        size_t ok = 0;
        while (ok < id.len &&
               (memchr("-._", id.p[ok], 3) != NULL ||
                ((unsigned char)(id.p[ok] | 0x20) >= 'a' && (id.p[ok] | 0x20) <= 'z') ||
                ((unsigned char)id.p[ok] >= '0' && id.p[ok] <= '9'))) {
            ok++;
        }
        if (ok == id.len) {
            (void)str_copy(job->id, sizeof(job->id), id);
            return;
        }
    }
    (void)snprintf(job->id, sizeof(job->id), "%016" PRIx64,
                   hash_mix(job->jobs->opts.seed, job->jobs->taken_count));
}

/* Faults of the request's own header, else those of the engine with their probability. */
static bool choose_fault(struct job *job, const struct http_head *head, struct err *err)
{
    struct sim_jobs *jobs = job->jobs;
    struct str text;
    sim_fault_init(&job->fault);
    if (http_head_get(head, STR("x-sim-fault"), &text)) {
        return sim_fault_parse(&job->fault, text, err) == ST_OK;
    }
    if (jobs->opts.fault_ratio > 0.0 && rng_unit(&jobs->rng) < jobs->opts.fault_ratio) {
        job->fault = jobs->fault;
    }
    return true;
}

void sim_job_start(struct sim_jobs *jobs, struct http_exchange *ex, enum sim_api api)
{
    struct job *job = NULL;
    if (jobs->count < jobs->opts.requests_max) {
        job = mem_calloc(mem_heap(), 1, sizeof(*job));
    }
    if (job == NULL) {
        struct sim_refusal refusal;
        (void)sim_refuse(&refusal, 503, NULL, "too many requests in progress");
        sim_respond_refusal(jobs, ex, &refusal, api == SIM_API_MESSAGES || api == SIM_API_COUNT);
        return;
    }
    const struct http_head *head = http_exchange_head(ex);
    struct err err = {0};
    struct str text;
    job->jobs = jobs;
    job->ex = ex;
    job->api = api;
    job->grave.fn = job_free;
    job->delay.fn = on_delay;
    buf_init(&job->body, mem_heap(), jobs->opts.body_bytes);
    jobs->count++;
    jobs->taken_count++;
    job->forces_tool = http_head_get(head, STR("x-sim-tool"), &text) && str_eq(text, STR("1"));
    choose_id(job, head);
    bool is_ok = choose_fault(job, head, &err);
    http_exchange_take(ex, &ops, job);
    if (!is_ok) {
        refuse_text(job, 400, "x-sim-fault", err.text);
    } else if (http_exchange_content_length(ex) > (int64_t)jobs->opts.body_bytes) {
        refuse_text(job, 413, NULL, "The request body is too large.");
    }
}

static void observe_token(struct job *job, const struct sim_event *event)
{
    struct sim_jobs *jobs = job->jobs;
    uint64_t now_us = loop_now_us(jobs->loop);
    if (event->token_idx == 0) {
        job->render.cached_tokens = event->cached_tokens;
        sim_metrics_observe(&jobs->metrics, SIM_HIST_TTFT_S,
                            (double)(now_us - job->arrived_at_us) / 1e6);
        sim_metrics_observe(&jobs->metrics, SIM_HIST_PROMPT_TOKENS, job->render.prompt_tokens);
        sim_metrics_observe(&jobs->metrics, SIM_HIST_PREFILL_COMPUTED_TOKENS,
                            job->render.prompt_tokens - event->cached_tokens);
    } else {
        sim_metrics_observe(&jobs->metrics, SIM_HIST_INTER_TOKEN_S,
                            (double)(now_us - job->token_at_us) / 1e6);
    }
    job->token_at_us = now_us;
    job->produced_tokens = event->token_idx + 1;
}

static void finish(struct job *job)
{
    struct sim_metrics *metrics = &job->jobs->metrics;
    job->request.v = 0;
    if (job->reply.is_cut) {
        metrics->cut_count++;
    } else {
        metrics->stopped_count++;
    }
    sim_metrics_observe(metrics, SIM_HIST_OUTPUT_TOKENS, job->reply.token_count);
    sim_metrics_observe(metrics, SIM_HIST_E2E_S,
                        (double)(job->token_at_us - job->arrived_at_us) / 1e6);
    if (!job->ask.is_stream && !job->is_answered) {
        send_whole(job);
    }
}

void sim_job_event(void *jobs, const struct sim_event *event)
{
    struct job *job = event->owner;
    (void)jobs;
    if (job->ex == NULL) {
        return; /* left while the events of this iteration were handed out */
    }
    switch (event->kind) {
    case SIM_EVENT_PREEMPTED:
        break;
    case SIM_EVENT_TOKEN:
        observe_token(job, event);
        if (job->ask.is_stream) {
            pump(job);
        }
        break;
    case SIM_EVENT_FINISHED:
        finish(job);
        break;
    }
}

void sim_job_iteration(void *jobs)
{
    struct sim_jobs *all = jobs;
    const struct sim_batch *batch = sim_engine_batch(all->engine);
    sim_metrics_observe(&all->metrics, SIM_HIST_ITERATION_TOKENS,
                        (double)(batch->prefill_tokens + batch->decode_requests));
}
