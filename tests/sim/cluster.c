/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/cluster.h"

#include "common/base/hash.h"
#include "coordinator/core/state.h"

#include <stdio.h>

#define SECOND UINT64_C(1000000)

enum { LOST_US = 5000000, TICK_US = 100000 };

enum item_kind {
    ITEM_SEND,
    ITEM_ANSWER,
    ITEM_END,
    ITEM_LEAVE,
    ITEM_PROBE,
    ITEM_CRASH,
    ITEM_RESTART,
    ITEM_CHURN,
    ITEM_TICK
};

/* Something that will happen. */
struct item {
    struct heap_node node;
    enum item_kind kind;
    uint32_t idx; /* in the slab */
    uint32_t who; /* client or engine */
    uint64_t req;
    uint32_t attempt;
    bool flag; /* PROBE: wants models */
    enum { END_OK, END_CLIENT_ERROR, END_STATUS, END_LOST, END_CONNECT } end;
};

static void expect(const struct sim *sim, bool is_true, const char *claim)
{
    if (!is_true) {
        fail_msg("seed %llu, t = %.3f s: %s", (unsigned long long)sim->plan.seed,
                 (double)sim->now_us / 1e6, claim);
    }
}
#define CHECK(sim, cond) expect((sim), (cond), #cond)

static struct item *plan_item(struct sim *sim, enum item_kind kind, uint64_t in_us)
{
    uint32_t idx = SLAB_NONE;
    struct item *item = slab_alloc(&sim->items, &idx);
    ASSERT(item != NULL);
    item->kind = kind;
    item->idx = idx;
    assert_status(heap_insert(&sim->timeline, &item->node, sim->now_us + in_us, sim->seq++), ST_OK);
    return item;
}

static uint64_t draw_us(struct sim *sim, double mean_us)
{
    return 1 + (uint64_t)rng_exp(&sim->rng, mean_us);
}

static bool draw(struct sim *sim, double ratio)
{
    return rng_unit(&sim->rng) < ratio;
}

static bool is_over(const struct sim *sim)
{
    return sim->now_us >= sim->plan.duration_us;
}

/* --- what clients see --- */

static void request_ends(struct sim *sim, uint64_t req)
{
    struct sim_request *request = &sim->requests[req];
    request->ends++;
    CHECK(sim, request->ends == 1);
    request->phase = SIM_OVER;
    sim->live--;
    if (!is_over(sim)) {
        plan_item(sim, ITEM_SEND, draw_us(sim, 0.3 * SECOND))->who = request->client;
    }
}

/* --- the shell: events for the coordinator --- */

static struct coord_event *tell(struct sim *sim, enum coord_event_kind kind)
{
    CHECK(sim, sim->inbox_count < SIM_INBOX_MAX);
    struct coord_event *ev = &sim->inbox[(sim->inbox_head + sim->inbox_count++) % SIM_INBOX_MAX];
    memset(ev, 0, sizeof(*ev));
    ev->kind = kind;
    return ev;
}

/* The node released a step: it goes to the engine, which is to answer in some way. */
static void on_start(struct sim *sim, const struct agent_effect *ef)
{
    struct sim_request *request = &sim->requests[ef->req.v];
    const struct sim_faults *faults = &sim->plan.faults;
    CHECK(sim, request->phase == SIM_QUEUED); /* never two live attempts */
    CHECK(sim, request->attempt == ef->attempt && request->engine == ef->engine.v);
    CHECK(sim, sim->engines[ef->engine.v].is_known); /* nothing starts on a removed engine */
    request->phase = SIM_RUNNING;
    struct coord_event *ev = tell(sim, COORD_EV_STEP_STARTED);
    ev->u.started.req = ef->req;
    ev->u.started.attempt = ef->attempt;
    ev->u.started.engine = ef->engine;

    struct item *item;
    if (!sim->engines[ef->engine.v].is_alive) {
        item = plan_item(sim, ITEM_END, draw_us(sim, 2000));
        item->end = END_CONNECT;
    } else if (draw(sim, faults->status_ratio)) {
        item = plan_item(sim, ITEM_END, draw_us(sim, 5000));
        item->end = END_STATUS;
    } else if (draw(sim, faults->client_error_ratio)) {
        item = plan_item(sim, ITEM_END, draw_us(sim, 5000));
        item->end = END_CLIENT_ERROR;
    } else if (draw(sim, faults->lost_ratio)) {
        item = plan_item(sim, ITEM_END, LOST_US);
        item->end = END_LOST;
    } else {
        item = plan_item(sim, ITEM_ANSWER, draw_us(sim, 0.2 * SECOND));
    }
    item->req = ef->req.v;
    item->attempt = ef->attempt;
    if (draw(sim, faults->leave_ratio)) {
        plan_item(sim, ITEM_LEAVE, draw_us(sim, 0.5 * SECOND))->req = ef->req.v;
    }
}

