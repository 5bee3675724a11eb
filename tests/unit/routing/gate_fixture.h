/* SPDX-License-Identifier: Apache-2.0 */
/* A gate with one policy and a few equal engines, for what its hooks decide. THREAD: one. */
#ifndef TESTS_UNIT_ROUTING_GATE_FIXTURE_H
#define TESTS_UNIT_ROUTING_GATE_FIXTURE_H

#include "routing/gate.h"
#include "routing/registry.h"
#include "tests/kit/kit.h"

enum { GATE_FIX_STEPS = 32 };

struct gate_fix {
    struct gate gate;
    struct gate_step steps[GATE_FIX_STEPS];
    uint32_t count;
};

/* Engines that run one step at a time, hold 10000 tokens, compute 512 in an iteration at 1000 us a
 * token. params as in gate_opts. */
void gate_fix_init(struct gate_fix *fix,
                   const char *policy,
                   const double *params,
                   uint32_t engines);
void gate_fix_fini(struct gate_fix *fix);

/* A step of the session, for the engine; of its prompt, kept tokens are those of the step before.
 */
struct gate_step *gate_fix_submit(struct gate_fix *fix,
                                  uint64_t session,
                                  uint32_t engine,
                                  uint32_t prompt_tokens,
                                  uint32_t kept_tokens,
                                  uint64_t now_us);
/* A running one is answered and over, with a call of a tool; P(return) rises from 0 to 1 up to
 * return_us, 0 = nothing is known of it. */
void gate_fix_end(struct gate_fix *fix,
                  struct gate_step *step,
                  uint64_t return_us,
                  uint64_t now_us);
/* Submits a session's step and ends it. */
void gate_fix_play(struct gate_fix *fix,
                   uint64_t session,
                   uint32_t engine,
                   uint32_t prompt_tokens,
                   uint64_t from_us,
                   uint64_t to_us);
/* The first such action of the last call; NULL = none. */
const struct gate_action *gate_fix_action(const struct gate_fix *fix, enum gate_action_kind kind);
/* Ends the step that runs (now: of the last call's START), and so on while others follow: their
 * sessions in that order. */
void gate_fix_expect_order(struct gate_fix *fix,
                           struct gate_step *running,
                           const uint64_t *sessions,
                           uint32_t count,
                           uint64_t now_us);

#endif
