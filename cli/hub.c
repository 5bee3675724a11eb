/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path, one loop: a gateway posts an event, the cores run at once, what they want is queued
 * and done at the end of the round. More loops: events travel as copies to the core's loop,
 * commands back to each gateway's. Failures: a full mailbox or no memory: a step that arrives is
 * refused there and then; mailboxes are sized so that the later events of accepted steps always
 * fit. */
#include "cli/hub.h"
#include "cli/hub_inside.h"

#include "common/io/reactor/tls.h"
#include "common/rt/assert.h"
#include "common/rt/clock.h"
#include "common/rt/log.h"

#include <sys/epoll.h>

enum { TICK_US = 100000, PUBLISH_TICKS = 5, EVENTS_PER_STEP = 8, MAILBOX_SPARE = 4096, BATCH = 64 };

/* Inline: what was queued in this round; more may be queued meanwhile. */
static void run_queue(struct loop_job *job)
{
    struct hub *hub = LIST_OWNER(job, struct hub, job);
    for (uint32_t i = 0; i < hub->queue_count; i++) {
        struct hub_cmd cmd = hub->queue[i];
        hub_cmd_run(hub->lanes[0].front, &cmd);
    }
    hub->queue_count = 0;
}

static void tick(struct loop_timer *timer)
{
    struct hub *hub = LIST_OWNER(timer, struct hub, tick);
    uint64_t now_us = loop_now_us(hub->loop);
    atomic_store(&hub->ticked_at_us, now_us);
    hub_handle_tick(hub);
    if (++hub->tick_count % PUBLISH_TICKS == 0) {
        hub_publish(hub); /* breakers open and close between probes */
    }
    log_flush(now_us, false);
    status_ignore(loop_timer_set(hub->loop, timer, now_us + TICK_US),
                  "the timer was just in the heap");
}

static void inbox_ready(struct loop_source *src, uint32_t events)
{
    (void)events;
    struct hub *hub = LIST_OWNER(src, struct hub, inbox_source);
    struct hub_msg batch[BATCH];
    uint32_t count = mailbox_drain(hub->inbox, batch, BATCH);
    for (uint32_t i = 0; i < count; i++) {
        if (batch[i].event != NULL) {
            hub_handle(hub, batch[i].event);
            mem_free(mem_heap(), batch[i].event, batch[i].event_bytes);
        }
        if (batch[i].ask != NULL) {
            hub_settle_ask(hub, batch[i].ask);
        }
    }
}

static void apply_config(struct hub *hub, const struct config *cfg)
{
    struct coord_limits coord = coord_limits_of(cfg);
    struct agent_limits agent = agent_limits_of(cfg);
    hub->cfg = cfg;
    coord_core_set_limits(hub->coord, &coord);
    hub_record_limits(hub, &coord);
    agent_core_set_limits(hub->agent, &agent);
    hub_handle_policy(hub, cfg);
}

enum status hub_new(
    struct hub **ret, struct loop *loop, bool is_inline, const struct config *cfg, struct err *err)
{
    struct hub *hub = mem_calloc(mem_heap(), 1, sizeof(*hub));
    if (hub == NULL) {
        return err_set(err, ST_NOMEM, "hub");
    }
    hub->loop = loop;
    hub->is_inline = is_inline;
    hub->cfg = cfg;
    hub->apply_config = apply_config;
    hub->job.fn = run_queue;
    hub->tick.fn = tick;
    hub->next_engine = 1;
    struct coord_limits coord = coord_limits_of(cfg);
    struct agent_limits agent = agent_limits_of(cfg);
    uint32_t cap = (uint32_t)cfg->limits_requests * EVENTS_PER_STEP + MAILBOX_SPARE;
    enum status st = coord_core_new(&hub->coord, mem_heap(), &coord, HUB_SEED);
    if (st == ST_OK) {
        st = agent_core_new(&hub->agent, mem_heap(), &agent);
    }
    if (st == ST_OK) {
        st = mailbox_new(mem_heap(), sizeof(struct hub_msg), is_inline ? MAILBOX_SPARE : cap,
                         &hub->inbox);
    }
    if (st == ST_OK) {
        hub->inbox_source.fd = mailbox_fd(hub->inbox);
        hub->inbox_source.fn = inbox_ready;
        st = loop_arm(loop, &hub->inbox_source, EPOLLIN);
    }
    if (st == ST_OK) {
        atomic_store(&hub->ticked_at_us, clock_now_us());
        st = loop_timer_set(loop, &hub->tick, loop_now_us(loop) + TICK_US);
    }
    if (st == ST_OK && cfg->record_events[0] != '\0') {
        hub->record = fopen(cfg->record_events, "we");
        if (hub->record == NULL) {
            st = err_set(err, ST_IO, "record_events: cannot write %s", cfg->record_events);
        }
        hub_record_limits(hub, &coord);
    }
    if (st != ST_OK) {
        hub_free(hub);
        return err == NULL || err->status != ST_OK ? st
                                                   : err_set(err, st, "hub: %s", status_text(st));
    }
    hub_handle_policy(hub, cfg);
    assert_set_hook(hub_recent_print, hub);
    *ret = hub;
    return ST_OK;
}

static void drop_inbox(struct hub *hub)
{
    struct hub_msg msg;
    while (hub->inbox != NULL && mailbox_drain(hub->inbox, &msg, 1) == 1) {
        mem_free(mem_heap(), msg.event, msg.event_bytes);
        if (msg.ask != NULL) {
            hub_drop_ask(msg.ask);
        }
    }
}

