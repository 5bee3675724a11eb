/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. the request goes to the engine with the client's own body bytes; 2. the head of
 * its answer: an event stream's is given on at once, another's with its first bytes; 3. body bytes
 * are relayed as they come, and read beside;
 * 4. the answer is complete: the core is told what it said.
 * Failures before a body byte has reached the client: the core decides whether another engine runs
 * the step once more; an answer with a status that may be retried is held meanwhile and given on
 * when no other engine is left. After that: an error event in a stream, an improper end otherwise.
 */
#include "coordinator/io/step_call.h"

#include "common/rt/log.h"
#include "common/rt/metric.h"
#include "coordinator/io/forward.h"
#include "coordinator/io/route.h"
#include "coordinator/io/step_reply.h"

#include <stdio.h>

enum {
    JSON_READ_MAX = 4194304, /* a JSON answer is read for usage up to this size */
    STATUS_FIRST_ODD = 520,  /* non-standard 5xx from here on mean "not now" (520, 529, 598, ...) */
};

void step_call_cancel(struct step *step)
{
    if (step->call != NULL) {
        http_call_cancel(step->call);
        step->call = NULL;
    }
}

void step_call_resume(struct step *step)
{
    if (step->call != NULL && step->state == STEP_RELAY) {
        http_call_resume(step->call);
    }
}

static void post_failed(struct step *step, enum coord_fail why, uint16_t status)
{
    step->waited_at_us = loop_now_us(step->front->loop); /* it waits afresh */
    struct coord_event ev = {.kind = COORD_EV_ATTEMPT_FAILED};
    ev.u.failed = (struct coord_attempt_failed){
        .req = step->req, .attempt = step->attempt, .why = why, .http_status = status};
    step->front->port.post(step->front->port.ctx, &ev);
}

/* Statuses that another engine may do better with. A plain 500 may be the request's own fault, and
 * is given on. */
static bool is_worth_another(int status)
{
    return status == 502 || status == 503 || (status >= STATUS_FIRST_ODD && status <= 599);
}

static enum coord_outcome outcome_of(const struct step *step)
{
    const struct answer_facts *facts = &step->reader.facts;
    int status = step->answer_status;
    if (status >= 200 && status < 300 && facts->has_error && facts->error_status != 0) {
        status = facts->error_status;
    }
    if (status >= 500) {
        return COORD_OUTCOME_ENGINE_ERROR;
    }
    if (status >= 300) {
        return COORD_OUTCOME_CLIENT_ERROR;
    }
    bool is_empty = step->is_sse && !facts->has_content;
    return facts->has_error || is_empty ? COORD_OUTCOME_ENGINE_ERROR : COORD_OUTCOME_OK;
}

/* The engine's kind does not serve the route as it stands. */
static void refuse_route(struct step *step)
{
    struct step_error error = {501, "not_supported", "this engine does not serve that API", 0};
    metric_inc(METRIC_REJECTED, METRIC_REASON_UNSUPPORTED, 0);
    step->answer_status = 501;
    step_post_done(step, COORD_OUTCOME_CLIENT_ERROR);
    step_reply_error(step, &error);
}

static const struct http_call_ops *call_ops(void);

/* Is the client's billing block taken out for this engine? */
static bool drops_billing(const struct step *step, enum coord_engine_kind kind)
{
    int how = step->front->cfg->normalise_billing_block;
    bool suits_not = kind == COORD_ENGINE_VLLM || kind == COORD_ENGINE_SGLANG ||
                     kind == COORD_ENGINE_LLAMACPP || kind == COORD_ENGINE_SIM;
    return step->billing.cut > 0 &&
           (how == BILLING_BLOCK_ON || (how == BILLING_BLOCK_AUTO && suits_not));
}

/* The one edit of the body for this engine (no route has two), empty = none. */
static struct step_edit edit_for(const struct step *step, enum coord_engine_kind kind)
{
    return drops_billing(step, kind) ? step->billing : step->usage;
}

static void
fill_request(const struct step *step, const struct step_edit *edit, struct http_request *req)
{
    const struct buf *body = &step->body;
    size_t after = edit->at + edit->cut;
    req->head = buf_str(&step->head);
    if (edit->cut == 0 && edit->text.len == 0) {
        req->body[0] = (struct iovec){body->p, body->len};
        req->body_count = body->len > 0 ? 1 : 0;
        return;
    }
    req->body[req->body_count++] = (struct iovec){body->p, edit->at};
    if (edit->text.len > 0) {
        req->body[req->body_count++] =
            (struct iovec){(void *)(uintptr_t)edit->text.p, edit->text.len};
    }
    req->body[req->body_count++] = (struct iovec){body->p + after, body->len - after};
}

