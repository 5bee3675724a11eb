/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes become a row of events for both cores, joined by the smallest possible shell; the first
 * byte is the policy's place in the registry. Whatever comes: no crash, no leak, counts that are
 * true, every accepted step ends exactly once, never two live attempts of one. */
#include "common/base/hash.h"
#include "coordinator/core/core.h"
#include "coordinator/core/record.h"
#include "coordinator/core/state.h"
#include "node_agent/core/core.h"
#include "routing/registry.h"

#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS_MAX = 512, ENGINES_MAX = 6, TALKS = 5, TURNS_MAX = 12, INBOX_MAX = 2048 };
enum { MOVES_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

_Noreturn void assert_fail(const char *expr, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, expr);
    abort();
}

enum phase { PHASE_NONE, PHASE_QUEUED, PHASE_RUNNING, PHASE_OVER };

struct shadow {
    enum phase phase;
    uint32_t attempt;
    uint32_t engine;
};

/* KV that the node has asked for. */
struct move {
    uint64_t req; /* 0 = none */
    uint32_t attempt;
};

struct talk {
    uint64_t chain[TURNS_MAX];
    uint32_t bytes[TURNS_MAX];
    uint8_t is_end[TURNS_MAX];
    uint32_t turns;
};

struct rig {
    const uint8_t *data;
    size_t left;
    struct mem mem;
    size_t live_bytes;
    uint32_t fail_in; /* allocations until one fails; 0 = none will */
    struct coord_core *coord;
    struct agent_core *agent;
    uint64_t now_us;
    struct coord_event inbox[INBOX_MAX];
    uint32_t head, count;
    struct shadow requests[REQUESTS_MAX];
    uint32_t last_req;
    struct talk talks[TALKS];
    struct move moves[MOVES_MAX]; /* not answered yet; more are never answered */
    struct coord_limits limits;
    bool is_plain; /* the policy has always been one that leaves steps where they were placed */
};

static void *rig_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    struct rig *rig = ctx;
    if (new_bytes > 0 && rig->fail_in > 0 && --rig->fail_in == 0) {
        return NULL;
    }
    rig->live_bytes += new_bytes - old_bytes;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    void *out = realloc(ptr, new_bytes);
    ASSERT(out != NULL);
    return out;
}

static uint32_t byte(struct rig *rig)
{
    if (rig->left == 0) {
        return 0;
    }
    rig->left--;
    return *rig->data++;
}

static struct coord_event *tell(struct rig *rig, enum coord_event_kind kind)
{
    ASSERT(rig->count < INBOX_MAX);
    struct coord_event *ev = &rig->inbox[(rig->head + rig->count++) % INBOX_MAX];
    memset(ev, 0, sizeof(*ev));
    ev->kind = kind;
    return ev;
}

static void note_move(struct rig *rig, const struct agent_effect *ef)
{
    for (uint32_t i = 0; i < MOVES_MAX; i++) {
        if (rig->moves[i].req == 0) {
            rig->moves[i] = (struct move){.req = ef->req.v, .attempt = ef->attempt};
            return;
        }
    }
}

static void run_agent_effect(struct rig *rig, const struct agent_effect *ef)
{
    if (ef->kind == AGENT_EF_RETAIN || ef->kind == AGENT_EF_PREFETCH ||
        ef->kind == AGENT_EF_VALUE) {
        ASSERT(ef->session != 0 && ef->engine.v < ENGINES_MAX);
        return;
    }
    struct shadow *shadow = &rig->requests[ef->req.v];
    ASSERT(shadow->phase == PHASE_QUEUED && shadow->attempt == ef->attempt);
    if (ef->kind == AGENT_EF_MOVE) {
        ASSERT(ef->from.v != ef->engine.v);
        note_move(rig, ef);
    } else if (ef->kind == AGENT_EF_START) {
        ASSERT(ef->engine.v == shadow->engine || !rig->is_plain);
        shadow->phase = PHASE_RUNNING;
        shadow->engine = ef->engine.v;
        struct coord_event *started = tell(rig, COORD_EV_STEP_STARTED);
        started->u.started.req = ef->req;
        started->u.started.attempt = ef->attempt;
        started->u.started.engine = ef->engine;
    } else {
        shadow->phase = PHASE_NONE;
        struct coord_event *refused = tell(rig, COORD_EV_NODE_REFUSED);
        refused->u.node_refused.req = ef->req;
        refused->u.node_refused.attempt = ef->attempt;
        refused->u.node_refused.is_timeout = ef->is_timeout;
    }
}

