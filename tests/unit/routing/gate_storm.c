/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/routing/gate_storm.h"

#include "common/base/hash.h"
#include "routing/gate.h"
#include "routing/registry.h"

enum { STEPS = 48, SESSIONS = 12, SESSIONS_MAX = 8, TENANTS = 3, ENGINES = 4, EVENTS_MAX = 4000 };

enum told { FREE, WAITS, MOVES, RUNS };

struct storm {
    const uint8_t *data;
    size_t left;
    uint64_t now_us;
    struct gate gate;
    struct gate_step steps[STEPS];
    enum told told[STEPS];
    uint32_t engines[ENGINES]; /* index in the gate, GATE_NONE = not there */
    struct gate_storm_counts *counts;
};

/* --- a policy that does whatever is allowed --- */

static double wild_key(const struct gate *gate, const struct gate_step *step)
{
    (void)gate;
    return (double)(hash_mix(step->need.session, step->came_at_us) % 8);
}

/* GATE_NONE = none is there. */
static uint32_t some_engine(struct gate *gate)
{
    uint32_t from = (uint32_t)rng_below(&gate->rng, ENGINES);
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        const struct gate_engine *engine = gate->engines[(from + i) % gate->engine_count];
        if (engine != NULL && !engine->is_gone) {
            return engine->idx;
        }
    }
    return GATE_NONE;
}

static void wild_admit(struct gate *gate)
{
    struct list *link = gate->waiting.next;
    while (link != &gate->waiting) {
        struct gate_session *session = gate_session_at_gate(link);
        uint32_t engine = some_engine(gate);
        link = link->next;
        if (engine != GATE_NONE && rng_below(&gate->rng, 3) > 0) {
            gate_let_in(gate, session, engine);
        }
    }
}

static void wild_gap(struct gate *gate, struct gate_session *session)
{
    ASSERT(gate_is_acting(session) && gate->engines[session->engine] != NULL);
    gate_pin(gate, session, gate->now_us * rng_below(&gate->rng, 3));
    gate_value(gate, session, 0.5, UINT64_MAX);
    gate_prefetch(gate, session);
    if (session->state == GATE_IN && rng_below(&gate->rng, 2) == 0) {
        gate_pause(gate, session);
    } else if (session->state == GATE_OUT && gate->policy->admit != NULL) {
        uint32_t engine = some_engine(gate);
        if (engine != GATE_NONE) {
            gate_let_in(gate, session, engine);
        }
    }
}

static void steal_some(struct gate *gate, struct gate_engine *engine)
{
    struct list *link = engine->queue.next;
    while (link != &engine->queue) {
        struct gate_step *step = gate_step_of(link);
        uint32_t to = some_engine(gate);
        link = link->next;
        if (step->session != NULL && to != GATE_NONE && to != engine->idx &&
            rng_below(&gate->rng, 2) == 0) {
            gate_steal(gate, step, to, rng_below(&gate->rng, 2) == 0);
        }
    }
}

static void wild_epoch(struct gate *gate)
{
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        if (engine == NULL || engine->is_gone) {
            continue;
        }
        steal_some(gate, engine);
        struct list *link = engine->sessions.next;
        while (link != &engine->sessions) {
            struct gate_session *session = gate_session_on(link);
            link = link->next;
            if (gate->policy->admit != NULL && session->running == 0 &&
                rng_below(&gate->rng, 3) == 0) {
                gate_pause(gate, session);
            }
        }
    }
}

static const struct route_policy wild[] = {
    {.name = "wild",
     .key = wild_key,
     .admit = wild_admit,
     .on_gap = wild_gap,
     .on_epoch = wild_epoch,
     .epoch_us = 700},
    {.name = "wild order", .key = wild_key, .on_epoch = wild_epoch, .epoch_us = 300},
    {.name = "wild gate", .admit = wild_admit, .on_gap = wild_gap, .on_epoch = wild_epoch},
};

enum { WILD = sizeof(wild) / sizeof(wild[0]) };

static const struct route_policy *some_policy(uint32_t how)
{
    if (how % 2 == 0) {
        return &wild[how / 2 % WILD];
    }
    uint32_t count = 0;
    while (route_policy_at(count) != NULL) {
        count++;
    }
    ASSERT(count > 0);
    return route_policy_at(how / 2 % count);
}

