/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions and tenants that a gate knows. */
#include "routing/gate.h"
#include "routing/gate_inside.h"

static struct gate_tenant *tenant_get(struct gate *gate, uint64_t key)
{
    const uint64_t *known = map_get(&gate->tenant_keys, key);
    if (known != NULL) {
        return slab_at(&gate->tenant_slab, (uint32_t)*known);
    }
    uint32_t idx = gate->tenant_slab.fresh_idx; /* none is given back: they are 0 to here */
    struct gate_tenant *tenant = map_put(&gate->tenant_keys, key, idx) == ST_OK
                                     ? slab_alloc(&gate->tenant_slab, NULL)
                                     : NULL;
    if (tenant == NULL) { /* the first one stands for all that find no room */
        (void)map_remove(&gate->tenant_keys, key);
        return idx > 0 ? slab_at(&gate->tenant_slab, 0) : NULL;
    }
    tenant->key = key;
    tenant->weight = 1.0;
    tenant->idx = idx;
    return tenant;
}

/* Forgets the session used least recently that is acting. Looks at a few only. */
static bool make_room(struct gate *gate)
{
    enum { LOOKS = 64 };
    uint32_t looks = 0;
    LIST_FOR_EACH(link, &gate->sessions)
    {
        struct gate_session *session = gate_session_of(link);
        if (gate_is_acting(session)) {
            gate_session_forget(gate, session);
            gate->counters.forgotten++;
            return true;
        }
        if (++looks == LOOKS) {
            break;
        }
    }
    return false;
}

static struct gate_session *session_new(struct gate *gate, const struct gate_need *need)
{
    if (gate->session_slab.used_nodes == gate->session_slab.max_nodes && !make_room(gate)) {
        return NULL;
    }
    uint32_t idx = SLAB_NONE;
    struct gate_tenant *tenant = tenant_get(gate, need->tenant);
    struct gate_session *session = tenant == NULL ? NULL : slab_alloc(&gate->session_slab, &idx);
    if (session == NULL) {
        return NULL;
    }
    if (map_put(&gate->session_keys, need->session, idx) != ST_OK) {
        slab_free(&gate->session_slab, idx);
        return NULL;
    }
    session->key = need->session;
    session->idx = idx;
    session->tenant = tenant;
    session->state = GATE_OUT;
    session->engine = GATE_NONE;
    session->copies = SLAB_NONE;
    session->born_at_us = gate->now_us;
    session->remaining_s = -1.0;
    list_init(&session->steps);
    list_push_back(&gate->sessions, &session->link);
    tenant->sessions++;
    return session;
}

struct gate_session *gate_session_get(struct gate *gate, const struct gate_need *need)
{
    if (need->session == 0) {
        return NULL;
    }
    const uint64_t *known = map_get(&gate->session_keys, need->session);
    if (known == NULL) {
        return session_new(gate, need);
    }
    struct gate_session *session = slab_at(&gate->session_slab, (uint32_t)*known);
    list_remove(&session->link);
    list_push_back(&gate->sessions, &session->link);
    return session;
}

void gate_session_forget(struct gate *gate, struct gate_session *session)
{
    ASSERT(gate_is_acting(session));
    if (session->state == GATE_IN) {
        gate_session_leave(gate, session);
    }
    while (session->copies != SLAB_NONE) {
        gate_copy_drop(gate, slab_at(&gate->copy_slab, session->copies));
    }
    session->tenant->sessions--;
    list_remove(&session->link);
    (void)map_remove(&gate->session_keys, session->key);
    slab_free(&gate->session_slab, session->idx);
}

void gate_reserve(struct gate *gate, struct gate_session *session, uint32_t tokens)
{
    ASSERT(session->state == GATE_IN);
    struct gate_engine *engine = gate->engines[session->engine];
    engine->gap_tokens += tokens;
    engine->gap_tokens -= session->gap_tokens;
    session->gap_tokens = tokens;
}

void gate_session_leave(struct gate *gate, struct gate_session *session)
{
    ASSERT(session->state == GATE_IN);
    struct gate_engine *engine = gate->engines[session->engine];
    gate_reserve(gate, session, 0);
    list_remove(&session->engine_link);
    engine->session_count--;
    session->state = GATE_OUT;
}

void gate_session_enter(struct gate *gate, struct gate_session *session, uint32_t engine)
{
    if (session->state == GATE_IN) {
        if (session->engine == engine) {
            return;
        }
        gate_session_leave(gate, session);
    }
    session->state = GATE_IN;
    session->engine = engine;
    session->in_at_us = gate->now_us;
    list_push_back(&gate->engines[engine]->sessions, &session->engine_link);
    gate->engines[engine]->session_count++;
}

uint64_t gate_session_tokens(const struct gate *gate, const struct gate_session *session)
{
    (void)gate;
    return session->step_tokens > session->context_tokens ? session->step_tokens
                                                          : session->context_tokens;
}
