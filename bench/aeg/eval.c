/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/aeg/eval.h"

#include "bench/aeg/base.h"
#include "common/base/hash.h"

#include <math.h>

enum { SEED_HALF = 31, PASSES = 2 };

static const uint32_t stage_ends[EVAL_STAGES] = {2, 5, 10, 25, UINT32_MAX};

static const struct aeg_limits limits = {
    .max_classes = 10000,
    .max_tenants = 1000,
    .max_cells = 100000,
    .max_kinds = 32,
    .tenant_share = 1,
    .half_life_us = UINT64_C(30) * 86400 * 1000000,
};

/* What the baselines and the scores of one pass need to know. */
struct pass {
    struct base *base;
    struct score *score;
    struct score *stage; /* NULL = none */
    enum status st;
    uint32_t session;
    double rates[SCORE_HORIZONS];
    double medians[BASE_VALUE_COUNT];
    double last_wait_s; /* of this session, < 0 = none yet */
    double last_out;
    double last_new;
    double last_length; /* steps and work of the session that ended last */
    double last_work_s;
};

static void on_training(void *ctx, const struct drive_point *point)
{
    base_add(ctx, point);
}

static void judge_wait(const struct pass *pass, const struct drive_point *point)
{
    double p95_s = base_p95(pass->base, point->step->tools, BASE_WAIT);
    for (uint32_t h = 0; h < SCORE_HORIZONS; h++) {
        double within_s = score_horizons_s[h];
        double p[SCORE_WHO_COUNT] = {
            [SCORE_SAGA] = aeg_forecast_return(point->forecast, (uint64_t)(within_s * 1e6)),
            [SCORE_GLOBAL_MEAN] = pass->rates[h],
            [SCORE_LAST_VALUE] = pass->last_wait_s < 0
                                     ? pass->rates[h]
                                     : (pass->last_wait_s <= within_s ? 1.0 : 0.0),
            [SCORE_TOOL_P95] = p95_s <= within_s ? 1.0 : 0.0,
        };
        score_wait(pass->score, h, p, point->wait_s <= within_s);
        if (pass->stage != NULL) {
            score_wait(pass->stage, h, p, point->wait_s <= within_s);
        }
    }
}

static void judge_sizes(const struct pass *pass, const struct drive_point *point)
{
    const char *tools = point->step->tools;
    const double out[SCORE_WHO_COUNT] = {
        point->forecast->out_tokens.median, pass->medians[BASE_OUT],
        pass->last_out < 0 ? pass->medians[BASE_OUT] : pass->last_out,
        base_p95(pass->base, tools, BASE_OUT)};
    const double fresh[SCORE_WHO_COUNT] = {
        point->forecast->new_tokens.median, pass->medians[BASE_NEW],
        pass->last_new < 0 ? pass->medians[BASE_NEW] : pass->last_new,
        base_p95(pass->base, tools, BASE_NEW)};
    score_size(pass->score, SCORE_OUT, out, point->next->out_tokens);
    score_size(pass->score, SCORE_NEW, fresh, drive_new_tokens(point->next));
}

/* The last value of what is left: as if this session were as long as the one before. */
static double left_of(double total, double done, double median)
{
    return total < 0 ? median : (total > done ? total - done : 0.0);
}

static void judge_rest(struct pass *pass, const struct drive_point *point)
{
    const char *tools = point->step->tools;
    const double to_go[SCORE_WHO_COUNT] = {
        point->forecast->steps_to_go.median, pass->medians[BASE_TO_GO],
        left_of(pass->last_length, point->done, pass->medians[BASE_TO_GO]),
        base_p95(pass->base, tools, BASE_TO_GO)};
    const struct score_point work = {
        .work_s = point->work_to_go_s,
        .session = point->session,
        .forecast_s = {point->forecast->work_s, pass->medians[BASE_WORK],
                       left_of(pass->last_work_s, point->work_done_s, pass->medians[BASE_WORK]),
                       base_p95(pass->base, tools, BASE_WORK)},
    };
    score_size(pass->score, SCORE_TO_GO, to_go, point->to_go);
    if (pass->st == ST_OK) {
        pass->st = score_work(pass->score, &work);
    }
}

