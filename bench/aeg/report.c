/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/aeg/report.h"

#include <math.h>

static const char *const size_names[SCORE_SIZE_COUNT] = {"output_tokens", "new_tokens",
                                                         "steps_to_go"};

/* JSON has no NaN. */
static enum status add_number(struct buf *out, double x)
{
    return isfinite(x) ? buf_add_fmt(out, "%.6g", x) : buf_add_str(out, STR("null"));
}

/* {"saga":..,"global_mean":..,..} of fn(who). */
static enum status add_brier(struct buf *out, const struct score *score)
{
    enum status st = buf_add_str(out, STR("{"));
    for (uint32_t h = 0; h < SCORE_HORIZONS && st == ST_OK; h++) {
        st = buf_add_fmt(out, "%s\"%s\":{", h > 0 ? "," : "", score_horizon_names[h]);
        for (uint32_t who = 0; who < SCORE_WHO_COUNT && st == ST_OK; who++) {
            st = buf_add_fmt(out, "%s\"%s\":", who > 0 ? "," : "", score_who_names[who]);
            if (st == ST_OK) {
                st = add_number(out, score_brier(score, h, (enum score_who)who));
            }
        }
        if (st == ST_OK) {
            st = buf_add_str(out, STR("}"));
        }
    }
    return st == ST_OK ? buf_add_str(out, STR("}")) : st;
}

static enum status add_size(struct buf *out, struct score *score, uint32_t what)
{
    enum status st = buf_add_fmt(out, ",\"%s\":{", size_names[what]);
    for (uint32_t who = 0; who < SCORE_WHO_COUNT && st == ST_OK; who++) {
        struct samples *errors = &score->errors[what][who];
        bool is_empty = errors->count == 0;
        st = buf_add_fmt(out, "%s\"%s\":{\"median\":", who > 0 ? "," : "", score_who_names[who]);
        if (st == ST_OK) {
            st = add_number(out, is_empty ? (double)NAN : samples_quantile(errors, 0.5));
        }
        if (st == ST_OK) {
            st = buf_add_str(out, STR(",\"mean\":"));
        }
        if (st == ST_OK) {
            st = add_number(out, is_empty ? (double)NAN : samples_mean(errors));
        }
        if (st == ST_OK) {
            st = buf_add_str(out, STR("}"));
        }
    }
    return st == ST_OK ? buf_add_str(out, STR("}")) : st;
}

static enum status add_order(struct buf *out, const struct score *score)
{
    enum status st = buf_add_str(out, STR(",\"work_order_concordance\":{"));
    for (uint32_t who = 0; who < SCORE_WHO_COUNT && st == ST_OK; who++) {
        st = buf_add_fmt(out, "%s\"%s\":", who > 0 ? "," : "", score_who_names[who]);
        if (st == ST_OK) {
            st = add_number(out, score_concordance(score, (enum score_who)who));
        }
    }
    return st == ST_OK ? buf_add_str(out, STR("}")) : st;
}

static enum status add_calibration(struct buf *out, const struct score *score)
{
    enum status st = buf_add_str(out, STR(",\"calibration\":{"));
    for (uint32_t h = 0; h < SCORE_HORIZONS && st == ST_OK; h++) {
        st = buf_add_fmt(out, "%s\"%s\":[", h > 0 ? "," : "", score_horizon_names[h]);
        bool is_first = true;
        for (uint32_t i = 0; i < SCORE_BINS && st == ST_OK; i++) {
            const struct score_bin *bin = &score->bins[h][i];
            if (bin->count > 0) {
                double n = (double)bin->count;
                st = buf_add_fmt(out, "%s{\"forecast\":%.4f,\"happened\":%.4f,\"count\":%llu}",
                                 is_first ? "" : ",", bin->forecast_sum / n, bin->happened / n,
                                 (unsigned long long)bin->count);
                is_first = false;
            }
        }
        if (st == ST_OK) {
            st = buf_add_str(out, STR("]"));
        }
    }
    return st == ST_OK ? buf_add_str(out, STR("}")) : st;
}

