/* SPDX-License-Identifier: Apache-2.0 */
/* SAGA as published (arXiv 2605.00528), each mechanism with a switch: a session goes to the engine
 * that had it unless that is loaded, its KV there is valued by whether it will be used again and
 * pinned while its tool runs, waiting steps are stolen, and tenants go by urgency. What the source
 * leaves open and what was chosen: docs/baselines.md. */
#include "routing/keys.h"

enum {
    THETA,
    AFFINITY,
    WA_LRU,
    TTL,
    TTL_MAX_S,
    STEAL,
    IDLE_MS,
    LOAD_RATIO,
    STEALS_MAX,
    AFS,
    DEADLINE,
    SLACK_FLOOR_S,
    PARAMS,
};

static const struct route_param params[PARAMS] = {
    [THETA] = {"theta", 0.8, 0, 100, "load of an engine from which on its sessions leave it"},
    [AFFINITY] = {"affinity", 1, 0, 2,
                  "0 = least load, 1 = the session's engine up to theta, 2 = as prefix_affinity"},
    [WA_LRU] = {"wa_lru", 1, 0, 1, "eviction by chance of reuse; 0 = as engines are set"},
    [TTL] = {"ttl", 1, 0, 1, "KV is pinned while a tool runs"},
    [TTL_MAX_S] = {"ttl_max_s", 300, 0, 86400, "longest pin, s"},
    [STEAL] = {"steal", 1, 0, 2, "0 = none, 1 = KV moves along, 2 = KV stays behind"},
    [IDLE_MS] = {"idle_ms", 100, 0, 60000, "empty queue after which an engine steals, ms"},
    [LOAD_RATIO] = {"load_ratio", 2, 1, 100, "largest to smallest load that is left alone"},
    [STEALS_MAX] = {"steals_max", 4, 0, 1000, "per epoch"},
    [AFS] = {"afs", 1, 0, 1, "tenants by urgency; 0 = by arrival"},
    [DEADLINE] = {"deadline", 1.5, 0.01, 100, "of a session, times its tenant's mean TCT"},
    [SLACK_FLOOR_S] = {"slack_floor_s", 1, 1e-6, 86400, "least time to a deadline that counts, s"},
};

/* A load is half how full the batch is, half how full the memory, and more for each that waits. */
#define LOAD_BATCH       0.5
#define LOAD_BATCH_STEPS 32.0
#define LOAD_MEMORY      0.5
#define LOAD_QUEUED      0.05
/* Between these the pins shrink to half. */
#define PRESSURE_FROM 0.7
#define PRESSURE_TO   0.9
/* What a step is taken to add to its context until a first one has. */
#define OBSERVATION_TOKENS 300.0
#define EPOCH_US           100000
#define STOLEN_KEY         (-1e300) /* before everybody */
#define US_PER_S           1e6

enum { SESSION_BEFORE_TOKENS, SESSION_STOLEN };
enum { ENGINE_QUEUE_EMPTY_FROM_US };
/* Of the gate and of each tenant: means over sessions that have ended. */
enum { ENDED, MEAN_TCT_S, MEAN_WORK_S, TENANT_URGENCY };

static bool is_usable(const struct gate_engine *engine)
{
    return engine != NULL && !engine->is_gone;
}

static double clamp01(double x)
{
    return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}

/* Share of the memory that holds KV of live sessions. */
static double used(const struct gate_engine *engine)
{
    double tokens = (double)(engine->run_tokens + engine->copy_tokens);
    return engine->info.kv_tokens == 0 ? 0.0 : tokens / engine->info.kv_tokens;
}

static double load(const struct gate_engine *engine)
{
    return LOAD_BATCH * clamp01(engine->running / LOAD_BATCH_STEPS) +
           LOAD_MEMORY * clamp01(used(engine)) + LOAD_QUEUED * engine->queued;
}

/* Of equals the one with fewer sessions. There is one: steps come for engines that are usable. */
static uint32_t least_loaded(const struct gate *gate)
{
    uint32_t best = GATE_NONE;
    double best_load = 0.0;
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        const struct gate_engine *engine = gate->engines[i];
        if (!is_usable(engine)) {
            continue;
        }
        double own = load(engine);
        if (best == GATE_NONE || own < best_load ||
            (!(own > best_load) && engine->session_count < gate->engines[best]->session_count)) {
            best = i;
            best_load = own;
        }
    }
    return best;
}

/* --- where --- */

static uint32_t engine_for(const struct gate *gate, const struct gate_session *session)
{
    uint32_t own = session->engine;
    if (gate->params[AFFINITY] > 1.5) {
        return gate_step_of(list_first(&session->steps))->engine;
    }
    if (gate->params[AFFINITY] > 0.5 && own != GATE_NONE && is_usable(gate->engines[own]) &&
        load(gate->engines[own]) < gate->params[THETA] && gate_resident(gate, session, own) > 0) {
        return own;
    }
    return least_loaded(gate);
}