/* --- what is told, and what must be so --- */

static uint32_t byte(struct storm *storm)
{
    if (storm->left == 0) {
        return 0;
    }
    storm->left--;
    return *storm->data++;
}

static void take_actions(struct storm *storm)
{
    for (uint32_t i = 0; i < storm->gate.action_count; i++) {
        const struct gate_action *action = &storm->gate.actions[i];
        const struct gate_engine *engine = storm->gate.engines[action->engine];
        ASSERT(engine != NULL && !engine->is_gone);
        if (action->kind == GATE_START) {
            enum told *told = &storm->told[action->step - storm->steps];
            ASSERT(*told == WAITS && action->step->engine == engine->idx);
            *told = RUNS;
            storm->counts->started++;
        } else if (action->kind == GATE_MOVE) {
            enum told *told = &storm->told[action->step - storm->steps];
            ASSERT(*told == WAITS && action->from != action->engine);
            *told = MOVES;
            storm->counts->moves++;
        }
    }
    storm->gate.action_count = 0;
}

static bool is_as_told(enum gate_step_state state, enum told told)
{
    switch (state) {
    case GATE_STEP_AT_GATE:
    case GATE_STEP_QUEUED:
        return told == WAITS;
    case GATE_STEP_MOVING:
        return told == MOVES;
    case GATE_STEP_RUNNING:
    case GATE_STEP_ANSWERED:
        return told == RUNS;
    }
    return false;
}

/* Of one session's steps. */
static void check_session(const struct storm *storm, const struct gate_session *session)
{
    uint32_t queued = 0;
    uint32_t running = 0;
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        const struct gate_step *step = &storm->steps[i];
        if (storm->told[i] != FREE && step->session == session) {
            queued += step->state == GATE_STEP_QUEUED || step->state == GATE_STEP_MOVING;
            running += storm->told[i] == RUNS;
            tokens += step->held_tokens;
        }
    }
    ASSERT(session->queued == queued && session->running == running);
    ASSERT(session->step_tokens == tokens);
    ASSERT(session->state == GATE_OUT || list_is_empty(&session->steps));
    ASSERT(session->state == GATE_OUT || !storm->gate.engines[session->engine]->is_gone);
}

static void check_engine(const struct storm *storm, const struct gate_engine *engine)
{
    uint32_t queued = 0;
    uint32_t running = 0;
    uint32_t unanswered = 0;
    uint64_t tokens = 0;
    uint64_t uncached = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        const struct gate_step *step = &storm->steps[i];
        if (storm->told[i] == FREE || step->engine != engine->idx) {
            continue;
        }
        queued += step->state == GATE_STEP_QUEUED;
        if (storm->told[i] == RUNS) {
            running++;
            tokens += step->held_tokens;
            unanswered += step->state == GATE_STEP_RUNNING;
            uncached += step->state == GATE_STEP_RUNNING ? step->uncached_tokens : 0;
        }
    }
    ASSERT(engine->queued == queued && engine->running == running);
    ASSERT(engine->unanswered == unanswered && engine->run_tokens == tokens);
    ASSERT(engine->unanswered_tokens == uncached);
    ASSERT((engine->idle_from_us == UINT64_MAX) == (queued + running > 0));
    ASSERT(engine->is_gone || queued == 0 || running > 0); /* no order is a reason to rest */
}

static void check(const struct storm *storm)
{
    const struct gate *gate = &storm->gate;
    uint32_t live = 0;
    ASSERT(gate_check(gate));
    for (uint32_t i = 0; i < STEPS; i++) {
        live += storm->told[i] != FREE;
        ASSERT(storm->told[i] == FREE || is_as_told(storm->steps[i].state, storm->told[i]));
    }
    ASSERT(gate->steps == live);
    uint32_t sessions = 0;
    LIST_FOR_EACH(link, &gate->sessions)
    {
        check_session(storm, gate_session_of(link));
        sessions++;
    }
    ASSERT(sessions == gate->session_slab.used_nodes && sessions == gate->session_keys.count);
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        if (gate->engines[i] != NULL) {
            check_engine(storm, gate->engines[i]);
        }
    }
    ASSERT(gate->policy->admit != NULL || gate->waiting_count == 0);
}

