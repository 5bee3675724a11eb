/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/run.h"

#include <math.h>

/* F13, in eighths of log2. A right declaration is within a factor of 2 of what comes 4 times of 5,
 * a wrong one 2 times of 5: 0.8 / 0.4 = 2, and 0.2 / 0.6 = 1 / 3. */
enum { TRUST_START = 34, TRUST_HIT = 8, TRUST_MISS = -13, TRUST_MAX = 80 };

/* Less than this is as good as nothing: differences below it disprove nothing. */
enum { TOKENS_FLOOR = 16, MS_FLOOR = 50 };

/* With the same 4 of 5 within a factor of 2, (2^k - 1) / (2^k + 1) = 0.8 gives k = log2(9). */
#define GAP_SHAPE 3.169925f

void aeg_run_start(struct aeg_run *run, const struct aeg_spec *spec)
{
    *run = (struct aeg_run){.spec = spec, .node = AEG_SPEC_NODES};
    for (int i = 0; i < AEG_TRUSTS; i++) {
        run->trust[i] = TRUST_START;
    }
}

/* --- what disproves it --- */

static void judge(struct aeg_run *run, enum aeg_trust what, bool is_hit)
{
    int trust = run->trust[what] + (is_hit ? TRUST_HIT : TRUST_MISS);
    trust = trust > TRUST_MAX ? TRUST_MAX : (trust < -TRUST_MAX ? -TRUST_MAX : trust);
    run->trust[what] = (int8_t)trust;
}

static void
judge_size(struct aeg_run *run, enum aeg_trust what, uint32_t said, double is, double floor)
{
    if (said != AEG_SPEC_UNSAID) {
        double declared = fmax((double)said, floor);
        double found = fmax(is, floor);
        judge(run, what, found <= 2.0 * declared && declared <= 2.0 * found);
    }
}

static const struct aeg_spec_node *node_of(const struct aeg_run *run)
{
    return run->spec == NULL || run->node == AEG_SPEC_NODES ? NULL : &run->spec->nodes[run->node];
}

static bool is_empty(const struct aeg_spec_set *set)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < AEG_SPEC_NODES / 32; i++) {
        any |= set->words[i];
    }
    return any == 0;
}

/* A visit of a node that was seen before. */
static void repeat(struct aeg_run *run)
{
    judge(run, AEG_TRUST_PATH, run->repeats > 0 && node_of(run)->visits > 1);
    if (run->repeats > 0) {
        run->repeats--;
    }
}

/* The first visit. A node that takes one visit is part of no loop, so the loops before it are over.
 * Where a session begins is not judged: its first steps may have come before the declaration. */
static void visit(struct aeg_run *run)
{
    const struct aeg_spec_node *node = node_of(run);
    if (!is_empty(&run->seen)) {
        judge(run, AEG_TRUST_PATH,
              node->is_start || aeg_spec_follows(run->spec, &run->seen, run->node));
    }
    uint32_t repeats = node->visits > 1 ? run->repeats + (uint32_t)node->visits - 1 : 0;
    run->repeats = (uint8_t)(repeats > UINT8_MAX ? UINT8_MAX : repeats);
    aeg_spec_put(&run->seen, run->node);
}

bool aeg_run_arrived(struct aeg_run *run, struct str name, uint32_t new_tokens)
{
    if (run->spec == NULL) {
        return false;
    }
    run->node = (uint16_t)aeg_spec_find(run->spec, name);
    const struct aeg_spec_node *node = node_of(run);
    if (node == NULL) {
        if (name.len > 0) {
            judge(run, AEG_TRUST_PATH, false);
        }
        return false;
    }
    if (aeg_spec_has(&run->seen, run->node)) {
        repeat(run);
    } else {
        visit(run);
    }
    if (new_tokens > 0) {
        judge_size(run, AEG_TRUST_NEW, node->new_tokens, new_tokens, TOKENS_FLOOR);
    }
    return true;
}

