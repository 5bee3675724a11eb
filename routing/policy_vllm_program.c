/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions (programs) are paused when their tools have run for too long to be worth their memory,
 * and resumed, the one used last first, when they fit and leave others room to grow. */
#include "routing/keys.h"
#include "routing/lognormal.h"

#include <math.h>

enum {
    INTERVAL_S,
    FORCE_S,
    BUFFER_TOKENS,
    TTL_MAX_S,
    HIGH_RATIO,
    LOW_RATIO,
    ROUNDS_MAX,
    WINDOW,
    HEADROOM_RATIO,
    ACTIVE_MAX,
    MIX_RATIO,
    HAS_BATCH_GAIN,
};

static const struct route_param params[] = {
    [INTERVAL_S] = {"interval_s", 1.0, 0.1, 3600.0, "time between two looks at all, seconds"},
    [FORCE_S] = {"force_s", 300.0, 0.0, 1e9, "longest wait before one is let in anyway, seconds"},
    [BUFFER_TOKENS] = {"buffer_tokens", 100.0, 0.0, 1e6, "room to grow of a session, tokens"},
    [TTL_MAX_S] = {"ttl_max_s", 10.0, 0.0, 3600.0,
                   "longest time that KV is held for tools, seconds"},
    [HIGH_RATIO] = {"high_ratio", 1.0, 0.1, 10.0,
                    "share of the memory above which some are paused"},
    [LOW_RATIO] = {"low_ratio", 1.0, 0.1, 10.0, "share of the memory up to which some are let in"},
    [ROUNDS_MAX] = {"rounds_max", 14.0, 1.0, 1e6, "steps after which a session gives way"},
    [WINDOW] = {"window", 100.0, 1.0, 1e6, "steps that means are of, and needed before"},
    [HEADROOM_RATIO] = {"headroom_ratio", 1.2, 0.0, 100.0,
                        "room that another engine must have more, in contexts"},
    [ACTIVE_MAX] = {"active_max", 64.0, 1.0, 1e6, "sessions let in per engine"},
    [MIX_RATIO] = {"mix_ratio", 0.15, 0.0, 1.0, "decode speed that is left beside prefill"},
    [HAS_BATCH_GAIN] = {"batch_gain", 1.0, 0.0, 1.0,
                        "1: room to grow may be used when the batch gains more than it costs"},
};

/* The published models of its authors' engine, for what nobody told of ours. */
#define PREFILL_S        0.06600061907132926
#define PREFILL_S_PER_K  0.05702024012166613
#define PREFILL_S_PER_KK 0.0044057347937978475
#define DECODE_S         0.010635218423115973
#define DECODE_REQUEST_S 0.0004192803698834784
#define DECODE_TOKEN_S   1.420458414996201e-7
#define CACHED_RATIO     0.9 /* of the prompt before: it was not lost */
#define FORCE_LEAST_S    30.0
#define FORCE_SCALE      3.0

/* Notes of a session. */
enum {
    FORCE_AT_US, /* while it waits */
    ROUNDS,      /* steps with a cached prompt since it was let in */
    TTL_ROUNDS,  /* since it was paused for its tools */
    IS_MARKED,   /* paused when its steps are over */
    WHY,         /* it was paused: enum why */
    SEGMENT_US,  /* since when it is served */
    TTL_AT_US,   /* while it acts: when it is paused */
    LAST_PROMPT, /* tokens */
};

enum why { NEVER, PAUSED, YIELDED };

/* Notes of the gate. */
enum { SEEN_STEPS, IS_DUE };

/* Notes of an engine: means of the last steps there; then what the last look saw, or this one. */
enum {
    STEPS,
    GROWTHS,
    GROWTH_TOKENS,
    PROMPT_TOKENS,
    OUTPUT_TOKENS,
    MEAN_ROUNDS,
    END_AT_US,
    END_GAP_S,
    RETURNS,
    LN_MEAN,
    LN_VARIANCE,
    IS_BUSY, /* steps wait inside the engine */
    USED_TOKENS,
    PROTECTED_ROUNDS, /* that its sessions have still to get */
    WAITERS,          /* at the gate that were there last */
};

static bool is_usable(const struct gate_engine *engine)
{
    return engine != NULL && !engine->is_gone;
}

static double mean_with(const struct gate *gate, double mean, double value, double count)
{
    double window = gate->params[WINDOW];
    return mean + (value - mean) / (count < window ? count : window);
}

/* --- what its steps tell of an engine --- */

