/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/arrivals.h"
#include "bench/lab/scenario.h"
#include "common/base/hash.h"

enum { SEED_TIMES = 21, SEED_TREES = 22, SEED_PARTS = 23, SEED_CLIENTS = 24 };

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

static const struct workload_tree *
pick(const struct workload *workload, enum workload_kind kind, struct rng *rng)
{
    bool is_first = kind == WORKLOAD_SWE;
    if (kind == WORKLOAD_ANY) {
        return &workload->trees[rng_below(rng, workload->tree_count)];
    }
    if (kind == WORKLOAD_MIX) {
        is_first = rng_unit(rng) >= WORKLOAD_MIX_CLAUDE;
    }
    uint32_t first = is_first ? 0 : workload->swe_count;
    uint32_t count = is_first ? workload->swe_count : workload->tree_count - workload->swe_count;
    return &workload->trees[first + rng_below(rng, count)];
}

/* Which program sends a session's requests; shares are assumed (docs/scenarios.md). */
static enum lab_client_kind
client_of(const struct workload *workload, const struct workload_tree *tree, uint64_t drawn)
{
    static const enum lab_client_kind swe[] = {LAB_CLIENT_MINI_SWE_AGENT, LAB_CLIENT_MINI_SWE_AGENT,
                                               LAB_CLIENT_OPENAI_SDK, LAB_CLIENT_CODEX};
    static const enum lab_client_kind chat[] = {LAB_CLIENT_OPENAI_SDK, LAB_CLIENT_ANTHROPIC_SDK};
    if (workload->kind == WORKLOAD_CHAT) {
        return chat[drawn % 2];
    }
    return tree->is_claude ? LAB_CLIENT_CLAUDE_CODE : swe[drawn % 4];
}

/* What a session has beside its steps. */
struct whose {
    uint32_t tenant;
    uint32_t model;
    enum workload_kind kind;
};

static struct whose
draw_whose(const struct draw_opts *opts, enum workload_kind kind, struct rng *rng)
{
    uint32_t count = opts->scenario == NULL ? 0 : opts->scenario->tenant_count;
    struct whose whose = {.kind = kind};
    if (count == 0) {
        return whose;
    }
    double left = rng_unit(rng) * opts->rate_per_s;
    while (whose.tenant + 1 < count && left >= opts->parts[whose.tenant].rate_per_s) {
        left -= opts->parts[whose.tenant++].rate_per_s;
    }
    whose.kind = opts->parts[whose.tenant].workload;
    whose.model = opts->parts[whose.tenant].model;
    return whose;
}

/* A copy of the tree arrives. */
static enum status add(struct draw *draw,
                       const struct workload *workload,
                       const struct workload_tree *tree,
                       const struct lab_session *like,
                       double s)
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
        made->tenant = like->tenant;
        made->model = like->model;
        made->client = like->client;
    }
    draw->session_count += tree->count;
    draw->arrivals[draw->arrival_count++] =
        (struct lab_arrival){.at_us = (uint64_t)(s * 1e6), .session = first};
    return ST_OK;
}

/* One after the other, until the hours are over. */
static enum status
fill(struct draw *draw, const struct workload *workload, const struct draw_opts *opts)
{
    struct arrivals arrivals;
    struct rng trees;
    struct rng parts;
    double even_s = 0; /* time that runs with the load */
    enum status st = ST_OK;
    arrivals_init(&arrivals, 1 / opts->rate_per_s, opts->burst_cv,
                  hash_mix(opts->seed, SEED_TIMES));
    rng_init(&trees, hash_mix(opts->seed, SEED_TREES));
    rng_init(&parts, hash_mix(opts->seed, SEED_PARTS));
    if (opts->times != NULL) {
        arrivals_use(&arrivals, opts->times);
    }
    while (st == ST_OK) {
        even_s += arrivals_next_s(&arrivals);
        double s =
            opts->scenario == NULL ? even_s : scenario_warp_s(opts->scenario, opts->hours, even_s);
        if (s >= opts->hours * 3600 && draw->arrival_count > 0) {
            break;
        }
        struct whose whose = draw_whose(opts, workload->kind, &parts);
        const struct workload_tree *tree = pick(workload, whose.kind, &trees);
        uint64_t drawn = hash_mix(hash_mix(opts->seed, SEED_CLIENTS), draw->arrival_count);
        const struct lab_session like = {.tenant = whose.tenant,
                                         .model = whose.model,
                                         .client = client_of(workload, tree, drawn)};
        st = add(draw, workload, tree, &like, s);
    }
    return st;
}

enum status draw_make(struct draw *ret,
                      const struct mem *mem,
                      const struct workload *workload,
                      const struct draw_opts *opts)
{
    struct draw draw = {.mem = mem};
    enum status st = fill(&draw, workload, opts);
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
