/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. a request head arrives; 2. its route is found: a step goes to step.c, a question
 * about the gateway is answered here; 3. commands of the core reach their step by request id.
 * Failures: unknown path, wrong method, odd target -> refused in the API's error shape, nothing is
 * forwarded. A command for a step that is gone is dropped: the core learns of it by GONE. */
#include "coordinator/io/front.h"

#include "common/base/hash.h"
#include "common/rt/log.h"
#include "common/rt/metric.h"
#include "coordinator/io/forward.h"
#include "coordinator/io/probe.h"
#include "coordinator/io/route.h"
#include "coordinator/io/step.h"

#include <stdio.h>
#include <sys/random.h>

enum { SPARE_OUT_MAX = 1 << 21, MODELS_MAX = 1 << 20, SPARE_REQUESTS = 1024 };

static struct http_limits server_limits(const struct config *cfg)
{
    return (struct http_limits){
        .header_bytes = cfg->limits_header_bytes,
        .header_count = (uint32_t)cfg->limits_header_count,
        .connections = (uint32_t)cfg->limits_connections,
        .header_timeout_us = cfg->limits_header_timeout_ms * 1000,
        .body_idle_us = cfg->limits_body_idle_ms * 1000,
        .keepalive_idle_us = cfg->limits_keepalive_idle_ms * 1000,
        .slow_client_us = cfg->limits_slow_client_ms * 1000,
        .client_buffer_bytes = cfg->limits_client_buffer_bytes,
    };
}

static struct http_client_limits client_limits(const struct config *cfg)
{
    return (struct http_client_limits){
        .header_bytes = cfg->upstream_header_bytes,
        .connect_timeout_us = cfg->upstream_connect_timeout_ms * 1000,
        .first_byte_timeout_us = cfg->upstream_first_byte_timeout_ms * 1000,
        .idle_timeout_us = cfg->upstream_idle_timeout_ms * 1000,
        .keepalive_idle_us = cfg->upstream_keepalive_idle_ms * 1000,
        .pool_idle_max = (uint32_t)cfg->upstream_pool_idle_max,
    };
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
}

static void make_name(struct front *front, char out[COORD_NAME_MAX + 1])
{
    uint64_t high = hash_mix(front->name_seed, front->next_req);
    uint64_t low = hash_mix(high, loop_now_us(front->loop));
    snprintf(out, COORD_NAME_MAX + 1, "req-%016llx%08llx", (unsigned long long)high,
             (unsigned long long)(low >> 32));
    front->name_seed = low;
}

/* The client's x-request-id when it is short and plain, else one of our own. */
static void
name_request(struct front *front, const struct http_head *head, char out[COORD_NAME_MAX + 1])
{
    struct str name = {0};
    bool is_usable = http_head_get(head, STR("x-request-id"), &name) && name.len > 0 &&
                     name.len <= COORD_NAME_MAX;
    for (size_t i = 0; i < name.len && is_usable; i++) {
        is_usable = is_name_char(name.p[i]);
    }
    if (is_usable) {
        str_copy(out, COORD_NAME_MAX + 1, name);
    } else {
        make_name(front, out);
    }
}

static void answer_json(
    struct http_exchange *ex, int status, const char *name, const char *extra, struct str body)
{
    char fields[512];
    int len = snprintf(fields, sizeof(fields),
                       "content-type: application/json\r\nx-request-id: %s\r\n%s", name, extra);
    http_respond(ex, status, (struct str){fields, (size_t)len}, body);
}

static void answer_error(struct http_exchange *ex,
                         const char *name,
                         const char *extra,
                         enum coord_route route,
                         const struct error_info *info)
{
    char body[ERROR_BODY_BYTES];
    size_t len = error_write_body(route, info, body, sizeof(body));
    answer_json(ex, info->status, name, extra, (struct str){body, len});
}

