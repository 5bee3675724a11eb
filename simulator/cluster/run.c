/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/cluster.h"

#include "simulator/cluster/check.h"
#include "simulator/cluster/client.h"
#include "simulator/cluster/fault.h"
#include "simulator/cluster/hub.h"
#include "simulator/cluster/machine.h"
#include "simulator/cluster/reach.h"

enum { TICK_US = 100000, PROGRESS_EVENTS = 1 << 16, DEEP_EVENTS = 256 };

/* --- what happens --- */

/* A session arrives, and the next arrival is planned. */
static void arrive(struct lab *lab)
{
    const struct lab_arrival *arrivals = lab->plan->arrivals;
    uint32_t session = arrivals[lab->arrival_next++].session;
    lab_note(lab, LAB_NOTE_ARRIVAL, session, 0);
    lab_client_begin(lab, session, LAB_NONE, lab->now_us);
    if (lab->arrival_next < lab->plan->arrival_count) {
        lab_plan_at(lab, &lab->arrival, arrivals[lab->arrival_next].at_us);
    }
}

static void tick(struct lab *lab)
{
    lab_hub_tick(lab);
    if (lab->samples != NULL && lab->now_us >= lab->sample_at_us) {
        lab_machines_sample(lab);
        lab->sample_at_us = lab->now_us + lab->plan->sample_every_us;
    }
    lab_plan_at(lab, &lab->tick, lab->now_us + TICK_US);
}

static void iteration_ends(struct lab *lab, struct lab_machine *machine)
{
    size_t count = 0;
    const struct sim_event *events = lab_machine_end(lab, machine->idx, &count);
    lab_note(lab, LAB_NOTE_ITERATION, machine->idx, count);
    for (size_t i = 0; i < count && lab->st == ST_OK; i++) {
        struct lab_live *live = events[i].owner;
        if (events[i].kind == SIM_EVENT_FINISHED) {
            live->on_engine = (struct sim_request_id){0};
        }
        if (lab_reach_holds(lab, machine->idx, &events[i])) {
            continue;
        }
        switch (events[i].kind) {
        case SIM_EVENT_PREEMPTED:
            lab_note(lab, LAB_NOTE_PREEMPTED, live->req.v, machine->idx);
            lab->result->preempted++;
            break;
        case SIM_EVENT_TOKEN:
            if (events[i].token_idx == 0) {
                lab_client_first(lab, live);
            }
            break;
        case SIM_EVENT_FINISHED:
            lab_client_answered(lab, live, events[i].cached_tokens);
            break;
        }
    }
}

static void happen(struct lab *lab, struct heap_node *node)
{
    uintptr_t first = (uintptr_t)lab->machines;
    uintptr_t at = (uintptr_t)node;
    if (node == &lab->tick) {
        tick(lab);
    } else if (node == &lab->arrival) {
        arrive(lab);
    } else if (node == &lab->postman) {
        lab_fault_deliver(lab);
    } else if (at >= first && at < first + (lab->plan->engines + 1) * sizeof(*lab->machines)) {
        iteration_ends(lab, HEAP_OWNER(node, struct lab_machine, node));
    } else {
        struct lab_live *live = HEAP_OWNER(node, struct lab_live, node);
        if (live->phase == LAB_MOVING) {
            lab_hub_moved(lab, live);
        } else {
            lab_client_request(lab, live);
        }
    }
    for (uint32_t i = 0; i < lab->refusal_count; i++) {
        lab_client_refused(lab, &lab->refusals[i]);
    }
    lab->refusal_count = 0;
    lab_machines_go(lab);
}

/* --- the run --- */

/* Sorts the sub-agents by parent, in the order of the plan. */
static enum status sort_children(struct lab *lab)
{
    const struct lab_plan *plan = lab->plan;
    lab->child_from = mem_calloc(lab->mem, (size_t)plan->session_count + 2, sizeof(uint32_t));
    lab->children = mem_calloc(lab->mem, plan->session_count, sizeof(uint32_t));
    if (lab->child_from == NULL || lab->children == NULL) {
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < plan->session_count; i++) {
        if (plan->sessions[i].parent != LAB_NONE) {
            lab->child_from[plan->sessions[i].parent + 2]++;
        }
    }
    for (uint32_t i = 0; i < plan->session_count; i++) {
        lab->child_from[i + 2] += lab->child_from[i + 1];
    }
    for (uint32_t i = 0; i < plan->session_count; i++) {
        if (plan->sessions[i].parent != LAB_NONE) {
            lab->children[lab->child_from[plan->sessions[i].parent + 1]++] = i;
        }
    }
    return ST_OK;
}

