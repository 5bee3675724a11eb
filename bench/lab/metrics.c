/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/metrics.h"

#include "bench/replay/samples.h"

#include <math.h>

static double seconds(uint64_t us)
{
    return (double)us / 1e6;
}

static struct metrics_session score(const struct lab_plan *plan,
                                    const struct lab_result *result,
                                    const uint64_t *alone_us,
                                    const struct lab_arrival *arrival)
{
    const struct lab_outcome *outcome = &result->outcomes[arrival->session];
    uint64_t end_us = outcome->ended_at_us > 0 ? outcome->ended_at_us : result->ended_at_us;
    uint64_t spent_us = arrival->at_us + outcome->human_us;
    struct metrics_session made = {
        .at_s = seconds(arrival->at_us),
        .tct_s = end_us > spent_us ? seconds(end_us - spent_us) : 0,
        .alone_s = seconds(alone_us[plan->sessions[arrival->session].recorded]),
        .is_given_up = outcome->is_given_up,
        .is_finished = outcome->ended_at_us > 0 && !outcome->is_given_up,
    };
    if (!made.is_finished && made.tct_s < made.alone_s) {
        made.tct_s = made.alone_s; /* it will not be faster than that */
    }
    return made;
}

struct span {
    double sum;
    uint32_t count;
};

static void span_add(struct span *span, double value)
{
    span->sum += value;
    span->count++;
}

static double span_mean(const struct span *span)
{
    return span->count == 0 ? 0 : span->sum / span->count;
}

static void
add_late(const struct metrics_session *sessions, uint32_t count, double end_s, struct metrics *ret)
{
    struct span late = {0};
    struct span before = {0};
    struct span last = {0};
    for (uint32_t i = 0; i < count; i++) {
        double at = sessions[i].at_s / end_s;
        if (sessions[i].is_given_up || at < METRICS_LATE_FROM) {
            continue;
        }
        span_add(&late, metrics_slowdown(&sessions[i]));
        span_add(at < (1 + METRICS_LATE_FROM) / 2 ? &before : &last,
                 metrics_slowdown(&sessions[i]));
    }
    ret->late_slowdown = span_mean(&late);
    ret->is_rising = before.count > 0 && span_mean(&last) > METRICS_RISE_RATIO * span_mean(&before);
}

static void add_sessions(const struct metrics_session *sessions,
                         uint32_t count,
                         struct samples *slowdowns,
                         struct samples *tcts,
                         struct metrics *ret)
{
    double log_sum = 0;
    double in_time = 0;
    double good = 0;
    double offered = 0;
    uint32_t given_up = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct metrics_session *session = &sessions[i];
        offered += session->alone_s;
        given_up += session->is_given_up;
        ret->finished += session->is_finished;
        if (session->is_finished && session->tct_s <= METRICS_SLO_RATIO * session->alone_s) {
            in_time++;
            good += session->alone_s;
        }
        if (!session->is_given_up) {
            samples_add(slowdowns, metrics_slowdown(session));
            log_sum += log(metrics_slowdown(session));
            samples_add(tcts, session->tct_s);
        }
    }
    double with_tct = count > given_up ? count - given_up : 1;
    ret->sessions = count;
    ret->mean_slowdown = samples_mean(slowdowns);
    ret->geomean_slowdown = exp(log_sum / with_tct);
    ret->p50_slowdown = samples_quantile(slowdowns, 0.5);
    ret->p99_slowdown = samples_quantile(slowdowns, 0.99);
    ret->mean_tct_s = samples_mean(tcts);
    ret->p50_tct_s = samples_quantile(tcts, 0.5);
    ret->p99_tct_s = samples_quantile(tcts, 0.99);
    ret->share_within_2p5x = count > 0 ? in_time / count : 0;
    ret->refused_share = count > 0 ? (double)given_up / count : 0;
    ret->goodput_share = offered > 0 ? good / offered : 0;
}

static void add_steps(const struct lab_result *result, struct samples *firsts, struct metrics *ret)
{
    for (uint32_t i = 0; i < result->first_count; i++) {
        samples_add(firsts, seconds(result->firsts[i].first_us));
    }
    ret->mean_ttft_s = samples_mean(firsts);
    ret->p99_ttft_s = samples_quantile(firsts, 0.99);
    ret->p999_ttft_s = samples_quantile(firsts, 0.999);
    for (uint32_t i = 0; i < result->session_count; i++) {
        double wait_s = seconds(result->outcomes[i].wait_max_us);
        ret->max_wait_s = wait_s > ret->max_wait_s ? wait_s : ret->max_wait_s;
    }
    double fresh = (double)result->prompt_tokens - (double)result->cached_tokens;
    ret->tokens_per_s =
        result->ended_at_us > 0 ? (double)result->output_tokens / seconds(result->ended_at_us) : 0;
    ret->cached_share = result->prompt_tokens > 0
                            ? (double)result->cached_tokens / (double)result->prompt_tokens
                            : 0;
    ret->regenerated_share = fresh > 0 ? (double)result->regenerated_tokens / fresh : 0;
    ret->steps = result->steps;
    ret->moves = result->moves;
    ret->preempted = result->preempted;
    ret->steals = result->steals;
    ret->pauses_per_session = ret->sessions > 0 ? (double)result->pauses / ret->sessions : 0;
    ret->attempts_failed = result->attempts_failed;
    ret->cut = result->cut;
}

enum status metrics_make(const struct lab_plan *plan,
                         const struct lab_result *result,
                         const uint64_t *alone_us,
                         struct metrics_session *sessions,
                         struct metrics *ret)
{
    struct samples slowdowns;
    struct samples tcts;
    struct samples firsts;
    struct metrics made = {0};
    uint32_t count = plan->arrival_count;
    for (uint32_t i = 0; i < count; i++) {
        sessions[i] = score(plan, result, alone_us, &plan->arrivals[i]);
    }
    samples_init(&slowdowns, mem_heap(), 1);
    samples_init(&tcts, mem_heap(), 3);
    samples_init(&firsts, mem_heap(), 2);
    add_sessions(sessions, count, &slowdowns, &tcts, &made);
    add_steps(result, &firsts, &made);
    if (count > 0) {
        add_late(sessions, count, sessions[count - 1].at_s + 1e-9, &made);
    }
    bool is_whole = slowdowns.lost_count + tcts.lost_count + firsts.lost_count == 0;
    samples_fini(&slowdowns);
    samples_fini(&tcts);
    samples_fini(&firsts);
    if (!is_whole) {
        return ST_NOMEM;
    }
    *ret = made;
    return ST_OK;
}

uint32_t metrics_within(const struct metrics_session *sessions, uint32_t count, double slowdown)
{
    uint32_t within = 0;
    for (uint32_t i = 0; i < count; i++) {
        within += sessions[i].is_finished && sessions[i].tct_s <= slowdown * sessions[i].alone_s;
    }
    return within;
}

bool metrics_carries(const struct metrics *metrics, const struct metrics *unlimited)
{
    return !metrics->is_rising && metrics->refused_share <= unlimited->refused_share &&
           metrics->late_slowdown <= METRICS_CARRY_RATIO * unlimited->late_slowdown;
}