static void after(struct storm *storm)
{
    take_actions(storm);
    check(storm);
}

/* A step told so, STEPS = none. */
static uint32_t some_step(struct storm *storm, enum told told)
{
    uint32_t from = byte(storm);
    for (uint32_t i = 0; i < STEPS; i++) {
        if (storm->told[(from + i) % STEPS] == told) {
            return (from + i) % STEPS;
        }
    }
    return STEPS;
}

/* --- events --- */

static void do_submit(struct storm *storm)
{
    uint32_t at = some_step(storm, FREE);
    uint32_t engine = storm->engines[byte(storm) % ENGINES];
    uint32_t session = byte(storm) % SESSIONS;
    const struct gate_need need = {
        .session = session,
        .tenant = session % TENANTS,
        .prompt_tokens = byte(storm) * 8,
        .kept_tokens = byte(storm) * 8,
        .output_tokens = byte(storm) % 4 * 100,
        .is_final = byte(storm) % 8 == 0,
        .remaining_s = byte(storm),
    };
    if (at == STEPS || engine == GATE_NONE || storm->gate.engines[engine]->is_gone) {
        return;
    }
    enum status st = gate_submit(&storm->gate, &storm->steps[at], &need, engine, storm->now_us);
    ASSERT(st == ST_OK || st == ST_NOMEM);
    storm->told[at] = st == ST_OK ? WAITS : FREE;
    storm->counts->submitted += st == ST_OK;
    storm->counts->failed += st != ST_OK;
    after(storm);
}

static void withdraw(struct storm *storm, uint32_t at)
{
    storm->told[at] = FREE;
    storm->counts->withdrawn++;
    gate_withdraw(&storm->gate, &storm->steps[at], storm->now_us);
    take_actions(storm);
}

/* Forgets an engine that is gone when it has no step. */
static void forget_if_over(struct storm *storm, uint32_t i)
{
    uint32_t idx = storm->engines[i];
    const struct gate_engine *engine = idx == GATE_NONE ? NULL : storm->gate.engines[idx];
    if (engine != NULL && engine->is_gone && engine->running + engine->queued == 0) {
        gate_forget_engine(&storm->gate, idx);
        storm->engines[i] = GATE_NONE;
    }
}

static void settle(struct storm *storm, uint32_t at)
{
    uint32_t how = byte(storm);
    struct gate_usage usage = {
        .prompt_tokens = how % 5 == 0 ? 0 : storm->steps[at].need.prompt_tokens,
        .cached_tokens = byte(storm) * 4,
        .output_tokens = byte(storm),
        .is_ok = how % 7 != 0,
        .is_final = how % 11 == 0,
        .has_tool = how % 2 == 0,
        .has_return = how % 3 == 0,
        .next_at_us = storm->now_us + how * UINT64_C(10),
    };
    for (uint32_t i = 0; i < GATE_HORIZONS; i++) {
        usage.return_ratio[i] = (float)i / GATE_HORIZONS;
    }
    storm->told[at] = FREE;
    storm->counts->settled++;
    gate_settled(&storm->gate, &storm->steps[at], &usage, storm->now_us);
    take_actions(storm);
    for (uint32_t i = 0; i < ENGINES; i++) {
        forget_if_over(storm, i);
    }
    check(storm);
}

static void do_end(struct storm *storm)
{
    uint32_t at = some_step(storm, RUNS);
    if (at < STEPS) {
        settle(storm, at);
    }
}

static void do_answer(struct storm *storm)
{
    uint32_t at = some_step(storm, RUNS);
    if (at < STEPS) {
        gate_answered(&storm->gate, &storm->steps[at], storm->now_us);
        after(storm);
    }
}

static void do_withdraw(struct storm *storm)
{
    uint32_t how = byte(storm);
    uint32_t at = some_step(storm, how % 3 == 0 ? MOVES : WAITS);
    if (at < STEPS) {
        withdraw(storm, at);
        check(storm);
    }
}

static void do_moved(struct storm *storm)
{
    uint32_t at = some_step(storm, MOVES);
    if (at < STEPS) {
        storm->told[at] = WAITS;
        gate_moved(&storm->gate, &storm->steps[at], byte(storm) % 2 == 0, storm->now_us);
        after(storm);
    }
}