static void learn_step(const struct gate *gate, double *notes, struct gate_session *session)
{
    const struct gate_usage *last = &session->last;
    double before = session->notes[LAST_PROMPT];
    double prompt = last->prompt_tokens;
    double growth = prompt - before;
    double rounds = last->cached_tokens >= CACHED_RATIO * before ? 1.0 : 0.0;
    session->notes[ROUNDS] += rounds;
    session->notes[TTL_ROUNDS] += rounds;
    session->notes[LAST_PROMPT] = prompt;
    if (rounds == 0.0) { /* its KV was lost: it is served anew */
        session->notes[SEGMENT_US] = (double)gate->now_us;
    }
    double count = notes[STEPS] += 1.0;
    notes[PROMPT_TOKENS] = mean_with(gate, notes[PROMPT_TOKENS], prompt, count);
    notes[OUTPUT_TOKENS] = mean_with(gate, notes[OUTPUT_TOKENS], last->output_tokens, count);
    notes[MEAN_ROUNDS] = mean_with(gate, notes[MEAN_ROUNDS], session->notes[TTL_ROUNDS], count);
    if (before > 0.0 && growth > 0.0 && growth < before) {
        notes[GROWTHS] += 1.0;
        notes[GROWTH_TOKENS] = mean_with(gate, notes[GROWTH_TOKENS], growth, notes[GROWTHS]);
    }
    if (count > 1.0) {
        double gap_s = ((double)gate->now_us - notes[END_AT_US]) / 1e6;
        notes[END_GAP_S] = mean_with(gate, notes[END_GAP_S], gap_s, count - 1.0);
    }
    notes[END_AT_US] = (double)gate->now_us;
}

/* The gap before this step. */
static void learn_return(const struct gate *gate, double *notes, const struct gate_session *session)
{
    if (session->return_us == 0) {
        return;
    }
    double value = route_ln((double)session->return_us / 1e6);
    double count = notes[RETURNS] += 1.0;
    double off = value - notes[LN_MEAN];
    notes[LN_MEAN] = mean_with(gate, notes[LN_MEAN], value, count);
    notes[LN_VARIANCE] = mean_with(gate, notes[LN_VARIANCE], off * (value - notes[LN_MEAN]), count);
}

/* Steps that a session should get before it is paused; 0 = not known yet. */
static double target_rounds(const struct gate *gate, const struct gate_engine *engine)
{
    if (engine->notes[STEPS] < gate->params[WINDOW]) {
        return 0.0;
    }
    double rounds = ceil(2.0 * engine->notes[MEAN_ROUNDS]);
    rounds = rounds < 1.0 ? 1.0 : rounds;
    return rounds < gate->params[ROUNDS_MAX] ? rounds : gate->params[ROUNDS_MAX];
}

/* What computing so many tokens costs the session and those that decode beside it. */
static double miss_s(const struct gate *gate, const struct gate_engine *engine, double tokens)
{
    double k = tokens / 1000.0;
    double prefill_s = PREFILL_S + PREFILL_S_PER_K * k + PREFILL_S_PER_KK * k * k;
    if (engine->info.prefill_us_per_token > 0.0) {
        prefill_s = gate_prefill_us(engine, tokens, 0.0) / 1e6;
    }
    return tokens <= 0.0 ? 0.0 : prefill_s * (2.0 - gate->params[MIX_RATIO]);
}

static double need_tokens(const struct gate *gate, const struct gate_session *session)
{
    return (double)gate_session_tokens(gate, session) + gate->params[BUFFER_TOKENS];
}

/* --- pauses --- */

static void pause(struct gate *gate, struct gate_session *session, enum why why)
{
    gate_pause(gate, session);
    session->notes[ROUNDS] = 0.0;
    session->notes[IS_MARKED] = 0.0;
    session->notes[TTL_AT_US] = 0.0;
    session->notes[WHY] = why;
    gate->notes[IS_DUE] = 1.0;
}

static void pause_if_late(struct gate *gate, struct gate_session *session)
{
    if (gate_is_acting(session) && (double)gate->now_us >= session->notes[TTL_AT_US]) {
        pause(gate, session, PAUSED);
        session->notes[TTL_ROUNDS] = 0.0;
    }
}

/* Those that were served for long, and the small ones, go first. */
static double
score(const struct gate *gate, const struct gate_engine *engine, const struct gate_session *session)
{
    double mean = engine->notes[PROMPT_TOKENS] < 1.0 ? 1.0 : engine->notes[PROMPT_TOKENS];
    double share = (double)gate_session_tokens(gate, session) / mean;
    double small = 1.0 / sqrt(share < 1e-6 ? 1e-6 : share);
    return ((double)gate->now_us - session->notes[SEGMENT_US]) * (small < 0.5 ? 0.5 : small);
}

