/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a modelled engine in real or scaled time on a loop: starts an iteration when there is work,
 * and when its time is over hands out what came of it.
 *
 * THREAD: reactor (the loop it was made for). */
#ifndef SIMULATOR_WORKER_ENGINE_CLOCK_H
#define SIMULATOR_WORKER_ENGINE_CLOCK_H

#include "common/io/reactor/loop.h"
#include "simulator/model/engine.h"

struct sim_clock {
    struct loop *loop;
    struct sim_engine *engine;       /* borrowed */
    double speed;                    /* modelled seconds per real second; 0 = no waiting at all */
    void (*on_iteration)(void *ctx); /* one was planned; may be NULL */
    void (*on_event)(void *ctx, const struct sim_event *event); /* may submit and abort */
    void *ctx;
    struct loop_timer timer;
    struct loop_job retry;
    uint64_t end_at_us; /* of the iteration under way, or of the last one */
};

/* Fills the callbacks' context; nothing runs yet. clock must not move afterwards. */
void sim_clock_init(struct sim_clock *clock,
                    struct loop *loop,
                    struct sim_engine *engine,
                    double speed);
/* Stops; the iteration under way is forgotten. */
void sim_clock_fini(struct sim_clock *clock);

/* Something was submitted: start unless an iteration is under way. */
void sim_clock_kick(struct sim_clock *clock);

#endif