static void on_point(void *ctx, const struct drive_point *point)
{
    struct pass *pass = ctx;
    if (point->done == 1) {
        pass->last_wait_s = -1.0;
        pass->last_new = -1.0;
        pass->last_out = -1.0;
    } else {
        pass->last_new = drive_new_tokens(point->step);
    }
    pass->last_out = point->step->out_tokens;
    if (point->is_known) {
        judge_wait(pass, point);
        pass->last_wait_s = point->wait_s;
    }
    if (point->next != NULL) {
        judge_sizes(pass, point);
    }
    judge_rest(pass, point);
    if (point->next == NULL) {
        pass->last_length = point->done;
        pass->last_work_s = point->work_done_s;
    }
}

/* The root's id decides, so that a task is never in both halves. */
static bool is_training(const struct trace *trace, uint32_t session)
{
    uint32_t root = session;
    while (trace->sessions[root].parent != TRACE_NONE) {
        root = trace->sessions[root].parent;
    }
    return hash_str(str_of(trace->sessions[root].id), SEED_HALF) % 2 == 0;
}

static bool is_of(const struct trace *trace, uint32_t session, const char *source)
{
    return strcmp(trace->sessions[session].source, source) == 0;
}

/* Learns on the training halves, or on all of the other sources when is_cold. */
static enum status learn(struct aeg *aeg,
                         const struct trace *trace,
                         const char *source,
                         bool is_cold,
                         struct base *base,
                         uint64_t *now_us)
{
    enum status st = ST_OK;
    for (uint32_t i = 0; i < trace->session_count && st == ST_OK; i++) {
        bool is_own = is_of(trace, i, source);
        bool is_chosen = is_cold ? !is_own : is_training(trace, i);
        if (is_chosen) {
            st = drive_session(aeg, trace, i, now_us, is_own ? on_training : NULL, base);
        }
    }
    return st;
}

static void start_pass(struct pass *pass, struct base *base)
{
    pass->base = base;
    pass->st = ST_OK;
    pass->last_length = -1.0;
    pass->last_work_s = -1.0;
    for (uint32_t h = 0; h < SCORE_HORIZONS; h++) {
        pass->rates[h] = base_rate(base, score_horizons_s[h]);
    }
    for (uint32_t i = 0; i < BASE_VALUE_COUNT; i++) {
        pass->medians[i] = base_median(base, (enum base_value)i);
    }
}

static struct score *stage_of(struct eval_source *source, uint32_t number)
{
    for (uint32_t i = 0; i < EVAL_STAGES; i++) {
        if (number >= source->stages[i].from && number <= source->stages[i].to) {
            return &source->stages[i].score;
        }
    }
    return NULL;
}

static enum status forecast_half(struct aeg *aeg,
                                 const struct trace *trace,
                                 struct eval_source *source,
                                 struct score *score,
                                 struct base *base,
                                 uint64_t now_us)
{
    struct pass pass = {.score = score};
    uint32_t number = 0;
    enum status st = ST_OK;
    start_pass(&pass, base);
    for (uint32_t i = 0; i < trace->session_count && st == ST_OK; i++) {
        if (!is_of(trace, i, source->name) || is_training(trace, i)) {
            continue;
        }
        number++;
        pass.stage = score == &source->cold ? stage_of(source, number) : NULL;
        st = drive_session(aeg, trace, i, &now_us, on_point, &pass);
        st = st == ST_OK ? pass.st : st;
    }
    return st;
}