static void agent_event(struct rig *rig, const struct agent_event *ev)
{
    const struct agent_effects *effects = NULL;
    enum status st = agent_core_step(rig->agent, ev, rig->now_us, &effects);
    if (st != ST_OK) {
        ASSERT(st == ST_NOMEM);
        ASSERT(ev->kind == AGENT_EV_SUBMIT || ev->kind == AGENT_EV_ENGINE_ADDED);
        if (ev->kind == AGENT_EV_SUBMIT) {
            rig->requests[ev->req.v].phase = PHASE_NONE;
            struct coord_event *refused = tell(rig, COORD_EV_NODE_REFUSED);
            refused->u.node_refused.req = ev->req;
            refused->u.node_refused.attempt = ev->attempt;
        }
        return;
    }
    for (uint32_t i = 0; i < effects->count; i++) {
        run_agent_effect(rig, &effects->items[i]);
    }
}

static void run_submit(struct rig *rig, const struct coord_effect *ef)
{
    struct shadow *shadow = &rig->requests[ef->u.submit.req.v];
    char text[COORD_RECEIPT_HEADER_BYTES + 1];
    ASSERT(shadow->phase == PHASE_NONE && ef->u.submit.attempt == shadow->attempt + 1);
    ASSERT(strlen(ef->u.submit.session) > 0);
    ASSERT(coord_receipt_write_short(ef->u.submit.receipt, text, sizeof(text)) >= 2);
    shadow->phase = PHASE_QUEUED;
    shadow->attempt = ef->u.submit.attempt;
    shadow->engine = ef->u.submit.engine.v;
    const struct agent_event ev = {.kind = AGENT_EV_SUBMIT,
                                   .req = ef->u.submit.req,
                                   .attempt = ef->u.submit.attempt,
                                   .engine = ef->u.submit.engine,
                                   .need = &ef->u.submit.need};
    agent_event(rig, &ev);
}

static void run_effect(struct rig *rig, const struct coord_effect *ef)
{
    switch (ef->kind) {
    case COORD_EF_SUBMIT:
        run_submit(rig, ef);
        break;
    case COORD_EF_REFUSE:
        ASSERT(rig->requests[ef->u.refuse.req.v].phase == PHASE_NONE);
        rig->requests[ef->u.refuse.req.v].phase = PHASE_OVER;
        break;
    case COORD_EF_WITHDRAW: {
        struct shadow *shadow = &rig->requests[ef->u.withdraw.req.v];
        shadow->phase = shadow->phase == PHASE_OVER ? PHASE_OVER : PHASE_NONE;
        const struct agent_event ev = {.kind = AGENT_EV_WITHDRAW,
                                       .req = ef->u.withdraw.req,
                                       .attempt = ef->u.withdraw.attempt};
        agent_event(rig, &ev);
        break;
    }
    case COORD_EF_PROBE:
        ASSERT(coord_fleet_find(&rig->coord->fleet, ef->u.probe.engine) != NULL);
        break;
    case COORD_EF_SETTLED: {
        const struct agent_event ev = {
            .kind = AGENT_EV_SETTLED,
            .req = ef->u.settled.req,
            .attempt = ef->u.settled.attempt,
            .usage = &ef->u.settled.usage,
        };
        agent_event(rig, &ev);
        break;
    }
    }
}

