/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/worker.h"

#include "common/rt/clock.h"
#include "simulator/worker/job.h"

#include <inttypes.h>
#include <llhttp.h>
#include <stdio.h>

enum { KEY_BYTES = 512 };

static const struct http_limits limits = {
    .header_bytes = 65536,
    .header_count = 128,
    .connections = 20000,
    .header_timeout_us = 15000000,
    .body_idle_us = 30000000,
    .keepalive_idle_us = 75000000,
    .slow_client_us = 60000000,
    .client_buffer_bytes = 262144,
};

struct sim_worker {
    struct sim_jobs jobs;
    struct http_server *server;
    char key[KEY_BYTES]; /* "" = none */
};

static void respond_json(struct http_exchange *ex, int status, const struct sim_out *out)
{
    http_respond(ex, status, STR("content-type: application/json\r\n"), buf_str(&out->buf));
}

static void respond_models(struct sim_worker *worker, struct http_exchange *ex)
{
    struct sim_jobs *jobs = &worker->jobs;
    struct sim_out *out = &jobs->scratch;
    uint64_t created_s = (loop_now_us(jobs->loop) + jobs->wall_offset_us) / 1000000;
    sim_out_clear(out);
    sim_out_str(out, STR("{\"object\":\"list\",\"data\":[{\"id\":"));
    sim_out_json(out, jobs->model);
    sim_out_fmt(out,
                ",\"object\":\"model\",\"created\":%" PRIu64 ",\"owned_by\":\"saga-sim\",\"root\":",
                created_s);
    sim_out_json(out, jobs->model);
    sim_out_fmt(out, ",\"parent\":null,\"max_model_len\":%" PRIu32 ",\"permission\":[]}]}",
                jobs->opts.engine.profile.context_tokens);
    respond_json(ex, 200, out);
}

static void respond_metrics(struct sim_worker *worker, struct http_exchange *ex)
{
    struct sim_jobs *jobs = &worker->jobs;
    sim_out_clear(&jobs->scratch);
    sim_metrics_write(&jobs->metrics, jobs->engine, jobs->opts.engine.block_tokens, jobs->model,
                      &jobs->scratch);
    http_respond(ex, 200, STR("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"),
                 buf_str(&jobs->scratch.buf));
}

static void
respond_text(struct sim_worker *worker, struct http_exchange *ex, int status, struct str text)
{
    sim_out_clear(&worker->jobs.scratch);
    sim_out_str(&worker->jobs.scratch, text);
    respond_json(ex, status, &worker->jobs.scratch);
}

static void respond_health(struct sim_worker *worker, struct http_exchange *ex)
{
    (void)worker;
    http_respond(ex, 200, STR(""), STR(""));
}

static void respond_version(struct sim_worker *worker, struct http_exchange *ex)
{
    respond_text(worker, ex, 200, STR("{\"version\":\"saga-sim\"}"));
}

static void respond_load(struct sim_worker *worker, struct http_exchange *ex)
{
    struct sim_jobs *jobs = &worker->jobs;
    sim_out_clear(&jobs->scratch);
    sim_out_fmt(&jobs->scratch, "{\"server_load\":%" PRIu32 "}", jobs->count);
    respond_json(ex, 200, &jobs->scratch);
}

static void respond_reset(struct sim_worker *worker, struct http_exchange *ex)
{
    bool is_done = sim_engine_reset_cache(worker->jobs.engine);
    respond_text(worker, ex, 200, is_done ? STR("{\"success\":true}") : STR("{\"success\":false}"));
}

struct route {
    const char *path;
    bool is_post;
    void (*respond)(struct sim_worker *worker, struct http_exchange *ex); /* NULL: a job */
    enum sim_api api;
};

static const struct route routes[] = {
    {"/v1/chat/completions", true, NULL, SIM_API_CHAT},
    {"/v1/completions", true, NULL, SIM_API_COMPLETIONS},
    {"/v1/responses", true, NULL, SIM_API_RESPONSES},
    {"/v1/messages", true, NULL, SIM_API_MESSAGES},
    {"/v1/messages/count_tokens", true, NULL, SIM_API_COUNT},
    {"/tokenize", true, NULL, SIM_API_TOKENIZE},
    {"/v1/models", false, respond_models, SIM_API_CHAT},
    {"/health", false, respond_health, SIM_API_CHAT},
    {"/ping", false, respond_health, SIM_API_CHAT},
    {"/version", false, respond_version, SIM_API_CHAT},
    {"/metrics", false, respond_metrics, SIM_API_CHAT},
    {"/load", false, respond_load, SIM_API_CHAT},
    {"/reset_prefix_cache", true, respond_reset, SIM_API_CHAT},
};

static bool
is_allowed(const struct sim_worker *worker, const struct http_head *head, struct str path)
{
    struct str value;
    if (worker->key[0] == '\0' || !str_starts(path, STR("/v1/"))) {
        return true;
    }
    if (http_head_get(head, STR("authorization"), &value) && str_istarts(value, STR("bearer "))) {
        value.p += 7;
        value.len -= 7;
        return str_eq(str_trim(value), str_of(worker->key));
    }
    return http_head_get(head, STR("x-api-key"), &value) && str_eq(value, str_of(worker->key));
}

