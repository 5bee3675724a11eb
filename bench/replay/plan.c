/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/plan.h"

#include "common/base/hash.h"
#include "common/base/rng.h"

/* Without --rate all sessions arrive within this. */
#define ARRIVAL_SPAN_S 30.0

enum { RUNS_MAX = 1 << 24 };

static enum status add_run(struct plan *plan, uint32_t session, uint32_t parent, uint32_t *ret)
{
    if (plan->count == plan->cap) {
        uint32_t cap = plan->cap == 0 ? 64 : plan->cap * 2;
        if (cap > RUNS_MAX) {
            return ST_TOOBIG;
        }
        void *p = mem_resize(plan->mem, plan->runs, plan->cap * sizeof(*plan->runs),
                             cap * sizeof(*plan->runs));
        if (p == NULL) {
            return ST_NOMEM;
        }
        plan->runs = p;
        plan->cap = cap;
    }
    uint32_t limit = plan->opts->max_steps;
    uint32_t steps = plan->trace->sessions[session].step_count;
    steps = limit > 0 && limit < steps ? limit : steps;
    *ret = plan->count++;
    plan->runs[*ret] = (struct plan_run){
        .session = session,
        .parent = parent,
        .child_first = TRACE_NONE,
        .sibling_next = TRACE_NONE,
        .step_count = steps,
    };
    plan->step_total += steps;
    return ST_OK;
}

static void set_seeds(struct plan *plan, uint32_t run, uint64_t copy)
{
    struct plan_run *made = &plan->runs[run];
    const struct trace_session *session = &plan->trace->sessions[made->session];
    uint64_t seed = plan->opts->seed;
    uint64_t id = hash_str(str_of(session->id), hash_str(str_of(session->source), 3));
    made->seed = hash_mix(hash_mix(id, seed), copy);
    made->sys_seed =
        session->sys[0] == '\0' ? ~made->seed : hash_mix(hash_str(str_of(session->sys), 4), seed);
}

/* Adds the sub-agents of one run; theirs follow when the walk reaches them. */
static enum status add_children(struct plan *plan, uint32_t run, uint64_t copy)
{
    uint32_t *link = NULL;
    uint32_t session = plan->runs[run].session;
    uint32_t last = TRACE_NONE;
    for (uint32_t at = plan->trace->sessions[session].child_first; at != TRACE_NONE;
         at = plan->trace->sessions[at].sibling_next) {
        if (plan->trace->sessions[at].spawn_step >= plan->runs[run].step_count) {
            continue;
        }
        uint32_t child = 0;
        enum status st = add_run(plan, at, run, &child);
        if (st != ST_OK) {
            return st;
        }
        set_seeds(plan, child, copy);
        plan->runs[child].tenant = plan->runs[run].tenant;
        link = last == TRACE_NONE ? &plan->runs[run].child_first : &plan->runs[last].sibling_next;
        *link = child;
        last = child;
    }
    return ST_OK;
}

/* The root sessions in random order. */
static enum status shuffle_roots(const struct plan *plan, struct rng *rng, uint32_t **ret)
{
    const struct trace *trace = plan->trace;
    uint32_t *roots = mem_calloc(plan->mem, trace->root_count, sizeof(*roots));
    uint32_t count = 0;
    if (roots == NULL) {
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < trace->session_count; i++) {
        if (trace->sessions[i].parent == TRACE_NONE) {
            uint32_t at = (uint32_t)rng_below(rng, count + 1);
            roots[count++] = roots[at];
            roots[at] = i;
        }
    }
    *ret = roots;
    return ST_OK;
}

static void set_arrivals(struct plan *plan, struct rng *rng)
{
    const struct replay_options *opts = plan->opts;
    double rate_per_s = opts->rate_per_s > 0 ? opts->rate_per_s : plan->root_count / ARRIVAL_SPAN_S;
    double at_s = 0;
    for (uint32_t i = 0; i < plan->root_count; i++) {
        plan->runs[i].arrival_us = (uint64_t)(at_s * 1e6);
        if (opts->arrivals == ARRIVALS_POISSON) {
            at_s += rng_exp(rng, 1 / rate_per_s);
        } else if ((i + 1) % opts->burst == 0) {
            at_s += rng_exp(rng, opts->burst / rate_per_s);
        }
    }
}