void step_call_start(struct step *step, struct engine_id engine, uint32_t attempt)
{
    struct front *front = step->front;
    step_call_cancel(step); /* a held answer of the attempt before */
    step->engine = engine;
    step->attempt = attempt;
    step->is_held_whole = false;
    step->kept.len = 0;
    step->fields.len = 0;
    if (step->state == STEP_HELD) {
        step_move(step, STEP_WAIT);
    }
    const struct fleet_engine *target = fleet_io_find(&front->fleet, engine);
    if (target == NULL) {
        post_failed(step, COORD_FAIL_CONNECT, 0);
        return;
    }
    if (!route_is_served(step->route, target->kind)) {
        refuse_route(step);
        return;
    }
    struct step_edit edit = edit_for(step, target->kind);
    struct forward_own own = {.request = step->name,
                              .session = step->told_session,
                              .content_length = step->body.len - edit.cut + edit.text.len};
    struct http_request req = {0};
    enum status st = forward_request(http_exchange_head(step->ex), target, &own, &step->head);
    if (st == ST_OK) {
        fill_request(step, &edit, &req);
        st = http_call_start(target->ep, &req, call_ops(), step, &step->call);
    }
    if (st != ST_OK) {
        post_failed(step, COORD_FAIL_OVERLOADED, 0);
        return;
    }
    step_move(step, STEP_CALL);
}

static void read_head(struct step *step, const struct http_head *head, int64_t content_length)
{
    struct str type = {0};
    struct str coding = {0};
    bool is_ok = head->status >= 200 && head->status < 300;
    http_head_get(head, STR("content-type"), &type);
    bool is_coded =
        http_head_get(head, STR("content-encoding"), &coding) && !str_ieq(coding, STR("identity"));
    bool was_open = http_respond_has_begun(step->ex);
    bool is_sse = str_istarts(type, STR("text/event-stream")) && !is_coded;
    step->answer_status = head->status;
    step->answer_length = content_length;
    step->is_sse = was_open || (is_sse && is_ok);
    step->is_plain_json = !is_sse && !is_coded && str_istarts(type, STR("application/json"));
    sse_reader_fini(&step->reader);
    sse_reader_init(&step->reader, step->route);
    sse_filter_fini(&step->filter);
    sse_filter_init(&step->filter);
}

/* A stream that is open already can only go on with an event stream. */
static void refuse_in_stream(struct step *step)
{
    char message[96];
    snprintf(message, sizeof(message), "the engine answered with status %u", step->answer_status);
    struct step_error error = {step->answer_status >= 400 ? step->answer_status : 502,
                               "upstream_error", message, 0};
    step_call_cancel(step);
    step_post_done(step, outcome_of(step));
    step_reply_error(step, &error);
}

static void on_head(void *ctx, const struct http_head *head, int64_t content_length)
{
    struct step *step = ctx;
    struct front *front = step->front;
    bool was_open = http_respond_has_begun(step->ex);
    read_head(step, head, content_length);
    struct coord_event ev = {.kind = COORD_EV_STEP_ANSWERED};
    ev.u.answered.req = step->req;
    ev.u.answered.attempt = step->attempt;
    ev.u.answered.http_status = head->status;
    front->port.post(front->port.ctx, &ev);
    struct forward_marks marks = step_marks(step, step->is_sse);
    step->fields.len = 0;
    if (!was_open && forward_response(head, &marks, &step->fields) != ST_OK) {
        step_call_cancel(step);
        step_move(step, STEP_WAIT);
        post_failed(step, COORD_FAIL_OVERLOADED, 0);
        return;
    }
    if (is_worth_another(head->status)) {
        step_move(step, STEP_HELD);
        http_call_pause(step->call);
        post_failed(step, COORD_FAIL_STATUS, head->status);
        return;
    }
    step_move(step, STEP_RELAY);
    if (was_open && (head->status < 200 || head->status >= 300)) {
        refuse_in_stream(step);
        return;
    }
    if (step->is_sse && !was_open) {
        step_reply_begin(
            step, head->status,
            -1); /* chunked: room for comments, errors, and our usage event's absence */
        metric_observe(METRIC_TTFT, (unsigned)step->route, 0,
                       loop_now_us(front->loop) - step->arrived_at_us);
    }
}

