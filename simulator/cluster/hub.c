/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/hub.h"

#include "common/base/config.h"
#include "simulator/cluster/advice.h"
#include "simulator/cluster/machine.h"
#include "simulator/cluster/reach.h"

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

static const struct config *config_of(const struct lab *lab)
{
    return lab->plan->config != NULL ? lab->plan->config : &defaults;
}

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

/* To its client the request is over, without a whole answer. */
static void give_back(struct lab *lab, struct lab_refusal refusal)
{
    leave(lab, lab_live_at(lab, refusal.live));
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
    lab->refusals[lab->refusal_count++] = refusal;
}

static void refuse(struct lab *lab, struct request_id req, uint32_t retry_after_s, bool is_final)
{
    lab_note(lab, LAB_NOTE_REFUSED, req.v, retry_after_s);
    give_back(lab, (struct lab_refusal){.live = live_of(lab, req)->idx,
                                        .retry_after_s = retry_after_s,
                                        .is_final = is_final});
}

/* --- what the node wants --- */

static void start(struct lab *lab, const struct agent_effect *effect)
{
    if (!lab_reach_wants(lab, effect)) {
        return;
    }
    struct lab_live *live = live_of(lab, effect->req);
    ASSERT(live->phase == LAB_QUEUED); /* no engine runs a step that another one has */
    live->phase = LAB_RUNNING;
    live->attempt = effect->attempt;
    live->has_first = false;
    lab_note(lab, LAB_NOTE_START, effect->req.v, effect->engine.v);
    struct coord_event started = {.kind = COORD_EV_STEP_STARTED};
    started.u.started.req = effect->req;
    started.u.started.attempt = effect->attempt;
    started.u.started.engine = effect->engine;
    tell(lab, &started);
    if (!lab_reach_connects(lab, effect->engine.v, live)) {
        return;
    }
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

/* What a policy asks of an engine. */
static void advise(struct lab *lab, const struct agent_effect *effect)
{
    const uint64_t *idx = map_get(&lab->keys, effect->session);
    lab_note(lab, LAB_NOTE_ADVICE, effect->session, effect->engine.v);
    if (idx != NULL) {
        struct lab_live *live = lab_live_at(lab, (uint32_t)*idx);
        if (effect->kind == AGENT_EF_RETAIN) {
            lab_advise_pin(lab, effect->engine.v, live, effect->until_us);
        } else if (effect->kind == AGENT_EF_VALUE) {
            const struct sim_chain_hint hint = {.reuse_ratio = effect->reuse_ratio,
                                                .next_use_at_us = effect->next_at_us};
            lab_machine_hint(lab, effect->engine.v, live, &hint);
        } else {
            lab_advise_prefetch(lab, effect->engine.v, live);
        }
    }
}

/* The session's KV leaves one engine for another. */
static void move(struct lab *lab, const struct agent_effect *effect)
{
    if (!lab_reach_wants(lab, effect)) {
        return;
    }
    struct lab_live *live = live_of(lab, effect->req);
    ASSERT(live->phase == LAB_QUEUED);
    lab_note(lab, LAB_NOTE_ADVICE, effect->req.v, effect->engine.v);
    live->phase = LAB_MOVING;
    live->attempt = effect->attempt;
    live->goes_to = effect->engine.v;
    lab_plan_at(lab, &live->node, lab->now_us + lab_move_us(lab, live));
}

/* The step does not wait for its KV any more. */
static void end_move(struct lab *lab, struct request_id req)
{
    struct lab_live *live = lab_live_at(lab, (uint32_t)(req.v & LAB_LIVE_MAX));
    if (live->req.v == req.v && live->phase == LAB_MOVING) {
        heap_remove(&lab->timeline, &live->node);
        live->phase = LAB_QUEUED;
    }
}

static void from_agent(struct lab *lab, const struct agent_effect *effect)
{
    switch (effect->kind) {
    case AGENT_EF_START:
        start(lab, effect);
        break;
    case AGENT_EF_REFUSE: {
        struct coord_event refused = {.kind = COORD_EV_NODE_REFUSED};
        refused.u.node_refused.req = effect->req;
        refused.u.node_refused.attempt = effect->attempt;
        refused.u.node_refused.is_timeout = effect->is_timeout;
        end_move(lab, effect->req);
        tell(lab, &refused);
        lab_net_repeat_coord(lab, &refused);
        break;
    }
    case AGENT_EF_MOVE:
        move(lab, effect);
        break;
    case AGENT_EF_RETAIN:
    case AGENT_EF_PREFETCH:
    case AGENT_EF_VALUE:
        advise(lab, effect);
        break;
    }
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
        from_agent(lab, &effects->items[i]);
    }
}