static void agent_event(struct sim *sim, const struct agent_event *ev)
{
    const struct agent_effects *effects = NULL;
    enum status st = agent_core_step(sim->agent, ev, sim->now_us, &effects);
    if (st == ST_NOMEM) {
        CHECK(sim, ev->kind == AGENT_EV_SUBMIT || ev->kind == AGENT_EV_ENGINE_ADDED);
        if (ev->kind == AGENT_EV_SUBMIT) {
            struct coord_event *refused = tell(sim, COORD_EV_NODE_REFUSED);
            refused->u.node_refused.req = ev->req;
            refused->u.node_refused.attempt = ev->attempt;
        }
        return;
    }
    CHECK(sim, st == ST_OK);
    for (uint32_t i = 0; i < effects->count; i++) {
        const struct agent_effect *ef = &effects->items[i];
        if (ef->kind == AGENT_EF_START) {
            on_start(sim, ef);
            continue;
        }
        struct coord_event *refused = tell(sim, COORD_EV_NODE_REFUSED);
        refused->u.node_refused.req = ef->req;
        refused->u.node_refused.attempt = ef->attempt;
        refused->u.node_refused.is_timeout = ef->is_timeout;
    }
}

static void on_submit(struct sim *sim, const struct coord_effect *ef)
{
    struct sim_request *request = &sim->requests[ef->u.submit.req.v];
    const struct coord_engine *engine = coord_fleet_find(&sim->coord->fleet, ef->u.submit.engine);
    CHECK(sim, engine != NULL &&
                   (engine->state == COORD_ENGINE_UP || engine->state == COORD_ENGINE_HALF_OPEN));
    CHECK(sim, ef->u.submit.attempt == request->attempt + 1);
    CHECK(sim, request->phase != SIM_OVER);
    request->phase = SIM_QUEUED;
    request->attempt = ef->u.submit.attempt;
    request->engine = ef->u.submit.engine.v;
    struct sim_client *client = &sim->clients[request->client];
    if (request->attempt == 1 && client->turns > 1) {
        *(client->last_engine == request->engine ? &sim->result.turns_same_engine
                                                 : &sim->result.turns_other_engine) += 1;
    }
    client->last_engine = request->engine;
    agent_event(sim, &(struct agent_event){.kind = AGENT_EV_SUBMIT,
                                           .req = ef->u.submit.req,
                                           .attempt = ef->u.submit.attempt,
                                           .engine = ef->u.submit.engine,
                                           .need = &ef->u.submit.need});
}

static void run_effect(struct sim *sim, const struct coord_effect *ef)
{
    struct item *item;
    switch (ef->kind) {
    case COORD_EF_SUBMIT:
        on_submit(sim, ef);
        break;
    case COORD_EF_REFUSE:
        sim->result.refused++;
        request_ends(sim, ef->u.refuse.req.v);
        break;
    case COORD_EF_WITHDRAW:
        agent_event(sim, &(struct agent_event){.kind = AGENT_EV_WITHDRAW,
                                               .req = ef->u.withdraw.req,
                                               .attempt = ef->u.withdraw.attempt,
                                               .engine = ef->u.withdraw.engine});
        break;
    case COORD_EF_PROBE:
        item = plan_item(sim, ITEM_PROBE, draw_us(sim, 3000));
        item->who = ef->u.probe.engine.v;
        item->flag = ef->u.probe.wants_models;
        break;
    case COORD_EF_SETTLED:
        agent_event(sim, &(struct agent_event){.kind = AGENT_EV_SETTLED,
                                               .req = ef->u.settled.req,
                                               .attempt = ef->u.settled.attempt,
                                               .engine = ef->u.settled.engine,
                                               .usage = &ef->u.settled.usage});
        break;
    }
}

