/* SPDX-License-Identifier: Apache-2.0 */
/* Event in -> coordinator core -> effects: SUBMIT and WITHDRAW and SETTLED go to the node core,
 * whose own effects go to the gateway (START) or come back as events (STARTED, NODE_REFUSED). The
 * recursion is bounded: a refused step is submitted elsewhere at most once per engine. */
#include "cli/hub_inside.h"

#include "common/rt/log.h"
#include "coordinator/core/receipt.h"
#include "coordinator/core/record.h"
#include "routing/params.h"

enum { EFFECTS_MAX = 64, RECORD_MAX = 1 << 20 };

static void to_agent(struct hub *hub, const struct agent_event *ev);

/* Tells the gateway where a step goes. Copies what the effect borrows, so it comes before any
 * further core step. */
static void tell_placed(struct hub *hub, const struct coord_effect *effect)
{
    struct request_id req = effect->u.submit.req;
    struct hub_cmd cmd = {
        .kind = HUB_CMD_PLACED, .req = req, .text = hub_text_copy(effect->u.submit.session)};
    if ((req.v & FRONT_WANTS_RECEIPT) != 0 && effect->u.submit.receipt != NULL) {
        char receipt[COORD_RECEIPT_HEADER_BYTES + 1];
        coord_receipt_write_short(effect->u.submit.receipt, receipt, sizeof(receipt));
        cmd.receipt = hub_text_copy(receipt);
    }
    if (cmd.text.p != NULL) {
        hub_send(hub, front_loop_of(req), &cmd);
    } else {
        hub_cmd_drop(&cmd);
    }
}

static void refuse(struct hub *hub, const struct coord_effect *effect)
{
    struct hub_cmd cmd = {.kind = HUB_CMD_REFUSE, .req = effect->u.refuse.req};
    cmd.refusal = (struct front_refusal){.why = effect->u.refuse.why,
                                         .retry_after_s = effect->u.refuse.retry_after_s,
                                         .last_fail = effect->u.refuse.last_fail,
                                         .last_status = effect->u.refuse.last_status};
    hub_send(hub, front_loop_of(cmd.req), &cmd);
}

static void carry_out(struct hub *hub, const struct coord_effect *effect)
{
    struct agent_event ev = {0};
    switch (effect->kind) {
    case COORD_EF_SUBMIT:
        ev = (struct agent_event){.kind = AGENT_EV_SUBMIT,
                                  .req = effect->u.submit.req,
                                  .attempt = effect->u.submit.attempt,
                                  .engine = effect->u.submit.engine,
                                  .need = &effect->u.submit.need};
        to_agent(hub, &ev);
        break;
    case COORD_EF_REFUSE:
        refuse(hub, effect);
        break;
    case COORD_EF_WITHDRAW:
        ev = (struct agent_event){.kind = AGENT_EV_WITHDRAW,
                                  .req = effect->u.withdraw.req,
                                  .engine = effect->u.withdraw.engine,
                                  .attempt = effect->u.withdraw.attempt};
        to_agent(hub, &ev);
        break;
    case COORD_EF_SETTLED:
        ev = (struct agent_event){.kind = AGENT_EV_SETTLED,
                                  .req = effect->u.settled.req,
                                  .engine = effect->u.settled.engine,
                                  .attempt = effect->u.settled.attempt,
                                  .usage = &effect->u.settled.usage};
        to_agent(hub, &ev);
        break;
    case COORD_EF_PROBE: {
        struct hub_cmd cmd = {.kind = HUB_CMD_PROBE,
                              .engine = effect->u.probe.engine,
                              .flag = effect->u.probe.wants_models};
        hub_send(hub, 0, &cmd);
        break;
    }
    }
}

/* A step that the core has no memory for is refused here. */
static void refuse_for_memory(struct hub *hub, struct request_id req)
{
    struct hub_cmd cmd = {
        .kind = HUB_CMD_REFUSE, .req = req, .refusal = {.why = COORD_REFUSE_LIMIT}};
    hub_send(hub, front_loop_of(req), &cmd);
}