/* is_cold: the pass that leaves this source out, else the one that learns its training half too. */
static enum status run_pass(const struct mem *mem,
                            const struct trace *trace,
                            struct eval_source *source,
                            struct base *base,
                            bool is_cold)
{
    struct aeg aeg;
    uint64_t now_us = 0;
    enum status st = aeg_init(&aeg, mem, &limits);
    if (st != ST_OK) {
        return st;
    }
    st = learn(&aeg, trace, source->name, is_cold, base, &now_us);
    if (st == ST_OK && !is_cold) {
        aeg.is_frozen = true;
        st = forecast_half(&aeg, trace, source, &source->frozen, base, now_us);
        aeg.is_frozen = false;
    }
    if (st == ST_OK) {
        struct score *score = is_cold ? &source->cold : &source->online;
        st = forecast_half(&aeg, trace, source, score, base, now_us);
    }
    aeg_fini(&aeg);
    return st;
}

static enum status add_source(struct eval *eval, const char *name)
{
    if (eval->count == EVAL_SOURCES_MAX) {
        return ST_TOOBIG;
    }
    struct eval_source *source = &eval->sources[eval->count++];
    source->name = name;
    score_init(&source->online, eval->mem);
    score_init(&source->frozen, eval->mem);
    score_init(&source->cold, eval->mem);
    for (uint32_t i = 0; i < EVAL_STAGES; i++) {
        source->stages[i].from = i == 0 ? 1 : stage_ends[i - 1] + 1;
        source->stages[i].to = stage_ends[i];
        score_init(&source->stages[i].score, eval->mem);
    }
    return ST_OK;
}

static enum status find_sources(struct eval *eval, const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->session_count; i++) {
        const struct trace_session *session = &trace->sessions[i];
        uint32_t at = 0;
        while (at < eval->count && strcmp(eval->sources[at].name, session->source) != 0) {
            at++;
        }
        enum status st = at == eval->count ? add_source(eval, session->source) : ST_OK;
        if (st != ST_OK) {
            return st;
        }
        struct eval_source *source = &eval->sources[at];
        bool is_learned = is_training(trace, i);
        source->training_count += is_learned;
        source->session_count += !is_learned;
        source->step_count += is_learned ? 0 : session->step_count;
    }
    return ST_OK;
}

enum status eval_run(struct eval *ret,
                     const struct mem *mem,
                     const struct trace *trace,
                     eval_progress_fn progress,
                     void *ctx)
{
    *ret = (struct eval){.mem = mem};
    enum status st = find_sources(ret, trace);
    for (uint32_t i = 0; i < ret->count && st == ST_OK; i++) {
        struct eval_source *source = &ret->sources[i];
        struct base base;
        st = base_init(&base, mem);
        if (st != ST_OK) {
            break;
        }
        for (uint32_t pass = 0; pass < PASSES && st == ST_OK; pass++) {
            const char *doing = pass == 0 ? "halves" : "learned on the others";
            progress(ctx, source->name, doing, i * PASSES + pass + 1, ret->count * PASSES);
            st = run_pass(mem, trace, source, &base, pass == 1);
        }
        base_fini(&base);
    }
    return st;
}

void eval_fini(struct eval *eval)
{
    for (uint32_t i = 0; i < eval->count; i++) {
        struct eval_source *source = &eval->sources[i];
        score_fini(&source->online);
        score_fini(&source->frozen);
        score_fini(&source->cold);
        for (uint32_t k = 0; k < EVAL_STAGES; k++) {
            score_fini(&source->stages[k].score);
        }
    }
    *eval = (struct eval){0};
}

double eval_best_base(const struct score *score, uint32_t horizon)
{
    double best = score_brier(score, horizon, SCORE_GLOBAL_MEAN);
    for (uint32_t who = SCORE_LAST_VALUE; who < SCORE_WHO_COUNT; who++) {
        double brier = score_brier(score, horizon, (enum score_who)who);
        best = brier < best ? brier : best;
    }
    return best;
}
