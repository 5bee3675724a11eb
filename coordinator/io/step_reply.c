/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/step_reply.h"

#include "common/rt/log.h"
#include "common/rt/metric.h"
#include "coordinator/io/forward.h"

enum { SSE_FIELDS_BYTES = 640 };

#define STEP_BIT(state) (1U << STEP_##state)

void step_move(struct step *step, enum step_state next)
{
#define X(state, is_initial, is_final, next_states) [STEP_##state] = (next_states),
    static const unsigned allowed[] = {
#include "coordinator/io/step_state.def"
    };
#undef X
    ASSERT((allowed[step->state] & (1U << next)) != 0);
    step->state = next;
}

struct forward_marks step_marks(const struct step *step, bool is_sse)
{
    const struct config *cfg = step->front->cfg;
    const struct fleet_engine *engine = fleet_io_find(&step->front->fleet, step->engine);
    bool shows = !cfg->public_mode;
    return (struct forward_marks){
        .request = step->name,
        .engine = shows && engine != NULL ? engine->name : NULL,
        .session = step->session,
        .receipt = shows && step->receipt.len > 0 ? step->receipt.p : NULL,
        .is_sse = is_sse,
    };
}

void step_post_done(struct step *step, enum coord_outcome outcome)
{
    if (!step->is_known) {
        return;
    }
    step->is_known = false;
    const struct answer_facts *facts = &step->reader.facts;
    struct str tools[COORD_TOOLS_MAX];
    struct coord_event ev = {.kind = COORD_EV_STEP_DONE};
    ev.u.done = (struct coord_step_done){
        .req = step->req,
        .outcome = outcome,
        .http_status = step->answer_status,
        .has_usage = facts->has_usage,
        .prompt_tokens = facts->prompt_tokens,
        .cached_tokens = facts->cached_tokens,
        .output_tokens = facts->output_tokens,
        .finish = facts->finish,
        .tools = tools,
        .tool_count = tool_names_list(&facts->tools, tools),
    };
    if (facts->has_usage) {
        metric_add(METRIC_TOKENS, METRIC_TOKEN_PROMPT, 0, facts->prompt_tokens);
        metric_add(METRIC_TOKENS, METRIC_TOKEN_CACHED, 0, facts->cached_tokens);
        metric_add(METRIC_TOKENS, METRIC_TOKEN_OUTPUT, 0, facts->output_tokens);
    }
    step->front->port.post(step->front->port.ctx, &ev);
}

void step_reply_begin(struct step *step, int status, int64_t content_length)
{
    if (step->is_sse) {
        step->is_counted_stream = true;
        metric_move(METRIC_STREAMS, 0, 0, 1);
    }
    step->client_status = (uint16_t)status;
    http_respond_begin(step->ex, status, buf_str(&step->fields), content_length);
    buf_fini(&step->fields);
}

void step_reply_data(struct step *step, const struct iovec *iov, int n, bool is_last)
{
    if (n > 0) {
        step->active_at_us = loop_now_us(step->front->loop);
    }
    http_respond_data(step->ex, iov, n, is_last);
    if (is_last) {
        loop_timer_cancel(step->front->loop, &step->timer);
        step_move(step, STEP_ENDED);
    }
}

/* An error inside an open event stream. A cut event is closed first, so that the error stands
 * alone. */
static void send_error_event(struct step *step, const struct error_info *info)
{
    char event[ERROR_BODY_BYTES + 64];
    static char blank[] = "\n\n";
    size_t len = error_write_event(step->route, info, event, sizeof(event));
    struct iovec iov[2];
    int count = 0;
    if (step->reader.partial.len > 0 || step->filter.held.len > 0) {
        iov[count++] = (struct iovec){blank, 2};
    }
    iov[count++] = (struct iovec){event, len};
    step_reply_data(step, iov, count, true);
}

static void
send_error_answer(struct step *step, const struct step_error *error, const struct error_info *info)
{
    char body[ERROR_BODY_BYTES];
    size_t len = error_write_body(step->route, info, body, sizeof(body));
    struct forward_marks marks = step_marks(step, false);
    step->fields.len = 0;
    enum status st = buf_add_str(&step->fields, STR("content-type: application/json\r\n"));
    if (st == ST_OK) {
        st = forward_marks(&marks, &step->fields);
    }
    if (st == ST_OK && error->retry_after_s > 0) {
        st = buf_add_fmt(&step->fields, "retry-after: %u\r\n", error->retry_after_s);
    }
    if (st != ST_OK) {
        http_respond_abort(step->ex);
        step_move(step, STEP_ENDED);
        return;
    }
    step->client_status = (uint16_t)error->status;
    http_respond(step->ex, error->status, buf_str(&step->fields), (struct str){body, len});
    loop_timer_cancel(step->front->loop, &step->timer);
    step_move(step, STEP_ENDED);
}