static enum status add_score(struct buf *out, struct score *score)
{
    enum status st =
        buf_add_fmt(out, "\"gaps\":%llu,\"brier\":", (unsigned long long)score->wait_count);
    if (st == ST_OK) {
        st = add_brier(out, score);
    }
    for (uint32_t i = 0; i < SCORE_SIZE_COUNT && st == ST_OK; i++) {
        st = add_size(out, score, i);
    }
    if (st == ST_OK) {
        st = add_order(out, score);
    }
    return st == ST_OK ? add_calibration(out, score) : st;
}

static enum status add_stages(struct buf *out, const struct eval_source *source)
{
    enum status st = buf_add_str(out, STR(",\"by_sessions\":["));
    bool is_first = true;
    for (uint32_t i = 0; i < EVAL_STAGES && st == ST_OK; i++) {
        const struct eval_stage *stage = &source->stages[i];
        if (stage->score.wait_count == 0) {
            continue;
        }
        uint32_t to = stage->to < source->session_count ? stage->to : source->session_count;
        st = buf_add_fmt(out, "%s{\"from\":%u,\"to\":%u,\"brier\":", is_first ? "" : ",",
                         stage->from, to);
        is_first = false;
        if (st == ST_OK) {
            st = add_brier(out, &stage->score);
        }
        if (st == ST_OK) {
            st = buf_add_str(out, STR("}"));
        }
    }
    return st == ST_OK ? buf_add_str(out, STR("]")) : st;
}

static enum status add_source(struct buf *out, struct eval_source *source)
{
    enum status st = buf_add_str(out, STR("{\"source\":\""));
    if (st == ST_OK) {
        st = buf_add_json(out, str_of(source->name));
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out, "\",\"sessions\":%u,\"steps\":%u,\"training_sessions\":%u,",
                         source->session_count, source->step_count, source->training_count);
    }
    if (st == ST_OK) {
        st = add_score(out, &source->online);
    }
    if (st == ST_OK) {
        st = buf_add_str(out, STR(",\"frozen\":{"));
    }
    if (st == ST_OK) {
        st = add_score(out, &source->frozen);
    }
    if (st == ST_OK) {
        st = buf_add_str(out, STR("},\"leave_one_out\":{"));
    }
    if (st == ST_OK) {
        st = add_score(out, &source->cold);
    }
    if (st == ST_OK) {
        st = add_stages(out, source);
    }
    return st == ST_OK ? buf_add_str(out, STR("}}")) : st;
}

enum status report_eval_json(struct eval *eval, struct buf *out)
{
    enum status st = buf_add_str(out, STR("{\"sources\":["));
    for (uint32_t i = 0; i < eval->count && st == ST_OK; i++) {
        st = i > 0 ? buf_add_str(out, STR(",\n")) : ST_OK;
        if (st == ST_OK) {
            st = add_source(out, &eval->sources[i]);
        }
    }
    return st == ST_OK ? buf_add_str(out, STR("]}\n")) : st;
}

static enum status text_brier(struct eval *eval, struct buf *out)
{
    enum status st = buf_add_str(
        out,
        STR("Brier score of P(next request within t), lower is better\n\n"
            "| source | t | gaps | saga | base rate | last value | tool P95 | against the best "
            "| frozen | learned on the others |\n|---|---|---|---|---|---|---|---|---|---|\n"));
    for (uint32_t i = 0; i < eval->count; i++) {
        const struct eval_source *source = &eval->sources[i];
        const struct score *score = &source->online;
        for (uint32_t h = 0; h < SCORE_HORIZONS && st == ST_OK && score->wait_count > 0; h++) {
            double saga = score_brier(score, h, SCORE_SAGA);
            st = buf_add_fmt(
                out, "| %s | %s | %llu | %.4f | %.4f | %.4f | %.4f | %+.4f | %.4f | %.4f |\n",
                source->name, score_horizon_names[h], (unsigned long long)score->wait_count, saga,
                score_brier(score, h, SCORE_GLOBAL_MEAN), score_brier(score, h, SCORE_LAST_VALUE),
                score_brier(score, h, SCORE_TOOL_P95), saga - eval_best_base(score, h),
                score_brier(&source->frozen, h, SCORE_SAGA),
                score_brier(&source->cold, h, SCORE_SAGA));
        }
    }
    return st;
}

