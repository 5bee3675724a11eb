/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/hub.h"

#include "common/base/config.h"
#include "routing/registry.h"
#include "simulator/cluster/machine.h"

enum { INBOX_FIRST = 64, REFUSALS_FIRST = 64 };

/* The gateway's defaults, from their one list; those that are texts stay empty: none is needed. */
static const struct config defaults = {
#define BOOL(key, field, def, reload, text)                .field = (def),
#define U64(key, field, def, min, max, unit, reload, text) .field = (def),
#define F64(key, field, def, min, max, unit, reload, text) .field = (def),
#define TEXT(key, field, def, max_len, reload, text)
#define ENUM(key, field, def, allowed, reload, text)
#define LIST(key, field, def, max_count, max_len, reload, text)
#include "common/base/config.def"
#undef BOOL
#undef U64
#undef F64
#undef TEXT
#undef ENUM
#undef LIST
};

/* --- what the core hears --- */

static bool grow_inbox(struct lab *lab)
{
    uint32_t cap = lab->inbox_cap == 0 ? INBOX_FIRST : lab->inbox_cap * 2;
    struct coord_event *grown = mem_calloc(lab->mem, cap, sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < lab->inbox_count; i++) {
        grown[i] = lab->inbox[(lab->inbox_head + i) % lab->inbox_cap];
    }
    mem_free(lab->mem, lab->inbox, lab->inbox_cap * sizeof(*grown));
    lab->inbox = grown;
    lab->inbox_head = 0;
    lab->inbox_cap = cap;
    return true;
}

static void tell(struct lab *lab, const struct coord_event *ev)
{
    if (lab->inbox_count == lab->inbox_cap && !grow_inbox(lab)) {
        lab_fail(lab, ST_NOMEM);
        return;
    }
    lab->inbox[(lab->inbox_head + lab->inbox_count++) % lab->inbox_cap] = *ev;
}

static struct lab_live *live_of(const struct lab *lab, struct request_id req)
{
    struct lab_live *live = lab_live_at(lab, (uint32_t)(req.v & LAB_LIVE_MAX));
    ASSERT(live->req.v == req.v);
    return live;
}

/* The request is over for the gateway. */
static void leave(struct lab *lab, struct lab_live *live)
{
    ASSERT(live->phase != LAB_AWAY); /* a step ends once */
    live->phase = LAB_AWAY;
    lab->in_flight--;
    lab->result->gateway_us += lab->now_us - live->gateway_at_us;
}

static void refuse(struct lab *lab, struct request_id req, uint32_t retry_after_s, bool is_final)
{
    struct lab_live *live = live_of(lab, req);
    leave(lab, live);
    lab_note(lab, LAB_NOTE_REFUSED, req.v, retry_after_s);
    if (lab->refusal_count == lab->refusal_cap) {
        uint32_t cap = lab->refusal_cap == 0 ? REFUSALS_FIRST : lab->refusal_cap * 2;
        struct lab_refusal *grown = mem_resize(
            lab->mem, lab->refusals, lab->refusal_cap * sizeof(*grown), cap * sizeof(*grown));
        if (grown == NULL) {
            lab_fail(lab, ST_NOMEM);
            return;
        }
        lab->refusals = grown;
        lab->refusal_cap = cap;
    }
    lab->refusals[lab->refusal_count++] = (struct lab_refusal){
        .live = live->idx, .retry_after_s = retry_after_s, .is_final = is_final};
}

/* --- what the node wants --- */

static void start(struct lab *lab, const struct agent_effect *effect)
{
    struct lab_live *live = live_of(lab, effect->req);
    ASSERT(live->phase == LAB_QUEUED); /* no engine runs a step that another one has */
    live->phase = LAB_RUNNING;
    live->attempt = effect->attempt;
    lab_note(lab, LAB_NOTE_START, effect->req.v, effect->engine.v);
    struct coord_event started = {.kind = COORD_EV_STEP_STARTED};
    started.u.started.req = effect->req;
    started.u.started.attempt = effect->attempt;
    tell(lab, &started);
    enum status st = lab_machine_start(lab, effect->engine.v, live);
    if (st == ST_TOOBIG) {
        lab->too_big++;
        struct coord_event done = {.kind = COORD_EV_STEP_DONE};
        done.u.done = (struct coord_step_done){
            .req = effect->req, .outcome = COORD_OUTCOME_CLIENT_ERROR, .http_status = 400};
        tell(lab, &done);
        refuse(lab, effect->req, 0, true);
        return;
    }
    lab_fail(lab, st);
    lab->result->moves += live->engine != LAB_NONE && live->engine != effect->engine.v ? 1 : 0;
    live->engine = effect->engine.v;
}

