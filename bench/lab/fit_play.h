/* SPDX-License-Identifier: Apache-2.0 */
/* Which work an engine did while each measured request waited for its first token, and while it
 * decoded: the measured requests are played, at their measured times, through batches formed as in
 * simulator/model (decode first, prefill chunks in arrival order), with a profile for the
 * durations. PURE. THREAD: one owner. */
#ifndef BENCH_LAB_FIT_PLAY_H
#define BENCH_LAB_FIT_PLAY_H

#include "common/base/mem.h"
#include "simulator/model/profile.h"

/* A time is the sum of these times what they cost: docs/profiles.md, F-iteration with f = a + w, so
 * that an iteration is a + max(w, b (U + B)) + g B + h C + d pairs. */
enum fit_term {
    FIT_A, /* iterations */
    FIT_W, /* iterations bound by reading the weights */
    FIT_B, /* tokens computed in the others */
    FIT_D, /* pairs */
    FIT_G, /* requests decoded */
    FIT_H, /* their context tokens */
};
enum { FIT_TERMS = FIT_H + 1 };

struct fit_work {
    double of[FIT_TERMS];
};

/* One measured request. */
struct fit_step {
    double sent_s;
    double ttft_s; /* < 0: not known */
    double step_s;
    uint32_t prompt_tokens; /* >= 1 */
    uint32_t cached_tokens; /* of it */
    uint32_t output_tokens; /* >= 1 */
    uint32_t engine;
};

/* What the model says about a request. */
struct fit_played {
    struct fit_work first;  /* done from its arrival to its first token */
    struct fit_work decode; /* from there to its last */
    double first_s;         /* how long that takes with the profile */
    double decode_s;
};

/* steps [count] by engine, then sent_s; ret [count]. ST_NOMEM. */
MUST_CHECK enum status fit_play(const struct sim_profile *profile,
                                const struct fit_step *steps,
                                uint32_t count,
                                const struct mem *mem,
                                struct fit_played *ret);

#endif