static enum status begin(struct lab *lab)
{
    const struct lab_plan *plan = lab->plan;
    heap_init(&lab->timeline, lab->mem, LAB_LIVE_MAX);
    slab_init(&lab->lives, lab->mem, sizeof(struct lab_live), LAB_LIVE_MAX - LAB_ENGINES_MAX - 3);
    map_init(&lab->systems, lab->mem, plan->session_count);
    rng_init(&lab->rng, plan->seed);
    lab_net_init(lab);
    lab->result->session_count = plan->session_count;
    lab->result->outcomes =
        mem_calloc(lab->mem, plan->session_count, sizeof(*lab->result->outcomes));
    enum status st = lab->result->outcomes == NULL ? ST_NOMEM : sort_children(lab);
    if (st == ST_OK) {
        st = lab_machines_init(lab);
    }
    if (st == ST_OK) {
        st = lab_hub_init(lab);
    }
    if (st == ST_OK) {
        lab_plan_at(lab, &lab->tick, TICK_US);
        if (plan->arrival_count > 0) {
            lab_plan_at(lab, &lab->arrival, plan->arrivals[0].at_us);
        }
        st = lab->st;
    }
    return st;
}

static bool is_asked_to_end(const struct lab *lab, lab_progress_fn progress, void *ctx)
{
    const struct lab_plan *plan = lab->plan;
    double done = plan->until_us > 0 ? (double)lab->now_us / (double)plan->until_us
                                     : (double)lab->roots_over / (double)plan->arrival_count;
    return !progress(ctx, done);
}

static void play(struct lab *lab, lab_progress_fn progress, void *ctx)
{
    const struct lab_plan *plan = lab->plan;
    uint64_t until_us = plan->until_us > 0 ? plan->until_us : UINT64_MAX;
    for (uint64_t n = 1; lab->roots_over < plan->arrival_count; n++) {
        struct heap_node *node = heap_min(&lab->timeline);
        uint64_t at_us = node->key < until_us ? node->key : until_us;
        lab->result->in_flight_us += coord_core_in_flight(lab->coord) * (at_us - lab->now_us);
        lab->now_us = at_us;
        if (node->key > until_us) {
            break;
        }
        heap_remove(&lab->timeline, node);
        happen(lab, node);
        if (lab->st != ST_OK) {
            return;
        }
        if (plan->is_checked) {
            lab_check(lab, n % DEEP_EVENTS == 0);
        }
        if (progress != NULL && n % PROGRESS_EVENTS == 0 && is_asked_to_end(lab, progress, ctx)) {
            lab_fail(lab, ST_CLOSED);
            return;
        }
    }
    if (plan->is_checked && lab->roots_over == plan->arrival_count) {
        lab_check_end(lab);
    }
}

static void sum_up(struct lab *lab)
{
    lab->result->ended_at_us = lab->now_us;
    if (lab->agent != NULL) {
        lab->result->pauses = agent_core_gate(lab->agent)->counters.pauses;
        lab->result->steals = agent_core_gate(lab->agent)->counters.steals;
    }
    for (uint32_t i = 0; i < lab->plan->engines; i++) {
        lab->result->regenerated_tokens += lab_machine_regenerated(&lab->machines[i]);
    }
}

static void end(struct lab *lab)
{
    uint32_t count = lab->plan->session_count;
    lab_machines_fini(lab); /* they borrow the chains */
    lab_hub_fini(lab);
    lab_net_fini(lab);
    for (uint32_t i = 0; i < lab->lives.fresh_idx; i++) {
        lab_chain_fini(&lab_live_at(lab, i)->chain, lab->mem);
    }
    heap_fini(&lab->timeline);
    slab_fini(&lab->lives);
    map_fini(&lab->systems);
    mem_free(lab->mem, lab->child_from, ((size_t)count + 2) * sizeof(uint32_t));
    mem_free(lab->mem, lab->children, count * sizeof(uint32_t));
}

enum status lab_run(const struct lab_plan *plan,
                    const struct mem *mem,
                    lab_progress_fn progress,
                    void *ctx,
                    struct lab_result *ret)
{
    enum status st = lab_check_plan(plan, mem);
    if (st != ST_OK) {
        return st;
    }
    struct lab_result result = {0};
    struct lab lab = {
        .plan = plan, .policy = lab_policy_find(plan->policy), .mem = mem, .result = &result};
    st = begin(&lab);
    if (st == ST_OK) {
        play(&lab, progress, ctx);
        st = lab.st;
        sum_up(&lab);
    }
    end(&lab);
    if (st == ST_OK || st == ST_CLOSED) {
        *ret = result;
    } else {
        lab_result_fini(&result, mem);
    }
    return st;
}

void lab_result_fini(struct lab_result *result, const struct mem *mem)
{
    mem_free(mem, result->outcomes, result->session_count * sizeof(*result->outcomes));
    mem_free(mem, result->firsts, result->first_cap * sizeof(*result->firsts));
    *result = (struct lab_result){0};
}
