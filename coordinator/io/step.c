/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. the exchange is taken and its body collected; 2. the body is understood and the
 * core told (ARRIVED); 3. the core places the step, the node releases it: step_call runs the
 * attempt; 4. the exchange closes: the step is freed. Failures: too large, not JSON, no model -> an
 * error of ours; the client leaves in any phase -> the attempt's connection is closed at once and
 * the core told (GONE). */
#include "coordinator/io/step.h"

#include "common/rt/log.h"
#include "common/rt/metric.h"
#include "coordinator/core/receipt.h"
#include "coordinator/io/step_call.h"
#include "coordinator/io/step_reply.h"

#include <stdio.h>

enum { KEPT_MAX = 4194304, HEAD_MAX = 2097152, MESSAGE_BYTES = 320, RETRY_SOON_S = 1 };

static void step_free(struct step *step)
{
    struct front *front = step->front;
    loop_timer_cancel(front->loop, &step->timer);
    map_remove(&front->by_req, step->req.v);
    list_remove(&step->link);
    front->step_count--;
    body_pool_give(&front->bodies, &step->body);
    buf_fini(&step->head);
    buf_fini(&step->fields);
    buf_fini(&step->kept);
    sse_reader_fini(&step->reader);
    sse_filter_fini(&step->filter);
    buf_fini(&step->receipt);
    mem_free(mem_heap(), step, sizeof(*step));
}

static void reject(struct step *step, unsigned reason, const struct step_error *error)
{
    metric_inc(METRIC_REJECTED, reason, 0);
    step_reply_error(step, error);
}

static void reject_too_large(struct step *step)
{
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof(message), "request body is larger than %llu bytes (limits.body_bytes)",
             (unsigned long long)step->front->cfg->limits_body_bytes);
    struct step_error error = {413, "body_too_large", message, 0};
    char peer[NET_ADDR_TEXT_BYTES];
    http_exchange_peer(step->ex, peer);
    log_warn("front", "body too large req=%s peer=%s", step->name, peer);
    reject(step, METRIC_REASON_BODY_TOO_LARGE, &error);
    buf_fini(&step->body);
}

static void on_body(void *ctx, const char *data, size_t len)
{
    struct step *step = ctx;
    if (step->state != STEP_BODY) {
        return;
    }
    enum status st = buf_add(&step->body, data, len);
    if (st == ST_FULL) {
        reject_too_large(step);
    } else if (st != ST_OK) {
        struct step_error error = {503, "overloaded", "out of memory", RETRY_SOON_S};
        reject(step, METRIC_REASON_OVERLOAD, &error);
    }
}

static void on_announce(void *ctx, uint64_t bytes)
{
    struct step *step = ctx;
    uint64_t room = step->front->cfg->limits_body_bytes - step->body.len;
    if (step->state == STEP_BODY && bytes > room) {
        reject_too_large(step);
    }
}

/* Whose request it is. False (and answered): what the client said cannot be used. */
static bool
identify(struct step *step, struct identity_read *reader, struct coord_identity *identity)
{
    const struct http_head *head = http_exchange_head(step->ex);
    const struct config *cfg = step->front->cfg;
    const struct config_list *extra = &cfg->identity_headers;
    struct err err = {0};
    for (uint32_t i = 0; i < head->count; i++) {
        identity_read_header(reader, extra->items, extra->count, http_head_name(head, i),
                             http_head_value(head, i));
    }
    enum status st = coord_identity_resolve(
        &reader->input, cfg->identity_on_invalid == ON_INVALID_IGNORE, identity, &err);
    if (st != ST_OK) {
        struct step_error error = {400, "invalid_identity", err.text, 0};
        reject(step, METRIC_REASON_BAD_REQUEST, &error);
        return false;
    }
    if (!reader->input.has_session_header) {
        str_copy(step->told_session, sizeof(step->told_session), identity->session);
    }
    return true;
}

static bool understand(struct step *step, struct body_view *view)
{
    struct err err = {0};
    enum status st =
        body_parse(step->front->parser, step->route, step->body.p, step->body.len, view, &err);
    if (st == ST_NOMEM) {
        struct step_error error = {503, "overloaded", "out of memory", RETRY_SOON_S};
        reject(step, METRIC_REASON_OVERLOAD, &error);
        return false;
    }
    if (st != ST_OK) {
        struct step_error error = {400, "invalid_body", err.text, 0};
        reject(step, METRIC_REASON_BAD_REQUEST, &error);
        return false;
    }
    if (view->model.len == 0 || view->model.len > COORD_MODEL_MAX) {
        struct step_error error = {
            400, "invalid_model",
            view->model.len == 0 ? "`model` is missing" : "`model` is longer than 256 bytes", 0};
        reject(step, METRIC_REASON_BAD_REQUEST, &error);
        return false;
    }
    return true;
}

