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

enum { CELLS = 2 * AEG_LEVELS, ROW_SESSION = CELLS, ROW_PRIOR };

struct chain {
    const struct aeg *aeg;
    const struct aeg_session *session;
    uint64_t now_us;
    const struct aeg_node *nodes[AEG_LEVELS]; /* NULL = none, as in cells */
    const struct aeg_cell *cells[CELLS];      /* all kinds, then this kind */
    float node_scales[AEG_LEVELS];
    float scales[CELLS];
    struct dist_curve curve;
    double confidence;
};

static void count_in(struct chain *chain, float n, float k, double weight)
{
    double own = (double)(n / (n + k));
    chain->confidence = own * weight + (1.0 - own) * chain->confidence;
}

static void prefetch(const void *from, size_t bytes)
{
    enum { LINE_BYTES = 64 };
    for (size_t at = 0; at < bytes; at += LINE_BYTES) {
        __builtin_prefetch((const char *)from + at);
    }
}

static float k_of(uint32_t cell)
{
    return cell < AEG_LEVELS ? K_ANY : K_KIND;
}

static void find_cells(struct chain *chain)
{
    const struct aeg_session *session = chain->session;
    const struct aeg *aeg = chain->aeg;
    uint64_t half_life_us = aeg->table.limits.half_life_us;
    for (uint32_t i = 0; i < CELLS; i++) {
        struct aeg_ref ref = i < AEG_LEVELS ? session->any[i] : session->cells[i - AEG_LEVELS];
        const struct aeg_cell *cell = aeg_ref_cell(aeg, ref);
        chain->cells[i] = cell;
        chain->scales[i] =
            cell == NULL ? 0.0f : dist_scale(&cell->clock, chain->now_us, half_life_us);
    }
}

static void find_nodes(struct chain *chain)
{
    const struct aeg_session *session = chain->session;
    const struct aeg *aeg = chain->aeg;
    uint64_t half_life_us = aeg->table.limits.half_life_us;
    for (uint32_t i = 0; i < AEG_LEVELS; i++) {
        const struct aeg_node *node = aeg_ref_node(aeg, session->nodes[i]);
        chain->nodes[i] = node;
        chain->node_scales[i] =
            node == NULL ? 0.0f : dist_scale(&node->clock, chain->now_us, half_life_us);
    }
}

/* What the session itself remembers of gaps of this kind. Returns how many. */
static uint32_t session_left(const struct aeg_session *session, enum part part, float *ret_left)
{
    uint8_t bins[AEG_RECENT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->recent_count; i++) {
        const struct aeg_recent *recent = &session->recent[i];
        uint8_t bin = part == PART_WAIT    ? recent->wait_bin
                      : part == PART_FRESH ? recent->fresh_bin
                                           : recent->out_bin;
        if (recent->kind == (uint16_t)session->kind && bin < DIST_BINS) {
            bins[count++] = bin;
        }
    }
    dist_left_of(bins, count, ret_left);
    return count;
}

static void wait_curve(struct chain *chain)
{
    float left[DIST_BINS];
    chain->confidence = 0.0;
    dist_curve_prior(&chain->curve, NEVER_PRIOR);
    for (uint32_t i = 0; i < CELLS; i++) {
        const struct aeg_cell *cell = chain->cells[i];
        if (cell == NULL) {
            continue;
        }
        float scale = chain->scales[i];
        if (cell->return_n > cell->return_ended_n) {
            dist_curve_add(&chain->curve, cell->return_ended, cell->return_risk, scale, k_of(i));
        } else {
            /* What has reached the bin above is left after this one. */
            dist_curve_mix(&chain->curve, cell->return_risk + 1, cell->return_n, scale, k_of(i));
        }
        count_in(chain, cell->return_n * scale, k_of(i), trust[i % AEG_LEVELS]);
    }
    uint32_t n = session_left(chain->session, PART_WAIT, left);
    if (n > 0) {
        dist_curve_mix(&chain->curve, left, (float)n, 1.0f, K_SESSION);
        count_in(chain, (float)n, K_SESSION, 1.0);
    }
}

/* Nothing is censored here, so all that is drawn towards one another is one sum. From the narrowest
 * group out: `rest` is the weight that is left for those that are wider. */
