/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 16 };
/* Shorter times are not taken for more exact than this. */
#define SHORT_S 1e-3

struct fitter {
    const struct fit_step *steps;
    uint32_t count;
    const struct mem *mem;
    struct fit_played *played; /* [count] */
    struct fit_row *rows;      /* [2 * count] */
    double *values;            /* [count], scratch */
};

static int by_size(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* values [count] get sorted; 0 without any. */
static double quantile(double *values, uint32_t count, double p)
{
    qsort(values, count, sizeof(*values), by_size);
    return count == 0 ? 0 : values[(uint32_t)(p * (count - 1))];
}

static uint32_t fresh_tokens(const struct fit_step *step)
{
    return step->cached_tokens < step->prompt_tokens ? step->prompt_tokens - step->cached_tokens
                                                     : 1;
}

/* A first idea: the quickest decodes are lone ones, and long computations show b. */
static void guess(struct fitter *fitter, struct sim_profile *profile)
{
    uint32_t n = 0;
    double most = 0;
    for (uint32_t i = 0; i < fitter->count; i++) {
        const struct fit_step *step = &fitter->steps[i];
        if (step->ttft_s >= 0 && step->output_tokens > 1) {
            fitter->values[n++] = (step->step_s - step->ttft_s) / (step->output_tokens - 1);
        }
        most = fresh_tokens(step) > most ? fresh_tokens(step) : most;
    }
    profile->f_s = quantile(fitter->values, n, 0.1);
    profile->a_s = profile->f_s / 5;
    n = 0;
    for (uint32_t i = 0; i < fitter->count; i++) {
        const struct fit_step *step = &fitter->steps[i];
        if (step->ttft_s >= 0 && fresh_tokens(step) * 4 >= most) {
            fitter->values[n++] = step->ttft_s / fresh_tokens(step);
        }
    }
    profile->b_s_per_token = quantile(fitter->values, n, 0.25);
    profile->d_s_per_pair = 0;
    profile->g_s_per_request = 0;
    profile->h_s_per_token = 0;
}

/* To six digits: more would be noise. */
static double rounded(double x)
{
    double scale = x > 0 ? pow(10, 5 - floor(log10(x))) : 1;
    return round(x * scale) / scale;
}

static void set_constants(struct sim_profile *profile, const double theta[FIT_TERMS])
{
    profile->a_s = rounded(theta[FIT_A]);
    profile->f_s = rounded(theta[FIT_A] + theta[FIT_W]);
    profile->b_s_per_token = rounded(theta[FIT_B]);
    profile->d_s_per_pair = rounded(theta[FIT_D]);
    profile->g_s_per_request = rounded(theta[FIT_G]);
    profile->h_s_per_token = rounded(theta[FIT_H]);
}

/* A time is a sum of iterations, each with an error of its own: its variance grows with it. */
static void add_row(struct fit_row *row, const struct fit_work *work, double measured_s)
{
    double scale = 1 / sqrt(measured_s > SHORT_S ? measured_s : SHORT_S);
    row->y = measured_s * scale;
    for (int i = 0; i < FIT_TERMS; i++) {
        row->x[i] = work->of[i] * scale;
    }
}

static uint32_t make_rows(struct fitter *fitter)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fitter->count; i++) {
        const struct fit_step *step = &fitter->steps[i];
        const struct fit_played *played = &fitter->played[i];
        if (step->ttft_s < 0) {
            continue;
        }
        add_row(&fitter->rows[n++], &played->first, step->ttft_s);
        if (step->output_tokens > 1) {
            add_row(&fitter->rows[n++], &played->decode, step->step_s - step->ttft_s);
        }
    }
    return n;
}

/* Mean distance of played and measured times, in units of their deviation. */
static double distance(const struct fitter *fitter)
{
    double sum = 0;
    for (uint32_t i = 0; i < fitter->count; i++) {
        const struct fit_step *step = &fitter->steps[i];
        const struct fit_played *played = &fitter->played[i];
        if (step->ttft_s >= 0) {
            double decode_s = step->step_s - step->ttft_s;
            sum += fabs(played->first_s - step->ttft_s) / sqrt(fmax(step->ttft_s, SHORT_S)) +
                   fabs(played->decode_s - decode_s) / sqrt(fmax(decode_s, SHORT_S));
        }
    }
    return sum / fitter->count;
}