static void to_agent(struct lab *lab, const struct agent_event *ev)
{
    const struct agent_effects *effects = NULL;
    enum status st = agent_core_step(lab->agent, ev, lab->now_us, &effects);
    if (st != ST_OK) {
        lab_fail(lab, st);
        return;
    }
    for (uint32_t i = 0; i < effects->count; i++) {
        const struct agent_effect *effect = &effects->items[i];
        if (effect->kind == AGENT_EF_START) {
            start(lab, effect);
            continue;
        }
        struct coord_event refused = {.kind = COORD_EV_NODE_REFUSED};
        refused.u.node_refused.req = effect->req;
        refused.u.node_refused.attempt = effect->attempt;
        refused.u.node_refused.is_timeout = effect->is_timeout;
        tell(lab, &refused);
    }
}

/* --- what the coordinator wants --- */

static void carry_out(struct lab *lab, const struct coord_effect *effect)
{
    struct agent_event ev = {0};
    switch (effect->kind) {
    case COORD_EF_SUBMIT:
        ev = (struct agent_event){.kind = AGENT_EV_SUBMIT,
                                  .req = effect->u.submit.req,
                                  .attempt = effect->u.submit.attempt,
                                  .engine = effect->u.submit.engine};
        to_agent(lab, &ev);
        break;
    case COORD_EF_REFUSE:
        refuse(lab, effect->u.refuse.req, effect->u.refuse.retry_after_s,
               effect->u.refuse.why == COORD_REFUSE_NO_MODEL);
        break;
    case COORD_EF_WITHDRAW:
        ev = (struct agent_event){.kind = AGENT_EV_WITHDRAW,
                                  .req = effect->u.withdraw.req,
                                  .attempt = effect->u.withdraw.attempt,
                                  .engine = effect->u.withdraw.engine};
        to_agent(lab, &ev);
        break;
    case COORD_EF_SETTLED:
        ev = (struct agent_event){.kind = AGENT_EV_SETTLED,
                                  .req = effect->u.settled.req,
                                  .attempt = effect->u.settled.attempt,
                                  .engine = effect->u.settled.engine};
        to_agent(lab, &ev);
        break;
    case COORD_EF_PROBE: {
        struct coord_event probed = {.kind = COORD_EV_ENGINE_PROBED};
        probed.u.engine_probed = (struct coord_engine_probed){
            .engine = effect->u.probe.engine, .is_up = true, .kind = COORD_ENGINE_SIM};
        tell(lab, &probed);
        break;
    }
    }
}

/* Tells the core what is in the inbox until nothing is left. */
static void drain(struct lab *lab)
{
    while (lab->inbox_count > 0 && lab->st == ST_OK) {
        struct coord_event ev = lab->inbox[lab->inbox_head];
        lab->inbox_head = (lab->inbox_head + 1) % lab->inbox_cap;
        lab->inbox_count--;
        const struct coord_effects *effects = NULL;
        enum status st = coord_core_step(lab->coord, &ev, lab->now_us, &effects);
        if (st != ST_OK) {
            lab_fail(lab, st);
            return;
        }
        for (uint32_t i = 0; i < effects->count; i++) {
            carry_out(lab, &effects->items[i]);
        }
    }
}

static void to_coord(struct lab *lab, const struct coord_event *ev)
{
    tell(lab, ev);
    drain(lab);
}

/* --- from outside --- */