static void answer_plain(struct front *front,
                         struct http_exchange *ex,
                         const struct route_match *match,
                         const char *name)
{
    char extra[96] = "";
    if (match->allow != NULL) {
        snprintf(extra, sizeof(extra), "allow: %s\r\n", match->allow);
    }
    struct error_info info = {.request = str_of(name)};
    switch (match->kind) {
    case ROUTE_MODELS:
        answer_json(ex, 200, name, "", buf_str(&front->models));
        return;
    case ROUTE_ROOT:
        answer_json(ex, 200, name, "", STR("{\"name\":\"saga\"}"));
        return;
    case ROUTE_HEALTH:
        answer_json(ex, 200, name, "", STR("{\"status\":\"ok\"}"));
        return;
    case ROUTE_READY:
        if (front->is_ready && !front->is_draining) {
            answer_json(ex, 200, name, "", STR("{\"status\":\"ready\"}"));
        } else {
            answer_json(ex, 503, name, "retry-after: 1\r\n", STR("{\"status\":\"not ready\"}"));
        }
        return;
    case ROUTE_OPTIONS:
        answer_json(ex, 204, name, extra, STR(""));
        return;
    case ROUTE_BAD_METHOD:
        info = (struct error_info){405, "method_not_allowed",
                                   STR("this path does not take that method"), info.request};
        metric_inc(METRIC_REJECTED, METRIC_REASON_METHOD, 0);
        break;
    case ROUTE_BAD_TARGET:
        info = (struct error_info){400, "bad_target", STR("the request target must be a path"),
                                   info.request};
        metric_inc(METRIC_REJECTED, METRIC_REASON_BAD_REQUEST, 0);
        break;
    case ROUTE_STEP:
    case ROUTE_UNKNOWN:
        info = (struct error_info){404, "not_found", STR("no such path"), info.request};
        metric_inc(METRIC_REJECTED, METRIC_REASON_NOT_FOUND, 0);
        break;
    }
    answer_error(ex, name, extra, match->step_route, &info);
}

static void on_request(void *ctx, struct http_exchange *ex)
{
    struct front *front = ctx;
    const struct http_head *head = http_exchange_head(ex);
    struct str target = http_head_target(head);
    struct route_match match = route_find(head->method, target);
    char name[COORD_NAME_MAX + 1];
    name_request(front, head, name);
    if (match.kind != ROUTE_STEP) {
        unsigned route = match.kind == ROUTE_MODELS ? METRIC_ROUTE_MODELS
                         : match.kind == ROUTE_HEALTH || match.kind == ROUTE_READY
                             ? METRIC_ROUTE_HEALTH
                             : METRIC_ROUTE_OTHER;
        bool is_error = match.kind >= ROUTE_BAD_METHOD;
        metric_inc(METRIC_REQUESTS, route,
                   is_error ? METRIC_OUTCOME_CLIENT_ERROR : METRIC_OUTCOME_OK);
        answer_plain(front, ex, &match, name);
        return;
    }
    if (route_query_names_model(target)) {
        struct error_info info = {
            400, "bad_target", STR("name the model in the body, not in the query"), str_of(name)};
        metric_inc(METRIC_REJECTED, METRIC_REASON_BAD_REQUEST, 0);
        answer_error(ex, name, "", match.step_route, &info);
        return;
    }
    step_take(front, ex, match.step_route, name);
}

/* Refusals that the HTTP layer makes itself. */
static size_t
error_body(void *ctx, int status, const char *code, const char *text, char *out, size_t cap)
{
    const struct front *front = ctx;
    unsigned reason = METRIC_REASON_BAD_REQUEST;
    if (status == 431) {
        reason = METRIC_REASON_HEADERS;
    } else if (status == 408) {
        reason = strcmp(code, "body_timeout") == 0 ? METRIC_REASON_BODY_TIMEOUT
                                                   : METRIC_REASON_HEADER_TIMEOUT;
    } else if (status == 503) {
        reason = METRIC_REASON_OVERLOAD;
    }
    metric_inc(METRIC_REJECTED, reason, 0);
    log_debug("front", "bad request status=%d code=%s", status, code);
    struct error_info info = {status, code, str_of(text), str_of(front->error_name)};
    return error_write_body(COORD_ROUTE_CHAT, &info, out, cap);
}

/* Such a refusal has a name of its own too. */
static size_t error_fields(void *ctx, char *out, size_t cap)
{
    struct front *front = ctx;
    make_name(front, front->error_name);
    int len = snprintf(out, cap, "x-request-id: %s\r\n", front->error_name);
    return (size_t)len < cap ? (size_t)len : 0;
}

static const struct http_server_ops *server_ops(void)
{
    static const struct http_server_ops ops = {
        .on_request = on_request, .error_body = error_body, .error_fields = error_fields};
    return &ops;
}