static void on_request(void *ctx, struct http_exchange *ex)
{
    struct sim_worker *worker = ctx;
    const struct http_head *head = http_exchange_head(ex);
    struct str rest = http_head_target(head);
    struct str path = rest;
    (void)str_split(&rest, '?', &path);
    if (!is_allowed(worker, head, path)) {
        respond_text(worker, ex, 401, STR("{\"error\":\"Unauthorized\"}"));
        return;
    }
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const struct route *route = &routes[i];
        if (!str_eq(path, str_of(route->path))) {
            continue;
        }
        bool is_get = head->method == HTTP_GET || head->method == HTTP_HEAD;
        if (route->is_post ? head->method != HTTP_POST : !is_get) {
            respond_text(worker, ex, 405, STR("{\"detail\":\"Method Not Allowed\"}"));
        } else if (route->respond != NULL) {
            route->respond(worker, ex);
        } else {
            sim_job_start(&worker->jobs, ex, route->api);
        }
        return;
    }
    respond_text(worker, ex, 404, STR("{\"detail\":\"Not Found\"}"));
}

static size_t
error_body(void *ctx, int status, const char *code, const char *text, char *out, size_t cap)
{
    (void)ctx;
    int len = snprintf(
        out, cap, "{\"error\":{\"message\":\"%s\",\"type\":\"%s\",\"param\":null,\"code\":%d}}",
        text, code, status);
    return len < 0 || (size_t)len >= cap ? 0 : (size_t)len;
}

static const struct http_server_ops server_ops = {.on_request = on_request,
                                                  .error_body = error_body};

/* Checks the options and keeps what is used later. */
static enum status
take_opts(struct sim_worker *worker, const struct sim_worker_opts *opts, struct err *err)
{
    struct sim_jobs *jobs = &worker->jobs;
    struct str key = str_of(opts->api_key);
    jobs->opts = *opts;
    jobs->model = str_of(opts->model);
    if (jobs->model.len == 0 || jobs->model.len >= sizeof(jobs->model_text) ||
        key.len >= sizeof(worker->key)) {
        return err_set(err, ST_INVAL, "model name or key is empty or too long");
    }
    if (!(opts->speed >= 0.0) || opts->engine.block_tokens != SIM_BLOCK_TOKENS) {
        return err_set(err, ST_INVAL, "speed must not be negative, blocks have %d tokens",
                       (int)SIM_BLOCK_TOKENS);
    }
    (void)str_copy(jobs->model_text, sizeof(jobs->model_text), jobs->model);
    (void)str_copy(worker->key, sizeof(worker->key), key);
    jobs->model.p = jobs->model_text;
    /* A prompt and reply of the whole context must fit into the KV memory. */
    struct sim_profile *profile = &jobs->opts.engine.profile;
    uint32_t kv_tokens = profile->kv_tokens / SIM_BLOCK_TOKENS * SIM_BLOCK_TOKENS;
    profile->context_tokens =
        kv_tokens < profile->context_tokens ? kv_tokens : profile->context_tokens;
    sim_fault_init(&jobs->fault);
    return opts->fault == NULL ? ST_OK : sim_fault_parse(&jobs->fault, str_of(opts->fault), err);
}

enum status sim_worker_new(struct sim_worker **ret,
                           struct loop *loop,
                           const struct sim_worker_opts *opts,
                           int listen_fd,
                           struct err *err)
{
    struct sim_worker *worker = mem_calloc(mem_heap(), 1, sizeof(*worker));
    if (worker == NULL) {
        return err_set(err, ST_NOMEM, "out of memory");
    }
    struct sim_jobs *jobs = &worker->jobs;
    jobs->loop = loop;
    jobs->wall_offset_us = clock_wall_us() - loop_now_us(loop);
    rng_init(&jobs->rng, opts->seed);
    sim_out_init(&jobs->scratch, mem_heap());
    enum status st = take_opts(worker, opts, err);
    if (st != ST_OK) {
        goto out;
    }
    st = sim_engine_new(&jobs->engine, mem_heap(), &jobs->opts.engine);
    if (st != ST_OK) {
        (void)err_set(err, st, "engine: %s (budget must cover the batch, KV at least one block)",
                      status_text(st));
        goto out;
    }
    sim_clock_init(&jobs->clock, loop, jobs->engine, opts->speed);
    jobs->clock.on_event = sim_job_event;
    jobs->clock.on_iteration = sim_job_iteration;
    jobs->clock.ctx = jobs;
    st = http_server_new(&worker->server, loop, &limits, &server_ops, worker);
    if (st == ST_OK) {
        st = http_server_listen(worker->server, listen_fd, NULL);
    }
    if (st != ST_OK) {
        (void)err_set(err, st, "http server: %s", status_text(st));
    }
out:
    if (st != ST_OK) {
        sim_worker_free(worker);
        return st;
    }
    *ret = worker;
    return ST_OK;
}

void sim_worker_free(struct sim_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    http_server_free(worker->server);
    sim_clock_fini(&worker->jobs.clock);
    sim_engine_free(worker->jobs.engine);
    sim_out_fini(&worker->jobs.scratch);
    mem_free(mem_heap(), worker, sizeof(*worker));
}

void sim_worker_stats(const struct sim_worker *worker, struct sim_worker_stats *ret)
{
    const struct sim_jobs *jobs = &worker->jobs;
    *ret = (struct sim_worker_stats){
        .engine = *sim_engine_counters(jobs->engine),
        .kv = sim_engine_kv(jobs->engine),
        .running = sim_engine_running(jobs->engine),
        .waiting = sim_engine_waiting(jobs->engine),
        .requests = jobs->count,
        .request_count = jobs->taken_count,
        .client_gone_count = jobs->gone_count,
    };
}