static void drain(struct rig *rig)
{
    while (rig->count > 0) {
        struct coord_event ev = rig->inbox[rig->head];
        rig->head = (rig->head + 1) % INBOX_MAX;
        rig->count--;
        const struct coord_effects *effects = NULL;
        enum status st = coord_core_step(rig->coord, &ev, rig->now_us, &effects);
        if (st != ST_OK) {
            bool may_fail = ev.kind == COORD_EV_STEP_ARRIVED || ev.kind == COORD_EV_ENGINE_ADDED ||
                            ev.kind == COORD_EV_ENGINE_PROBED;
            ASSERT(may_fail);
            if (ev.kind == COORD_EV_STEP_ARRIVED) {
                rig->requests[ev.u.arrived.req.v].phase = PHASE_OVER;
            }
            continue;
        }
        ASSERT(effects->count <= effects->cap);
        for (uint32_t i = 0; i < effects->count; i++) {
            run_effect(rig, &effects->items[i]);
        }
    }
}

static void check_engine(const struct rig *rig, const struct coord_engine *engine)
{
    struct agent_queue_view view = {.running = 0};
    uint64_t pending = 0;
    uint32_t queued = 0;
    uint32_t running = 0;
    LIST_FOR_EACH(link, &engine->queued)
    {
        pending += LIST_OWNER(link, struct coord_request, link)->charged_bytes;
        queued++;
    }
    LIST_FOR_EACH(link, &engine->running)
    {
        pending += LIST_OWNER(link, struct coord_request, link)->charged_bytes;
        running++;
    }
    ASSERT(queued == engine->queued_count && running == engine->running_count &&
           pending == engine->pending_bytes);
    ASSERT(engine->sessions <= coord_core_session_count(rig->coord));
    if (rig->is_plain && agent_core_queue(rig->agent, engine->id, &view)) {
        ASSERT(view.running == running && view.waiting == queued);
    }
}

/* Steps that the node has, over all engines and at its gate. */
static uint32_t steps_of_node(const struct rig *rig)
{
    uint32_t steps = agent_core_at_gate(rig->agent);
    for (uint32_t engine = 0; engine < ENGINES_MAX; engine++) {
        struct agent_queue_view view = {.running = 0};
        if (agent_core_queue(rig->agent, (struct engine_id){engine}, &view)) {
            steps += view.running + view.waiting;
        }
    }
    return steps;
}

static void check(const struct rig *rig)
{
    uint32_t live = 0;
    uint32_t seen = 0;
    for (uint32_t r = 1; r <= rig->last_req; r++) {
        ASSERT(rig->requests[r].phase != PHASE_NONE);
        live += rig->requests[r].phase != PHASE_OVER ? 1 : 0;
    }
    for (uint32_t i = 0; i < rig->coord->fleet.count; i++) {
        const struct coord_engine *engine = rig->coord->fleet.engines[i];
        check_engine(rig, engine);
        seen += engine->queued_count + engine->running_count;
    }
    ASSERT(coord_core_in_flight(rig->coord) == live);
    ASSERT(seen == live && steps_of_node(rig) == live);
}

/* A live request chosen by a byte; NULL when none is near. */
static struct shadow *pick(struct rig *rig, uint64_t *ret_req, enum phase phase)
{
    uint32_t from = byte(rig);
    for (uint32_t i = 0; i < 64 && rig->last_req > 0; i++) {
        uint32_t req =
            1 + (rig->last_req - 1 + REQUESTS_MAX - (from + i) % rig->last_req) % rig->last_req;
        if (rig->requests[req].phase == phase) {
            *ret_req = req;
            return &rig->requests[req];
        }
    }
    return NULL;
}

static const struct str tools[] = {{"bash", 4}, {"\xff<\"", 3}};

