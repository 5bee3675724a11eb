/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. head and body are put together around the prompt's messages and sent; 2. the head
 * says 200; 3. text events are stamped as they come; 4. usage and [DONE] come, the answer ends,
 * done is called. Failures: another status (its body is read for the message; 429 and 503 may be
 * tried again after what Retry-After says), no connection (may be tried again), a cut or endless
 * answer, an error event, the time-out of the step. */
#include "bench/replay/step.h"

#include <stdio.h>

enum { RETRY_AFTER_MAX_S = 60 };

#define BACKOFF_US UINT64_C(500000)

static void try_once(struct step *step);
static void on_timer(struct loop_timer *timer);

void step_init(struct step *step, const struct step_world *world, step_done_fn done)
{
    *step = (struct step){.world = world, .done = done, .timer.fn = on_timer};
    buf_init(&step->head, mem_heap(), 8192);
    buf_init(&step->body_start, mem_heap(), 8192);
    buf_init(&step->error_body, mem_heap(), STEP_BODY_MAX);
    stream_init(&step->stream, mem_heap());
}

void step_fini(struct step *step)
{
    if (step == NULL || step->world == NULL) {
        return;
    }
    if (step->call != NULL) {
        http_call_cancel(step->call);
        step->call = NULL;
    }
    loop_timer_cancel(step->world->loop, &step->timer);
    buf_fini(&step->head);
    buf_fini(&step->body_start);
    buf_fini(&step->error_body);
    stream_fini(&step->stream);
}

static void finish(struct step *step, bool is_ok, enum stats_error why)
{
    step->call = NULL;
    loop_timer_cancel(step->world->loop, &step->timer);
    step->done(step, is_ok, why);
}

/* Another try after the failure? Sets the timer for it. */
static bool tries_again(struct step *step, enum stats_error why)
{
    const struct step_world *world = step->world;
    bool is_worth = why == STATS_HTTP_429 || why == STATS_HTTP_503 || why == STATS_CONNECT;
    if (!is_worth || step->tries > world->retries) {
        return false;
    }
    uint64_t wait_us = step->retry_after_us;
    if (wait_us == 0) {
        uint32_t doublings = step->tries < 6 ? step->tries - 1 : 5;
        wait_us = (uint64_t)((double)(BACKOFF_US << doublings) * (0.5 + rng_unit(world->rng)));
    }
    step->call = NULL;
    step->is_waiting = true;
    uint64_t at_us = loop_now_us(world->loop) + wait_us;
    if (at_us > step->started_at_us + world->timeout_us ||
        loop_timer_set(world->loop, &step->timer, at_us) != ST_OK) {
        return false;
    }
    *world->retry_count += 1;
    return true;
}

static void fail(struct step *step, enum stats_error why, const char *text)
{
    (void)str_copy(step->error, sizeof(step->error), str_of(text));
    if (!tries_again(step, why)) {
        finish(step, false, why);
    }
}

static enum stats_error error_of_status(int status)
{
    if (status == 429 || status == 503) {
        return status == 429 ? STATS_HTTP_429 : STATS_HTTP_503;
    }
    if (status >= 400 && status < 600) {
        return status < 500 ? STATS_HTTP_4XX : STATS_HTTP_5XX;
    }
    return STATS_HTTP_OTHER;
}

static void on_head(void *ctx, const struct http_head *head, int64_t content_length)
{
    struct step *step = ctx;
    struct str value;
    uint64_t seconds = 0;
    (void)content_length;
    step->status = head->status;
    if (http_head_get(head, STR("x-saga-engine"), &value)) {
        (void)str_copy(step->engine, sizeof(step->engine), value);
    }
    if (http_head_get(head, STR("retry-after"), &value) && str_to_u64(value, &seconds) == ST_OK) {
        seconds = seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds;
        step->retry_after_us = seconds * 1000000;
    }
}