/* The shell's answer when the core has no memory for an event. */
static void on_nomem(struct sim *sim, const struct coord_event *ev)
{
    switch (ev->kind) {
    case COORD_EV_STEP_ARRIVED:
        sim->last_req--; /* answered 503 by the shell: it never was accepted */
        sim->live--;
        plan_item(sim, ITEM_SEND, draw_us(sim, 0.3 * SECOND))->who =
            sim->requests[ev->u.arrived.req.v].client;
        break;
    case COORD_EV_ENGINE_PROBED: /* told again a little later */
        plan_item(sim, ITEM_PROBE, TICK_US)->who = ev->u.engine_probed.engine.v;
        break;
    case COORD_EV_ENGINE_ADDED:
        sim->engines[ev->u.engine_added.engine.v].is_known = false;
        break;
    case COORD_EV_STEP_STARTED:
    case COORD_EV_STEP_ANSWERED:
    case COORD_EV_STEP_DONE:
    case COORD_EV_STEP_GONE:
    case COORD_EV_ATTEMPT_FAILED:
    case COORD_EV_NODE_REFUSED:
    case COORD_EV_ENGINE_REMOVED:
    case COORD_EV_SESSION_RELEASED:
    case COORD_EV_WORKFLOW_DECLARED: /* not in these scenarios */
    case COORD_EV_WORKFLOW_DROPPED:
    case COORD_EV_TICK:
        fail_msg("seed %llu: an event that must not fail did", (unsigned long long)sim->plan.seed);
        break;
    }
}

/* Tells the core what is in the inbox until nothing is left. */
static void drain(struct sim *sim)
{
    while (sim->inbox_count > 0) {
        struct coord_event ev = sim->inbox[sim->inbox_head];
        sim->inbox_head = (sim->inbox_head + 1) % SIM_INBOX_MAX;
        sim->inbox_count--;
        const struct coord_effects *effects = NULL;
        if (draw(sim, sim->plan.faults.nomem_ratio)) {
            sim->km.fail_at = sim->km.call_count + 1 + rng_below(&sim->rng, 4);
        }
        enum status st = coord_core_step(sim->coord, &ev, sim->now_us, &effects);
        sim->result.events++;
        if (st == ST_NOMEM) {
            on_nomem(sim, &ev);
            continue;
        }
        CHECK(sim, st == ST_OK);
        for (uint32_t i = 0; i < effects->count; i++) {
            run_effect(sim, &effects->items[i]);
        }
    }
    sim->km.fail_at = 0;
}

/* --- engines --- */

static void engine_add(struct sim *sim)
{
    uint32_t e = sim->engine_count;
    char name[16];
    if (e >= SIM_ENGINES_MAX) {
        return;
    }
    sim->engine_count++;
    (void)snprintf(name, sizeof(name), "e%u", e);
    sim->engines[e] = (struct sim_engine){.is_known = true, .is_alive = true};
    const struct gate_engine_info info = {.max_running = sim->plan.slots};
    const struct agent_event added = {.kind = AGENT_EV_ENGINE_ADDED, .engine = {e}, .info = &info};
    agent_event(sim, &added);
    struct coord_event *ev = tell(sim, COORD_EV_ENGINE_ADDED);
    ev->u.engine_added = (struct coord_engine_added){
        .engine = {e}, .name = str_of(name), .max_running = sim->plan.slots};
    drain(sim);
}

static void engine_remove(struct sim *sim, uint32_t e)
{
    struct coord_event *ev = tell(sim, COORD_EV_ENGINE_REMOVED);
    ev->u.engine_removed.engine.v = e;
    drain(sim);
    sim->engines[e].is_known = false;
    const struct agent_event removed = {.kind = AGENT_EV_ENGINE_REMOVED, .engine = {e}};
    agent_event(sim, &removed);
    drain(sim);
}

static void fail_attempt(struct sim *sim, uint64_t req, enum coord_fail why, uint16_t http_status)
{
    struct coord_event *ev = tell(sim, COORD_EV_ATTEMPT_FAILED);
    ev->u.failed = (struct coord_attempt_failed){.req = {req},
                                                 .attempt = sim->requests[req].attempt,
                                                 .why = why,
                                                 .http_status = http_status};
    sim->requests[req].phase = SIM_NONE; /* on no engine until it is placed again */
    sim->result.failed++;
}

static void finish(struct sim *sim, uint64_t req, enum coord_outcome outcome)
{
    struct coord_event *ev = tell(sim, COORD_EV_STEP_DONE);
    ev->u.done =
        (struct coord_step_done){.req = {req},
                                 .outcome = outcome,
                                 .http_status = outcome == COORD_OUTCOME_CLIENT_ERROR ? 400 : 200,
                                 .has_usage = outcome == COORD_OUTCOME_OK,
                                 .prompt_tokens = 10};
    request_ends(sim, req);
}