static enum status
play_and_solve(struct fitter *fitter, const struct sim_profile *profile, struct fit_solution *ret)
{
    enum status st = fit_play(profile, fitter->steps, fitter->count, fitter->mem, fitter->played);
    return st == ST_OK ? fit_solve(fitter->rows, make_rows(fitter), fitter->mem, ret) : st;
}

static void get_constants(const struct sim_profile *profile, double ret[FIT_TERMS])
{
    ret[FIT_A] = profile->a_s;
    ret[FIT_W] = profile->f_s - profile->a_s;
    ret[FIT_B] = profile->b_s_per_token;
    ret[FIT_D] = profile->d_s_per_pair;
    ret[FIT_G] = profile->g_s_per_request;
    ret[FIT_H] = profile->h_s_per_token;
}

/* From one start; *least is the best distance so far, of fit->profile. */
static enum status
search_from(struct fitter *fitter, struct sim_profile now, struct fit *fit, double *least)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct fit_solution solution;
        enum status st = play_and_solve(fitter, &now, &solution);
        if (st != ST_OK) {
            return st;
        }
        double off = distance(fitter);
        if (off < *least) {
            *least = off;
            fit->profile = now;
        }
        /* Half way, so that it does not swing; what this round says nothing about stays. */
        double old[FIT_TERMS];
        get_constants(&now, old);
        for (int i = 0; i < FIT_TERMS; i++) {
            solution.theta[i] = solution.is_told[i] ? (solution.theta[i] + old[i]) / 2 : old[i];
        }
        set_constants(&now, solution.theta);
    }
    return ST_OK;
}

/* From several starts: which iterations are bound by what depends on it. */
static enum status search(struct fitter *fitter, struct fit *fit)
{
    static const double shares[] = {1, 0.5, 0.2};
    struct sim_profile first = fit->profile;
    double least = INFINITY;
    guess(fitter, &first);
    for (int i = 0; i < 9; i++) {
        struct sim_profile start = first;
        start.f_s *= shares[i / 3];
        start.a_s *= shares[i / 3];
        start.b_s_per_token *= shares[i % 3];
        enum status st = search_from(fitter, start, fit, &least);
        if (st != ST_OK) {
            return st;
        }
    }
    return play_and_solve(fitter, &fit->profile, &fit->solution);
}

static void measure_misses(struct fitter *fitter, struct fit *fit)
{
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (uint32_t i = 0; i < fitter->count; i++) {
            const struct fit_step *step = &fitter->steps[i];
            const struct fit_played *played = &fitter->played[i];
            double measured_s = pass == 0 ? step->ttft_s : step->step_s;
            double played_s = played->first_s + (pass == 0 ? 0 : played->decode_s);
            if (step->ttft_s >= 0) {
                fitter->values[n++] = fabs(played_s - measured_s) / fmax(measured_s, SHORT_S);
            }
        }
        double miss = quantile(fitter->values, n, 0.5);
        fit->first_miss = pass == 0 ? miss : fit->first_miss;
        fit->step_miss = miss;
    }
}

static double ratio(double error, double value)
{
    return value > 0 ? FIT_ERRORS_95 * error / value : INFINITY;
}

static enum status judge(const struct fit *fit, struct err *err)
{
    const struct fit_solution *solution = &fit->solution;
    const struct sim_profile *profile = &fit->profile;
    if (!(ratio(solution->error[FIT_B], profile->b_s_per_token) <= FIT_RATIO_MAX)) {
        return err_set(err, ST_INVAL,
                       "b, the cost of a prompt token, is not determined: too few steps computed "
                       "enough new tokens for the noise there is. Measure with long prompts that "
                       "are not cached, on a quiet machine");
    }
    if (!(ratio(solution->f_error, profile->f_s) <= FIT_RATIO_MAX)) {
        return err_set(err, ST_INVAL,
                       "f, the time of a decoding iteration, is not determined: measure with "
                       "longer answers");
    }
    if (fit->step_miss > FIT_MISS_MAX) {
        return err_set(err, ST_INVAL,
                       "the model does not describe this run: half of its steps are off by more "
                       "than %.0f %%. Are --like's max_running and budget_tokens the engine's?",
                       fit->step_miss * 100);
    }
    return ST_OK;
}