/* Ends a row of lines for the record and lets go of it. */
static void record_write(struct hub *hub, struct buf *lines, enum status st)
{
    if (st != ST_OK || fwrite(lines->p, 1, lines->len, hub->record) != lines->len) {
        log_error("hub", "event or limits not recorded");
    }
    buf_fini(lines);
}

/* Writes the event and what came of it, for replay (record_events). */
static void
record(struct hub *hub, const struct coord_event *ev, const struct coord_effects *effects)
{
    struct buf line;
    buf_init(&line, mem_heap(), RECORD_MAX);
    enum status st = coord_record_event(ev, loop_now_us(hub->loop), &line);
    if (st == ST_OK) {
        st = coord_record_effects(effects, &line);
    }
    record_write(hub, &line, st);
}

void hub_record_limits(struct hub *hub, const struct coord_limits *limits)
{
    if (hub->record == NULL) {
        return;
    }
    struct buf line;
    buf_init(&line, mem_heap(), RECORD_MAX);
    record_write(hub, &line, coord_record_limits(limits, HUB_SEED, &line));
}

/* Effects are copied, and what they borrow is used up first: carrying them out may run the core
 * again, which reuses both. */
static enum status to_coord(struct hub *hub, const struct coord_event *ev)
{
    const struct coord_effects *effects = NULL;
    hub_recent_note(hub, ev);
    enum status st = coord_core_step(hub->coord, ev, loop_now_us(hub->loop), &effects);
    if (st != ST_OK) {
        log_error("hub", "refused by the core event=%d why=%s", (int)ev->kind, status_name(st));
        if (ev->kind == COORD_EV_STEP_ARRIVED) {
            refuse_for_memory(hub, ev->u.arrived.req);
        }
        return st;
    }
    if (hub->record != NULL) {
        record(hub, ev, effects);
    }
    struct coord_effect copy[EFFECTS_MAX];
    struct coord_effect *list = copy;
    uint32_t count = effects->count;
    if (count > EFFECTS_MAX) {
        list = mem_alloc(mem_heap(), count * sizeof(*list));
        if (list == NULL) {
            log_error("hub", "out of memory: effects are lost count=%u", count);
            return ST_NOMEM;
        }
    }
    memcpy(list, effects->items, count * sizeof(*list));
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].kind == COORD_EF_SUBMIT) {
            tell_placed(hub, &list[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        carry_out(hub, &list[i]);
    }
    if (list != copy) {
        mem_free(mem_heap(), list, count * sizeof(*list));
    }
    return ST_OK;
}

static void start(struct hub *hub, const struct agent_effect *effect)
{
    struct hub_cmd cmd = {.kind = HUB_CMD_START,
                          .req = effect->req,
                          .engine = effect->engine,
                          .attempt = effect->attempt};
    hub_send(hub, front_loop_of(effect->req), &cmd);
    struct coord_event ev = {.kind = COORD_EV_STEP_STARTED};
    ev.u.started.req = effect->req;
    ev.u.started.attempt = effect->attempt;
    ev.u.started.engine = effect->engine;
    to_coord(hub, &ev);
}

static void node_refused(struct hub *hub, const struct agent_effect *effect)
{
    struct coord_event ev = {.kind = COORD_EV_NODE_REFUSED};
    ev.u.node_refused.req = effect->req;
    ev.u.node_refused.attempt = effect->attempt;
    ev.u.node_refused.is_timeout = effect->is_timeout;
    to_coord(hub, &ev);
}

static void from_agent(struct hub *hub, const struct agent_effect *effect)
{
    switch (effect->kind) {
    case AGENT_EF_START:
        start(hub, effect);
        break;
    case AGENT_EF_REFUSE:
        node_refused(hub, effect);
        break;
    case AGENT_EF_MOVE: { /* no engine's KV can be moved yet: it stays behind */
        struct agent_event ev = {
            .kind = AGENT_EV_MOVED, .req = effect->req, .attempt = effect->attempt};
        to_agent(hub, &ev);
        break;
    }
    case AGENT_EF_RETAIN: /* nor be told what to keep or to load */
    case AGENT_EF_PREFETCH:
    case AGENT_EF_VALUE:
        break;
    }
}

static void to_agent(struct hub *hub, const struct agent_event *ev)
{
    const struct agent_effects *effects = NULL;
    if (agent_core_step(hub->agent, ev, loop_now_us(hub->loop), &effects) != ST_OK) {
        log_error("hub", "out of memory in the node core event=%d", (int)ev->kind);
        if (ev->kind == AGENT_EV_SUBMIT) {
            struct agent_effect full = {
                .kind = AGENT_EF_REFUSE, .req = ev->req, .attempt = ev->attempt};
            node_refused(hub, &full);
        }
        return;
    }
    uint32_t count = effects->count;
    if (count == 0) {
        return;
    }
    struct agent_effect one = effects->items[0];
    struct agent_effect *list = &one;
    if (count > 1) {
        list = mem_alloc(mem_heap(), count * sizeof(*list));
        if (list == NULL) {
            log_error("hub", "out of memory: node effects are lost count=%u", count);
            return;
        }
        memcpy(list, effects->items, count * sizeof(*list));
    }
    for (uint32_t i = 0; i < count; i++) {
        from_agent(hub, &list[i]);
    }
    if (list != &one) {
        mem_free(mem_heap(), list, count * sizeof(*list));
    }
}

static void after_probe(struct hub *hub, const struct coord_engine_probed *probed)
{
    for (uint32_t i = 0; i < hub->lane_count; i++) {
        struct hub_cmd cmd = {
            .kind = HUB_CMD_KIND, .engine = probed->engine, .engine_kind = probed->kind};
        hub_send(hub, i, &cmd);
    }
    hub_publish(hub);
}

static void add_to_agent(struct hub *hub, const struct coord_engine_added *added)
{
    const struct gate_engine_info info = {.max_running = added->max_running,
                                          .kv_tokens = added->kv_tokens};
    struct agent_event ev = {.kind = AGENT_EV_ENGINE_ADDED, .engine = added->engine, .info = &info};
    to_agent(hub, &ev);
}

enum status hub_handle(struct hub *hub, const struct coord_event *ev)
{
    if (ev->kind == COORD_EV_ENGINE_ADDED) {
        add_to_agent(hub, &ev->u.engine_added);
    }
    enum status st = to_coord(hub, ev);
    if (ev->kind == COORD_EV_STEP_ANSWERED) {
        struct agent_event answered = {.kind = AGENT_EV_ANSWERED,
                                       .req = ev->u.answered.req,
                                       .attempt = ev->u.answered.attempt};
        to_agent(hub, &answered);
    } else if (ev->kind == COORD_EV_ENGINE_REMOVED) {
        struct agent_event gone = {.kind = AGENT_EV_ENGINE_REMOVED,
                                   .engine = ev->u.engine_removed.engine};
        to_agent(hub, &gone);
        hub_publish(hub);
    } else if (ev->kind == COORD_EV_ENGINE_PROBED) {
        after_probe(hub, &ev->u.engine_probed);
    }
    return st;
}

void hub_handle_policy(struct hub *hub, const struct config *cfg)
{
    double params[GATE_PARAMS_MAX];
    struct agent_event ev = {
        .kind = AGENT_EV_POLICY, .policy = agent_limits_of(cfg).policy, .params = params};
    struct err err = {0};
    if (route_params_read(ev.policy, str_of(cfg->routing_params), params, &err) != ST_OK) {
        log_error("hub", "routing.params: %s; the defaults are taken", err.text);
        ev.params = NULL;
    }
    to_agent(hub, &ev);
}

void hub_handle_tick(struct hub *hub)
{
    struct coord_event ev = {.kind = COORD_EV_TICK};
    to_coord(hub, &ev);
    struct agent_event tick = {.kind = AGENT_EV_TICK};
    to_agent(hub, &tick);
}