static void send_to_agent(struct lab *lab, const struct agent_event *ev)
{
    to_agent(lab, ev);
    lab_net_repeat_agent(lab, ev);
}

static void submit(struct lab *lab, const struct coord_effect *effect)
{
    struct lab_live *live = live_of(lab, effect->u.submit.req);
    struct gate_need need = effect->u.submit.need;
    const struct agent_event ev = {.kind = AGENT_EV_SUBMIT,
                                   .req = effect->u.submit.req,
                                   .attempt = effect->u.submit.attempt,
                                   .engine = effect->u.submit.engine,
                                   .need = &need};
    if (live->key != need.session && need.session != 0) {
        live->key = need.session;
        lab_fail(lab, map_put(&lab->keys, live->key, live->idx));
    }
    if (lab->policy->knows_future) {
        need.output_tokens = lab_live_step(lab, live)->output_tokens;
        need.remaining_s = lab_remaining_s(lab, live);
    }
    send_to_agent(lab, &ev);
}

static void settled(struct lab *lab, const struct coord_effect *effect)
{
    struct gate_usage usage = effect->u.settled.usage;
    const struct agent_event ev = {.kind = AGENT_EV_SETTLED,
                                   .req = effect->u.settled.req,
                                   .attempt = effect->u.settled.attempt,
                                   .engine = effect->u.settled.engine,
                                   .usage = &usage};
    if (lab->policy->knows_future) {
        usage.next_at_us = lab_next_at_us(lab, live_of(lab, effect->u.settled.req));
    }
    send_to_agent(lab, &ev);
}

/* --- what the coordinator wants --- */

