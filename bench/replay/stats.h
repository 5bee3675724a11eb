/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay measured.
 * PURE. THREAD: one owner. */
#ifndef BENCH_REPLAY_STATS_H
#define BENCH_REPLAY_STATS_H

#include "bench/replay/samples.h"

/* X(name, key in JSON, text): why a step failed. */
#define STATS_ERRORS(X)                                    \
    X(CONNECT, "connect", "no connection")                 \
    X(CLOSED, "closed", "closed before an answer")         \
    X(CUT, "cut", "answer cut off")                        \
    X(TIMEOUT, "timeout", "timed out")                     \
    X(MALFORMED, "malformed", "malformed answer")          \
    X(HTTP_429, "http_429", "status 429")                  \
    X(HTTP_503, "http_503", "status 503")                  \
    X(HTTP_4XX, "http_4xx", "other 4xx status")            \
    X(HTTP_5XX, "http_5xx", "other 5xx status")            \
    X(HTTP_OTHER, "http_other", "other status")            \
    X(STREAM, "stream_error", "error event in the stream") \
    X(NO_END, "no_end", "stream without its end")          \
    X(OURS, "bench", "the bench itself (memory, prompt too large)")

enum stats_error {
#define X(name, key, text) STATS_##name,
    STATS_ERRORS(X)
#undef X
};

enum {
    STATS_ERROR_COUNT = 0
#define X(name, key, text) +1
    STATS_ERRORS(X)
#undef X
};

enum { STATS_ENGINES_MAX = 64, STATS_ENGINE_BYTES = 64, STATS_ERROR_BYTES = 160 };

struct stats_engine {
    char name[STATS_ENGINE_BYTES];
    uint64_t step_count;
};

/* One successful step. */
struct stats_step {
    uint32_t prompt_tokens;
    uint32_t cached_tokens;
    uint32_t output_tokens;
    bool has_usage;
    uint32_t bound_tokens; /* cached by the bound */
    uint32_t own_tokens;   /* prompt as we count it */
    double ttft_s;         /* < 0: no text came */
    double step_s;
};

struct stats {
    double elapsed_s;
    uint64_t session_total;
    uint64_t session_done;
    uint64_t session_failed;
    uint64_t agent_done; /* sub-agents that ended, not counted as sessions */
    uint64_t step_total;
    uint64_t step_done;
    uint64_t step_failed;
    uint64_t retry_count;
    uint64_t delta_count; /* events with text so far, for a live rate */
    uint64_t error_count[STATS_ERROR_COUNT];
    char first_error[STATS_ERROR_BYTES];
    uint64_t prompt_tokens;
    uint64_t cached_tokens;
    uint64_t output_tokens;
    uint64_t no_usage_count; /* successful steps without usage: not in the token sums */
    uint64_t bound_tokens;
    uint64_t own_tokens;
    uint64_t
        stay_count; /* steps on the engine of the step before, of pair_count where both are known */
    uint64_t pair_count;
    struct stats_engine engines[STATS_ENGINES_MAX];
    uint32_t engine_count;
    struct samples ttft_s;
    struct samples gap_s; /* between two text events of an answer */
    struct samples step_s;
    struct samples tct_s; /* sessions done */
};

void stats_init(struct stats *stats, const struct mem *mem, uint64_t seed);
void stats_fini(struct stats *stats);

void stats_step_done(struct stats *stats, const struct stats_step *step);
/* text (may be empty) is kept of the first error. */
void stats_step_failed(struct stats *stats, enum stats_error why, const char *text);
/* The engine that served a step, and the one before in that session ("" = unknown). */
void stats_engine(struct stats *stats, const char *name, const char *before);

/* Cached share of prompt tokens, as measured and as one engine with unlimited KV would reach; 0
 * without steps. */
double stats_cached_ratio(const struct stats *stats);
double stats_bound_ratio(const struct stats *stats);
double stats_stay_ratio(const struct stats *stats);
/* Steps of the busiest engine over the mean; 0 when no engine is known. */
double stats_busiest_ratio(const struct stats *stats);

const char *stats_error_key(enum stats_error why);
const char *stats_error_text(enum stats_error why);

#endif