static enum status check(const struct fit_step *steps, uint32_t count, struct err *err)
{
    uint32_t timed = 0;
    uint32_t decoding = 0;
    uint32_t computing = 0;
    for (uint32_t i = 0; i < count; i++) {
        timed += steps[i].ttft_s >= 0;
        decoding += steps[i].ttft_s >= 0 && steps[i].output_tokens > 1;
        computing += steps[i].ttft_s >= 0 && fresh_tokens(&steps[i]) >= FIT_LONG_TOKENS;
    }
    if (timed < FIT_STEPS_MIN || decoding < FIT_STEPS_MIN) {
        return err_set(err, ST_INVAL,
                       "%u steps with a first token, %u of them with more than one: at least %d "
                       "are needed",
                       timed, decoding, FIT_STEPS_MIN);
    }
    if (computing < FIT_LONG_MIN) {
        return err_set(err, ST_INVAL,
                       "b, the cost of a prompt token, is not determined: %u steps computed %d or "
                       "more new tokens, at least %d are needed",
                       computing, FIT_LONG_TOKENS, FIT_LONG_MIN);
    }
    return ST_OK;
}

enum status fit_make(const struct fit_step *steps,
                     uint32_t count,
                     const struct sim_profile *like,
                     const struct mem *mem,
                     struct fit *ret,
                     struct err *err)
{
    struct fitter fitter = {.steps = steps, .count = count, .mem = mem};
    struct fit fit = {.profile = *like, .steps = count};
    enum status st = check(steps, count, err);
    if (st != ST_OK) {
        return st;
    }
    fitter.played = mem_calloc(mem, count, sizeof(*fitter.played));
    fitter.rows = mem_calloc(mem, (size_t)count * 2, sizeof(*fitter.rows));
    fitter.values = mem_calloc(mem, count, sizeof(*fitter.values));
    st = fitter.played == NULL || fitter.rows == NULL || fitter.values == NULL
             ? ST_NOMEM
             : search(&fitter, &fit);
    if (st == ST_OK) {
        measure_misses(&fitter, &fit);
        st = judge(&fit, err);
    } else {
        status_ignore(err_set(err, st, "%s", status_text(st)), "returned below");
    }
    mem_free(mem, fitter.played, count * sizeof(*fitter.played));
    mem_free(mem, fitter.rows, (size_t)count * 2 * sizeof(*fitter.rows));
    mem_free(mem, fitter.values, count * sizeof(*fitter.values));
    if (st == ST_OK) {
        *ret = fit;
    }
    return st;
}

static enum status
report_one(const char *key, double value, double error, bool is_told, struct buf *out)
{
    if (value > 0) {
        return buf_add_fmt(out, "#   %-16s %-10.4g +- %.2g %%\n", key, value,
                           100 * ratio(error, value));
    }
    return is_told
               ? buf_add_fmt(out, "#   %-16s 0          at most %.2g\n", key, FIT_ERRORS_95 * error)
               : buf_add_fmt(out, "#   %-16s 0          not to be told from the others\n", key);
}

enum status fit_report(const struct fit *fit, struct buf *out)
{
    const struct sim_profile *p = &fit->profile;
    const struct fit_solution *s = &fit->solution;
    const struct {
        const char *key;
        double value;
        double error;
        bool is_told;
    } lines[] = {
        {"a_s", p->a_s, s->error[FIT_A], s->is_told[FIT_A]},
        {"b_s_per_token", p->b_s_per_token, s->error[FIT_B], true},
        {"d_s_per_pair", p->d_s_per_pair, s->error[FIT_D], s->is_told[FIT_D]},
        {"f_s", p->f_s, s->f_error, true},
        {"g_s_per_request", p->g_s_per_request, s->error[FIT_G], s->is_told[FIT_G]},
        {"h_s_per_token", p->h_s_per_token, s->error[FIT_H], s->is_told[FIT_H]},
    };
    enum status st =
        buf_add_fmt(out,
                    "# Fitted to %u steps, %u of their times outliers. Half of the "
                    "steps are foreseen\n# within %.1f %%, of the times to first "
                    "tokens within %.1f %%. Constants with their 95 %% intervals:\n",
                    fit->steps, s->outliers, fit->step_miss * 100, fit->first_miss * 100);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && st == ST_OK; i++) {
        st = report_one(lines[i].key, lines[i].value, lines[i].error, lines[i].is_told, out);
    }
    return st;
}