static void admit(struct gate *gate)
{
    while (gate->waiting_count > 0) {
        struct gate_session *session = gate_session_at_gate(list_first(&gate->waiting));
        uint32_t engine = engine_for(gate, session);
        if (engine == GATE_NONE || !is_usable(gate->engines[engine])) {
            return;
        }
        gate_let_in(gate, session, engine);
    }
}

/* --- what becomes of its KV --- */

/* The share of the next prompt that is held now, times that it comes at all: equation 4. */
static double reuse_ratio(const struct gate_session *session)
{
    double context = session->context_tokens;
    double fresh = session->last.prompt_tokens - session->notes[SESSION_BEFORE_TOKENS];
    if (session->done < 2 || fresh < 1.0) {
        fresh = OBSERVATION_TOKENS;
    }
    double comes = session->last.has_return ? session->last.return_ratio[GATE_HORIZONS - 1] : 1.0;
    return comes * context / (context + fresh);
}

/* Time within which 95 % of those that return have done so. */
static uint64_t p95_us(const struct gate_usage *usage, uint64_t max_us)
{
    double wanted = 0.95 * (double)usage->return_ratio[GATE_HORIZONS - 1];
    if (!usage->has_return || !(wanted > 0.0)) {
        return max_us;
    }
    double from_us = 0.0;
    double from = 0.0;
    for (uint32_t i = 0; i < GATE_HORIZONS; i++) {
        double to_us = (double)gate_horizons_us[i];
        double to = (double)usage->return_ratio[i];
        if (to >= wanted) {
            double part = to > from ? (wanted - from) / (to - from) : 0.0;
            return (uint64_t)(from_us + (to_us - from_us) * part);
        }
        from_us = to_us;
        from = to;
    }
    return max_us;
}

/* Algorithm 1, equation 6. */
static uint64_t ttl_us(const struct gate *gate, const struct gate_session *session)
{
    uint64_t max_us = (uint64_t)(gate->params[TTL_MAX_S] * US_PER_S);
    if (!session->last.has_tool) {
        return max_us;
    }
    double full = used(gate->engines[session->engine]);
    double pressure = clamp01((full - PRESSURE_FROM) / (PRESSURE_TO - PRESSURE_FROM));
    double ttl = (double)p95_us(&session->last, max_us) * (1.0 - 0.5 * pressure);
    return ttl < (double)max_us ? (uint64_t)ttl : max_us;
}

static void on_gap(struct gate *gate, struct gate_session *session)
{
    session->notes[SESSION_STOLEN] = 0.0;
    if (session->engine != GATE_NONE && is_usable(gate->engines[session->engine])) {
        if (gate->params[WA_LRU] > 0.5) {
            gate_value(gate, session, reuse_ratio(session), UINT64_MAX);
        }
        if (gate->params[TTL] > 0.5) {
            gate_pin(gate, session, gate->now_us + ttl_us(gate, session));
        }
    }
    session->notes[SESSION_BEFORE_TOKENS] = session->context_tokens;
    gate_let_out(gate, session);
}

/* --- tenants --- */

static void note_ended(double *notes, double tct_s, double work_s)
{
    notes[ENDED] += 1.0;
    notes[MEAN_TCT_S] += (tct_s - notes[MEAN_TCT_S]) / notes[ENDED];
    notes[MEAN_WORK_S] += (work_s - notes[MEAN_WORK_S]) / notes[ENDED];
}

static void on_end(struct gate *gate, struct gate_session *session)
{
    double tct_s = (double)(gate->now_us - session->born_at_us) / US_PER_S;
    note_ended(session->tenant->notes, tct_s, session->served_s);
    note_ended(gate->notes, tct_s, session->served_s);
    if (gate->params[WA_LRU] > 0.5) {
        gate_value(gate, session, 0.0, UINT64_MAX);
    }
}

/* Work that is likely left over time to the deadline; 0 until any session has ended. */
static double urgency(const struct gate *gate, const struct gate_session *session)
{
    const double *means =
        session->tenant->notes[ENDED] > 0.0 ? session->tenant->notes : gate->notes;
    double least_s = session->done > 0 ? session->served_s / session->done : 0.0;
    double left_s = means[MEAN_WORK_S] - session->served_s;
    double lived_s = (double)(gate->now_us - session->born_at_us) / US_PER_S;
    double slack_s = gate->params[DEADLINE] * means[MEAN_TCT_S] - lived_s;
    left_s = left_s > least_s ? left_s : least_s;
    slack_s = slack_s > gate->params[SLACK_FLOOR_S] ? slack_s : gate->params[SLACK_FLOOR_S];
    return means[ENDED] > 0.0 ? left_s / slack_s : 0.0;
}