/* Keeps what came with a held answer's head. */
static void keep_held(struct step *step, const struct iovec *iov, int n, bool is_last)
{
    for (int i = 0; i < n; i++) {
        if (buf_add(&step->kept, iov[i].iov_base, iov[i].iov_len) != ST_OK) {
            step->kept.len = 0; /* cannot be given on any more: the client gets an error of ours */
            step->answer_length = -2;
            return;
        }
    }
    step->is_held_whole = is_last;
}

static void learn(struct step *step, const struct iovec *iov, int n)
{
    for (int i = 0; i < n; i++) {
        if (step->is_sse) {
            sse_reader_feed(&step->reader, iov[i].iov_base, iov[i].iov_len);
        } else if (step->is_plain_json &&
                   buf_add(&step->kept, iov[i].iov_base, iov[i].iov_len) != ST_OK) {
            step->is_plain_json = false; /* too large to be read for usage */
            buf_fini(&step->kept);
        }
    }
}

/* What an answer said about its engine. */
static void count_answer(const struct step *step)
{
    if (step->answer_status >= 500) {
        metric_inc(METRIC_UPSTREAM_ERRORS, METRIC_UPSTREAM_STATUS_5XX, 0);
    } else if (step->answer_status < 300 && step->reader.facts.has_error) {
        metric_inc(METRIC_UPSTREAM_ERRORS, METRIC_UPSTREAM_STREAM_ERROR, 0);
    }
}

static void learn_end(struct step *step)
{
    if (step->is_sse) {
        sse_reader_end(&step->reader);
    } else if (step->is_plain_json) {
        answer_read_body(step->route, step->kept.p, step->kept.len, &step->reader.facts);
        buf_fini(&step->kept);
    }
}

/* Relays with our usage event taken out. */
static void relay_filtered(struct step *step, const struct iovec *iov, int n, bool is_last)
{
    struct buf *out = &step->front->spare_out;
    enum status st = ST_OK;
    out->len = 0;
    for (int i = 0; i < n && st == ST_OK; i++) {
        st = sse_filter_feed(&step->filter, iov[i].iov_base, iov[i].iov_len, out);
    }
    if (is_last && st == ST_OK) {
        st = sse_filter_end(&step->filter, out);
    }
    if (st != ST_OK) {
        step_call_cancel(step);
        step_post_done(step, COORD_OUTCOME_CUT);
        step_reply_cut(step, "out of memory");
        return;
    }
    struct iovec all = {out->p, out->len};
    if (out->len > 0 || is_last) {
        step_reply_data(step, &all, out->len > 0 ? 1 : 0, is_last);
    }
}

static void relay(struct step *step, const struct iovec *iov, int n, bool is_last)
{
    if (!http_respond_has_begun(step->ex)) {
        step_reply_begin(step, step->answer_status, step->answer_length);
        metric_observe(METRIC_TTFT, (unsigned)step->route, 0,
                       loop_now_us(step->front->loop) - step->arrived_at_us);
    }
    step->is_body_out = step->is_body_out || n > 0;
    if (step->is_injected && step->is_sse) {
        relay_filtered(step, iov, n, is_last);
    } else {
        step_reply_data(step, iov, n, is_last);
    }
    if (!is_last && step->call != NULL && http_respond_is_full(step->ex)) {
        http_call_pause(step->call);
    }
}

/* The request is not needed for another attempt any more. */
static void forget_request(struct step *step)
{
    if (step->body.p != NULL && step->is_body_out &&
        (step->call == NULL || http_call_is_sent(step->call))) {
        body_pool_give(&step->front->bodies, &step->body);
        buf_fini(&step->head);
    }
}

/* An event stream that ended without one event is no answer. Nothing but blanks, comments or [DONE]
 * came. */
static void end_of_nothing(struct step *step)
{
    step->answer_status = 502;
    if (step->is_body_out) {
        step_post_done(step, COORD_OUTCOME_ENGINE_ERROR);
        step_reply_cut(step, "the engine's stream ended without an event");
        return;
    }
    step_move(step, STEP_WAIT);
    post_failed(step, COORD_FAIL_DIED, 0);
}

static void on_data(void *ctx, const struct iovec *iov, int n, bool is_last)
{
    struct step *step = ctx;
    if (is_last) {
        step->call = NULL;
    }
    if (step->state == STEP_HELD) {
        keep_held(step, iov, n, is_last);
        return;
    }
    if (step->state != STEP_RELAY) {
        return; /* refused while these bytes were being parsed */
    }
    learn(step, iov, n);
    const struct answer_facts *seen = &step->reader.facts;
    bool says_nothing = step->is_sse && seen->event_count == 0 && (is_last || seen->has_done);
    if (!is_last) {
        if (!says_nothing) {
            relay(step, iov, n, false);
            forget_request(step);
        }
        return;
    }
    learn_end(step);
    if (step->is_sse && step->reader.facts.event_count == 0) {
        end_of_nothing(step);
        return;
    }
    count_answer(step);
    step_post_done(step, outcome_of(step));
    relay(step, iov, n, true);
    forget_request(step);
}

