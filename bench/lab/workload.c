/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/workload.h"

#include "common/base/hash.h"

const char *const workload_names[WORKLOAD_KIND_COUNT] = {"swe", "claude-code", "mix", "chat",
                                                         "any"};
const char *const split_names[SPLIT_COUNT] = {"all", "train", "test"};

enum { SPLIT_SEED = 11, SYSTEM_SEED = 12 };

static bool is_claude(const struct trace_session *session)
{
    return strcmp(session->source, "weka-cc") == 0;
}

static bool is_swe(const struct trace_session *session)
{
    return strcmp(session->source, "agentcgroup") == 0 ||
           strcmp(session->source, "tbench-miniswe") == 0 ||
           strcmp(session->source, "lmcache-miniswe") == 0;
}

static bool is_in_list(struct str list, struct str name)
{
    struct str part;
    while (list.len > 0 && str_split(&list, ',', &part)) {
        if (str_eq(part, name)) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const struct trace_session *session, const struct workload_opts *opts)
{
    struct str source = str_of(session->source);
    bool is_ours = opts->kind == WORKLOAD_ANY ||
                   (opts->kind != WORKLOAD_CLAUDE_CODE && is_swe(session)) ||
                   (opts->kind != WORKLOAD_SWE && is_claude(session));
    uint64_t half = hash_str(str_of(session->id), hash_str(source, SPLIT_SEED)) & 1;
    return session->parent == TRACE_NONE && is_ours &&
           (opts->split == SPLIT_ALL || half == (opts->split == SPLIT_TEST)) &&
           (opts->only.len == 0 || is_in_list(opts->only, source)) &&
           !is_in_list(opts->leave_out, source);
}

/* Every source that is named is in the trace. */
static enum status check_sources(const struct trace *trace, struct str list, struct err *err)
{
    struct str name;
    while (list.len > 0 && str_split(&list, ',', &name)) {
        bool is_there = false;
        for (uint32_t i = 0; i < trace->session_count && !is_there; i++) {
            is_there = str_eq(name, str_of(trace->sessions[i].source));
        }
        if (!is_there) {
            return err_set(err, ST_INVAL, "the trace has no source \"%.*s\"", (int)name.len,
                           name.p);
        }
    }
    return ST_OK;
}

struct maker {
    struct workload *workload;
    const struct trace *trace;
    const struct workload_opts *opts;
    uint32_t *made; /* by the trace's index: place in sessions, LAB_NONE */
};

static uint32_t at_least_one(uint32_t n)
{
    return n > 0 ? n : 1;
}

/* A wait that was recorded from request to request holds the model's time of another machine: ours
 * is taken off. */
static uint64_t
gap_after(const struct maker *maker, const struct trace_step *step, const struct trace_step *next)
{
    uint64_t gap_us = step->gap_us;
    if (step->is_gap_from_request) {
        const struct sim_profile *profile = maker->opts->profile;
        uint32_t fresh = step->in_tokens - step->reuse_tokens;
        double model_us = (fresh * profile->b_s_per_token + step->out_tokens * profile->f_s) * 1e6;
        gap_us = (double)gap_us > model_us ? gap_us - (uint64_t)model_us : 0;
    } else if (!next->is_tool && gap_us > WORKLOAD_HUMAN_MAX_US) {
        gap_us = WORKLOAD_HUMAN_MAX_US;
    }
    return gap_us;
}

static struct lab_step
make_step(const struct maker *maker, const struct trace_step *step, const struct trace_step *before)
{
    struct lab_step made = {
        .prompt_tokens = at_least_one(step->in_tokens),
        .output_tokens = at_least_one(step->out_tokens),
        .tool = STR(""),
    };
    if (before == NULL) {
        return made;
    }
    made.kept_tokens = step->reuse_tokens;
    if (step->in_tokens > before->in_tokens && step->reuse_tokens >= before->in_tokens) {
        uint64_t all = (uint64_t)before->in_tokens + before->out_tokens;
        made.kept_tokens = all < step->in_tokens ? (uint32_t)all : step->in_tokens;
    }
    made.gap_us = gap_after(maker, before, step);
    made.is_human = !before->is_gap_from_request && !step->is_tool;
    made.tool = str_of(before->tools);
    return made;
}

/* Steps before the first one that no engine can hold. */
static uint32_t fitting_steps(const struct maker *maker, const struct trace_session *session)
{
    uint32_t most = maker->opts->profile->context_tokens;
    most = maker->opts->kv_tokens < most ? maker->opts->kv_tokens : most;
    for (uint32_t i = 0; i < session->step_count; i++) {
        const struct trace_step *step = &maker->trace->steps[session->step_at + i];
        if ((uint64_t)at_least_one(step->in_tokens) + at_least_one(step->out_tokens) > most) {
            return i;
        }
    }
    return session->step_count;
}

static enum status make_session(struct maker *maker, uint32_t idx, uint32_t parent)
{
    struct workload *workload = maker->workload;
    const struct trace_session *session = &maker->trace->sessions[idx];
    uint32_t count = fitting_steps(maker, session);
    if (count == 0) {
        return ST_OK;
    }
    workload->cut_count += count < session->step_count;
    struct lab_step *steps = arena_calloc(&workload->arena, count, sizeof(*steps));
    if (steps == NULL) {
        return ST_NOMEM;
    }
    uint32_t system_tokens = session->sys[0] == '\0' ? 0 : session->sys_tokens;
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_step *step = &maker->trace->steps[session->step_at + i];
        steps[i] = make_step(maker, step, i > 0 ? step - 1 : NULL);
        if (steps[i].prompt_tokens < system_tokens) {
            system_tokens = steps[i].prompt_tokens;
        }
    }
    maker->made[idx] = workload->session_count;
    workload->sessions[workload->session_count] = (struct lab_session){
        .steps = steps,
        .step_count = count,
        .system_id = (uint32_t)hash_str(str_of(session->sys), SYSTEM_SEED),
        .system_tokens = system_tokens,
        .parent = parent,
        .spawn_step = session->spawn_step,
        .recorded = workload->session_count,
    };
    workload->session_count++;
    return ST_OK;
}