static void size_curve(struct chain *chain, enum part part)
{
    float left[DIST_BINS];
    struct dist_curve prior;
    const float *rows[DIST_ROWS];
    float weights[DIST_ROWS];
    float n = (float)session_left(chain->session, part, left);
    float rest = K_SESSION / (n + K_SESSION);
    dist_curve_prior(&prior, 0.0f);
    chain->confidence = (double)(1.0f - rest);
    rows[ROW_SESSION] = left;
    weights[ROW_SESSION] = 1.0f / (n + K_SESSION);
    for (uint32_t i = CELLS; i-- > 0;) {
        const struct aeg_cell *cell = chain->cells[i];
        rows[i] = prior.after;
        weights[i] = 0.0f;
        if (cell == NULL) {
            continue;
        }
        float own = chain->scales[i] * (part == PART_FRESH ? cell->fresh_n : cell->out_n);
        float share = rest / (own + k_of(i));
        rows[i] = part == PART_FRESH ? cell->fresh_left : cell->out_left;
        weights[i] = share * chain->scales[i];
        chain->confidence += (double)(share * own) * trust[i % AEG_LEVELS];
        rest = share * k_of(i);
    }
    rows[ROW_PRIOR] = prior.after;
    weights[ROW_PRIOR] = rest;
    dist_curve_sum(&chain->curve, rows, weights);
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
    float shares[DIST_BINS];
    float context = (float)context_tokens;
    if (context_tokens == 0) {
        return 0.0;
    }
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        shares[i] = context / (context + dist_axis_count.mids[i]);
    }
    double sum = dist_expect(curve, shares);
    return sum < 0.0 ? 0.0 : (sum > 1.0 ? 1.0 : sum);
}

static void forecast_wait(struct chain *chain, struct aeg_forecast *ret)
{
    const struct aeg_session *session = chain->session;
    wait_curve(chain);
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
        const struct aeg_node *node = chain->nodes[i];
        if (node != NULL) {
            float scale = chain->node_scales[i];
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
        const struct aeg_node *node = chain->nodes[i];
        if (node != NULL && node->service_n > 0.0f) {
            double n = (double)(node->service_n * chain->node_scales[i]);
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

/* Asks for a part of the class's cells at once: with many classes they come from memory, and one
 * line after the other would take most of the time of a forecast. */
static void
fetch_cells(const struct aeg *aeg, const struct aeg_session *session, size_t from, size_t until)
{
    const struct aeg_ref refs[] = {session->any[AEG_LEVELS - 1], session->cells[AEG_LEVELS - 1]};
    for (uint32_t i = 0; i < 2; i++) {
        if (refs[i].serial != 0) {
            prefetch((const char *)aeg_cell_at(&aeg->table, refs[i].idx) + from, until - from);
        }
    }
}

static void fetch_node(const struct aeg *aeg, const struct aeg_session *session)
{
    struct aeg_ref ref = session->nodes[AEG_LEVELS - 1];
    if (ref.serial != 0) {
        const struct aeg_node *node = aeg_node_at(&aeg->table, ref.idx);
        prefetch(&node->serial, sizeof(*node) - offsetof(struct aeg_node, serial));
    }
}

static void begin(struct chain *chain,
                  const struct aeg *aeg,
                  const struct aeg_session *session,
                  uint64_t now_us)
{
    chain->aeg = aeg;
    chain->session = session;
    chain->now_us = now_us;
    prefetch(session, sizeof(*session));
    fetch_cells(aeg, session, 0, offsetof(struct aeg_cell, out_left));
}

void aeg_forecast_wait(const struct aeg *aeg,
                       const struct aeg_session *session,
                       uint64_t now_us,
                       struct aeg_forecast *ret)
{
    struct chain chain;
    *ret = (struct aeg_forecast){0};
    begin(&chain, aeg, session, now_us);
    find_cells(&chain);
    forecast_wait(&chain, ret);
}

void aeg_forecast(const struct aeg *aeg,
                  const struct aeg_session *session,
                  uint64_t now_us,
                  struct aeg_forecast *ret)
{
    struct chain chain;
    begin(&chain, aeg, session, now_us);
    fetch_node(aeg, session);
    find_cells(&chain);
    fetch_cells(aeg, session, offsetof(struct aeg_cell, out_left), offsetof(struct aeg_cell, name));
    forecast_wait(&chain, ret);
    find_nodes(&chain);
    size_curve(&chain, PART_OUT);
    ret->out_tokens = sizes_of(&chain);
    size_curve(&chain, PART_FRESH);
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