static void do_tick(struct storm *storm)
{
    uint32_t how = byte(storm);
    storm->now_us += how < 200 ? how * UINT64_C(10) : how * UINT64_C(1000000);
    gate_tick(&storm->gate, storm->now_us);
    after(storm);
}

static struct gate_engine_info some_info(struct storm *storm)
{
    uint32_t how = byte(storm);
    return (struct gate_engine_info){
        .max_running = 1 + how % 4,
        .kv_tokens = how % 5 == 0 ? 0 : 500 + how * 20,
        .tier_tokens = how % 3 * 1000,
        .chunk_tokens = 256,
        .prefill_us_per_token = how % 2 * 50.0,
        .decode_us = how % 3 * 1000.0,
    };
}

static void do_engine(struct storm *storm)
{
    uint32_t i = byte(storm) % ENGINES;
    const struct gate_engine_info info = some_info(storm);
    if (storm->engines[i] != GATE_NONE) { /* told anew, or taken back */
        gate_tell_engine(&storm->gate, storm->engines[i], &info, storm->now_us);
    } else {
        enum status st = gate_add_engine(&storm->gate, i, &info, storm->now_us, &storm->engines[i]);
        ASSERT(st == ST_OK || st == ST_NOMEM);
        storm->counts->failed += st != ST_OK;
    }
    after(storm);
}

static void do_remove(struct storm *storm)
{
    uint32_t i = byte(storm) % (4 * ENGINES); /* seldom: queues are to grow */
    uint32_t idx = i < ENGINES ? storm->engines[i] : GATE_NONE;
    if (idx == GATE_NONE) {
        return;
    }
    gate_remove_engine(&storm->gate, idx, storm->now_us);
    storm->counts->engines_gone++;
    take_actions(storm);
    for (uint32_t at = 0; at < STEPS; at++) {
        if ((storm->told[at] == WAITS || storm->told[at] == MOVES) &&
            storm->steps[at].engine == idx) {
            withdraw(storm, at);
        }
    }
    forget_if_over(storm, i);
    check(storm);
}

static void do_policy(struct storm *storm)
{
    gate_set_policy(&storm->gate, some_policy(byte(storm)), NULL, storm->now_us);
    after(storm);
}

static void (*const events[])(struct storm *) = {
    do_submit, do_submit, do_submit, do_end,    do_end,    do_answer, do_withdraw, do_moved,
    do_tick,   do_tick,   do_tick,   do_engine, do_remove, do_submit, do_end,      do_policy,
};

enum { EVENTS = sizeof(events) / sizeof(events[0]) };

/* Everything ends. */
static void finish(struct storm *storm)
{
    for (uint32_t at = 0; at < STEPS; at++) {
        if (storm->told[at] == WAITS || storm->told[at] == MOVES) {
            withdraw(storm, at);
        }
    }
    for (uint32_t at = 0; at < STEPS; at++) { /* withdrawing may have started some */
        if (storm->told[at] == RUNS) {
            settle(storm, at);
        }
    }
    const struct gate_storm_counts *counts = storm->counts;
    ASSERT(storm->gate.steps == 0);
    ASSERT(counts->submitted == counts->settled + counts->withdrawn);
    ASSERT(counts->started == counts->settled);
    storm->counts->pauses = (uint32_t)storm->gate.counters.pauses;
}

void gate_storm(const uint8_t *data,
                size_t len,
                const struct mem *mem,
                struct gate_storm_counts *ret)
{
    struct storm storm = {.data = data, .left = len, .counts = ret, .now_us = 1};
    *ret = (struct gate_storm_counts){0};
    for (uint32_t i = 0; i < ENGINES; i++) {
        storm.engines[i] = GATE_NONE;
    }
    const struct gate_opts opts = {.policy = some_policy(byte(&storm)),
                                   .max_sessions = SESSIONS_MAX,
                                   .max_engines = ENGINES,
                                   .seed = byte(&storm)};
    if (gate_init(&storm.gate, mem, &opts) == ST_OK) {
        for (uint32_t i = 0; i < EVENTS_MAX && storm.left > 0; i++) {
            events[byte(&storm) % EVENTS](&storm);
        }
        finish(&storm);
    } else {
        ret->failed++;
    }
    gate_fini(&storm.gate);
}