/* The sub-agents that start within what is left of their parent; theirs follow. */
static enum status make_children(struct maker *maker, uint32_t tree_first)
{
    const struct trace *trace = maker->trace;
    enum status st = ST_OK;
    bool is_more = true;
    while (is_more && st == ST_OK) {
        is_more = false;
        for (uint32_t i = 0; i < trace->session_count && st == ST_OK; i++) {
            uint32_t above = trace->sessions[i].parent;
            uint32_t parent = above == TRACE_NONE ? LAB_NONE : maker->made[above];
            if (maker->made[i] != LAB_NONE || parent == LAB_NONE || parent < tree_first ||
                trace->sessions[i].spawn_step >= maker->workload->sessions[parent].step_count) {
                continue;
            }
            uint32_t before = maker->workload->session_count;
            st = make_session(maker, i, parent);
            is_more = is_more || maker->workload->session_count > before;
        }
    }
    return st;
}

static enum status make_tree(struct maker *maker, uint32_t root)
{
    struct workload *workload = maker->workload;
    uint32_t first = workload->session_count;
    enum status st = make_session(maker, root, LAB_NONE);
    if (st == ST_OK && workload->session_count > first &&
        maker->trace->sessions[root].child_first != TRACE_NONE) {
        st = make_children(maker, first);
    }
    if (st == ST_OK && workload->session_count > first) {
        workload->trees[workload->tree_count++] = (struct workload_tree){
            .first = first,
            .count = workload->session_count - first,
            .is_claude = is_claude(&maker->trace->sessions[root]),
        };
    }
    return st;
}

static enum status make_trees(struct maker *maker)
{
    struct workload *workload = maker->workload;
    enum status st = ST_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < maker->trace->session_count && st == ST_OK; i++) {
            const struct trace_session *session = &maker->trace->sessions[i];
            if (is_wanted(session, maker->opts) && is_claude(session) == (pass == 1)) {
                st = make_tree(maker, i);
            }
        }
        workload->swe_count = pass == 0 ? workload->tree_count : workload->swe_count;
    }
    return st;
}

/* All but the arena, which is ready. */
static enum status
fill(struct workload *workload, const struct trace *trace, const struct workload_opts *opts)
{
    struct maker maker = {.workload = workload, .trace = trace, .opts = opts};
    struct arena *arena = &workload->arena;
    size_t count = trace->session_count;
    workload->sessions = arena_calloc(arena, count, sizeof(*workload->sessions));
    workload->trees = arena_calloc(arena, count, sizeof(*workload->trees));
    maker.made = arena_calloc(arena, count, sizeof(*maker.made));
    if (workload->sessions == NULL || workload->trees == NULL || maker.made == NULL) {
        return ST_NOMEM;
    }
    memset(maker.made, 0xff, count * sizeof(*maker.made));
    return make_trees(&maker);
}

enum status workload_make(struct workload *ret,
                          const struct mem *mem,
                          const struct trace *trace,
                          const struct workload_opts *opts,
                          struct err *err)
{
    struct workload workload = {.kind = opts->kind};
    enum status st = check_sources(trace, opts->only, err);
    st = st == ST_OK ? check_sources(trace, opts->leave_out, err) : st;
    if (st != ST_OK) {
        return st;
    }
    arena_init(&workload.arena, mem, 1 << 16, SIZE_MAX / 2);
    st = fill(&workload, trace, opts);
    bool has_swe = workload.swe_count > 0;
    bool has_claude = workload.swe_count < workload.tree_count;
    bool is_enough = opts->kind == WORKLOAD_MIX ? has_swe && has_claude : has_swe || has_claude;
    if (st != ST_OK) {
        status_ignore(err_set(err, st, "no memory for the workload"), "returned below");
    } else if (!is_enough) {
        st = err_set(err, ST_INVAL, "the trace has no sessions for workload %s, split %s%s",
                     workload_names[opts->kind], split_names[opts->split],
                     opts->only.len + opts->leave_out.len > 0 ? ", of these sources" : "");
    }
    if (st != ST_OK) {
        arena_fini(&workload.arena);
        return st;
    }
    *ret = workload;
    return ST_OK;
}

void workload_fini(struct workload *workload)
{
    if (workload != NULL && workload->arena.mem != NULL) {
        arena_fini(&workload->arena);
        *workload = (struct workload){0};
    }
}