static void do_arrive(struct rig *rig)
{
    static const struct str ids[] = {{"", 0}, {"", 0}, {"a", 1}, {"b b", 3}};
    static const struct str models[] = {{"m", 1}, {"m", 1}, {"n", 1}, {"", 0}, {"x", 1}};
    if (rig->last_req + 1 >= REQUESTS_MAX) {
        return;
    }
    uint32_t how = byte(rig);
    struct talk *talk = &rig->talks[how % TALKS];
    if (talk->turns >= TURNS_MAX || how > 250) {
        talk->turns = 0;
    }
    if (how < 200 || talk->turns == 0) {
        uint32_t t = talk->turns++;
        talk->chain[t] = hash_mix(t == 0 ? 1 : talk->chain[t - 1], byte(rig) % 4);
        talk->bytes[t] = (t == 0 ? 0 : talk->bytes[t - 1]) + how * 50;
        talk->is_end[t] = how % 7 != 0;
    }
    uint32_t who = byte(rig);
    uint32_t more = byte(rig);
    uint32_t req = ++rig->last_req;
    struct coord_event *ev = tell(rig, COORD_EV_STEP_ARRIVED);
    ev->u.arrived = (struct coord_step_arrived){.req = {req},
                                                .name = who > 128 ? STR("one") : STR("two"),
                                                .session = ids[who % 4],
                                                .model = models[who % 5],
                                                .route = (enum coord_route)(who % 5),
                                                .chain = talk->chain,
                                                .chain_bytes = talk->bytes,
                                                .chain_is_end = talk->is_end,
                                                .chain_count = who % 11 == 0 ? 0 : talk->turns,
                                                .prompt_bytes = talk->bytes[talk->turns - 1],
                                                .parent = more > 200 ? ids[more % 4] : STR(""),
                                                .hints = {.is_final = more % 13 == 0},
                                                .tools = tools,
                                                .tool_count = more % 3,
                                                .opening = more % 5,
                                                .opening_sketch = more * UINT64_C(0x0101010101),
                                                .is_stream = how % 2 == 0};
}

static void do_end(struct rig *rig)
{
    uint64_t req = 0;
    uint32_t how = byte(rig);
    struct shadow *shadow = pick(rig, &req, how % 8 == 0 ? PHASE_QUEUED : PHASE_RUNNING);
    if (shadow == NULL) {
        return;
    }
    if (how % 8 < 5) {
        struct coord_event *ev = tell(rig, how % 8 == 0 ? COORD_EV_STEP_GONE : COORD_EV_STEP_DONE);
        ev->u.done.req.v = req;
        if (ev->kind == COORD_EV_STEP_DONE) {
            ev->u.done.outcome = (enum coord_outcome)(how / 8 % 5);
            ev->u.done.has_usage = true;
            ev->u.done.prompt_tokens = how * 100;
            ev->u.done.output_tokens = how;
            ev->u.done.finish = (enum coord_finish)(how / 8 % 5);
            ev->u.done.tools = tools;
            ev->u.done.tool_count = how % 3;
        }
        shadow->phase = PHASE_OVER;
        return;
    }
    struct coord_event *ev = tell(rig, COORD_EV_ATTEMPT_FAILED);
    ev->u.failed = (struct coord_attempt_failed){.req = {req},
                                                 .attempt = shadow->attempt,
                                                 .why = (enum coord_fail)(how / 8 % 5),
                                                 .http_status = (uint16_t)(how * 4)};
    shadow->phase = PHASE_NONE;
}

static void do_engine(struct rig *rig, uint32_t op)
{
    static const struct str models[] = {{"m", 1}, {"n", 1}};
    static const struct str names[] = {{"e0", 2}, {"e1", 2}, {"e2", 2},
                                       {"e3", 2}, {"e4", 2}, {"e5", 2}};
    uint32_t how = byte(rig);
    uint32_t engine = how % ENGINES_MAX;
    uint32_t slots = how / 32;
    struct coord_event *ev;
    if (op == 0) {
        const struct gate_engine_info info = {.max_running = slots, .kv_tokens = slots * 512};
        agent_event(rig, &(struct agent_event){
                             .kind = AGENT_EV_ENGINE_ADDED, .engine = {engine}, .info = &info});
        ev = tell(rig, COORD_EV_ENGINE_ADDED);
        ev->u.engine_added = (struct coord_engine_added){
            .engine = {engine}, .name = names[engine], .max_running = slots};
    } else if (op == 1) {
        ev = tell(rig, COORD_EV_ENGINE_REMOVED);
        ev->u.engine_removed.engine.v = engine;
        drain(rig);
        agent_event(rig,
                    &(struct agent_event){.kind = AGENT_EV_ENGINE_REMOVED, .engine = {engine}});
    } else {
        ev = tell(rig, COORD_EV_ENGINE_PROBED);
        ev->u.engine_probed = (struct coord_engine_probed){.engine = {engine}, .is_up = how < 180};
        if (how % 3 != 0) {
            ev->u.engine_probed.models = models;
            ev->u.engine_probed.model_count = how % 5 == 0 ? 2 : 1;
        }
    }
}

