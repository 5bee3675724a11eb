/* SPDX-License-Identifier: Apache-2.0 */
/* The books, counted anew. */
#include "routing/gate.h"
#include "routing/gate_inside.h"

static bool check_engine(const struct gate *gate, const struct gate_engine *engine)
{
    uint32_t queued = 0;
    uint32_t sessions = 0;
    uint64_t queued_tokens = 0;
    uint64_t copy_tokens = 0;
    uint64_t gap_tokens = 0;
    LIST_FOR_EACH(link, &engine->queue)
    {
        const struct gate_step *step = gate_step_of(link);
        queued++;
        queued_tokens += step->held_tokens;
        if (step->state != GATE_STEP_QUEUED || step->engine != engine->idx) {
            return false;
        }
    }
    LIST_FOR_EACH(link, &engine->sessions)
    {
        const struct gate_session *session = gate_session_on(link);
        sessions++;
        gap_tokens += session->gap_tokens;
        if (session->state != GATE_IN || session->engine != engine->idx ||
            (session->gap_tokens > 0 && !gate_is_acting(session))) {
            return false;
        }
    }
    LIST_FOR_EACH(link, &engine->copies)
    {
        copy_tokens += LIST_OWNER(link, struct gate_copy, link)->tokens;
    }
    uint64_t room = (uint64_t)engine->info.kv_tokens + engine->info.tier_tokens;
    bool fits =
        engine->info.kv_tokens == 0 || copy_tokens == 0 || copy_tokens + engine->run_tokens <= room;
    return queued == engine->queued && queued_tokens == engine->queued_tokens && fits &&
           sessions == engine->session_count && copy_tokens == engine->copy_tokens &&
           gap_tokens == engine->gap_tokens && engine->unanswered <= engine->running &&
           !engine->is_dirty && gate->dirty_count == 0;
}

/* Steps and running ones as tenants count them are those of their sessions. */
static bool check_tenants(const struct gate *gate)
{
    uint64_t steps = 0;
    uint64_t running = 0;
    LIST_FOR_EACH(link, &gate->sessions)
    {
        const struct gate_session *session = gate_session_of(link);
        steps += session->queued + session->running;
        running += session->running;
        LIST_FOR_EACH(step, &session->steps)
        {
            steps++;
        }
    }
    for (uint32_t i = 0; i < gate->tenant_slab.fresh_idx; i++) {
        const struct gate_tenant *tenant = slab_at(&gate->tenant_slab, i);
        steps -= tenant->steps;
        running -= tenant->running;
    }
    return steps == 0 && running == 0;
}

bool gate_check(const struct gate *gate)
{
    if (!check_tenants(gate)) {
        return false;
    }
    for (uint32_t i = 0; i < gate->engine_count; i++) {
        if (gate->engines[i] != NULL && !check_engine(gate, gate->engines[i])) {
            return false;
        }
    }
    uint32_t waiting = 0;
    uint64_t tokens = 0;
    LIST_FOR_EACH(link, &gate->waiting)
    {
        const struct gate_session *session = gate_session_at_gate(link);
        waiting++;
        LIST_FOR_EACH(step, &session->steps)
        {
            tokens += gate_step_of(step)->held_tokens;
        }
        if (list_is_empty(&session->steps)) {
            return false;
        }
    }
    return waiting == gate->waiting_count && tokens == gate->waiting_tokens;
}
