/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/client.h"

#include "simulator/cluster/hub.h"
#include "simulator/cluster/machine.h"
#include "simulator/cluster/net.h"

enum { FIRSTS_FIRST = 1024 };

/* Sent then, unless it was refused before. */
static void send_at(struct lab *lab, struct lab_live *live, uint64_t at_us)
{
    if (live->tries == 0) {
        live->sent_at_us = at_us;
    }
    lab_plan_at(lab, &live->node, at_us + lab_net_delay_us(lab));
}

void lab_client_begin(struct lab *lab, uint32_t session, uint32_t parent, uint64_t at_us)
{
    uint32_t idx = SLAB_NONE;
    struct lab_live *live = slab_alloc(&lab->lives, &idx);
    if (live == NULL) {
        lab_fail(lab, ST_NOMEM);
        return;
    }
    live->idx = idx;
    live->session = session;
    live->parent = parent;
    live->engine = LAB_NONE;
    lab_name(live->name, 's', session);
    uint64_t wait_us = 0;
    if (parent != LAB_NONE) {
        lab_name(live->parent_name, 's', lab->plan->sessions[session].parent);
        wait_us = lab_live_step(lab, live)->gap_us;
    }
    lab->result->outcomes[session].began_at_us = at_us;
    lab->result->outcomes[session].human_us = lab_live_step(lab, live)->is_human ? wait_us : 0;
    send_at(lab, live, at_us + wait_us);
}

/* Of the prompt, what was ever computed: for the session before, or as its system prompt for
 * anybody; whole blocks. */
static uint32_t ever_computed(const struct lab *lab, const struct lab_live *live)
{
    const struct lab_session *session = &lab->plan->sessions[live->session];
    const uint64_t *shared = map_get(&lab->systems, session->system_id);
    uint64_t tokens = shared == NULL ? 0 : *shared;
    tokens = tokens < session->system_tokens ? tokens : session->system_tokens;
    tokens = tokens > live->had_tokens ? tokens : live->had_tokens;
    return (uint32_t)(tokens - tokens % lab->plan->engine.block_tokens);
}

void lab_client_request(struct lab *lab, struct lab_live *live)
{
    if (live->tries == 0) {
        enum status st =
            lab_chain_step(&live->chain, lab->mem, lab->plan, live->session, live->step);
        if (st != ST_OK) {
            lab_fail(lab, st);
            return;
        }
        uint32_t kept = lab_live_step(lab, live)->kept_tokens;
        live->had_tokens = kept < live->computed_tokens ? kept : live->computed_tokens;
    }
    live->given_tokens = lab->plan->is_unlimited ? ever_computed(lab, live) : 0;
    lab_hub_arrive(lab, live);
}

void lab_client_first(struct lab *lab, struct lab_live *live)
{
    const struct lab_session *session = &lab->plan->sessions[live->session];
    live->first_at_us = lab->now_us + lab_net_delay_us(lab);
    live->has_first = true;
    if (lab->plan->is_unlimited) {
        const uint64_t *shared = map_get(&lab->systems, session->system_id);
        if (shared == NULL || *shared < session->system_tokens) {
            lab_fail(lab, map_put(&lab->systems, session->system_id, session->system_tokens));
        }
    }
    lab_hub_answered(lab, live);
}

/* The session is over. Its parent, if this was the last that it waited for, else NULL. */
static struct lab_live *finish(struct lab *lab, struct lab_live *live, uint64_t at_us)
{
    struct lab_live *parent = live->parent == LAB_NONE ? NULL : lab_live_at(lab, live->parent);
    lab_chain_fini(&live->chain, lab->mem);
    (void)map_remove(&lab->keys, live->key);
    slab_free(&lab->lives, live->idx);
    if (parent == NULL) {
        lab->roots_over++;
        return NULL;
    }
    parent->children--;
    parent->ready_at_us = parent->ready_at_us > at_us ? parent->ready_at_us : at_us;
    return parent->children == 0 ? parent : NULL;
}

/* Nothing that its last answer started works any more: it goes on, or ends and lets its parent. */
static void go_on(struct lab *lab, struct lab_live *live)
{
    while (live != NULL) {
        if (live->step < lab->plan->sessions[live->session].step_count) {
            send_at(lab, live, live->ready_at_us);
            return;
        }
        lab->result->outcomes[live->session].ended_at_us = live->ready_at_us;
        live = finish(lab, live, live->ready_at_us);
    }
}

