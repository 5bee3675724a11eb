/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/aeg/drive.h"

#include "common/base/hash.h"

#include <math.h>

/* An open gap is looked at again this often, as the coordinator's timer does. */
enum { TICK_S = 60, SEED_KEY = 21 };

double drive_work_s(uint32_t new_tokens, uint32_t out_tokens)
{
    return new_tokens / DRIVE_PREFILL_TOKENS_PER_S + out_tokens / DRIVE_DECODE_TOKENS_PER_S;
}

uint32_t drive_new_tokens(const struct trace_step *step)
{
    return step->in_tokens - step->reuse_tokens;
}

static double work_of(const struct trace_step *step)
{
    return drive_work_s(drive_new_tokens(step), step->out_tokens);
}

/* The source is the tenant; sub-agents are a class of their own. */
static struct aeg_key key_of(const struct trace_session *session)
{
    return (struct aeg_key){
        .tenant = hash_str(str_of(session->source), SEED_KEY),
        .model = 0,
        .fingerprint =
            hash_mix(hash_str(str_of(session->sys), SEED_KEY), session->parent != TRACE_NONE),
    };
}

static enum status
open_gap(struct aeg *aeg, struct aeg_session *live, const char *text, uint64_t now_us)
{
    struct str tools[AEG_TOOLS_MAX];
    struct str rest = str_of(text);
    size_t count = 0;
    while (count < AEG_TOOLS_MAX && str_split(&rest, '+', &tools[count])) {
        count += tools[count].len > 0;
    }
    return aeg_observe_gap_opened(aeg, live, tools, count, now_us);
}

/* What came of the gap after a step, told to the forecaster. */
static void end_gap(struct aeg *aeg,
                    struct aeg_session *live,
                    const struct drive_point *point,
                    uint64_t *now_us)
{
    if (point->next == NULL) {
        *now_us += point->is_known ? (uint64_t)DRIVE_IDLE_S * 1000000u : 0;
        aeg_observe_end(aeg, live, true, *now_us);
        return;
    }
    if (!point->is_known) {
        return;
    }
    if (point->wait_s > TICK_S) {
        aeg_observe_gap_censored(aeg, live, *now_us + (uint64_t)TICK_S * 1000000u);
    }
    *now_us += point->step->gap_us;
    aeg_observe_gap_closed(aeg, live, *now_us);
}

static struct drive_point
point_of(const struct trace *trace, uint32_t session, uint32_t i, double total_s, double done_s)
{
    uint32_t count = trace->sessions[session].step_count;
    const struct trace_step *step = trace_step_at(trace, session, i);
    struct drive_point point = {.step = step,
                                .session = session,
                                .done = i + 1,
                                .to_go = count - i - 1,
                                .work_done_s = done_s,
                                .work_to_go_s = total_s - done_s,
                                .wait_s = INFINITY};
    if (point.to_go > 0) {
        point.next = step + 1;
        point.is_known = step->has_gap;
        point.wait_s = (double)step->gap_us * 1e-6;
    } else {
        /* A recording that ends in a tool call was cut, or the tool was the last: who knows. */
        point.is_known = step->tools[0] == '\0' && count > 1 && step[-1].has_gap &&
                         !step[-1].is_gap_from_request;
    }
    return point;
}

enum status drive_session(struct aeg *aeg,
                          const struct trace *trace,
                          uint32_t session,
                          uint64_t *now_us,
                          drive_fn fn,
                          void *ctx)
{
    const struct aeg_key key = key_of(&trace->sessions[session]);
    uint32_t count = trace->sessions[session].step_count;
    double total_s = 0.0;
    double done_s = 0.0;
    struct aeg_session live;
    enum status st = aeg_observe_start(aeg, &live, &key, *now_us);
    for (uint32_t i = 0; i < count; i++) {
        total_s += work_of(trace_step_at(trace, session, i));
    }
    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        const struct trace_step *step = trace_step_at(trace, session, i);
        const struct aeg_step ended = {.new_tokens = drive_new_tokens(step),
                                       .out_tokens = step->out_tokens,
                                       .context_tokens = step->in_tokens + step->out_tokens,
                                       .service_us = (uint64_t)(work_of(step) * 1e6)};
        *now_us += ended.service_us;
        done_s += work_of(step);
        aeg_observe_step(aeg, &live, &ended, *now_us);
        st = open_gap(aeg, &live, step->tools, *now_us);
        struct drive_point point = point_of(trace, session, i, total_s, done_s);
        if (fn != NULL) {
            struct aeg_forecast forecast;
            aeg_forecast(aeg, &live, *now_us, &forecast);
            point.forecast = &forecast;
            fn(ctx, &point);
        }
        end_gap(aeg, &live, &point, now_us);
    }
    return st;
}