static void weigh_tenants(struct gate *gate)
{
    for (uint32_t i = 0; i < gate->tenant_slab.fresh_idx; i++) {
        struct gate_tenant *tenant = slab_at(&gate->tenant_slab, i);
        tenant->notes[TENANT_URGENCY] = 0.0;
    }
    LIST_FOR_EACH(link, &gate->sessions)
    {
        const struct gate_session *session = gate_session_of(link);
        session->tenant->notes[TENANT_URGENCY] += urgency(gate, session);
    }
}

static double key(const struct gate *gate, const struct gate_step *step)
{
    if (step->session == NULL) {
        return 0.0;
    }
    if (step->session->notes[SESSION_STOLEN] > 0.0) {
        return STOLEN_KEY;
    }
    return gate->params[AFS] > 0.5 ? -step->session->tenant->notes[TENANT_URGENCY] : 0.0;
}

/* --- stealing --- */

static void watch_queues(struct gate *gate)
{
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        struct gate_engine *engine = gate->engines[i];
        if (engine == NULL) {
            continue;
        }
        if (engine->queued > 0) {
            engine->notes[ENGINE_QUEUE_EMPTY_FROM_US] = 0.0;
        } else if (!(engine->notes[ENGINE_QUEUE_EMPTY_FROM_US] > 0.0)) {
            engine->notes[ENGINE_QUEUE_EMPTY_FROM_US] = (double)gate->now_us;
        }
    }
}

static bool is_idle(const struct gate *gate, const struct gate_engine *engine)
{
    double from_us = engine->notes[ENGINE_QUEUE_EMPTY_FROM_US];
    return from_us > 0.0 && (double)gate->now_us - from_us >= gate->params[IDLE_MS] * 1e3;
}

/* The least loaded of those whose queue is empty, or when loads are far apart of all. */
static uint32_t thief_of(const struct gate *gate, double *ret_min)
{
    uint32_t idle = GATE_NONE;
    double idle_load = 0.0;
    double max = 0.0;
    uint32_t least = least_loaded(gate);
    *ret_min = least == GATE_NONE ? 0.0 : load(gate->engines[least]);
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        if (!is_usable(gate->engines[i])) {
            continue;
        }
        double own = load(gate->engines[i]);
        max = own > max ? own : max;
        if (is_idle(gate, gate->engines[i]) && (idle == GATE_NONE || own < idle_load)) {
            idle = i;
            idle_load = own;
        }
    }
    return idle != GATE_NONE ? idle : max > gate->params[LOAD_RATIO] * *ret_min ? least : GATE_NONE;
}

static bool
is_victim(const struct gate *gate, const struct gate_engine *engine, uint32_t thief, double min)
{
    return is_usable(engine) && engine->idx != thief && engine->queued > 0 &&
           gate_step_of(list_first(&engine->queue))->session != NULL &&
           (engine->queued >= 2 || load(engine) > gate->params[LOAD_RATIO] * min) &&
           load(engine) > load(gate->engines[thief]);
}

/* False when there is nobody who steals, or nothing to steal. */
static bool steal_one(struct gate *gate)
{
    double min = 0.0;
    uint32_t victims = 0;
    uint32_t thief = thief_of(gate, &min);
    for (uint32_t i = 0; thief != GATE_NONE && i < gate->engine_count; i++) {
        victims += is_victim(gate, gate->engines[i], thief, min) ? 1 : 0;
    }
    if (victims == 0) {
        return false;
    }
    uint32_t drawn = (uint32_t)rng_below(&gate->rng, victims);
    uint32_t at = 0;
    while (!is_victim(gate, gate->engines[at], thief, min) || drawn-- > 0) {
        at++;
    }
    struct gate_step *step = gate_step_of(list_first(&gate->engines[at]->queue));
    step->session->notes[SESSION_STOLEN] = 1.0;
    gate->engines[thief]->notes[ENGINE_QUEUE_EMPTY_FROM_US] = 0.0;
    gate_steal(gate, step, thief, gate->params[STEAL] < 1.5);
    return true;
}

static void on_epoch(struct gate *gate)
{
    if (gate->params[AFS] > 0.5) {
        weigh_tenants(gate);
    }
    if (gate->params[STEAL] > 0.5) {
        watch_queues(gate);
        uint32_t steals = 0;
        while (steals < gate->params[STEALS_MAX] && steal_one(gate)) {
            steals++;
        }
    }
}

const struct route_policy route_policy_saga_paper = {
    .name = "saga_paper",
    .text = "SAGA as published: affinity up to a load, WA-LRU, pins while tools run, stealing, "
            "tenants by urgency",
    .source = "SAGA, arXiv 2605.00528",
    .place = route_place_prefix_affinity,
    .params = params,
    .param_count = PARAMS,
    .hears_end = true,
    .wants_returns = true,
    .evict = "wa_lru",
    .key = key,
    .admit = admit,
    .on_gap = on_gap,
    .on_end = on_end,
    .on_epoch = on_epoch,
    .epoch_us = EPOCH_US,
};