void aeg_run_answered(struct aeg_run *run, uint32_t output_tokens, uint64_t service_us)
{
    const struct aeg_spec_node *node = node_of(run);
    if (node != NULL && output_tokens > 0) {
        judge_size(run, AEG_TRUST_OUTPUT, node->output_tokens, output_tokens, TOKENS_FLOOR);
    }
    if (node != NULL && service_us > 0) {
        judge_size(run, AEG_TRUST_WORK, node->work_ms, (double)service_us / 1e3, MS_FLOOR);
    }
}

void aeg_run_returned(struct aeg_run *run, uint64_t gap_us)
{
    const struct aeg_spec_node *node = node_of(run);
    if (node != NULL) {
        judge_size(run, AEG_TRUST_GAP, node->gap_ms, (double)gap_us / 1e3, MS_FLOOR);
    }
}

double aeg_run_trust(const struct aeg_run *run, enum aeg_trust what)
{
    return run->spec == NULL ? 0.0 : 1.0 / (1.0 + exp2(-(double)run->trust[what] / 8.0));
}

/* --- what it says --- */

static double blend(double weight, double declared, double learned)
{
    return weight * declared + (1.0 - weight) * learned;
}

/* What is learned counts by its confidence: without any it is a guess that nobody made. */
static double outweigh(double weight, double confidence)
{
    return weight > 0.0 ? weight / (weight + (1.0 - weight) * confidence) : 0.0;
}

/* Sizes are wrong by factors, so it is their logarithms that are blended. */
static double blend_sizes(double weight, double declared, double learned)
{
    return expm1(blend(weight, log1p(declared), log1p(learned)));
}

static void lay_size(struct aeg_sizes *sizes, double weight, double declared)
{
    double part = outweigh(weight, sizes->confidence);
    if (part <= 0.0) {
        return; /* to the last bit */
    }
    sizes->mean = blend_sizes(part, declared, sizes->mean);
    sizes->median = blend_sizes(part, declared, sizes->median);
    sizes->confidence = blend(weight, 1.0, sizes->confidence);
}

/* The declared gap as a log-logistic curve: S(t) = 1 / (1 + (t / gap)^k), its median the gap. */
static void lay_gap(struct dist_curve *curve, double weight, uint32_t gap_ms)
{
    double gap_us = 1e3 * (gap_ms > 0 ? (double)gap_ms : 0.5);
    for (uint32_t i = 0; i < DIST_EDGES; i++) {
        float late = powf((float)(dist_axis_time_us.edges[i] / gap_us), GAP_SHAPE);
        double after = 1.0 / (1.0 + (double)late);
        curve->after[i] = (float)blend(weight, after, (double)curve->after[i]);
    }
    curve->after[DIST_BINS - 1] *= (float)(1.0 - weight);
}

/* Whether it comes at all is said by the path, when by the gap. */
static void lay_wait(const struct aeg_run *run, double next_ratio, struct aeg_forecast *forecast)
{
    const struct aeg_spec_node *node = node_of(run);
    double path = aeg_run_trust(run, AEG_TRUST_PATH);
    double gap = node->gap_ms == AEG_SPEC_UNSAID ? 0.0 : aeg_run_trust(run, AEG_TRUST_GAP);
    float *after = forecast->wait.after;
    double learned = (double)after[DIST_BINS - 1];
    double sure = forecast->return_confidence;
    double never = blend(outweigh(path, sure), 1.0 - next_ratio, learned);
    double returns = 1.0 - learned;
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        double left = returns > 1e-9 ? ((double)after[i] - learned) / returns : 0.0;
        after[i] = (float)fmin(fmax(left, 0.0), 1.0);
    }
    if (gap > 0.0) {
        lay_gap(&forecast->wait, outweigh(gap, sure), node->gap_ms);
    }
    float before = 1.0f; /* rounding must not make it rise */
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        float left = (float)(never + (1.0 - never) * (double)after[i]);
        after[i] = left < before ? left : before;
        before = after[i];
    }
    const struct dist_axis *axis = &dist_axis_time_us;
    double elapsed_us = (double)forecast->elapsed_us;
    double last_us = axis->edges[DIST_EDGES - 1];
    forecast->survival_ratio =
        elapsed_us > 0.0 ? dist_survival(&forecast->wait, axis, elapsed_us) : 1.0;
    forecast->hazard_per_s = dist_hazard(&forecast->wait, axis, elapsed_us) * 1e6;
    forecast->return_ratio = dist_within(&forecast->wait, axis, last_us, elapsed_us);
    forecast->return_confidence = blend(gap * path, 1.0, sure);
}