/* Stamps text that came with this read: the first event's distance from the one before, zero for
 * further ones of the same read. */
static void note_deltas(struct step *step, uint64_t before)
{
    uint64_t count = step->stream.delta_count - before;
    if (count == 0) {
        return;
    }
    uint64_t now_us = loop_now_fresh_us(step->world->loop);
    *step->world->delta_count += count;
    for (uint64_t i = 0; i < count; i++) {
        if (step->first_at_us == 0) {
            step->first_at_us = now_us;
        } else {
            samples_add(step->world->gap_s, (double)(now_us - step->last_at_us) * 1e-6);
        }
        step->last_at_us = now_us;
    }
}

static void end_answer(struct step *step)
{
    char text[STREAM_ERROR_BYTES];
    if (step->status != 200) {
        stream_error_text(buf_str(&step->error_body), text);
        fail(step, error_of_status(step->status), text);
    } else if (step->stream.has_error) {
        fail(step, STATS_STREAM, step->stream.error);
    } else if (step->stream.bad_count > 0) {
        fail(step, STATS_MALFORMED, "a data line that is no JSON object");
    } else if (!step->stream.has_done) {
        fail(step, STATS_NO_END, "the stream ended without [DONE]");
    } else {
        finish(step, true, STATS_OURS);
    }
}

static void on_data(void *ctx, const struct iovec *iov, int n, bool is_last)
{
    struct step *step = ctx;
    uint64_t before = step->stream.delta_count;
    enum status st = ST_OK;
    for (int i = 0; i < n && st == ST_OK; i++) {
        if (step->status == 200) {
            st = stream_feed(&step->stream, iov[i].iov_base, iov[i].iov_len);
        } else {
            status_ignore(buf_add(&step->error_body, iov[i].iov_base, iov[i].iov_len),
                          "only the beginning of an error is wanted");
        }
    }
    note_deltas(step, before);
    if (st != ST_OK && !is_last) {
        http_call_cancel(step->call);
    }
    if (st != ST_OK) {
        fail(step, STATS_OURS, "out of memory");
    } else if (is_last) {
        end_answer(step);
    }
}

static void on_fail(void *ctx, enum http_fail why)
{
    switch (why) {
    case HTTP_FAIL_RESOLVE:
        fail(ctx, STATS_CONNECT, "host name unknown");
        return;
    case HTTP_FAIL_CONNECT:
        fail(ctx, STATS_CONNECT, "connection refused or unreachable");
        return;
    case HTTP_FAIL_CONNECT_TIMEOUT:
        fail(ctx, STATS_CONNECT, "connecting timed out");
        return;
    case HTTP_FAIL_NO_FD:
        fail(ctx, STATS_OURS, "no descriptor left here");
        return;
    case HTTP_FAIL_CLOSED:
        fail(ctx, STATS_CLOSED, "closed before an answer");
        return;
    case HTTP_FAIL_FIRST_BYTE_TIMEOUT:
    case HTTP_FAIL_IDLE_TIMEOUT:
        fail(ctx, STATS_TIMEOUT, "no byte for too long");
        return;
    case HTTP_FAIL_MALFORMED:
        fail(ctx, STATS_MALFORMED, "the answer is not HTTP");
        return;
    case HTTP_FAIL_CUT:
        fail(ctx, STATS_CUT, "the answer was cut off");
        return;
    }
}

static const struct http_call_ops call_ops = {on_head, on_data, on_fail};

static void on_timer(struct loop_timer *timer)
{
    struct step *step = LIST_OWNER(timer, struct step, timer);
    if (step->is_waiting) {
        try_once(step);
        return;
    }
    http_call_cancel(step->call);
    fail(step, STATS_TIMEOUT, "the step took longer than --timeout");
}