static void carry_out(struct lab *lab, const struct coord_effect *effect)
{
    struct agent_event ev = {0};
    struct coord_event probed;
    switch (effect->kind) {
    case COORD_EF_SUBMIT:
        submit(lab, effect);
        break;
    case COORD_EF_REFUSE:
        refuse(lab, effect->u.refuse.req, effect->u.refuse.retry_after_s,
               effect->u.refuse.why == COORD_REFUSE_NO_MODEL);
        break;
    case COORD_EF_WITHDRAW:
        end_move(lab, effect->u.withdraw.req);
        ev = (struct agent_event){.kind = AGENT_EV_WITHDRAW,
                                  .req = effect->u.withdraw.req,
                                  .attempt = effect->u.withdraw.attempt,
                                  .engine = effect->u.withdraw.engine};
        send_to_agent(lab, &ev);
        break;
    case COORD_EF_SETTLED:
        settled(lab, effect);
        break;
    case COORD_EF_PROBE:
        if (lab_reach_probed(lab, effect->u.probe.engine, effect->u.probe.wants_models, &probed)) {
            tell(lab, &probed);
        }
        break;
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
    const struct lab_scenario *scenario = lab->plan->scenario;
    bool has_models = scenario != NULL && scenario->model_count > 0;
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
        .tenant = scenario != NULL && session->tenant < scenario->tenant_count
                      ? scenario->tenant_names[session->tenant]
                      : str_of(tenant),
        .model = has_models ? scenario->model_names[session->model] : STR(""),
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
        .hints = {.is_final = lab->policy->hears_end && live->step + 1 == session->step_count},
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
    to_agent(lab, &(struct agent_event){
                      .kind = AGENT_EV_ANSWERED, .req = live->req, .attempt = live->attempt});
    drain(lab);
}

void lab_hub_moved(struct lab *lab, struct lab_live *live)
{
    ASSERT(live->phase == LAB_MOVING);
    live->phase = LAB_QUEUED;
    bool is_moved = lab_move_end(lab, live->goes_to, live);
    to_agent(lab, &(struct agent_event){.kind = AGENT_EV_MOVED,
                                        .req = live->req,
                                        .attempt = live->attempt,
                                        .is_moved = is_moved});
    drain(lab);
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

/* --- for faults --- */

void lab_hub_tell(struct lab *lab, const struct coord_event *ev)
{
    to_coord(lab, ev);
}

void lab_hub_tell_agent(struct lab *lab, const struct agent_event *ev)
{
    to_agent(lab, ev);
    drain(lab);
}

void lab_hub_cut(struct lab *lab, struct lab_live *live)
{
    struct coord_event ev = {.kind = COORD_EV_STEP_DONE};
    ev.u.done = (struct coord_step_done){
        .req = live->req, .outcome = COORD_OUTCOME_CUT, .http_status = 200};
    lab_note(lab, LAB_NOTE_CUT, live->req.v, live->engine);
    give_back(lab, (struct lab_refusal){.live = live->idx, .is_cut = true});
    to_coord(lab, &ev);
}

/* --- life --- */

/* Of an engine: its host memory and its share of the store. */
static uint32_t tier_tokens(const struct lab_plan *plan)
{
    uint64_t tokens = plan->engine.tiers.host_tokens + plan->store_tokens / plan->engines;
    return tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX;
}

void lab_hub_add_engine(struct lab *lab, uint32_t idx)
{
    char name[LAB_NAME_BYTES];
    uint64_t most = config_of(lab)->routing_engine_slots;
    const struct sim_profile *profile = &lab->plan->engine.profile;
    const struct gate_engine_info info = {
        .max_running = most < profile->max_running ? (uint32_t)most : profile->max_running,
        .kv_tokens = profile->kv_tokens,
        .tier_tokens = tier_tokens(lab->plan),
        .is_write_back = lab->plan->engine.tiers.host_mode == SIM_TIER_WRITE_BACK,
        .chunk_tokens = profile->budget_tokens,
        .prefill_us_per_token = profile->b_s_per_token * 1e6,
        .prefill_us_per_pair = profile->d_s_per_pair * 1e6,
        .decode_us = profile->f_s * 1e6,
    };
    lab_name(name, 'e', idx);
    const struct agent_event added = {
        .kind = AGENT_EV_ENGINE_ADDED, .engine = {idx}, .info = &info};
    struct coord_event ev = {.kind = COORD_EV_ENGINE_ADDED};
    ev.u.engine_added = (struct coord_engine_added){.engine = {idx},
                                                    .name = str_of(name),
                                                    .max_running = info.max_running,
                                                    .kv_tokens = profile->kv_tokens};
    to_agent(lab, &added);
    to_coord(lab, &ev);
}

void lab_hub_remove_engine(struct lab *lab, uint32_t idx)
{
    struct coord_event ev = {.kind = COORD_EV_ENGINE_REMOVED};
    ev.u.engine_removed.engine.v = idx;
    to_coord(lab, &ev);
    lab_hub_tell_agent(lab,
                       &(struct agent_event){.kind = AGENT_EV_ENGINE_REMOVED, .engine = {idx}});
}

enum status lab_hub_init(struct lab *lab)
{
    const struct config *config = config_of(lab);
    struct coord_limits coord = coord_limits_of(config);
    struct agent_limits agent = agent_limits_of(config);
    coord.max_engines = LAB_ENGINES_MAX;
    coord.max_receipts = 0; /* nobody reads them */
    coord.policy = lab->policy;
    coord.has_params = lab->plan->params != NULL;
    for (uint32_t i = 0; coord.has_params && i < lab->policy->param_count; i++) {
        coord.params[i] = lab->plan->params[i];
    }
    agent.policy = lab->policy;
    agent.params = lab->plan->params;
    agent.seed = lab->plan->seed;
    map_init(&lab->keys, lab->mem, LAB_LIVE_MAX);
    enum status st = coord_core_new(&lab->coord, lab->mem, &coord, lab->plan->seed);
    if (st == ST_OK) {
        st = agent_core_new(&lab->agent, lab->mem, &agent);
    }
    for (uint32_t i = 0; st == ST_OK && i < lab->plan->engines; i++) {
        lab_hub_add_engine(lab, i);
        st = lab->st;
    }
    return st;
}

void lab_hub_fini(struct lab *lab)
{
    coord_core_free(lab->coord);
    agent_core_free(lab->agent);
    map_fini(&lab->keys);
    mem_free(lab->mem, lab->inbox, lab->inbox_cap * sizeof(*lab->inbox));
    mem_free(lab->mem, lab->refusals, lab->refusal_cap * sizeof(*lab->refusals));
}
