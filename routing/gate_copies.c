/* SPDX-License-Identifier: Apache-2.0 */
/* What engines likely hold of sessions between their steps: the last prompt and answer, given up
 * from the tail of the session used least recently when there is no room. Steps in progress come
 * first. */
#include "routing/gate.h"
#include "routing/gate_inside.h"

static struct gate_copy *copy_at(const struct gate *gate, uint32_t idx)
{
    return idx == SLAB_NONE ? NULL : slab_at(&gate->copy_slab, idx);
}

struct gate_copy *
gate_copy_of(const struct gate *gate, const struct gate_session *session, uint32_t engine)
{
    struct gate_copy *copy = copy_at(gate, session->copies);
    while (copy != NULL && copy->engine != engine) {
        copy = copy_at(gate, copy->next);
    }
    return copy;
}

uint32_t gate_resident(const struct gate *gate, const struct gate_session *session, uint32_t engine)
{
    const struct gate_copy *copy = gate_copy_of(gate, session, engine);
    return copy == NULL ? 0 : copy->tokens;
}

static void put_aside(struct gate *gate, struct gate_copy *copy)
{
    if (list_is_linked(&copy->link)) {
        list_remove(&copy->link);
        gate->engines[copy->engine]->copy_tokens -= copy->tokens;
    }
}

void gate_copy_use(struct gate *gate, struct gate_session *session, uint32_t engine)
{
    struct gate_copy *copy = gate_copy_of(gate, session, engine);
    if (copy != NULL) {
        put_aside(gate, copy);
    }
}

void gate_copy_drop(struct gate *gate, struct gate_copy *copy)
{
    struct gate_session *session = copy->session;
    put_aside(gate, copy);
    if (session->copies == copy->idx) {
        session->copies = copy->next;
    } else {
        struct gate_copy *before = copy_at(gate, session->copies);
        while (before->next != copy->idx) {
            before = copy_at(gate, before->next);
        }
        before->next = copy->next;
    }
    slab_free(&gate->copy_slab, copy->idx);
}

void gate_copy_keep(struct gate *gate,
                    struct gate_session *session,
                    uint32_t engine,
                    uint32_t tokens)
{
    struct gate_copy *copy = gate_copy_of(gate, session, engine);
    if (copy == NULL) {
        uint32_t idx = SLAB_NONE;
        copy = slab_alloc(&gate->copy_slab, &idx);
        if (copy == NULL) {
            return; /* not known to be there: costs a wrong guess */
        }
        copy->session = session;
        copy->engine = engine;
        copy->idx = idx;
        copy->next = session->copies;
        session->copies = idx;
    }
    put_aside(gate, copy);
    copy->tokens = tokens;
    struct gate_engine *at = gate->engines[engine];
    list_push_back(&at->copies, &copy->link);
    at->copy_tokens += tokens;
    gate_copies_trim(gate, at);
}

void gate_copies_trim(struct gate *gate, struct gate_engine *engine)
{
    uint64_t room = (uint64_t)engine->info.kv_tokens + engine->info.tier_tokens;
    if (engine->info.kv_tokens == 0) {
        return; /* not known: nothing is taken to be lost */
    }
    for (uint32_t pass = 0; pass < 2; pass++) { /* pinned ones only when all others are gone */
        struct list *link = engine->copies.next;
        while (engine->run_tokens + engine->copy_tokens > room && link != &engine->copies) {
            struct gate_copy *copy = LIST_OWNER(link, struct gate_copy, link);
            link = link->next; /* NOLINT(clang-analyzer-core.NullDereference): a ring */
            if (pass == 0 && copy->session->pinned_until_us > gate->now_us &&
                copy->session->engine == engine->idx) {
                continue;
            }
            uint64_t over = engine->run_tokens + engine->copy_tokens - room;
            if (over >= copy->tokens) {
                gate_copy_drop(gate, copy);
            } else {
                copy->tokens -= (uint32_t)over;
                engine->copy_tokens -= over;
            }
        }
    }
}