static enum status text_sizes(struct eval *eval, struct buf *out)
{
    enum status st = buf_add_str(
        out, STR("\nAbsolute log error, median / mean, lower is better\n\n"
                 "| source | what | saga | base median | last value | tool P95 | frozen | learned "
                 "on the others |\n|---|---|---|---|---|---|---|---|\n"));
    for (uint32_t i = 0; i < eval->count; i++) {
        struct eval_source *source = &eval->sources[i];
        for (uint32_t what = 0; what < SCORE_SIZE_COUNT && st == ST_OK; what++) {
            st = buf_add_fmt(out, "| %s | %s |", source->name, size_names[what]);
            struct samples *cells[SCORE_WHO_COUNT + 2];
            for (uint32_t who = 0; who < SCORE_WHO_COUNT; who++) {
                cells[who] = &source->online.errors[what][who];
            }
            cells[SCORE_WHO_COUNT] = &source->frozen.errors[what][SCORE_SAGA];
            cells[SCORE_WHO_COUNT + 1] = &source->cold.errors[what][SCORE_SAGA];
            for (uint32_t k = 0; k < SCORE_WHO_COUNT + 2 && st == ST_OK; k++) {
                st = buf_add_fmt(out, " %.3f / %.3f |", samples_quantile(cells[k], 0.5),
                                 samples_mean(cells[k]));
            }
            if (st == ST_OK) {
                st = buf_add_str(out, STR("\n"));
            }
        }
    }
    return st;
}

static enum status text_order(struct eval *eval, struct buf *out)
{
    enum status st = buf_add_str(
        out, STR("\nConcordance of the order by remaining work, 0.5 is chance, higher is better\n\n"
                 "| source | saga | base median | last value | tool P95 | frozen | learned on the "
                 "others |\n|---|---|---|---|---|---|---|\n"));
    for (uint32_t i = 0; i < eval->count && st == ST_OK; i++) {
        const struct eval_source *source = &eval->sources[i];
        const struct score *score = &source->online;
        st = buf_add_fmt(
            out, "| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", source->name,
            score_concordance(score, SCORE_SAGA), score_concordance(score, SCORE_GLOBAL_MEAN),
            score_concordance(score, SCORE_LAST_VALUE), score_concordance(score, SCORE_TOOL_P95),
            score_concordance(&source->frozen, SCORE_SAGA),
            score_concordance(&source->cold, SCORE_SAGA));
    }
    return st;
}

static enum status text_stages(struct eval *eval, struct buf *out)
{
    enum status st = buf_add_str(
        out, STR("\nBrier score at 1 s and 10 s of a forecaster that learned only on the other "
                 "sources, by sessions seen of this one\n\n| source | sessions | saga 1 s | base "
                 "rate 1 s | saga 10 s | base rate 10 s |\n|---|---|---|---|---|---|\n"));
    for (uint32_t i = 0; i < eval->count; i++) {
        const struct eval_source *source = &eval->sources[i];
        for (uint32_t k = 0; k < EVAL_STAGES && st == ST_OK; k++) {
            const struct eval_stage *stage = &source->stages[k];
            if (stage->score.wait_count == 0) {
                continue;
            }
            uint32_t to = stage->to < source->session_count ? stage->to : source->session_count;
            st = buf_add_fmt(out, "| %s | %u-%u | %.4f | %.4f | %.4f | %.4f |\n", source->name,
                             stage->from, to, score_brier(&stage->score, 0, SCORE_SAGA),
                             score_brier(&stage->score, 0, SCORE_GLOBAL_MEAN),
                             score_brier(&stage->score, 1, SCORE_SAGA),
                             score_brier(&stage->score, 1, SCORE_GLOBAL_MEAN));
        }
    }
    return st;
}

enum status report_eval_text(struct eval *eval, struct buf *out)
{
    enum status st = text_brier(eval, out);
    if (st == ST_OK) {
        st = text_sizes(eval, out);
    }
    if (st == ST_OK) {
        st = text_order(eval, out);
    }
    return st == ST_OK ? text_stages(eval, out) : st;
}