/* Events that are late, doubled or about nobody: must change nothing. */
static void do_stale(struct rig *rig)
{
    uint32_t how = byte(rig);
    uint64_t req = how < 128 && rig->last_req > 0 ? 1 + how % rig->last_req : 100000 + how;
    bool is_live = req <= rig->last_req && rig->requests[req].phase != PHASE_OVER;
    uint32_t attempt = is_live ? rig->requests[req].attempt + 1 + how % 3 : how % 4;
    struct coord_event *ev;
    switch (how % 4) {
    case 0:
        ev = tell(rig, COORD_EV_STEP_STARTED);
        ev->u.started.req.v = req;
        ev->u.started.attempt = attempt;
        break;
    case 1:
        ev = tell(rig, COORD_EV_ATTEMPT_FAILED);
        ev->u.failed.req.v = req;
        ev->u.failed.attempt = attempt;
        break;
    case 2:
        ev = tell(rig, COORD_EV_NODE_REFUSED);
        ev->u.node_refused.req.v = req;
        ev->u.node_refused.attempt = attempt;
        break;
    default:
        ev = tell(rig, COORD_EV_STEP_DONE);
        ev->u.done.req.v = is_live ? 100000 : req;
        break;
    }
}

static void do_answer(struct rig *rig)
{
    uint64_t req = 0;
    const struct shadow *shadow = pick(rig, &req, PHASE_RUNNING);
    if (shadow != NULL) {
        struct coord_event *ev = tell(rig, COORD_EV_STEP_ANSWERED);
        ev->u.answered.req.v = req;
        ev->u.answered.attempt = shadow->attempt;
        const struct agent_event answered = {
            .kind = AGENT_EV_ANSWERED, .req = {req}, .attempt = shadow->attempt};
        agent_event(rig, &answered);
    }
}

/* One of the moves that were asked for has ended, late or not. */
static void do_moved(struct rig *rig)
{
    uint32_t how = byte(rig);
    struct move *move = &rig->moves[how % MOVES_MAX];
    if (move->req != 0) {
        const struct agent_event ev = {.kind = AGENT_EV_MOVED,
                                       .req = {move->req},
                                       .attempt = move->attempt,
                                       .is_moved = how < 128};
        move->req = how % 5 == 0 ? move->req : 0; /* and once more */
        agent_event(rig, &ev);
    }
}

static bool leaves_steps(const struct route_policy *policy)
{
    return policy->admit == NULL && policy->on_epoch == NULL;
}

static const struct route_policy *policy_of(uint32_t how)
{
    uint32_t count = 0;
    while (route_policy_at(count) != NULL) {
        count++;
    }
    ASSERT(count > 0);
    return route_policy_at(how % count);
}

/* Another policy for both, with numbers at one end or the other of what they may be. */
static void do_policy(struct rig *rig)
{
    double params[GATE_PARAMS_MAX] = {0};
    const struct route_policy *policy = policy_of(byte(rig));
    uint32_t how = byte(rig);
    for (uint32_t i = 0; i < policy->param_count; i++) {
        const struct route_param *param = &policy->params[i];
        bool is_end = (how >> (i % 7) & 1) != 0;
        double end = how < 128 ? param->min : param->max;
        params[i] = is_end ? end : param->def;
        rig->limits.params[i] = params[i];
    }
    rig->is_plain = rig->is_plain && leaves_steps(policy);
    rig->limits.policy = policy;
    rig->limits.has_params = true;
    coord_core_set_limits(rig->coord, &rig->limits);
    agent_event(rig,
                &(struct agent_event){.kind = AGENT_EV_POLICY, .policy = policy, .params = params});
}