static struct gate_session *next_to_go(const struct gate *gate, const struct gate_engine *engine)
{
    struct gate_session *best = NULL;
    double best_score = 0.0;
    LIST_FOR_EACH(link, &engine->sessions)
    {
        struct gate_session *session = gate_session_on(link);
        double own = score(gate, engine, session);
        if (session->notes[IS_MARKED] == 0.0 &&
            (best == NULL || own > best_score || (own == best_score && session->key < best->key))) {
            best = session;
            best_score = own;
        }
    }
    return best;
}

/* What those on the engine hold that are not on their way out. */
static double kept_tokens(const struct gate *gate, const struct gate_engine *engine)
{
    double sum = 0.0;
    LIST_FOR_EACH(link, &engine->sessions)
    {
        const struct gate_session *session = gate_session_on(link);
        sum += session->notes[IS_MARKED] > 0.0 ? 0.0 : need_tokens(gate, session);
    }
    return sum;
}

static void relieve(struct gate *gate, struct gate_engine *engine)
{
    double kv_tokens = engine->info.kv_tokens;
    double kept = kept_tokens(gate, engine);
    if (kv_tokens == 0.0 || kept <= gate->params[HIGH_RATIO] * kv_tokens) {
        return;
    }
    while (kept > gate->params[LOW_RATIO] * kv_tokens) {
        struct gate_session *session = next_to_go(gate, engine);
        if (session == NULL) {
            return;
        }
        kept -= need_tokens(gate, session);
        if (gate_is_acting(session)) {
            pause(gate, session, PAUSED);
        } else {
            session->notes[IS_MARKED] = 1.0;
        }
    }
}

/* --- who comes next --- */

/* The engine that it was on, or was placed on. */
static uint32_t home_of(const struct gate *gate, const struct gate_session *session)
{
    uint32_t placed = gate_step_of(list_first(&session->steps))->engine;
    bool has_home = session->engine != GATE_NONE && is_usable(gate->engines[session->engine]);
    return has_home ? session->engine : placed;
}

static bool is_forced(const struct gate *gate, const struct gate_session *session)
{
    return (double)gate->now_us >= session->notes[FORCE_AT_US];
}

/* Forced ones, then those that did not give way; of equals the one used last, or (is_fcfs) the one
 * that has waited longest. */
static bool is_before(const struct gate *gate,
                      const struct gate_session *a,
                      const struct gate_session *b,
                      bool is_fcfs)
{
    if (is_forced(gate, a) != is_forced(gate, b)) {
        return is_forced(gate, a);
    }
    bool has_yielded = a->notes[WHY] == YIELDED;
    if (has_yielded != (b->notes[WHY] == YIELDED)) {
        return !has_yielded;
    }
    if (!is_fcfs && a->gap_from_us != b->gap_from_us) {
        return a->gap_from_us > b->gap_from_us;
    }
    if (a->waits_from_us != b->waits_from_us) {
        return a->waits_from_us < b->waits_from_us;
    }
    return a->key < b->key;
}

static double batch_speed(const struct gate_engine *engine, double count, double context_tokens)
{
    double fixed_s = engine->info.decode_us > 0.0 ? engine->info.decode_us / 1e6 : DECODE_S;
    return count / (fixed_s + DECODE_REQUEST_S * count + DECODE_TOKEN_S * context_tokens);
}

/* What is lost when the protected ones have less room to grow. */
static double continuity_loss_s(const struct gate *gate,
                                const struct gate_engine *engine,
                                double need,
                                double mean_miss_s)
{
    double growth = engine->notes[GROWTH_TOKENS];
    double rounds = engine->notes[PROTECTED_ROUNDS];
    if (growth <= 0.0) {
        return 0.0;
    }
    double left = gate->params[LOW_RATIO] * engine->info.kv_tokens - engine->notes[USED_TOKENS];
    left = left < 0.0 ? 0.0 : left;
    double before = left / growth < rounds ? left / growth : rounds;
    double rest = (left - need) / growth - target_rounds(gate, engine);
    rest = rest < 0.0 ? 0.0 : rest;
    double after = rest < rounds ? rest : rounds;
    if (after <= 0.0) {
        return before > 0.0 ? INFINITY : 0.0;
    }
    return (before - after) / after * mean_miss_s;
}

