/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/stats.h"

#include "common/base/str.h"

void stats_init(struct stats *stats, const struct mem *mem, uint64_t seed)
{
    *stats = (struct stats){0};
    samples_init(&stats->ttft_s, mem, seed);
    samples_init(&stats->gap_s, mem, seed + 1);
    samples_init(&stats->step_s, mem, seed + 2);
    samples_init(&stats->tct_s, mem, seed + 3);
}

void stats_fini(struct stats *stats)
{
    if (stats == NULL) {
        return;
    }
    samples_fini(&stats->ttft_s);
    samples_fini(&stats->gap_s);
    samples_fini(&stats->step_s);
    samples_fini(&stats->tct_s);
}

void stats_step_done(struct stats *stats, const struct stats_step *step)
{
    stats->step_done++;
    samples_add(&stats->step_s, step->step_s);
    if (step->ttft_s >= 0) {
        samples_add(&stats->ttft_s, step->ttft_s);
    }
    if (!step->has_usage) {
        stats->no_usage_count++;
        return;
    }
    stats->prompt_tokens += step->prompt_tokens;
    stats->cached_tokens += step->cached_tokens;
    stats->output_tokens += step->output_tokens;
    stats->bound_tokens += step->bound_tokens;
    stats->own_tokens += step->own_tokens;
}

void stats_step_failed(struct stats *stats, enum stats_error why, const char *text)
{
    stats->step_failed++;
    stats->error_count[why]++;
    if (stats->first_error[0] == '\0') {
        (void)str_copy(stats->first_error, sizeof(stats->first_error), str_of(text));
    }
}

void stats_engine(struct stats *stats, const char *name, const char *before)
{
    if (name[0] == '\0') {
        return;
    }
    if (before[0] != '\0') {
        stats->pair_count++;
        stats->stay_count += strcmp(name, before) == 0;
    }
    uint32_t at = 0;
    while (at < stats->engine_count && strcmp(stats->engines[at].name, name) != 0) {
        at++;
    }
    if (at == STATS_ENGINES_MAX) {
        return;
    }
    if (at == stats->engine_count) {
        (void)str_copy(stats->engines[at].name, STATS_ENGINE_BYTES, str_of(name));
        stats->engine_count++;
    }
    stats->engines[at].step_count++;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

double stats_cached_ratio(const struct stats *stats)
{
    return ratio(stats->cached_tokens, stats->prompt_tokens);
}

double stats_bound_ratio(const struct stats *stats)
{
    return ratio(stats->bound_tokens, stats->own_tokens);
}

double stats_stay_ratio(const struct stats *stats)
{
    return ratio(stats->stay_count, stats->pair_count);
}

double stats_busiest_ratio(const struct stats *stats)
{
    uint64_t sum = 0;
    uint64_t max = 0;
    for (uint32_t i = 0; i < stats->engine_count; i++) {
        sum += stats->engines[i].step_count;
        max = stats->engines[i].step_count > max ? stats->engines[i].step_count : max;
    }
    return sum == 0 ? 0 : (double)max * stats->engine_count / (double)sum;
}

const char *stats_error_key(enum stats_error why)
{
    static const char *const keys[] = {
#define X(name, key, text) key,
        STATS_ERRORS(X)
#undef X
    };
    return keys[why];
}

const char *stats_error_text(enum stats_error why)
{
    static const char *const texts[] = {
#define X(name, key, text) text,
        STATS_ERRORS(X)
#undef X
    };
    return texts[why];
}