static void take_view(struct step *step, const struct body_view *view)
{
    bool is_streamed_api =
        step->route == COORD_ROUTE_CHAT || step->route == COORD_ROUTE_COMPLETIONS;
    step->is_stream = view->is_stream && step->route != COORD_ROUTE_COUNT_TOKENS;
    if (is_streamed_api && step->is_stream && !view->asks_usage && view->usage_splice.len > 0 &&
        step->front->cfg->usage_injection) {
        step->is_injected = true;
        step->usage =
            (struct step_edit){view->usage_splice_at, view->usage_splice_cut, view->usage_splice};
    }
    step->billing = (struct step_edit){view->billing_at, view->billing_cut, STR("")};
}

static void
post_arrived(struct step *step, const struct body_view *view, const struct coord_identity *identity)
{
    struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
    ev.u.arrived = (struct coord_step_arrived){
        .req = step->req,
        .name = str_of(step->name),
        .tenant = STR(""),
        .session = identity->session,
        .schema = str_of(identity->schema),
        .parent = identity->parent,
        .branch = identity->branch,
        .hints = identity->hints,
        .model = view->model,
        .route = step->route,
        .chain = view->chain,
        .chain_bytes = view->chain_bytes,
        .chain_is_end = view->chain_is_end,
        .chain_count = view->chain_count,
        .prompt_bytes = view->prompt_bytes,
        .max_output_tokens = view->max_output_tokens,
        .is_stream = step->is_stream,
        .tools = view->tools,
        .tool_count = view->tool_count,
        .opening = view->opening,
        .opening_sketch = view->opening_sketch,
    };
    step->is_known = true;
    step_move(step, STEP_WAIT);
    step_keepalive_start(step);
    step->front->port.post(step->front->port.ctx, &ev);
}

static void on_end(void *ctx)
{
    struct step *step = ctx;
    if (step->state != STEP_BODY) {
        return;
    }
    struct body_view view = {0};
    struct coord_identity identity;
    step->waited_at_us = loop_now_us(step->front->loop);
    metric_observe(METRIC_BODY, (unsigned)step->route, 0, step->body.len);
    if (understand(step, &view) && identify(step, view.identity, &identity)) {
        take_view(step, &view);
        post_arrived(step, &view, &identity);
    }
}

static void on_drain(void *ctx)
{
    step_call_resume(ctx);
}

static unsigned outcome_for_client(const struct step *step, enum http_close why)
{
    if (why == HTTP_CLOSE_GONE || why == HTTP_CLOSE_SLOW) {
        return METRIC_OUTCOME_CLIENT_CANCEL;
    }
    if (step->is_cut || (step->reader.facts.has_error && step->answer_status < 300)) {
        return METRIC_OUTCOME_UPSTREAM_ABORT;
    }
    if (step->client_status >= 500 || step->client_status == 0) {
        return METRIC_OUTCOME_SERVER_ERROR;
    }
    if (step->client_status >= 400) {
        return METRIC_OUTCOME_CLIENT_ERROR;
    }
    return step->client_status >= 300 ? METRIC_OUTCOME_REDIRECT : METRIC_OUTCOME_OK;
}

static void on_close(void *ctx, enum http_close why)
{
    struct step *step = ctx;
    struct front *front = step->front;
    step_call_cancel(step);
    step->ex = NULL;
    if (why == HTTP_CLOSE_SLOW) {
        metric_inc(METRIC_SLOW_CLIENTS, 0, 0);
    }
    if (step->is_counted_stream) {
        metric_move(METRIC_STREAMS, 0, 0, -1);
    }
    unsigned outcome = outcome_for_client(step, why);
    if (outcome == METRIC_OUTCOME_CLIENT_CANCEL) {
        metric_inc(METRIC_CLIENT_CANCELS, 0, 0);
    }
    uint64_t took_us = loop_now_us(front->loop) - step->arrived_at_us;
    metric_inc(METRIC_REQUESTS, (unsigned)step->route, outcome);
    metric_observe(METRIC_DURATION, (unsigned)step->route, 0, took_us);
    log_debug("front", "request req=%s route=%d status=%u outcome=%u engine=%u attempt=%u us=%llu",
              step->name, (int)step->route, step->client_status, outcome, step->engine.v,
              step->attempt, (unsigned long long)took_us);
    if (step->is_known) {
        step->is_known = false;
        struct coord_event ev = {.kind = COORD_EV_STEP_GONE};
        ev.u.gone.req = step->req;
        front->port.post(front->port.ctx, &ev);
    }
    step_free(step);
}