static bool has_batch_gain(const struct gate *gate,
                           const struct gate_engine *engine,
                           const struct gate_session *session)
{
    double rounds = target_rounds(gate, engine);
    double running = 0.0;
    double context = 0.0;
    double protected = 0.0;
    double sum_s = 0.0;
    LIST_FOR_EACH(link, &engine->sessions)
    {
        const struct gate_session *other = gate_session_on(link);
        if (!gate_is_acting(other)) {
            running += 1.0;
            context += (double)gate_session_tokens(gate, other);
        }
        if (other->notes[ROUNDS] < rounds) {
            protected += 1.0;
            sum_s += miss_s(gate, engine, other->notes[LAST_PROMPT]);
        }
    }
    if (gate->params[HAS_BATCH_GAIN] == 0.0 || rounds == 0.0 || running == 0.0) {
        return false;
    }
    double own = (double)gate_session_tokens(gate, session);
    double before = batch_speed(engine, running, context);
    double after = batch_speed(engine, running + 1.0, context + own);
    double gain = after / before - 1.0;
    double gain_s = running * engine->notes[OUTPUT_TOKENS] / before * (gain < 0.0 ? 0.0 : gain);
    double mean_s = protected > 0.0 ? sum_s / protected : 0.0;
    double prompt = gate_step_of(list_first(&session->steps))->need.prompt_tokens;
    return gain_s >= miss_s(gate, engine, prompt) +
                         continuity_loss_s(gate, engine, need_tokens(gate, session), mean_s);
}

static bool
fits(const struct gate *gate, const struct gate_session *session, const struct gate_engine *engine)
{
    double low = gate->params[LOW_RATIO] * engine->info.kv_tokens;
    if (!is_usable(engine) || engine->notes[IS_BUSY] > 0.0) {
        return false;
    }
    if (is_forced(gate, session)) {
        return true;
    }
    if (engine->session_count >= gate->params[ACTIVE_MAX]) {
        return false;
    }
    double used = engine->notes[USED_TOKENS] + need_tokens(gate, session);
    if (low == 0.0 || used > low) {
        return low == 0.0;
    }
    double rounds = target_rounds(gate, engine) + engine->notes[PROTECTED_ROUNDS];
    bool has_rounds = target_rounds(gate, engine) > 0.0;
    double reserve = has_rounds ? rounds * engine->notes[GROWTH_TOKENS] : 0.0;
    return used + reserve <= low || has_batch_gain(gate, engine, session);
}

static void let_in(struct gate *gate, struct gate_session *session, struct gate_engine *engine)
{
    engine->notes[USED_TOKENS] += need_tokens(gate, session);
    engine->notes[PROTECTED_ROUNDS] += target_rounds(gate, engine);
    gate->engines[home_of(gate, session)]->notes[WAITERS] -= 1.0;
    session->notes[FORCE_AT_US] = 0.0;
    session->notes[WHY] = NEVER;
    session->notes[ROUNDS] = 0.0;
    if (session->notes[SEGMENT_US] == 0.0) {
        session->notes[SEGMENT_US] = (double)gate->now_us;
    }
    gate_let_in(gate, session, engine->idx);
}

/* The first that fits where it was. */
static bool let_one_in(struct gate *gate)
{
    struct gate_session *best = NULL;
    LIST_FOR_EACH(link, &gate->waiting)
    {
        struct gate_session *session = gate_session_at_gate(link);
        if ((best == NULL || is_before(gate, session, best, false)) &&
            fits(gate, session, gate->engines[home_of(gate, session)])) {
            best = session;
        }
    }
    if (best != NULL) {
        let_in(gate, best, gate->engines[home_of(gate, best)]);
    }
    return best != NULL;
}

static bool has_waited(const struct gate *gate, const struct gate_session *session)
{
    return (double)(gate->now_us - session->waits_from_us) >= gate->params[INTERVAL_S] * 1e6;
}

/* Its engine is not about to take it. */
static bool has_pressure(const struct gate *gate, const struct gate_session *session, uint32_t home)
{
    if (gate->engines[home]->notes[IS_BUSY] > 0.0) {
        return true;
    }
    LIST_FOR_EACH(link, &gate->waiting)
    {
        const struct gate_session *other = gate_session_at_gate(link);
        if (other != session && home_of(gate, other) == home && has_waited(gate, other) &&
            is_before(gate, other, session, false)) {
            return true;
        }
    }
    return false;
}