static enum coord_fail fail_of(enum http_fail why)
{
    switch (why) {
    case HTTP_FAIL_RESOLVE:
    case HTTP_FAIL_CONNECT:
    case HTTP_FAIL_CONNECT_TIMEOUT:
        return COORD_FAIL_CONNECT;
    case HTTP_FAIL_NO_FD:
        return COORD_FAIL_OVERLOADED;
    case HTTP_FAIL_FIRST_BYTE_TIMEOUT:
    case HTTP_FAIL_IDLE_TIMEOUT:
        return COORD_FAIL_TIMEOUT;
    case HTTP_FAIL_CLOSED:
    case HTTP_FAIL_MALFORMED:
    case HTTP_FAIL_CUT:
        break;
    }
    return COORD_FAIL_DIED;
}

static unsigned metric_of(enum http_fail why)
{
    switch (why) {
    case HTTP_FAIL_RESOLVE:
        return METRIC_UPSTREAM_RESOLVE;
    case HTTP_FAIL_CONNECT:
        return METRIC_UPSTREAM_CONNECT;
    case HTTP_FAIL_CONNECT_TIMEOUT:
        return METRIC_UPSTREAM_CONNECT_TIMEOUT;
    case HTTP_FAIL_NO_FD:
        return METRIC_UPSTREAM_NO_FD;
    case HTTP_FAIL_CLOSED:
        return METRIC_UPSTREAM_CLOSED_EARLY;
    case HTTP_FAIL_FIRST_BYTE_TIMEOUT:
        return METRIC_UPSTREAM_FIRST_BYTE_TIMEOUT;
    case HTTP_FAIL_IDLE_TIMEOUT:
        return METRIC_UPSTREAM_IDLE_TIMEOUT;
    case HTTP_FAIL_MALFORMED:
        return METRIC_UPSTREAM_PROTOCOL;
    case HTTP_FAIL_CUT:
        break;
    }
    return METRIC_UPSTREAM_CUT;
}

static void on_fail(void *ctx, enum http_fail why)
{
    struct step *step = ctx;
    step->call = NULL;
    metric_inc(METRIC_UPSTREAM_ERRORS, metric_of(why), 0);
    if (step->state == STEP_HELD) {
        return; /* the core is deciding about it already; what came of the answer may still be given
                   on */
    }
    if (step->state == STEP_RELAY) {
        learn_end(step);
    }
    bool is_committed = step->is_body_out || (step->client_status != 0 && !step->is_sse);
    if (step->state == STEP_ENDED) {
        return;
    }
    if (!is_committed) {
        step_move(step, STEP_WAIT);
        post_failed(step, fail_of(why), 0);
        return;
    }
    metric_inc(METRIC_UPSTREAM_ABORTS, 0, 0);
    log_warn("front", "answer broke off req=%s engine=%u", step->name, step->engine.v);
    step_post_done(step, COORD_OUTCOME_CUT);
    step_reply_cut(step, why == HTTP_FAIL_IDLE_TIMEOUT ? "the engine fell silent"
                                                       : "the engine broke off its answer");
}

static const struct http_call_ops *call_ops(void)
{
    static const struct http_call_ops ops = {
        .on_head = on_head, .on_data = on_data, .on_fail = on_fail};
    return &ops;
}

bool step_call_relay_held(struct step *step)
{
    bool is_dead = step->call == NULL && !step->is_held_whole;
    if (step->state != STEP_HELD || is_dead || step->answer_length == -2) {
        return false;
    }
    step_move(step, STEP_RELAY);
    if (http_respond_has_begun(step->ex)) {
        refuse_in_stream(step);
        return true;
    }
    struct iovec held = {step->kept.p, step->kept.len};
    struct buf kept = step->kept;
    buf_init(&step->kept, mem_heap(), JSON_READ_MAX);
    relay(step, &held, kept.len > 0 ? 1 : 0, step->is_held_whole);
    buf_fini(&kept);
    if (step->call != NULL && !http_respond_is_full(step->ex)) {
        http_call_resume(step->call);
    }
    return true;
}