void lab_hub_arrive(struct lab *lab, struct lab_live *live)
{
    const struct lab_session *session = &lab->plan->sessions[live->session];
    const struct lab_step *step = lab_live_step(lab, live);
    static const uint8_t is_end[LAB_BOUNDS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    char tenant[LAB_NAME_BYTES];
    lab_name(tenant, 't', session->tenant);
    bool has_system = session->system_tokens > 0;
    ASSERT(live->phase == LAB_AWAY);
    live->phase = LAB_QUEUED;
    live->req.v = (++lab->last_req << LAB_LIVE_BITS) | live->idx;
    live->gateway_at_us = lab->now_us;
    lab->in_flight++;
    lab_note(lab, LAB_NOTE_REQUEST, live->req.v, live->step);
    struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
    ev.u.arrived = (struct coord_step_arrived){
        .req = live->req,
        .name = str_of(live->name),
        .tenant = str_of(tenant),
        .session = str_of(live->name),
        .schema = STR("x-session-id"),
        .parent = str_of(live->parent_name),
        .chain = live->chain.bounds,
        .chain_bytes = live->chain.bound_bytes,
        .chain_is_end = is_end,
        .chain_count = live->chain.bound_count,
        .prompt_bytes = step->prompt_tokens * LAB_TOKEN_BYTES,
        .is_stream = true,
        .tools = &step->tool,
        .tool_count = step->tool.len > 0 ? 1 : 0,
        .opening = has_system ? live->chain.bounds[0] : 0,
        .opening_sketch = has_system ? live->chain.bounds[0] : 0,
    };
    to_coord(lab, &ev);
}

void lab_hub_answered(struct lab *lab, const struct lab_live *live)
{
    struct coord_event ev = {.kind = COORD_EV_STEP_ANSWERED};
    lab_note(lab, LAB_NOTE_FIRST, live->req.v, live->engine);
    ev.u.answered.req = live->req;
    ev.u.answered.attempt = live->attempt;
    ev.u.answered.http_status = 200;
    to_coord(lab, &ev);
}

void lab_hub_done(struct lab *lab, struct lab_live *live, uint32_t cached_tokens)
{
    const struct lab_session *session = &lab->plan->sessions[live->session];
    const struct lab_step *step = lab_live_step(lab, live);
    bool is_last = live->step + 1 == session->step_count;
    struct str tool = is_last ? STR("") : session->steps[live->step + 1].tool;
    bool has_tool = tool.len > 0;
    struct coord_event ev = {.kind = COORD_EV_STEP_DONE};
    ev.u.done = (struct coord_step_done){
        .req = live->req,
        .outcome = COORD_OUTCOME_OK,
        .http_status = 200,
        .has_usage = true,
        .prompt_tokens = step->prompt_tokens,
        .cached_tokens = cached_tokens,
        .output_tokens = step->output_tokens,
        .finish = has_tool ? COORD_FINISH_TOOLS : COORD_FINISH_STOP,
        .tools = &tool,
        .tool_count = has_tool ? 1 : 0,
    };
    lab_note(lab, LAB_NOTE_END, live->req.v, cached_tokens);
    ASSERT(live->phase == LAB_RUNNING);
    leave(lab, live);
    to_coord(lab, &ev);
}

void lab_hub_tick(struct lab *lab)
{
    struct coord_event ev = {.kind = COORD_EV_TICK};
    lab_note(lab, LAB_NOTE_TICK, 0, 0);
    to_coord(lab, &ev);
    to_agent(lab, &(struct agent_event){.kind = AGENT_EV_TICK});
    drain(lab);
}

/* --- life --- */

static void add_engine(struct lab *lab, uint32_t idx)
{
    char name[LAB_NAME_BYTES];
    uint32_t slots = lab->plan->engine.profile.max_running;
    lab_name(name, 'e', idx);
    const struct agent_event added = {
        .kind = AGENT_EV_ENGINE_ADDED, .engine = {idx}, .max_running = slots};
    struct coord_event ev = {.kind = COORD_EV_ENGINE_ADDED};
    ev.u.engine_added =
        (struct coord_engine_added){.engine = {idx}, .name = str_of(name), .max_running = slots};
    to_agent(lab, &added);
    to_coord(lab, &ev);
}

enum status lab_hub_init(struct lab *lab)
{
    struct coord_limits coord = coord_limits_of(&defaults);
    const struct agent_limits agent = agent_limits_of(&defaults);
    coord.max_engines = LAB_ENGINES_MAX;
    coord.max_receipts = 0; /* nobody reads them */
    coord.policy = route_policy_find(lab->plan->policy);
    if (coord.policy == NULL) {
        return ST_INVAL;
    }
    enum status st = coord_core_new(&lab->coord, lab->mem, &coord, lab->plan->seed);
    if (st == ST_OK) {
        st = agent_core_new(&lab->agent, lab->mem, &agent);
    }
    for (uint32_t i = 0; st == ST_OK && i < lab->plan->engines; i++) {
        add_engine(lab, i);
        st = lab->st;
    }
    return st;
}

void lab_hub_fini(struct lab *lab)
{
    coord_core_free(lab->coord);
    agent_core_free(lab->agent);
    mem_free(lab->mem, lab->inbox, lab->inbox_cap * sizeof(*lab->inbox));
    mem_free(lab->mem, lab->refusals, lab->refusal_cap * sizeof(*lab->refusals));
}
