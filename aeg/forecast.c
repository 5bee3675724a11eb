/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/forecast.h"

#include <math.h>

/* Weights of the wider group, in observations (F7). Round numbers, not tuned on any trace. */
#define K_ANY     16.0f /* all kinds of the narrower level against the wider level */
#define K_KIND    6.0f  /* a kind against what it is drawn towards */
#define K_SESSION 8.0f  /* the session's own gaps of this kind */
#define K_LENGTH  4.0f
#define K_SERVICE 8.0

#define NEVER_PRIOR 0.05f

/* How far evidence of each level is evidence about this session. */
static const double trust[AEG_LEVELS] = {0.25, 0.5, 1.0};

enum part { PART_WAIT, PART_FRESH, PART_OUT };

struct chain {
    const struct aeg *aeg;
    const struct aeg_session *session;
    uint64_t now_us;
    const struct aeg_cell *cells[2 * AEG_LEVELS]; /* NULL = none; all kinds, then this kind */
    float scales[2 * AEG_LEVELS];
    enum part part;
    struct dist_curve curve;
    double confidence;
};

static void count_in(struct chain *chain, float n, float k, double weight)
{
    double own = (double)(n / (n + k));
    chain->confidence = own * weight + (1.0 - own) * chain->confidence;
}

static void find_cells(struct chain *chain)
{
    const struct aeg_session *session = chain->session;
    uint64_t half_life_us = chain->aeg->table.limits.half_life_us;
    for (uint32_t i = 0; i < 2 * AEG_LEVELS; i++) {
        struct aeg_ref ref = i < AEG_LEVELS ? session->any[i] : session->cells[i - AEG_LEVELS];
        chain->cells[i] = aeg_ref_cell(chain->aeg, ref);
        if (chain->cells[i] != NULL) {
            chain->scales[i] = dist_scale(&chain->cells[i]->clock, chain->now_us, half_life_us);
        }
    }
}

static void add_cell(struct chain *chain, uint32_t i)
{
    const struct aeg_cell *cell = chain->cells[i];
    if (cell == NULL) {
        return;
    }
    float scale = chain->scales[i];
    float k = i < AEG_LEVELS ? K_ANY : K_KIND;
    float n = cell->return_n;
    if (chain->part == PART_WAIT && n > cell->return_ended_n) {
        dist_curve_add(&chain->curve, cell->return_ended, cell->return_risk, scale, k);
    } else {
        /* What has reached the bin above is left after this one. */
        const float *left = cell->return_risk + 1;
        if (chain->part != PART_WAIT) {
            n = chain->part == PART_FRESH ? cell->fresh_n : cell->out_n;
            left = chain->part == PART_FRESH ? cell->fresh_left : cell->out_left;
        }
        dist_curve_mix(&chain->curve, left, n, scale, k);
    }
    count_in(chain, n * scale, k, trust[i % AEG_LEVELS]);
}

static void add_session(struct chain *chain)
{
    const struct aeg_session *session = chain->session;
    float left[DIST_BINS] = {0};
    float n = 0.0f;
    for (uint32_t i = 0; i < session->recent_count; i++) {
        const struct aeg_recent *recent = &session->recent[i];
        uint8_t bin = chain->part == PART_WAIT    ? recent->wait_bin
                      : chain->part == PART_FRESH ? recent->fresh_bin
                                                  : recent->out_bin;
        if (recent->kind == (uint16_t)session->kind && bin < DIST_BINS) {
            dist_count_left(left, bin, 1.0f);
            n += 1.0f;
        }
    }
    if (n > 0.0f) {
        dist_curve_mix(&chain->curve, left, n, 1.0f, K_SESSION);
        count_in(chain, n, K_SESSION, 1.0);
    }
}

static void run_chain(struct chain *chain, enum part part)
{
    chain->part = part;
    chain->confidence = 0.0;
    dist_curve_prior(&chain->curve, part == PART_WAIT ? NEVER_PRIOR : 0.0f);
    for (uint32_t i = 0; i < 2 * AEG_LEVELS; i++) {
        add_cell(chain, i);
    }
    add_session(chain);
}

static struct aeg_sizes sizes_of(const struct chain *chain)
{
    return (struct aeg_sizes){
        .median = dist_quantile(&chain->curve, &dist_axis_count, 0.5, -1.0),
        .mean = dist_mean(&chain->curve, &dist_axis_count, -1.0),
        .confidence = chain->confidence,
    };
}

/* Sum over the next prompt's sizes of P(size) * context / (context + new). */
static double overlap(const struct dist_curve *curve, uint32_t context_tokens)
{
    double shares[DIST_BINS];
    if (context_tokens == 0) {
        return 0.0;
    }
    double context = (double)context_tokens;
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        shares[i] = context / (context + dist_axis_count.mids[i]);
    }
    double sum = (1.0 - (double)curve->after[0]) * shares[0];
    for (uint32_t i = 1; i < DIST_BINS; i++) {
        sum += ((double)curve->after[i - 1] - (double)curve->after[i]) * shares[i];
    }
    return sum < 0.0 ? 0.0 : (sum > 1.0 ? 1.0 : sum);
}