static enum status make_body_start(struct step *step)
{
    const struct step_world *world = step->world;
    struct buf *buf = &step->body_start;
    buf->len = 0;
    enum status st = buf_add_fmt(
        buf, "{\"model\":\"%s\",\"stream\":true,\"stream_options\":{\"include_usage\":true},",
        world->model);
    if (st == ST_OK) {
        st = buf_add_fmt(buf, "\"max_tokens\":%u,%s\"messages\":[", step->ask.output_tokens,
                         world->ignores_eos ? "\"ignore_eos\":true," : "");
    }
    return st;
}

static enum status add_identity(struct step *step)
{
    const struct step_world *world = step->world;
    struct buf *buf = &step->head;
    enum status st = ST_OK;
    if (world->tenants > 0) {
        st = buf_add_fmt(buf, "Authorization: Bearer %s-%u\r\nx-tenant-id: tenant-%u\r\n",
                         world->api_key == NULL ? "tenant" : world->api_key, step->ask.tenant,
                         step->ask.tenant);
    } else if (world->api_key != NULL) {
        st = buf_add_fmt(buf, "Authorization: Bearer %s\r\n", world->api_key);
    }
    if (st == ST_OK && world->has_session_header) {
        st = buf_add_fmt(buf, "x-session-id: %s\r\n", step->ask.session);
    }
    return st;
}

static enum status make_head(struct step *step)
{
    struct buf *buf = &step->head;
    struct str prefix = http_endpoint_prefix(step->ask.endpoint);
    struct str host = http_endpoint_host(step->ask.endpoint);
    bool has_v1 = prefix.len >= 3 && memcmp(prefix.p + prefix.len - 3, "/v1", 3) == 0;
    size_t length = step->body_start.len + step->ask.messages.len + 2;
    buf->len = 0;
    enum status st =
        buf_add_fmt(buf, "POST %.*s%s/chat/completions HTTP/1.1\r\nHost: %.*s\r\n", (int)prefix.len,
                    prefix.p, has_v1 ? "" : "/v1", (int)host.len, host.p);
    if (st == ST_OK) {
        st = buf_add_fmt(buf,
                         "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
                         "User-Agent: saga-bench\r\nContent-Length: %zu\r\n",
                         length);
    }
    if (st == ST_OK) {
        st = add_identity(step);
    }
    return st == ST_OK ? buf_add_str(buf, STR("\r\n")) : st;
}

static enum status send_call(struct step *step)
{
    static char tail[] = "]}";
    const struct step_world *world = step->world;
    struct http_request req = {
        .head = buf_str(&step->head),
        .body =
            {
                {step->body_start.p, step->body_start.len},
                {(void *)(uintptr_t)step->ask.messages.p, step->ask.messages.len},
                {tail, sizeof(tail) - 1},
            },
        .body_count = 3,
        .first_byte_timeout_us = world->timeout_us,
    };
    stream_reset(&step->stream);
    step->error_body.len = 0;
    step->is_waiting = false;
    step->status = 0;
    step->engine[0] = '\0';
    step->first_at_us = 0;
    step->retry_after_us = 0;
    step->tries++;
    enum status st =
        loop_timer_set(world->loop, &step->timer, step->started_at_us + world->timeout_us);
    if (st == ST_OK) {
        st = http_call_start(step->ask.endpoint, &req, &call_ops, step, &step->call);
    }
    if (st != ST_OK) {
        loop_timer_cancel(world->loop, &step->timer);
    }
    return st;
}

static void try_once(struct step *step)
{
    if (send_call(step) != ST_OK) {
        (void)str_copy(step->error, sizeof(step->error), STR("out of memory"));
        finish(step, false, STATS_OURS);
    }
}

enum status step_start(struct step *step, const struct step_ask *ask)
{
    step->ask = *ask;
    step->tries = 0;
    step->error[0] = '\0';
    step->started_at_us = loop_now_fresh_us(step->world->loop);
    enum status st = make_body_start(step);
    if (st == ST_OK) {
        st = make_head(step);
    }
    return st == ST_OK ? send_call(step) : st;
}