static const struct http_exchange_ops *exchange_ops(void)
{
    static const struct http_exchange_ops ops = {.on_body = on_body,
                                                 .on_announce = on_announce,
                                                 .on_end = on_end,
                                                 .on_drain = on_drain,
                                                 .on_close = on_close};
    return &ops;
}

static struct step *
step_new(struct front *front, struct http_exchange *ex, enum coord_route route, const char *name)
{
    struct step *step = mem_calloc(mem_heap(), 1, sizeof(*step));
    if (step == NULL) {
        return NULL;
    }
    struct str wants = {0};
    bool wants_receipt = http_head_get(http_exchange_head(ex), STR("x-saga-receipt"), &wants) &&
                         str_eq(wants, STR("1"));
    step->front = front;
    step->ex = ex;
    step->route = route;
    step->engine = ENGINE_NONE;
    step->arrived_at_us = loop_now_us(front->loop);
    step->req.v = ((uint64_t)front->loop_idx << 56) | front->next_req++;
    if (wants_receipt && !front->cfg->public_mode) {
        step->req.v |= FRONT_WANTS_RECEIPT;
    }
    if (map_put(&front->by_req, step->req.v, (uint64_t)(uintptr_t)step) != ST_OK) {
        mem_free(mem_heap(), step, sizeof(*step));
        return NULL;
    }
    buf_init(&step->body, mem_heap(), front->cfg->limits_body_bytes);
    buf_init(&step->head, mem_heap(), HEAD_MAX);
    buf_init(&step->fields, mem_heap(), HEAD_MAX);
    buf_init(&step->kept, mem_heap(), KEPT_MAX);
    buf_init(&step->receipt, mem_heap(), COORD_RECEIPT_HEADER_BYTES + 1);
    sse_reader_init(&step->reader, route);
    sse_filter_init(&step->filter);
    str_copy(step->name, sizeof(step->name), str_of(name));
    list_push_back(&front->steps, &step->link);
    front->step_count++;
    http_exchange_take(ex, exchange_ops(), step);
    return step;
}

static bool check_head(struct step *step)
{
    const struct http_head *head = http_exchange_head(step->ex);
    struct str coding = {0};
    int64_t length = http_exchange_content_length(step->ex);
    if (http_head_get(head, STR("content-encoding"), &coding) &&
        !str_ieq(coding, STR("identity"))) {
        struct step_error error = {415, "unsupported_content_encoding",
                                   "request bodies must not be compressed", 0};
        reject(step, METRIC_REASON_UNSUPPORTED, &error);
        return false;
    }
    if (length > 0 && (uint64_t)length > step->front->cfg->limits_body_bytes) {
        reject_too_large(step);
        return false;
    }
    if (step->front->step_count > step->front->cfg->limits_requests) {
        struct step_error error = {503, "overloaded",
                                   "too many requests in progress (limits.requests)", RETRY_SOON_S};
        reject(step, METRIC_REASON_OVERLOAD, &error);
        return false;
    }
    if (length > 0) {
        status_ignore(body_pool_take(&step->front->bodies, &step->body, (size_t)length),
                      "the pieces themselves are checked");
    }
    return true;
}

/* No memory or no place for a step: the refusal is made without one. */
static void refuse_untaken(struct http_exchange *ex, enum coord_route route, const char *name)
{
    char body[ERROR_BODY_BYTES];
    char fields[MESSAGE_BYTES];
    struct error_info info = {503, "overloaded", STR("too many requests in progress"),
                              str_of(name)};
    size_t len = error_write_body(route, &info, body, sizeof(body));
    int fields_len =
        snprintf(fields, sizeof(fields),
                 "content-type: application/json\r\nx-request-id: %s\r\nretry-after: %d\r\n", name,
                 RETRY_SOON_S);
    metric_inc(METRIC_REJECTED, METRIC_REASON_OVERLOAD, 0);
    http_respond(ex, 503, (struct str){fields, (size_t)fields_len}, (struct str){body, len});
}