/* Of a step in flight what its own node declares, in a gap the mean of what may come next. */
static void lay_sizes(const struct aeg_run *run,
                      const struct aeg_session *session,
                      const struct aeg_spec_ahead *ahead,
                      struct aeg_forecast *forecast)
{
    const struct aeg_spec_node *node = node_of(run);
    struct aeg_spec_mean new_tokens = ahead->new_tokens;
    struct aeg_spec_mean output_tokens = ahead->output_tokens;
    double where = aeg_run_trust(run, AEG_TRUST_PATH);
    if (!session->is_gap_open) {
        new_tokens = (struct aeg_spec_mean){node->new_tokens, node->new_tokens != AEG_SPEC_UNSAID};
        output_tokens =
            (struct aeg_spec_mean){node->output_tokens, node->output_tokens != AEG_SPEC_UNSAID};
        where = 1.0;
    }
    double weight = where * new_tokens.share_ratio * aeg_run_trust(run, AEG_TRUST_NEW);
    double part = outweigh(weight, forecast->new_tokens.confidence);
    lay_size(&forecast->new_tokens, weight, new_tokens.mean);
    lay_size(&forecast->out_tokens,
             where * output_tokens.share_ratio * aeg_run_trust(run, AEG_TRUST_OUTPUT),
             output_tokens.mean);
    double context = (double)session->context_tokens;
    double overlap = context > 0.0 ? context / (context + new_tokens.mean) : 0.0;
    double learned =
        forecast->return_ratio > 0.0 ? forecast->reuse_ratio / forecast->return_ratio : 0.0;
    forecast->reuse_ratio = blend(part, overlap, fmin(learned, 1.0));
    forecast->reuse_confidence = blend(weight, 1.0, forecast->reuse_confidence);
}

static void lay_steps(const struct aeg_run *run,
                      const struct aeg_session *session,
                      const struct aeg_spec_ahead *ahead,
                      struct aeg_forecast *forecast)
{
    const struct aeg_spec_node *node = node_of(run);
    struct aeg_sizes *to_go = &forecast->steps_to_go;
    double learned_s = to_go->mean > 1e-9 ? forecast->work_s / to_go->mean : 0.0;
    double learned_sure =
        to_go->confidence > 0.0 ? fmin(forecast->work_confidence / to_go->confidence, 1.0) : 0.0;
    double steps = ahead->steps;
    double said = ahead->steps * ahead->work.share_ratio;
    double sum_ms = ahead->work.mean * said;
    if (!session->is_gap_open) {
        steps += 1.0; /* the one in flight is not done */
        said += node->work_ms != AEG_SPEC_UNSAID ? 1.0 : 0.0;
        sum_ms += node->work_ms != AEG_SPEC_UNSAID ? (double)node->work_ms : 0.0;
    }
    double weight = steps > 0.0 ? aeg_run_trust(run, AEG_TRUST_WORK) * said / steps : 0.0;
    double declared_s = said > 0.0 ? sum_ms / said / 1e3 : 0.0;
    double step_s = blend(outweigh(weight, learned_sure), declared_s, learned_s);
    lay_size(to_go, aeg_run_trust(run, AEG_TRUST_PATH), steps);
    forecast->work_s = to_go->mean * step_s;
    forecast->work_confidence = to_go->confidence * blend(weight, 1.0, learned_sure);
}

void aeg_run_apply(const struct aeg_run *run,
                   const struct aeg_session *session,
                   struct aeg_forecast *forecast)
{
    struct aeg_spec_ahead ahead;
    if (node_of(run) == NULL) {
        return;
    }
    aeg_spec_look_ahead(run->spec, &run->seen, run->repeats, &ahead);
    lay_sizes(run, session, &ahead, forecast);
    lay_wait(run, ahead.next_ratio, forecast);
    forecast->reuse_ratio *= forecast->return_ratio;
    lay_steps(run, session, &ahead, forecast);
}