void lab_client_refused(struct lab *lab, const struct lab_refusal *refusal)
{
    struct lab_live *live = lab_live_at(lab, refusal->live);
    struct lab_outcome *outcome = &lab->result->outcomes[live->session];
    const struct lab_retry *retry = lab_retry_of(lab->plan->sessions[live->session].client);
    uint64_t at_us = lab->now_us + lab_net_delay_us(lab);
    outcome->refused += refusal->is_cut ? 0 : 1;
    outcome->cut += refusal->is_cut ? 1 : 0;
    live->tries++;
    bool is_final = refusal->is_final || (refusal->is_cut && !retry->retries_cut);
    if (is_final || live->tries == retry->tries) {
        outcome->is_given_up = true;
        lab->result->given_up++;
        go_on(lab, finish(lab, live, at_us));
        return;
    }
    send_at(lab, live,
            at_us + lab_retry_wait_us(retry, live->tries, refusal->retry_after_s, &lab->rng));
}

static void note_first(struct lab *lab, const struct lab_live *live)
{
    struct lab_result *result = lab->result;
    struct lab_outcome *outcome = &result->outcomes[live->session];
    uint64_t first_us = live->first_at_us - live->sent_at_us;
    outcome->wait_max_us = outcome->wait_max_us > first_us ? outcome->wait_max_us : first_us;
    if (result->first_count == result->first_cap) {
        uint32_t cap = result->first_cap == 0 ? FIRSTS_FIRST : result->first_cap * 2;
        struct lab_first *grown = mem_resize(
            lab->mem, result->firsts, result->first_cap * sizeof(*grown), cap * sizeof(*grown));
        if (grown == NULL) {
            lab_fail(lab, ST_NOMEM);
            return;
        }
        result->firsts = grown;
        result->first_cap = cap;
    }
    result->firsts[result->first_count++] =
        (struct lab_first){.at_us = live->sent_at_us, .first_us = first_us};
}

/* The token counts of a step that is done. */
static void count(struct lab *lab, struct lab_live *live, uint32_t cached_tokens)
{
    const struct lab_step *step = lab_live_step(lab, live);
    struct lab_result *result = lab->result;
    result->steps++;
    result->outcomes[live->session].steps++;
    result->prompt_tokens += step->prompt_tokens;
    result->cached_tokens += cached_tokens;
    result->output_tokens += step->output_tokens;
    uint32_t had = live->had_tokens;
    lab->machines[live->engine].again_tokens += had > cached_tokens ? had - cached_tokens : 0;
    live->computed_tokens = step->prompt_tokens + step->output_tokens - 1; /* not the last one */
}

/* Sub-agents that this answer starts begin. */
static void spawn(struct lab *lab, struct lab_live *live, uint64_t at_us)
{
    for (uint32_t i = lab->child_from[live->session]; i < lab->child_from[live->session + 1]; i++) {
        if (lab->plan->sessions[lab->children[i]].spawn_step == live->step) {
            live->children++;
            lab_client_begin(lab, lab->children[i], live->idx, at_us);
        }
    }
}

void lab_client_answered(struct lab *lab, struct lab_live *live, uint32_t cached_tokens)
{
    uint64_t at_us = lab->now_us + lab_net_delay_us(lab);
    at_us = at_us > live->first_at_us ? at_us : live->first_at_us; /* bytes come in order */
    count(lab, live, cached_tokens);
    note_first(lab, live);
    lab_hub_done(lab, live, cached_tokens);
    spawn(lab, live, at_us);
    live->tries = 0;
    live->ready_at_us = at_us;
    uint64_t next_use_at_us = UINT64_MAX;
    if (++live->step < lab->plan->sessions[live->session].step_count) {
        const struct lab_step *next = lab_live_step(lab, live);
        live->ready_at_us += next->gap_us;
        lab->result->outcomes[live->session].human_us += next->is_human ? next->gap_us : 0;
        next_use_at_us = live->ready_at_us + lab->plan->network_us; /* sub-agents may delay it */
    }
    if (route_evict(lab->policy, lab->plan->params) == NULL ||
        lab->policy->knows_future) { /* else the policy says */
        const struct sim_chain_hint hint = {.reuse_ratio = next_use_at_us == UINT64_MAX ? 0.0 : 1.0,
                                            .next_use_at_us = next_use_at_us};
        lab_machine_hint(lab, live->engine, live, &hint);
    }
    if (live->children == 0) {
        go_on(lab, live);
    }
}