static void do_report(struct rig *rig)
{
    struct buf out;
    buf_init(&out, &rig->mem, 1 << 20);
    status_ignore(coord_core_write_engines(rig->coord, rig->now_us, &out), "only that it ends");
    status_ignore(coord_core_write_sessions(rig->coord, rig->now_us, 5, &out), "same");
    status_ignore(coord_core_write_models(rig->coord, &out), "same");
    for (int format = COORD_SESSION_JSON; format <= COORD_SESSION_SVG; format++) {
        status_ignore(coord_core_write_session(rig->coord, rig->now_us, STR("a"),
                                               (enum coord_session_format)format, &out),
                      "same");
    }
    status_ignore(coord_core_write_receipt(rig->coord, STR("one"), &out), "same");
    buf_fini(&out);
}

static void one_op(struct rig *rig)
{
    uint32_t op = byte(rig);
    switch (op % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
        do_arrive(rig);
        break;
    case 4:
    case 5:
    case 6:
        do_end(rig);
        break;
    case 7:
        if (op < 128) {
            do_answer(rig);
        } else {
            do_moved(rig);
        }
        break;
    case 8:
    case 9:
        do_engine(rig, 0);
        break;
    case 10:
        do_engine(rig, 1);
        break;
    case 11:
    case 12:
        do_engine(rig, 2);
        break;
    case 13:
        do_stale(rig);
        if (op > 200) {
            tell(rig, COORD_EV_SESSION_RELEASED)->u.released.label = STR("a");
        }
        break;
    case 14:
        rig->fail_in = op > 200 ? 1 + byte(rig) % 8 : 0;
        do_report(rig);
        if (op > 100 && op < 200) {
            do_policy(rig);
        }
        break;
    default:
        rig->now_us += (uint64_t)byte(rig) * byte(rig) * 1000;
        (void)tell(rig, COORD_EV_TICK);
        agent_event(rig, &(struct agent_event){.kind = AGENT_EV_TICK});
        break;
    }
}

static void end_all(struct rig *rig)
{
    for (uint32_t r = 1; r <= rig->last_req; r++) {
        if (rig->requests[r].phase != PHASE_OVER) {
            rig->requests[r].phase = PHASE_OVER;
            tell(rig, COORD_EV_STEP_GONE)->u.gone.req.v = r;
            drain(rig);
        }
    }
    check(rig);
    ASSERT(coord_core_in_flight(rig->coord) == 0);
    const struct coord_counters *counters = coord_core_counters(rig->coord);
    ASSERT(counters->steps_arrived ==
           counters->steps_done + counters->steps_gone + counters->steps_refused);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct rig rig;
    memset(&rig, 0, sizeof(rig));
    rig.data = data;
    rig.left = len;
    rig.mem = (struct mem){rig_resize, &rig};
    rig.now_us = 1000000;
    const struct route_policy *policy = policy_of(byte(&rig));
    rig.is_plain = leaves_steps(policy);
    rig.limits = (struct coord_limits){.max_sessions = 4,
                                       .max_requests = 40,
                                       .max_engines = 5,
                                       .max_receipts = 3,
                                       .max_classes = 16,
                                       .max_graph_bytes = UINT64_C(12) * AEG_GRAPH_BLOCK_BYTES,
                                       .session_idle_us = 30000000,
                                       .policy = policy,
                                       .margin_steps = byte(&rig) % 3,
                                       .retry_executed = true,
                                       .retry_budget_ratio = 0.1,
                                       .health_interval_us = 2000000,
                                       .health_fail_count = 1 + byte(&rig) % 3,
                                       .health_open_us = 1000000};
    const struct agent_limits node = {.max_steps = 30,
                                      .max_sessions = 6,
                                      .queue_max = 4,
                                      .queue_timeout_us = 10000000,
                                      .policy = policy,
                                      .seed = 7};
    ASSERT(coord_core_new(&rig.coord, &rig.mem, &rig.limits, 5) == ST_OK);
    ASSERT(agent_core_new(&rig.agent, &rig.mem, &node) == ST_OK);
    while (rig.left > 0) {
        one_op(&rig);
        drain(&rig);
        check(&rig);
    }
    rig.fail_in = 0;
    end_all(&rig);
    agent_core_free(rig.agent);
    coord_core_free(rig.coord);
    ASSERT(rig.live_bytes == 0);
    return 0;
}