static void crash(struct sim *sim)
{
    uint32_t e = (uint32_t)rng_below(&sim->rng, sim->engine_count);
    plan_item(sim, ITEM_CRASH, draw_us(sim, SECOND / sim->plan.faults.crash_per_s));
    if (!sim->engines[e].is_alive || is_over(sim)) {
        return;
    }
    sim->engines[e].is_alive = false;
    plan_item(sim, ITEM_RESTART, draw_us(sim, 8.0 * SECOND))->who = e;
    for (uint64_t r = 1; r <= sim->last_req; r++) {
        struct sim_request *request = &sim->requests[r];
        if (request->engine == e && request->phase == SIM_RUNNING) {
            fail_attempt(sim, r, COORD_FAIL_DIED, 0);
        } else if (request->engine == e && request->phase == SIM_ANSWERED) {
            sim->result.cut++;
            finish(sim, r, COORD_OUTCOME_CUT);
        }
        drain(sim);
    }
}

static void churn(struct sim *sim)
{
    plan_item(sim, ITEM_CHURN, draw_us(sim, SECOND / sim->plan.faults.churn_per_s));
    uint32_t known = 0;
    for (uint32_t e = 0; e < sim->engine_count; e++) {
        known += sim->engines[e].is_known ? 1 : 0;
    }
    uint32_t e = (uint32_t)rng_below(&sim->rng, sim->engine_count);
    if (draw(sim, 0.5) && known > 1 && sim->engines[e].is_known) {
        engine_remove(sim, e);
    } else if (known < 2 * sim->plan.engines) {
        engine_add(sim);
    }
}

static void probe(struct sim *sim, const struct item *item)
{
    static const struct str models[] = {{"m", 1}};
    bool is_up = sim->engines[item->who].is_alive;
    struct coord_event *ev = tell(sim, COORD_EV_ENGINE_PROBED);
    ev->u.engine_probed = (struct coord_engine_probed){.engine = {item->who},
                                                       .is_up = is_up,
                                                       .kind = COORD_ENGINE_SIM,
                                                       .models = is_up ? models : NULL,
                                                       .model_count = is_up ? 1 : 0};
    drain(sim);
}

/* --- clients --- */

static void client_send(struct sim *sim, uint32_t who)
{
    struct sim_client *client = &sim->clients[who];
    if (is_over(sim) || sim->last_req + 1 >= SIM_REQUESTS_MAX) {
        return;
    }
    if (client->turns >= SIM_TURNS_MAX) {
        client->turns = 0; /* a new task */
    }
    uint32_t t = client->turns++;
    client->chain[t] = hash_mix(t == 0 ? 1 : client->chain[t - 1], rng_u64(&sim->rng));
    client->bytes[t] =
        (t == 0 ? 0 : client->bytes[t - 1]) + 1 + (uint32_t)rng_below(&sim->rng, 20000);
    client->is_end[t] = 1;
    uint64_t req = ++sim->last_req;
    sim->requests[req] = (struct sim_request){.client = who};
    sim->live++;
    char id[32];
    (void)snprintf(id, sizeof(id), "client-%u", who / 8); /* two tenants, some ids in both */
    struct coord_event *ev = tell(sim, COORD_EV_STEP_ARRIVED);
    ev->u.arrived = (struct coord_step_arrived){.req = {req},
                                                .name = STR("name"),
                                                .session = who % 4 == 0 ? str_of(id) : STR(""),
                                                .tenant = who % 8 == 0 ? STR("a") : STR("b"),
                                                .model = STR("m"),
                                                .chain = client->chain,
                                                .chain_bytes = client->bytes,
                                                .chain_is_end = client->is_end,
                                                .chain_count = client->turns,
                                                .prompt_bytes = client->bytes[t],
                                                .is_stream = true};
    drain(sim);
}

static void client_leaves(struct sim *sim, uint64_t req)
{
    struct sim_request *request = &sim->requests[req];
    if (request->phase == SIM_OVER) {
        return;
    }
    struct coord_event *ev = tell(sim, COORD_EV_STEP_GONE);
    ev->u.gone.req.v = req;
    sim->result.gone++;
    request_ends(sim, req);
    drain(sim);
}

/* --- time --- */