static double room_tokens(const struct gate *gate, const struct gate_engine *engine)
{
    double left = gate->params[LOW_RATIO] * engine->info.kv_tokens - engine->notes[USED_TOKENS];
    return left < 0.0 ? 0.0 : left;
}

/* The least used other engine that has much more room than its own; NULL = none. */
static struct gate_engine *elsewhere(const struct gate *gate, const struct gate_session *session)
{
    uint32_t home = home_of(gate, session);
    const struct gate_engine *own = gate->engines[home];
    double window = gate->params[WINDOW];
    struct gate_engine *best = NULL;
    if (session->notes[WHY] == NEVER || !has_waited(gate, session) || own->notes[STEPS] < window) {
        return NULL;
    }
    double least = room_tokens(gate, own) +
                   gate->params[HEADROOM_RATIO] * (double)gate_session_tokens(gate, session);
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        bool is_open = i != home && is_usable(engine) && engine->notes[WAITERS] == 0.0 &&
                       engine->notes[STEPS] >= window && room_tokens(gate, engine) >= least &&
                       fits(gate, session, engine);
        if (is_open && (best == NULL || engine->notes[USED_TOKENS] * best->info.kv_tokens <
                                            best->notes[USED_TOKENS] * engine->info.kv_tokens)) {
            best = engine;
        }
    }
    return best != NULL && has_pressure(gate, session, home) ? best : NULL;
}

static bool let_one_in_elsewhere(struct gate *gate)
{
    struct gate_session *best = NULL;
    LIST_FOR_EACH(link, &gate->waiting)
    {
        struct gate_session *session = gate_session_at_gate(link);
        if ((best == NULL || is_before(gate, session, best, true)) &&
            elsewhere(gate, session) != NULL) {
            best = session;
        }
    }
    if (best != NULL) {
        let_in(gate, best, elsewhere(gate, best));
    }
    return best != NULL;
}

/* --- hooks --- */

/* Counts anew what sessions of engines use and have still to get, and who waits for them. */
static void look(struct gate *gate)
{
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        if (engine == NULL) {
            continue;
        }
        double rounds = target_rounds(gate, engine);
        engine->notes[USED_TOKENS] = 0.0;
        engine->notes[PROTECTED_ROUNDS] = 0.0;
        engine->notes[WAITERS] = 0.0;
        LIST_FOR_EACH(link, &engine->sessions)
        {
            const struct gate_session *session = gate_session_on(link);
            double left = rounds - session->notes[ROUNDS];
            engine->notes[USED_TOKENS] += need_tokens(gate, session);
            engine->notes[PROTECTED_ROUNDS] += left > 0.0 ? left : 0.0;
        }
    }
    LIST_FOR_EACH(link, &gate->waiting)
    {
        gate->engines[home_of(gate, gate_session_at_gate(link))]->notes[WAITERS] += 1.0;
    }
}

/* When a new waiter is let in anyway: three times as long as the steps before it will take. */
static void set_force(const struct gate *gate, struct gate_session *session)
{
    uint32_t home = home_of(gate, session);
    const struct gate_engine *engine = gate->engines[home];
    double rounds = target_rounds(gate, engine);
    double longest_s = gate->params[FORCE_S];
    double least_s = FORCE_LEAST_S < longest_s ? FORCE_LEAST_S : longest_s;
    double steps = 0.0;
    LIST_FOR_EACH(link, &engine->sessions)
    {
        const struct gate_session *other = gate_session_on(link);
        double left = rounds - other->notes[ROUNDS];
        double floor_rounds = gate_is_acting(other) ? 0.0 : 1.0;
        steps += left > floor_rounds ? left : floor_rounds;
    }
    LIST_FOR_EACH(link, &gate->waiting)
    {
        const struct gate_session *other = gate_session_at_gate(link);
        bool is_ahead = other != session && home_of(gate, other) == home &&
                        is_before(gate, other, session, false);
        steps += is_ahead ? rounds : 0.0;
    }
    double wait_s = FORCE_SCALE * steps * engine->notes[END_GAP_S];
    wait_s = wait_s < least_s ? least_s : wait_s;
    bool is_known = rounds > 0.0 && engine->notes[END_GAP_S] > 0.0 && wait_s < longest_s;
    session->notes[FORCE_AT_US] = (double)gate->now_us + (is_known ? wait_s : longest_s) * 1e6;
}

