/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/arrivals.h"
#include "bench/lab/workload.h"
#include "common/base/hash.h"

enum { SEED_TIMES = 21, SEED_TREES = 22 };

static enum status grow(const struct mem *mem, void **p, uint32_t *cap, uint32_t need, size_t size)
{
    uint32_t more = *cap == 0 ? 256 : *cap;
    while (more < need) {
        more *= 2;
    }
    if (more == *cap) {
        return ST_OK;
    }
    if (more > DRAW_SESSIONS_MAX) {
        return ST_TOOBIG;
    }
    void *grown = mem_resize(mem, *p, *cap * size, more * size);
    if (grown == NULL) {
        return ST_NOMEM;
    }
    *p = grown;
    *cap = more;
    return ST_OK;
}

static const struct workload_tree *pick(const struct workload *workload, struct rng *rng)
{
    uint32_t first = 0;
    uint32_t count = workload->tree_count;
    if (workload->kind == WORKLOAD_MIX && rng_unit(rng) < WORKLOAD_MIX_CLAUDE) {
        first = workload->swe_count;
        count -= first;
    } else if (workload->kind == WORKLOAD_MIX) {
        count = workload->swe_count;
    }
    return &workload->trees[first + rng_below(rng, count)];
}

static enum status
add(struct draw *draw, const struct workload *workload, const struct workload_tree *tree, double s)
{
    void *sessions = draw->sessions;
    void *arrivals = draw->arrivals;
    uint32_t first = draw->session_count;
    enum status st = grow(draw->mem, &sessions, &draw->session_cap, first + tree->count,
                          sizeof(*draw->sessions));
    draw->sessions = sessions;
    if (st == ST_OK) {
        st = grow(draw->mem, &arrivals, &draw->arrival_cap, draw->arrival_count + 1,
                  sizeof(*draw->arrivals));
        draw->arrivals = arrivals;
    }
    if (st != ST_OK) {
        return st;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        struct lab_session *made = &draw->sessions[first + i];
        *made = workload->sessions[tree->first + i];
        made->parent = made->parent == LAB_NONE ? LAB_NONE : made->parent - tree->first + first;
    }
    draw->session_count += tree->count;
    draw->arrivals[draw->arrival_count++] =
        (struct lab_arrival){.at_us = (uint64_t)(s * 1e6), .session = first};
    return ST_OK;
}

enum status draw_make(struct draw *ret,
                      const struct mem *mem,
                      const struct workload *workload,
                      const struct draw_opts *opts)
{
    struct draw draw = {.mem = mem};
    struct arrivals arrivals;
    struct rng rng;
    enum status st = ST_OK;
    double s = 0;
    arrivals_init(&arrivals, 1 / opts->rate_per_s, opts->burst_cv,
                  hash_mix(opts->seed, SEED_TIMES));
    rng_init(&rng, hash_mix(opts->seed, SEED_TREES));
    while (st == ST_OK) {
        s += arrivals_next_s(&arrivals);
        if (s >= opts->hours * 3600 && draw.arrival_count > 0) {
            break;
        }
        st = add(&draw, workload, pick(workload, &rng), s);
    }
    if (st != ST_OK) {
        draw_fini(&draw);
        return st;
    }
    *ret = draw;
    return ST_OK;
}

void draw_fini(struct draw *draw)
{
    if (draw != NULL && draw->mem != NULL) {
        mem_free(draw->mem, draw->sessions, draw->session_cap * sizeof(*draw->sessions));
        mem_free(draw->mem, draw->arrivals, draw->arrival_cap * sizeof(*draw->arrivals));
        *draw = (struct draw){0};
    }
}
