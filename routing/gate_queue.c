/* SPDX-License-Identifier: Apache-2.0 */
/* Where steps wait: in an engine's queue or at the gate; and their release into the engine. */
#include "routing/gate.h"
#include "routing/gate_inside.h"

#define US_PER_S 1e6

uint32_t gate_need_tokens(const struct gate *gate, const struct gate_step *step)
{
    if (gate->policy->reserve != NULL) {
        return gate->policy->reserve(gate, step);
    }
    uint32_t output = step->need.output_tokens;
    if (output == 0) {
        output = step->session != NULL && step->session->output_tokens > 0
                     ? step->session->output_tokens
                     : (uint32_t)gate->output_tokens;
    }
    return step->need.prompt_tokens + output;
}

uint32_t gate_uncached(const struct gate *gate, const struct gate_step *step, uint32_t engine)
{
    uint32_t held = step->session == NULL ? 0 : gate_resident(gate, step->session, engine);
    held = held < step->need.kept_tokens ? held : step->need.kept_tokens;
    return step->need.prompt_tokens -
           (held < step->need.prompt_tokens ? held : step->need.prompt_tokens);
}

double gate_prefill_us(const struct gate_engine *engine, double u, double c)
{
    return engine->info.prefill_us_per_token * u +
           engine->info.prefill_us_per_pair * u * (c + u / 2.0);
}

void gate_queue(struct gate *gate, struct gate_step *step, uint32_t engine)
{
    struct gate_engine *to = gate->engines[engine];
    step->state = GATE_STEP_QUEUED;
    step->engine = engine;
    step->held_tokens = gate_need_tokens(gate, step);
    list_push_back(&to->queue, &step->link);
    to->queued++;
    to->queued_tokens += step->held_tokens;
    to->idle_from_us = UINT64_MAX;
    if (step->session != NULL) {
        step->session->queued++;
        step->session->step_tokens += step->held_tokens;
    }
    gate_mark(gate, to);
}

void gate_unqueue(struct gate *gate, struct gate_step *step)
{
    struct gate_engine *from = gate->engines[step->engine];
    list_remove(&step->link);
    from->queued--;
    from->queued_tokens -= step->held_tokens;
    if (step->session != NULL) {
        step->session->queued--;
        step->session->step_tokens -= step->held_tokens;
    }
    if (from->queued + from->running == 0) {
        from->idle_from_us = gate->now_us;
    }
    gate_mark(gate, from);
}

void gate_hold(struct gate *gate, struct gate_step *step)
{
    struct gate_session *session = step->session;
    step->state = GATE_STEP_AT_GATE;
    step->held_tokens = gate_need_tokens(gate, step);
    if (list_is_empty(&session->steps)) {
        session->waits_from_us = gate->now_us;
        list_push_back(&gate->waiting, &session->wait_link);
        gate->waiting_count++;
    }
    list_push_back(&session->steps, &step->link);
    session->step_tokens += step->held_tokens;
    gate->waiting_tokens += step->held_tokens;
}

void gate_unhold(struct gate *gate, struct gate_step *step)
{
    struct gate_session *session = step->session;
    list_remove(&step->link);
    session->step_tokens -= step->held_tokens;
    gate->waiting_tokens -= step->held_tokens;
    if (list_is_empty(&session->steps)) {
        list_remove(&session->wait_link);
        gate->waiting_count--;
    }
}

static void release(struct gate *gate, struct gate_engine *engine, struct gate_step *step)
{
    uint32_t held = step->held_tokens;
    step->uncached_tokens = gate_uncached(gate, step, engine->idx);
    gate_unqueue(gate, step);
    step->state = GATE_STEP_RUNNING;
    step->released_at_us = gate->now_us;
    engine->running++;
    engine->unanswered++;
    engine->unanswered_tokens += step->uncached_tokens;
    engine->run_tokens += held;
    engine->idle_from_us = UINT64_MAX;
    if (step->session != NULL) {
        step->session->running++;
        step->session->tenant->running++;
        step->session->step_tokens += held;
        step->session->waited_s += (double)(gate->now_us - step->came_at_us) / US_PER_S;
        step->session->pinned_until_us = 0; /* engines forget a pin when the chain runs */
        gate_copy_use(gate, step->session, engine->idx);
    }
    gate_copies_trim(gate, engine);
    struct gate_action *action = gate_act(gate, GATE_START);
    action->step = step;
    action->session = step->need.session;
    action->engine = engine->idx;
}

static struct gate_step *next_of(const struct gate *gate, const struct gate_engine *engine)
{
    struct gate_step *best = gate_step_of(list_first(&engine->queue));
    if (gate->policy->key == NULL || engine->queued == 1) {
        return best;
    }
    double best_key = gate->policy->key(gate, best);
    for (struct list *link = best->link.next; link != &engine->queue; link = link->next) {
        struct gate_step *step = gate_step_of(link);
        double key = gate->policy->key(gate, step);
        if (key < best_key) {
            best = step;
            best_key = key;
        }
    }
    return best;
}

/* KV that the engine was asked to keep for others than this session. O(copies), nothing without
 * pins. */
static uint64_t pinned_tokens(const struct gate *gate,
                              const struct gate_engine *engine,
                              const struct gate_session *own)
{
    uint64_t tokens = 0;
    if (engine->pins_until_us <= gate->now_us) {
        return 0;
    }
    LIST_FOR_EACH(link, &engine->copies)
    {
        const struct gate_copy *copy = LIST_OWNER(link, struct gate_copy, link);
        bool is_pinned = copy->session != own && copy->session->engine == engine->idx &&
                         copy->session->pinned_until_us > gate->now_us;
        tokens += is_pinned ? copy->tokens : 0;
    }
    return tokens;
}

/* With an order of ours: the engine would begin with the step within an iteration or two, and has
 * room for it beside what it keeps. */
static bool
is_wanted(const struct gate *gate, const struct gate_engine *engine, const struct gate_step *step)
{
    if (gate->policy->key == NULL || engine->running == 0) {
        return true;
    }
    if (engine->info.kv_tokens > 0 &&
        engine->run_tokens + step->held_tokens + pinned_tokens(gate, engine, step->session) >
            engine->info.kv_tokens) {
        return false;
    }
    return engine->unanswered == 0 || engine->unanswered_tokens < engine->info.chunk_tokens;
}

void gate_fill(struct gate *gate, struct gate_engine *engine)
{
    while (!engine->is_gone && engine->queued > 0 && engine->running < engine->info.max_running) {
        struct gate_step *step = next_of(gate, engine);
        if (!is_wanted(gate, engine, step)) {
            return;
        }
        release(gate, engine, step);
    }
}
