/* SPDX-License-Identifier: Apache-2.0 */
/* What `saga bench` was asked to do, checked.
 * PURE. THREAD: any. OWNERSHIP: strings are borrowed from argv. */
#ifndef BENCH_REPLAY_OPTIONS_H
#define BENCH_REPLAY_OPTIONS_H

#include "common/base/err.h"

enum { OPTIONS_URLS_MAX = 64, OPTIONS_SESSIONS_MAX = 100000 };

enum options_arrivals { ARRIVALS_POISSON, ARRIVALS_BURST };
enum options_spread { SPREAD_SESSION, SPREAD_RANDOM, SPREAD_ROUND_ROBIN };

struct replay_options {
    const char *urls[OPTIONS_URLS_MAX];
    uint32_t url_count;
    const char *trace;   /* file, NULL = the sample that is built in */
    const char *model;   /* NULL = the first of /v1/models */
    const char *api_key; /* NULL = none */
    uint64_t seed;
    uint32_t sessions;      /* root sessions, 0 = as many as the trace has */
    uint32_t max_steps;     /* of a session, 0 = no limit */
    uint32_t tenants;       /* 0 = none */
    uint32_t max_in_flight; /* steps at once */
    uint32_t retries;       /* further tries of a step after 429, 503 or no connection */
    uint32_t burst;         /* sessions that arrive together */
    double rate_per_s;      /* sessions, 0 = all within ARRIVAL_SPAN_S */
    double speed;           /* recorded waits are divided by it */
    double max_gap_s;       /* recorded waits are cut to it first */
    double scale_tokens;    /* recorded lengths are multiplied by it */
    double timeout_s;       /* of a step */
    enum options_arrivals arrivals;
    enum options_spread spread;
    bool has_session_header;
    bool ignores_eos;
    bool is_insecure; /* https certificates are not checked */
    bool is_json;
    bool has_rows; /* in the JSON: each step */
    bool is_quiet;
    bool is_live; /* redraw the table even when standard error is no terminal */
    bool wants_help;
};

/* Reads argv[1..]. ST_INVAL with err. Nothing else is read when wants_help. */
MUST_CHECK enum status
options_parse(int argc, char **argv, struct replay_options *ret, struct err *err);

/* Text of --help. */
const char *options_help(void);

const char *options_arrivals_name(enum options_arrivals arrivals);
const char *options_spread_name(enum options_spread spread);

#endif
