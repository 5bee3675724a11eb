/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/engine_clock.h"

/* How far behind its plan an engine may run before it gives the lost time up. Timers are rounded to
 * milliseconds, so short iterations come in small bursts. */
enum { LAG_MAX_US = 50000 };

/* Makes tick run at end_at_us, but never twice in one round of the loop: others get their turn. */
static void arm(struct sim_clock *clock)
{
    uint64_t next_us = loop_now_us(clock->loop) + 1;
    uint64_t at_us = clock->end_at_us > next_us ? clock->end_at_us : next_us;
    if (loop_timer_set(clock->loop, &clock->timer, at_us) != ST_OK) {
        loop_defer(clock->loop, &clock->retry);
    }
}

static void begin(struct sim_clock *clock, uint64_t from_us)
{
    uint64_t duration_us = 0;
    if (sim_engine_begin(clock->engine, &duration_us) != ST_OK) {
        return; /* idle */
    }
    if (clock->speed > 0.0) {
        clock->end_at_us = from_us + (uint64_t)((double)duration_us / clock->speed);
    } else {
        clock->end_at_us = from_us;
    }
    if (clock->on_iteration != NULL) {
        clock->on_iteration(clock->ctx);
    }
    arm(clock);
}

static void tick(struct loop_timer *timer)
{
    struct sim_clock *clock = LIST_OWNER(timer, struct sim_clock, timer);
    size_t count = 0;
    const struct sim_event *events = sim_engine_end(clock->engine, &count);
    for (size_t i = 0; i < count; i++) {
        clock->on_event(clock->ctx, &events[i]);
    }
    uint64_t now_us = loop_now_us(clock->loop);
    uint64_t from_us = clock->end_at_us + LAG_MAX_US < now_us ? now_us : clock->end_at_us;
    begin(clock, from_us);
}

static void retry(struct loop_job *job)
{
    arm(LIST_OWNER(job, struct sim_clock, retry));
}

void sim_clock_init(struct sim_clock *clock,
                    struct loop *loop,
                    struct sim_engine *engine,
                    double speed)
{
    *clock = (struct sim_clock){.loop = loop, .engine = engine, .speed = speed};
    clock->timer.fn = tick;
    clock->retry.fn = retry;
}

void sim_clock_fini(struct sim_clock *clock)
{
    if (clock->loop != NULL) {
        loop_timer_cancel(clock->loop, &clock->timer);
        loop_undefer(&clock->retry);
    }
}

void sim_clock_kick(struct sim_clock *clock)
{
    if (!sim_engine_is_iterating(clock->engine)) {
        begin(clock, loop_now_us(clock->loop));
    }
}