static void engine_says(struct sim *sim, const struct item *item)
{
    struct sim_request *request = &sim->requests[item->req];
    if (request->attempt != item->attempt ||
        (request->phase != SIM_RUNNING && request->phase != SIM_ANSWERED)) {
        return; /* the shell has closed that connection */
    }
    if (item->kind == ITEM_ANSWER) {
        struct coord_event *ev = tell(sim, COORD_EV_STEP_ANSWERED);
        ev->u.answered.req.v = item->req;
        ev->u.answered.attempt = item->attempt;
        ev->u.answered.http_status = 200;
        request->phase = SIM_ANSWERED;
        struct item *end = plan_item(sim, ITEM_END, draw_us(sim, 0.6 * SECOND));
        end->req = item->req;
        end->attempt = item->attempt;
        drain(sim);
        return;
    }
    switch (item->end) {
    case END_OK:
        sim->result.ok++;
        finish(sim, item->req, COORD_OUTCOME_OK);
        break;
    case END_CLIENT_ERROR:
        sim->result.client_error++;
        finish(sim, item->req, COORD_OUTCOME_CLIENT_ERROR);
        break;
    case END_STATUS:
        fail_attempt(sim, item->req, COORD_FAIL_STATUS, 503);
        break;
    case END_LOST:
        fail_attempt(sim, item->req, COORD_FAIL_TIMEOUT, 0);
        break;
    case END_CONNECT:
        fail_attempt(sim, item->req, COORD_FAIL_CONNECT, 0);
        break;
    }
    drain(sim);
}

static void happen(struct sim *sim, const struct item *item)
{
    switch (item->kind) {
    case ITEM_SEND:
        client_send(sim, item->who);
        break;
    case ITEM_ANSWER:
    case ITEM_END:
        engine_says(sim, item);
        break;
    case ITEM_LEAVE:
        client_leaves(sim, item->req);
        break;
    case ITEM_PROBE:
        probe(sim, item);
        break;
    case ITEM_CRASH:
        crash(sim);
        break;
    case ITEM_RESTART:
        sim->engines[item->who].is_alive = true;
        break;
    case ITEM_CHURN:
        churn(sim);
        break;
    case ITEM_TICK:
        plan_item(sim, ITEM_TICK, TICK_US);
        agent_event(sim, &(struct agent_event){.kind = AGENT_EV_TICK});
        (void)tell(sim, COORD_EV_TICK);
        drain(sim);
        break;
    }
}

static void begin(struct sim *sim, const struct sim_plan *plan)
{
    memset(sim, 0, sizeof(*sim));
    sim->plan = *plan;
    kit_mem_init(&sim->km);
    rng_init(&sim->rng, plan->seed);
    heap_init(&sim->timeline, mem_heap(), 1 << 20);
    slab_init(&sim->items, mem_heap(), sizeof(struct item), 1 << 20);
    const struct coord_limits limits = {
        .max_sessions = 40, /* fewer than clients with all their tasks: some are forgotten */
        .max_requests = 1000,
        .max_engines = SIM_ENGINES_MAX,
        .max_receipts = 16,
        .max_classes = 16,
        .max_graph_bytes = 65536,
        .session_idle_us = 20 * SECOND,
        .margin_steps = 2,
        .retry_executed = true,
        .retry_budget_ratio = 0.1,
        .health_interval_us = 1 * SECOND,
        .health_fail_count = 3,
        .health_open_us = 1 * SECOND,
    };
    const struct agent_limits node = {
        .max_steps = 1000, .queue_max = plan->queue_max, .queue_timeout_us = 4 * SECOND};
    assert_status(coord_core_new(&sim->coord, &sim->km.mem, &limits, plan->seed), ST_OK);
    assert_status(agent_core_new(&sim->agent, &sim->km.mem, &node), ST_OK);
    for (uint32_t i = 0; i < plan->engines; i++) {
        engine_add(sim);
    }
    for (uint32_t i = 0; i < plan->clients; i++) {
        plan_item(sim, ITEM_SEND, draw_us(sim, 1.0 * SECOND))->who = i;
    }
    plan_item(sim, ITEM_TICK, TICK_US);
    if (plan->faults.crash_per_s > 0.0) {
        plan_item(sim, ITEM_CRASH, SECOND);
    }
    if (plan->faults.churn_per_s > 0.0) {
        plan_item(sim, ITEM_CHURN, SECOND);
    }
}

void sim_run(const struct sim_plan *plan, struct sim_result *ret)
{
    static struct sim sim;
    begin(&sim, plan);
    /* What still runs at the end may be one lost step after another in each queue. */
    while (!is_over(&sim) || sim.live > 0) {
        CHECK(&sim, sim.now_us < plan->duration_us + 600 * SECOND);
        struct item *item = HEAP_OWNER(heap_min(&sim.timeline), struct item, node);
        sim.now_us = item->node.key;
        heap_remove(&sim.timeline, &item->node);
        happen(&sim, item);
        slab_free(&sim.items, item->idx);
        sim_check(&sim);
    }
    sim_check_end(&sim);
    *ret = sim.result;
    agent_core_free(sim.agent);
    coord_core_free(sim.coord);
    kit_mem_expect_empty(&sim.km);
    slab_fini(&sim.items);
    heap_fini(&sim.timeline);
}
