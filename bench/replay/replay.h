/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan against one or more servers on an event loop: sessions arrive, each does one step
 * after the other with the recorded waits between, sub-agents run beside while their parents wait.
 * THREAD: reactor. LIMITS: opts->max_in_flight steps at once, others wait in order. */
#ifndef BENCH_REPLAY_REPLAY_H
#define BENCH_REPLAY_REPLAY_H

#include "bench/replay/plan.h"
#include "bench/replay/stats.h"
#include "common/io/reactor/loop.h"

struct replay;

/* Called once when all is done, or when it cannot begin (err is not ST_OK). */
typedef void (*replay_done_fn)(void *ctx, const struct err *err);

/* plan and opts are borrowed. ST_INVAL (a URL), ST_NOMEM, ST_IO; err says. */
MUST_CHECK enum status replay_new(struct replay **ret,
                                  struct loop *loop,
                                  const struct plan *plan,
                                  const struct replay_options *opts,
                                  struct err *err);
/* Ends all calls at once. */
void replay_free(struct replay *replay);
/* Begins: asks for the model where none was given, then lets sessions arrive. ST_NOMEM, ST_FULL. */
MUST_CHECK enum status replay_start(struct replay *replay, replay_done_fn done, void *ctx);
/* Ends all calls and waits; what was measured stays. */
void replay_stop(struct replay *replay);

/* What was measured so far, elapsed_s brought up to now. */
struct stats *replay_stats(struct replay *replay);
/* Every answered step; empty unless opts->has_rows. */
const struct rows *replay_rows(const struct replay *replay);
uint32_t replay_in_flight(const struct replay *replay);
/* Steps held back by max_in_flight. */
uint32_t replay_waiting(const struct replay *replay);
/* "" until it is known. */
const char *replay_model(const struct replay *replay);
/* False: some shared prefixes were not counted (table full); the bound is too low. */
bool replay_bound_is_complete(const struct replay *replay);

#endif