void step_reply_error(struct step *step, const struct step_error *error)
{
    if (step->ex == NULL || step->state == STEP_ENDED) {
        return;
    }
    struct error_info info = {.status = error->status,
                              .code = error->code,
                              .message = str_of(error->message),
                              .request = str_of(step->name)};
    log_debug("front", "refused req=%s status=%d code=%s", step->name, error->status, error->code);
    if (!http_respond_has_begun(step->ex)) {
        send_error_answer(step, error, &info);
    } else if (step->is_sse) {
        step->is_cut = true;
        send_error_event(step, &info);
    } else {
        step->is_cut = true;
        http_respond_abort(step->ex);
        loop_timer_cancel(step->front->loop, &step->timer);
        step_move(step, STEP_ENDED);
    }
}

void step_reply_cut(struct step *step, const char *message)
{
    struct step_error error = {502, "upstream_error", message, 0};
    step_reply_error(step, &error);
}

/* Opens a stream before the engine has answered: its status is then told inside the stream. */
static bool open_early(struct step *step)
{
    struct forward_marks marks = step_marks(step, true);
    step->fields.len = 0;
    if (buf_add_str(&step->fields, STR("content-type: text/event-stream\r\n")) != ST_OK ||
        forward_marks(&marks, &step->fields) != ST_OK) {
        return false;
    }
    step->is_sse = true;
    step_reply_begin(step, 200, -1);
    return true;
}

static void send_comment(struct step *step)
{
    static char comment[] = ": keep-alive\n\n";
    if (!http_respond_has_begun(step->ex) && !open_early(step)) {
        return;
    }
    struct iovec iov = {comment, sizeof(comment) - 1};
    step_reply_data(step, &iov, 1, false);
}

/* When the next comment is due in the step's present state; 0 = never. */
static uint64_t comment_due_at(const struct step *step)
{
    const struct config *cfg = step->front->cfg;
    uint64_t next_us = step->active_at_us + cfg->stream_keepalive_ms * 1000;
    bool is_open = http_respond_has_begun(step->ex);
    switch (step->state) {
    case STEP_WAIT:
        if (is_open || cfg->stream_keepalive == STREAM_KEEPALIVE_EARLY) {
            return next_us;
        }
        return cfg->gate_keepalive ? step->waited_at_us + cfg->gate_keepalive_ms * 1000 : 0;
    case STEP_CALL:
    case STEP_HELD:
        return is_open || cfg->stream_keepalive == STREAM_KEEPALIVE_EARLY ? next_us : 0;
    case STEP_RELAY:
        return step->is_sse && cfg->stream_keepalive != STREAM_KEEPALIVE_OFF ? next_us : 0;
    case STEP_BODY:
    case STEP_ENDED:
        break;
    }
    return 0;
}

static void keepalive_due(struct loop_timer *timer)
{
    struct step *step = LIST_OWNER(timer, struct step, timer);
    struct loop *loop = step->front->loop;
    uint64_t now_us = loop_now_us(loop);
    if (step->ex == NULL || step->state == STEP_ENDED) {
        return;
    }
    uint64_t due_us = comment_due_at(step);
    bool is_between = step->reader.partial.len == 0 && step->filter.held.len == 0;
    if (due_us != 0 && due_us <= now_us && is_between && !http_respond_is_full(step->ex)) {
        send_comment(step);
        due_us = comment_due_at(step);
    }
    uint64_t recheck_us = now_us + step->front->cfg->stream_keepalive_ms * 1000;
    uint64_t at_us = due_us > now_us && due_us < recheck_us ? due_us : recheck_us;
    status_ignore(loop_timer_set(loop, timer, at_us), "the timer was just in the heap");
}

void step_keepalive_start(struct step *step)
{
    const struct config *cfg = step->front->cfg;
    if (!step->is_stream ||
        (cfg->stream_keepalive == STREAM_KEEPALIVE_OFF && !cfg->gate_keepalive)) {
        return;
    }
    step->active_at_us = step->waited_at_us;
    step->timer.fn = keepalive_due;
    uint64_t at_us = comment_due_at(step);
    if (at_us == 0) {
        at_us = step->waited_at_us + cfg->stream_keepalive_ms * 1000;
    }
    status_ignore(loop_timer_set(step->front->loop, &step->timer, at_us),
                  "no memory: this stream goes without comments");
}