static void forecast_wait(struct chain *chain, struct aeg_forecast *ret)
{
    const struct aeg_session *session = chain->session;
    run_chain(chain, PART_WAIT);
    dist_curve_smooth(&chain->curve);
    ret->wait = chain->curve;
    ret->return_confidence = chain->confidence;
    ret->elapsed_us = session->is_gap_open && chain->now_us > session->gap_from_us
                          ? chain->now_us - session->gap_from_us
                          : 0;
    double elapsed_us = (double)ret->elapsed_us;
    const struct dist_axis *axis = &dist_axis_time_us;
    ret->survival_ratio = elapsed_us > 0.0 ? dist_survival(&ret->wait, axis, elapsed_us) : 1.0;
    ret->hazard_per_s = dist_hazard(&ret->wait, axis, elapsed_us) * 1e6;
    double last_us = axis->edges[DIST_EDGES - 1];
    ret->return_ratio = dist_within(&ret->wait, axis, last_us, elapsed_us);
}

/* Steps of a session given those done; with the chance that this very gap has no end (F9). */
static void forecast_length(struct chain *chain, struct aeg_forecast *ret)
{
    const struct aeg_session *session = chain->session;
    double done = (double)session->step_count;
    chain->confidence = 0.0;
    dist_curve_prior(&chain->curve, 0.0f);
    for (uint32_t i = 0; i < AEG_LEVELS; i++) {
        const struct aeg_node *node = aeg_ref_node(chain->aeg, session->nodes[i]);
        if (node != NULL) {
            uint64_t half_life_us = chain->aeg->table.limits.half_life_us;
            float scale = dist_scale(&node->clock, chain->now_us, half_life_us);
            dist_curve_add(&chain->curve, node->length_ended, node->length_risk, scale, K_LENGTH);
            count_in(chain, node->length_n * scale, K_LENGTH, trust[i]);
        }
    }
    const struct dist_axis *axis = &dist_axis_count;
    double stop = session->is_gap_open ? 1.0 - ret->return_ratio : 0.0;
    double part = stop < 0.5 ? (0.5 - stop) / (1.0 - stop) : 0.0;
    double median = dist_quantile(&chain->curve, axis, part, done) - done;
    ret->steps_to_go.median = stop >= 0.5 ? 0.0 : median;
    ret->steps_to_go.mean = (1.0 - stop) * (dist_mean(&chain->curve, axis, done) - done);
    ret->steps_to_go.confidence = chain->confidence;
}

static void forecast_work(const struct chain *chain, struct aeg_forecast *ret)
{
    const struct aeg_session *session = chain->session;
    double mean_s = 0.0;
    double confidence = 0.0;
    for (uint32_t i = 0; i < AEG_LEVELS; i++) {
        const struct aeg_node *node = aeg_ref_node(chain->aeg, session->nodes[i]);
        if (node != NULL && node->service_n > 0.0f) {
            uint64_t half_life_us = chain->aeg->table.limits.half_life_us;
            double scale = (double)dist_scale(&node->clock, chain->now_us, half_life_us);
            double n = (double)node->service_n * scale;
            double own = n / (n + K_SERVICE);
            mean_s += own * ((double)node->service_sum_s / (double)node->service_n - mean_s);
            confidence += own * (trust[i] - confidence);
        }
    }
    double n = (double)session->step_count;
    if (n > 0.0) {
        double own = n / (n + K_SERVICE);
        mean_s += own * ((double)session->service_sum_s / n - mean_s);
        confidence += own * (1.0 - confidence);
    }
    ret->work_s = mean_s * ret->steps_to_go.mean;
    ret->work_confidence = confidence * ret->steps_to_go.confidence;
}

/* Asks for the counts of the class at once: with many classes they come from memory, and one line
 * after the other would take most of the time of a forecast. */
static void fetch(const struct aeg *aeg, const struct aeg_session *session)
{
    enum { LINE_BYTES = 64 };
    const struct aeg_ref refs[] = {session->any[AEG_LEVELS - 1], session->cells[AEG_LEVELS - 1]};
    for (uint32_t i = 0; i < 2; i++) {
        struct aeg_ref ref = refs[i];
        if (ref.serial == 0) {
            continue;
        }
        const char *cell = (const char *)aeg_cell_at(&aeg->table, ref.idx);
        for (size_t at = 0; at < sizeof(struct aeg_cell); at += LINE_BYTES) {
            __builtin_prefetch(cell + at);
        }
    }
}

void aeg_forecast(const struct aeg *aeg,
                  const struct aeg_session *session,
                  uint64_t now_us,
                  struct aeg_forecast *ret)
{
    struct chain chain = {.aeg = aeg, .session = session, .now_us = now_us};
    fetch(aeg, session);
    find_cells(&chain);
    forecast_wait(&chain, ret);
    run_chain(&chain, PART_OUT);
    ret->out_tokens = sizes_of(&chain);
    run_chain(&chain, PART_FRESH);
    ret->new_tokens = sizes_of(&chain);
    ret->reuse_ratio = ret->return_ratio * overlap(&chain.curve, session->context_tokens);
    ret->reuse_confidence = ret->return_confidence * chain.confidence;
    forecast_length(&chain, ret);
    forecast_work(&chain, ret);
}

double aeg_forecast_return(const struct aeg_forecast *forecast, uint64_t within_us)
{
    double elapsed = (double)forecast->elapsed_us;
    return dist_within(&forecast->wait, &dist_axis_time_us, elapsed + (double)within_us, elapsed);
}