static void admit(struct gate *gate)
{
    struct gate_session *last = gate_session_at_gate(gate->waiting.prev);
    bool is_due = gate->notes[IS_DUE] > 0.0 || gate->notes[SEEN_STEPS] != (double)gate->steps;
    if (last->notes[FORCE_AT_US] == 0.0) {
        last->notes[FORCE_AT_US] = INFINITY; /* it is not forced yet */
        set_force(gate, last);
        is_due = true;
    }
    if (!is_due) {
        return; /* nobody left, nobody came */
    }
    look(gate);
    while (let_one_in(gate)) {
    }
    while (gate->notes[IS_DUE] > 0.0 && gate->waiting_count > 0 && let_one_in_elsewhere(gate)) {
    }
    gate->notes[IS_DUE] = 0.0;
    gate->notes[SEEN_STEPS] = (double)gate->steps;
}

/* After so many steps it gives way to one that waits for its engine. */
static bool has_to_yield(const struct gate *gate, const struct gate_session *session)
{
    if (session->notes[ROUNDS] < gate->params[ROUNDS_MAX]) {
        return false;
    }
    const struct gate_session *first = NULL;
    LIST_FOR_EACH(link, &gate->waiting)
    {
        const struct gate_session *other = gate_session_at_gate(link);
        if (home_of(gate, other) == session->engine &&
            (first == NULL || is_before(gate, other, first, false))) {
            first = other;
        }
    }
    if (first == NULL) {
        return false;
    }
    double leaving = 0.0; /* by others */
    LIST_FOR_EACH(link, &gate->engines[session->engine]->sessions)
    {
        const struct gate_session *other = gate_session_on(link);
        leaving += other->notes[IS_MARKED] > 0.0 ? need_tokens(gate, other) : 0.0;
    }
    return need_tokens(gate, first) > leaving;
}

static void on_gap(struct gate *gate, struct gate_session *session)
{
    if (session->state != GATE_IN) {
        return;
    }
    struct gate_engine *engine = gate->engines[session->engine];
    bool is_ok = session->last.is_ok && session->last.prompt_tokens > 0;
    if (is_ok) {
        learn_return(gate, engine->notes, session);
        learn_step(gate, engine->notes, session);
    }
    if (!is_ok || session->notes[IS_MARKED] > 0.0) {
        pause(gate, session, PAUSED);
    } else if (has_to_yield(gate, session)) {
        pause(gate, session, YIELDED);
    } else {
        double worth_s = miss_s(gate, engine, session->notes[LAST_PROMPT]);
        double most_s = worth_s < gate->params[TTL_MAX_S] ? worth_s : gate->params[TTL_MAX_S];
        double sigma = sqrt(engine->notes[LN_VARIANCE]);
        bool is_known = engine->notes[RETURNS] >= gate->params[WINDOW];
        double ttl_s = is_known
                           ? route_lognormal_hold_s(engine->notes[LN_MEAN],
                                                    sigma < 1e-6 ? 1e-6 : sigma, worth_s, most_s)
                           : 0.0;
        session->notes[TTL_AT_US] = (double)gate->now_us + ttl_s * 1e6;
        pause_if_late(gate, session);
    }
    relieve(gate, engine);
}

/* Steps wait inside: for the prefill of others, or for memory. */
static bool is_busy(const struct gate_engine *engine)
{
    bool has_backlog =
        engine->unanswered > 1 && engine->unanswered_tokens > engine->info.chunk_tokens;
    return has_backlog ||
           (engine->info.kv_tokens > 0 && engine->run_tokens > engine->info.kv_tokens);
}

static void on_epoch(struct gate *gate)
{
    gate->epoch_at_us = gate->now_us + (uint64_t)(gate->params[INTERVAL_S] * 1e6);
    gate->notes[IS_DUE] = 1.0;
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        if (!is_usable(engine)) {
            continue;
        }
        engine->notes[IS_BUSY] = is_busy(engine) ? 1.0 : 0.0;
        struct list *link = engine->sessions.next;
        while (link != &engine->sessions) {
            struct gate_session *session = gate_session_on(link);
            link = link->next;
            pause_if_late(gate, session);
        }
        relieve(gate, engine);
    }
}

const struct route_policy route_policy_vllm_program = {
    .name = "vllm_program",
    .text = "sessions keep their memory for a while when their tools run, are then paused, and "
            "resumed, the one used last first, where they were when they fit",
    .source = "vLLM Router, docs/program_scheduling.md (AgentInfer)",
    .place = route_place_consistent_hash,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .hears_end = true,
    .admit = admit,
    .on_gap = on_gap,
    .on_epoch = on_epoch,
    .epoch_us = 1000000,
};