enum status front_new(struct front **ret, const struct front_opts *opts, struct err *err)
{
    struct front *front = mem_calloc(mem_heap(), 1, sizeof(*front));
    if (front == NULL) {
        return err_set(err, ST_NOMEM, "gateway");
    }
    front->loop = opts->loop;
    front->cfg = opts->cfg;
    front->port = opts->port;
    front->loop_idx = opts->loop_idx;
    front->server_tls = opts->server_tls;
    front->next_req = 1;
    list_init(&front->steps);
    list_init(&front->probes);
    map_init(&front->by_req, mem_heap(), (uint32_t)opts->cfg->limits_requests + SPARE_REQUESTS);
    body_pool_init(&front->bodies);
    buf_init(&front->spare_out, mem_heap(), SPARE_OUT_MAX);
    buf_init(&front->models, mem_heap(), MODELS_MAX);
    struct http_limits limits = server_limits(opts->cfg);
    struct http_client_limits upstream = client_limits(opts->cfg);
    ssize_t got = getrandom(&front->name_seed, sizeof(front->name_seed), 0);
    enum status st =
        got == (ssize_t)sizeof(front->name_seed) ? ST_OK : err_set(err, ST_IO, "no random seed");
    if (st == ST_OK) {
        st = http_server_new(&front->server, opts->loop, &limits, server_ops(), front);
    }
    if (st == ST_OK) {
        st = http_client_new(&front->client, opts->loop, &upstream);
    }
    fleet_io_init(&front->fleet, front->client);
    if (st == ST_OK) {
        st = body_parser_new(&front->parser);
    }
    if (st == ST_OK) {
        st = buf_add_str(&front->models, STR("{\"object\":\"list\",\"data\":[]}"));
    }
    if (st != ST_OK) {
        front_free(front);
        return st;
    }
    *ret = front;
    return ST_OK;
}

void front_free(struct front *front)
{
    if (front == NULL) {
        return;
    }
    LIST_FOR_EACH(it, &front->steps)
    {
        step_drop(LIST_OWNER(it, struct step, link));
    }
    probe_stop_all(front);
    http_server_free(front->server);
    fleet_io_fini(&front->fleet);
    http_client_free(front->client);
    body_parser_free(front->parser);
    map_fini(&front->by_req);
    body_pool_fini(&front->bodies);
    buf_fini(&front->spare_out);
    buf_fini(&front->models);
    mem_free(mem_heap(), front, sizeof(*front));
}

enum status front_listen(struct front *front, int fd)
{
    return http_server_listen(front->server, fd, front->server_tls);
}

void front_reload(struct front *front, const struct config *cfg)
{
    front->cfg = cfg;
    struct http_limits limits = server_limits(cfg);
    struct http_client_limits upstream = client_limits(cfg);
    http_server_set_limits(front->server, &limits);
    http_client_set_limits(front->client, &upstream);
}

void front_drain(struct front *front)
{
    front->is_draining = true;
    http_server_drain(front->server);
}

uint32_t front_in_flight(const struct front *front)
{
    return front->step_count;
}

enum status front_add_engine(struct front *front,
                             struct engine_id id,
                             const struct config_engine *engine,
                             const char *key,
                             struct tls_ctx *tls,
                             struct err *err)
{
    return fleet_io_add(&front->fleet, id, engine, key, tls, err);
}

void front_remove_engine(struct front *front, struct engine_id id)
{
    fleet_io_remove(&front->fleet, id);
}

void front_set_engine_kind(struct front *front, struct engine_id id, enum coord_engine_kind kind)
{
    struct fleet_engine *engine = fleet_io_find(&front->fleet, id);
    if (engine != NULL && !engine->is_kind_fixed && kind != COORD_ENGINE_UNKNOWN) {
        engine->kind = kind;
    }
}

void front_set_models(struct front *front, struct str json, bool is_ready)
{
    front->is_ready = is_ready;
    struct buf models;
    buf_init(&models, mem_heap(), MODELS_MAX);
    if (buf_add_str(&models, json) == ST_OK) {
        buf_fini(&front->models);
        front->models = models;
    } else {
        buf_fini(&models);
    }
}

static struct step *find_step(const struct front *front, struct request_id req)
{
    const uint64_t *val = map_get(&front->by_req, req.v);
    return val == NULL ? NULL : (struct step *)(uintptr_t)*val;
}

void front_placed(struct front *front,
                  struct request_id req,
                  const char *session,
                  const char *receipt)
{
    struct step *step = find_step(front, req);
    if (step != NULL) {
        step_placed(step, session, receipt);
    }
}

void front_start(struct front *front,
                 struct request_id req,
                 struct engine_id engine,
                 uint32_t attempt)
{
    struct step *step = find_step(front, req);
    if (step != NULL) {
        step_run(step, engine, attempt);
    }
}

void front_refuse(struct front *front, struct request_id req, const struct front_refusal *refusal)
{
    struct step *step = find_step(front, req);
    if (step != NULL) {
        step_refuse(step, refusal);
    }
}

void front_probe(struct front *front, struct engine_id engine, bool wants_models)
{
    probe_start(front, engine, wants_models);
}