void step_take(struct front *front,
               struct http_exchange *ex,
               enum coord_route route,
               const char *name)
{
    struct step *step = step_new(front, ex, route, name);
    if (step == NULL) {
        refuse_untaken(ex, route, name);
        return;
    }
    status_ignore(check_head(step) ? ST_OK : ST_INVAL, "it has answered");
}

void step_placed(struct step *step, const char *session, const char *receipt)
{
    str_copy(step->session, sizeof(step->session), str_of(session));
    if (receipt != NULL) {
        step->receipt.len = 0;
        status_ignore(buf_add(&step->receipt, receipt, strlen(receipt) + 1),
                      "no memory: the client goes without a receipt");
    }
}

void step_run(struct step *step, struct engine_id engine, uint32_t attempt)
{
    if (step->ex == NULL || (step->state != STEP_WAIT && step->state != STEP_HELD)) {
        return;
    }
    metric_observe(METRIC_QUEUE_WAIT, 0, 0, loop_now_us(step->front->loop) - step->waited_at_us);
    if (attempt > 1) {
        metric_inc(METRIC_RETRIES_ELSEWHERE, 0, 0);
    }
    step_call_start(step, engine, attempt);
}

static struct step_error failed_error(const struct front_refusal *refusal)
{
    switch (refusal->last_fail) {
    case COORD_FAIL_CONNECT:
        return (struct step_error){502, "engine_unreachable", "the engine could not be reached",
                                   RETRY_SOON_S};
    case COORD_FAIL_OVERLOADED:
        return (struct step_error){503, "overloaded",
                                   "the gateway is short of descriptors or memory", RETRY_SOON_S};
    case COORD_FAIL_TIMEOUT:
        return (struct step_error){504, "engine_timeout", "the engine did not answer in time", 0};
    case COORD_FAIL_STATUS:
    case COORD_FAIL_DIED:
        break;
    }
    return (struct step_error){502, "engine_died", "the engine broke off before it answered",
                               RETRY_SOON_S};
}

static struct step_error refusal_error(const struct front_refusal *refusal, unsigned *ret_reason)
{
    uint32_t retry_s = refusal->retry_after_s > 0 ? refusal->retry_after_s : RETRY_SOON_S;
    switch (refusal->why) {
    case COORD_REFUSE_NO_ENGINE:
        *ret_reason = METRIC_REASON_NO_ENGINE;
        return (struct step_error){503, "no_engine", "no engine is known yet", retry_s};
    case COORD_REFUSE_NO_HEALTHY:
        *ret_reason = METRIC_REASON_NO_ENGINE;
        return (struct step_error){503, "no_healthy_engine", "no healthy engine serves this model",
                                   retry_s};
    case COORD_REFUSE_NO_MODEL:
        *ret_reason = METRIC_REASON_MODEL_NOT_FOUND;
        return (struct step_error){404, "model_not_found", "no engine serves this model", 0};
    case COORD_REFUSE_QUEUE_FULL:
        *ret_reason = METRIC_REASON_QUEUE_FULL;
        return (struct step_error){503, "queue_full", "too many requests are waiting", retry_s};
    case COORD_REFUSE_QUEUE_TIMEOUT:
        *ret_reason = METRIC_REASON_QUEUE_TIMEOUT;
        return (struct step_error){503, "queue_timeout",
                                   "the request waited too long for an engine", retry_s};
    case COORD_REFUSE_LIMIT:
        *ret_reason = METRIC_REASON_OVERLOAD;
        return (struct step_error){503, "overloaded", "a table of the gateway is full", retry_s};
    case COORD_REFUSE_FAILED:
        break;
    }
    *ret_reason = METRIC_REASON_COUNT;
    return failed_error(refusal);
}

void step_refuse(struct step *step, const struct front_refusal *refusal)
{
    step->is_known = false;
    if (step->ex == NULL || step->state == STEP_ENDED) {
        return;
    }
    if (refusal->why == COORD_REFUSE_FAILED && step_call_relay_held(step)) {
        return;
    }
    step_call_cancel(step);
    unsigned reason = METRIC_REASON_COUNT;
    struct step_error error = refusal_error(refusal, &reason);
    if (reason != METRIC_REASON_COUNT) {
        metric_inc(METRIC_REJECTED, reason, 0);
    }
    step_reply_error(step, &error);
}

void step_drop(struct step *step)
{
    step_call_cancel(step);
    step->is_known = false;
    if (step->ex != NULL) {
        http_respond_abort(step->ex);
    }
}
