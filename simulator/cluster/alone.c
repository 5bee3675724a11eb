/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/cluster.h"

#include "common/base/map.h"

/* The session and all that it starts, directly or not, in the order of the plan; parents in the
 * copy's own numbers. */
struct family {
    const struct mem *mem;
    struct lab_session *sessions; /* [cap] */
    uint32_t count;
    uint32_t cap;
    struct map places; /* in the plan -> in sessions */
};

static enum status
family_add(struct family *family, const struct lab_plan *plan, uint32_t session, uint32_t parent)
{
    if (family->count == family->cap) {
        uint32_t cap = family->cap * 2 + 8;
        struct lab_session *grown = mem_resize(family->mem, family->sessions,
                                               family->cap * sizeof(*grown), cap * sizeof(*grown));
        if (grown == NULL) {
            return ST_NOMEM;
        }
        family->sessions = grown;
        family->cap = cap;
    }
    enum status st = map_put(&family->places, session, family->count);
    if (st == ST_OK) {
        family->sessions[family->count] = plan->sessions[session];
        family->sessions[family->count++].parent = parent;
    }
    return st;
}

/* Repeated until no more are found: a plan may name a sub-agent before its parent. */
static enum status family_gather(struct family *family, const struct lab_plan *plan, uint32_t root)
{
    enum status st = family_add(family, plan, root, LAB_NONE);
    for (uint32_t before = 0; st == ST_OK && before != family->count;) {
        before = family->count;
        for (uint32_t i = 0; st == ST_OK && i < plan->session_count; i++) {
            uint32_t parent = plan->sessions[i].parent;
            const uint64_t *place = parent == LAB_NONE ? NULL : map_get(&family->places, parent);
            if (place != NULL && map_get(&family->places, i) == NULL) {
                st = family_add(family, plan, i, (uint32_t)*place);
            }
        }
    }
    return st;
}

enum status
lab_alone_us(const struct lab_plan *plan, uint32_t session, const struct mem *mem, uint64_t *ret)
{
    if (session >= plan->session_count) {
        return ST_INVAL;
    }
    struct family family = {.mem = mem};
    map_init(&family.places, mem, plan->session_count);
    enum status st = family_gather(&family, plan, session);
    if (st == ST_OK) {
        const struct lab_arrival arrival = {0};
        struct lab_plan alone = *plan;
        struct lab_result result;
        alone.sessions = family.sessions;
        alone.session_count = family.count;
        alone.arrivals = &arrival;
        alone.arrival_count = 1;
        alone.engines = 1;
        alone.until_us = 0;
        alone.is_unlimited = false;
        alone.scenario = NULL;
        st = lab_run(&alone, mem, NULL, NULL, &result);
        if (st == ST_OK) {
            const struct lab_outcome *outcome = &result.outcomes[0];
            st = result.given_up > 0 ? ST_TOOBIG : ST_OK;
            if (st == ST_OK) {
                *ret = outcome->ended_at_us - outcome->began_at_us - outcome->human_us;
            }
            lab_result_fini(&result, mem);
        }
    }
    map_fini(&family.places);
    mem_free(mem, family.sessions, family.cap * sizeof(*family.sessions));
    return st;
}