static enum status fill(struct plan *plan, struct rng *rng, const uint32_t *roots)
{
    const struct replay_options *opts = plan->opts;
    uint32_t available = plan->trace->root_count;
    uint32_t wanted = opts->sessions > 0 ? opts->sessions : available;
    enum status st = ST_OK;
    for (uint32_t i = 0; i < wanted && st == ST_OK; i++) {
        uint32_t run = 0;
        st = add_run(plan, roots[i % available], TRACE_NONE, &run);
        if (st == ST_OK) {
            set_seeds(plan, run, i / available);
            plan->runs[run].tenant =
                opts->tenants > 0 ? (uint32_t)rng_below(rng, opts->tenants) : 0;
            plan->root_count++;
        }
    }
    /* Children of roots, then theirs: the table grows while the walk goes on. Every run's copy is
     * its root's. */
    for (uint32_t i = 0; i < plan->count && st == ST_OK; i++) {
        uint32_t root = i;
        while (plan->runs[root].parent != TRACE_NONE) {
            root = plan->runs[root].parent;
        }
        st = add_children(plan, i, root / available);
    }
    return st;
}

enum status plan_make(struct plan *ret,
                      const struct mem *mem,
                      const struct trace *trace,
                      const struct replay_options *opts)
{
    struct plan plan = {.mem = mem, .trace = trace, .opts = opts};
    struct rng rng;
    uint32_t *roots = NULL;
    rng_init(&rng, hash_mix(opts->seed, 5));
    enum status st = shuffle_roots(&plan, &rng, &roots);
    if (st != ST_OK) {
        return st;
    }
    st = fill(&plan, &rng, roots);
    mem_free(mem, roots, trace->root_count * sizeof(*roots));
    if (st != ST_OK) {
        plan_fini(&plan);
        return st;
    }
    set_arrivals(&plan, &rng);
    *ret = plan;
    return ST_OK;
}

void plan_fini(struct plan *plan)
{
    if (plan != NULL && plan->mem != NULL) {
        mem_free(plan->mem, plan->runs, plan->cap * sizeof(*plan->runs));
        *plan = (struct plan){0};
    }
}

static uint32_t scaled(const struct plan *plan, uint32_t tokens)
{
    double value = tokens * plan->opts->scale_tokens + 0.5;
    return value > TRACE_TOKENS_MAX ? (uint32_t)TRACE_TOKENS_MAX : (uint32_t)value;
}

struct prompt_step plan_prompt_step(const struct plan *plan, uint32_t run, uint32_t step)
{
    const struct plan_run *made = &plan->runs[run];
    const struct trace_step *now = trace_step_at(plan->trace, made->session, step);
    const struct trace_step *before = step > 0 ? now - 1 : NULL;
    return (struct prompt_step){
        .seed = made->seed,
        .sys_seed = made->sys_seed,
        .sys_tokens = scaled(plan, plan->trace->sessions[made->session].sys_tokens),
        .step = step,
        .in_tokens = scaled(plan, now->in_tokens),
        .reuse_tokens = scaled(plan, now->reuse_tokens),
        .keeps_all = before != NULL && now->in_tokens > before->in_tokens &&
                     now->reuse_tokens >= before->in_tokens,
        .is_tool = now->is_tool,
    };
}

uint32_t plan_output_tokens(const struct plan *plan, uint32_t run, uint32_t step)
{
    uint32_t tokens =
        scaled(plan, trace_step_at(plan->trace, plan->runs[run].session, step)->out_tokens);
    return tokens == 0 ? 1 : tokens;
}

uint64_t plan_gap_us(const struct plan *plan, uint32_t run, uint32_t step)
{
    const struct replay_options *opts = plan->opts;
    double gap_us = (double)trace_step_at(plan->trace, plan->runs[run].session, step)->gap_us;
    double max_us = opts->max_gap_s * 1e6;
    return (uint64_t)((gap_us < max_us ? gap_us : max_us) / opts->speed);
}