static void drop_commands(struct hub_lane *lane)
{
    struct hub_cmd cmd;
    while (lane->commands != NULL && mailbox_drain(lane->commands, &cmd, 1) == 1) {
        hub_cmd_drop(&cmd);
    }
    mailbox_free(lane->commands);
}

void hub_free(struct hub *hub)
{
    if (hub == NULL) {
        return;
    }
    assert_set_hook(NULL, NULL);
    drop_inbox(hub);
    for (uint32_t i = 0; i < hub->lane_count; i++) {
        drop_commands(&hub->lanes[i]);
    }
    for (uint32_t i = 0; i < hub->queue_count; i++) {
        hub_cmd_drop(&hub->queue[i]);
    }
    for (uint32_t i = 0; i < hub->engine_count; i++) {
        hub_engine_unref(hub->engines[i]);
    }
    loop_timer_cancel(hub->loop, &hub->tick);
    loop_undefer(&hub->job);
    mailbox_free(hub->inbox);
    mem_free(mem_heap(), hub->queue, hub->queue_cap * sizeof(*hub->queue));
    mem_free(mem_heap(), hub->engines, hub->engine_cap * sizeof(struct hub_engine *));
    tls_free(hub->tls);
    coord_core_free(hub->coord);
    agent_core_free(hub->agent);
    if (hub->record != NULL) {
        if (fclose(hub->record) != 0) {
            log_error("hub", "the event record is not complete");
        }
    }
    mem_free(mem_heap(), hub, sizeof(*hub));
}

/* A gateway of another loop: the event travels. A step that cannot is refused by a command from
 * here. */
static void post_copy(struct hub_lane *lane, const struct coord_event *ev)
{
    struct hub_msg msg = {0};
    msg.event = hub_event_clone(ev, &msg.event_bytes);
    if (msg.event != NULL && mailbox_post(lane->hub->inbox, &msg) == ST_OK) {
        return;
    }
    mem_free(mem_heap(), msg.event, msg.event_bytes);
    if (ev->kind == COORD_EV_STEP_ARRIVED) {
        struct hub_cmd cmd = {.kind = HUB_CMD_REFUSE,
                              .req = ev->u.arrived.req,
                              .refusal = {.why = COORD_REFUSE_LIMIT}};
        hub_send(lane->hub, lane->idx, &cmd);
    } else {
        log_error("hub", "event lost: mailbox full or no memory event=%d", (int)ev->kind);
    }
}

static void post(void *ctx, const struct coord_event *ev)
{
    struct hub_lane *lane = ctx;
    if (lane->hub->is_inline) {
        hub_handle(lane->hub, ev);
    } else {
        post_copy(lane, ev);
    }
}

static void commands_ready(struct loop_source *src, uint32_t events)
{
    (void)events;
    struct hub_lane *lane = LIST_OWNER(src, struct hub_lane, source);
    struct hub_cmd batch[BATCH];
    uint32_t count = mailbox_drain(lane->commands, batch, BATCH);
    for (uint32_t i = 0; i < count; i++) {
        hub_cmd_run(lane->front, &batch[i]);
    }
}

static void lane_tick(struct loop_timer *timer)
{
    struct hub_lane *lane = LIST_OWNER(timer, struct hub_lane, timer);
    if (lane->front != NULL) {
        atomic_store(&lane->in_flight, front_in_flight(lane->front));
        front_publish_metrics(lane->front);
    }
    status_ignore(loop_timer_set(lane->loop, timer, loop_now_us(lane->loop) + TICK_US / 4),
                  "the timer was just in the heap");
}

enum status hub_add_lane(struct hub *hub, struct loop *loop, struct front_port *ret_port)
{
    ASSERT(hub->lane_count < HUB_LANES_MAX);
    struct hub_lane *lane = &hub->lanes[hub->lane_count];
    uint32_t cap = (uint32_t)hub->cfg->limits_requests * EVENTS_PER_STEP + MAILBOX_SPARE;
    lane->hub = hub;
    lane->loop = loop;
    lane->idx = hub->lane_count;
    lane->timer.fn = lane_tick;
    enum status st = ST_OK;
    if (!hub->is_inline) {
        st = mailbox_new(mem_heap(), sizeof(struct hub_cmd), cap, &lane->commands);
        if (st == ST_OK) {
            lane->source.fd = mailbox_fd(lane->commands);
            lane->source.fn = commands_ready;
            st = loop_arm(loop, &lane->source, EPOLLIN);
        }
    }
    if (st == ST_OK) {
        st = loop_timer_set(loop, &lane->timer, loop_now_us(loop) + TICK_US / 4);
    }
    if (st == ST_OK) {
        hub->lane_count++;
        *ret_port = (struct front_port){.post = post, .ctx = lane};
    }
    return st;
}

void hub_set_front(struct hub *hub, uint32_t idx, struct front *front)
{
    hub->lanes[idx].front = front;
}

uint32_t hub_in_flight(const struct hub *hub)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hub->lane_count; i++) {
        count += atomic_load(&hub->lanes[i].in_flight);
    }
    return count;
}

uint64_t hub_ticked_at_us(const struct hub *hub)
{
    return atomic_load(&hub->ticked_at_us);
}

bool hub_is_ready(const struct hub *hub)
{
    return atomic_load(&hub->is_ready) && !atomic_load(&hub->is_draining);
}
