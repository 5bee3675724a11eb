/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. each line becomes a row; rows open sessions and leave raw steps; 2. raw steps are
 * grouped by session and the reuse is put right; 3. system prompts get their lengths; 4. sub-agents
 * are tied to their parents' steps. Failures: the first bad line ends the load; nothing is left
 * behind. */
#include "bench/replay/trace.h"

#include "bench/replay/sample.h"
#include "common/base/hash.h"
#include "common/base/map.h"

enum { NEST_MAX = 16 };

/* A step as read; t_end_s is only needed to place sub-agents in time. */
struct raw_step {
    struct trace_step step;
    uint32_t new_tokens;
    uint32_t session;
    double t_s;
    double t_end_s;
};

struct raw_session {
    struct trace_session session;
    const char *parent_id; /* NULL = a root */
    uint32_t sys;          /* into sys_stats, UINT32_MAX = none */
    double first_t_s;
    bool is_placed; /* spawn_step is known from the parent's "subs" */
};

struct raw_sub {
    uint32_t parent; /* session index */
    uint32_t step;   /* step of the parent that waited for it */
    const char *id;
};

struct sys_stat {
    uint32_t recorded_tokens; /* 0 = never recorded */
    uint32_t reuse_tokens;    /* most that a first step reused */
    uint32_t min_in_tokens;   /* least prompt of a first step */
};

/* A growing array. */
struct vec {
    void *p;
    uint32_t count;
    uint32_t cap;
    uint32_t item_bytes;
};

struct loader {
    const struct mem *mem;
    struct trace *trace;
    struct map ids;   /* hash of source and session id -> session index */
    struct map tools; /* hash of a text of tools -> its copy */
    struct map syses; /* hash of sys id -> index into sys_stats */
    struct vec steps;
    struct vec sessions;
    struct vec subs;
    struct vec sys_stats;
};

static void *vec_add(struct vec *vec, const struct mem *mem)
{
    if (vec->count == vec->cap) {
        uint32_t cap = vec->cap == 0 ? 64 : vec->cap * 2;
        void *p = mem_resize(mem, vec->p, (size_t)vec->cap * vec->item_bytes,
                             (size_t)cap * vec->item_bytes);
        if (p == NULL) {
            return NULL;
        }
        vec->p = p;
        vec->cap = cap;
    }
    void *item = (char *)vec->p + (size_t)vec->count * vec->item_bytes;
    memset(item, 0, vec->item_bytes);
    vec->count++;
    return item;
}

static void vec_fini(struct vec *vec, const struct mem *mem)
{
    mem_free(mem, vec->p, (size_t)vec->cap * vec->item_bytes);
}

static void loader_init(struct loader *ld, struct trace *trace, const struct mem *mem)
{
    *ld = (struct loader){
        .mem = mem,
        .trace = trace,
        .steps.item_bytes = sizeof(struct raw_step),
        .sessions.item_bytes = sizeof(struct raw_session),
        .subs.item_bytes = sizeof(struct raw_sub),
        .sys_stats.item_bytes = sizeof(struct sys_stat),
    };
    map_init(&ld->ids, mem, TRACE_SESSIONS_MAX);
    map_init(&ld->syses, mem, TRACE_SESSIONS_MAX);
    map_init(&ld->tools, mem, TRACE_SESSIONS_MAX);
}

static void loader_fini(struct loader *ld)
{
    map_fini(&ld->ids);
    map_fini(&ld->syses);
    map_fini(&ld->tools);
    vec_fini(&ld->steps, ld->mem);
    vec_fini(&ld->sessions, ld->mem);
    vec_fini(&ld->subs, ld->mem);
    vec_fini(&ld->sys_stats, ld->mem);
}

static struct raw_session *session_at(const struct loader *ld, uint32_t idx)
{
    return &((struct raw_session *)ld->sessions.p)[idx];
}

static uint64_t id_key(struct str source, struct str id)
{
    return hash_str(id, hash_str(source, 1));
}

/* Session index of this id, TRACE_NONE when unknown. */
static uint32_t find_session(const struct loader *ld, struct str source, struct str id)
{
    const uint64_t *found = map_get(&ld->ids, id_key(source, id));
    if (found == NULL) {
        return TRACE_NONE;
    }
    const struct trace_session *session = &session_at(ld, (uint32_t)*found)->session;
    bool is_same = str_eq(str_of(session->id), id) && str_eq(str_of(session->source), source);
    return is_same ? (uint32_t)*found : TRACE_NONE;
}

/* Notes what a session's first row says about its system prompt. */
static enum status note_sys(struct loader *ld, const struct trace_row *row, uint32_t *ret)
{
    *ret = UINT32_MAX;
    if (row->sys.len == 0) {
        return ST_OK;
    }
    uint64_t key = hash_str(row->sys, 2);
    const uint64_t *found = map_get(&ld->syses, key);
    struct sys_stat *stat = NULL;
    if (found == NULL) {
        *ret = ld->sys_stats.count;
        stat = vec_add(&ld->sys_stats, ld->mem);
        if (stat == NULL) {
            return ST_NOMEM;
        }
        stat->min_in_tokens = row->in_tokens;
        enum status st = map_put(&ld->syses, key, *ret);
        if (st != ST_OK) {
            return st;
        }
    } else {
        *ret = (uint32_t)*found;
        stat = &((struct sys_stat *)ld->sys_stats.p)[*ret];
    }
    uint32_t reuse = row->in_tokens - row->new_tokens;
    if (stat->recorded_tokens == 0) {
        stat->recorded_tokens = row->sys_tokens;
    }
    if (reuse > stat->reuse_tokens) {
        stat->reuse_tokens = reuse;
    }
    if (row->in_tokens < stat->min_in_tokens) {
        stat->min_in_tokens = row->in_tokens;
    }
    return ST_OK;
}

static enum status copy_id(struct loader *ld, struct str id, const char **ret)
{
    *ret = arena_copy(&ld->trace->arena, id.p, id.len);
    return *ret == NULL ? ST_NOMEM : ST_OK;
}

/* One copy of each text of tools; few differ. */
static enum status copy_tools(struct loader *ld, struct str tools, const char **ret)
{
    uint64_t key = hash_str(tools, 3);
    const uint64_t *found = map_get(&ld->tools, key);
    if (found != NULL && str_eq(str_of((const char *)(uintptr_t)*found), tools)) {
        *ret = (const char *)(uintptr_t)*found;
        return ST_OK;
    }
    enum status st = copy_id(ld, tools, ret);
    return st == ST_OK ? map_put(&ld->tools, key, (uint64_t)(uintptr_t)*ret) : st;
}

static enum status open_session(struct loader *ld, const struct trace_row *row, uint32_t *ret)
{
    uint32_t idx = ld->sessions.count;
    if (idx >= TRACE_SESSIONS_MAX) {
        return ST_TOOBIG;
    }
    struct raw_session *raw = vec_add(&ld->sessions, ld->mem);
    if (raw == NULL) {
        return ST_NOMEM;
    }
    raw->first_t_s = row->t_s;
    raw->session.parent = TRACE_NONE;
    raw->session.child_first = TRACE_NONE;
    raw->session.sibling_next = TRACE_NONE;
    enum status st = copy_id(ld, row->session, &raw->session.id);
    if (st == ST_OK) {
        st = copy_id(ld, row->source, &raw->session.source);
    }
    if (st == ST_OK) {
        st = copy_id(ld, row->sys, &raw->session.sys);
    }
    if (st == ST_OK && row->parent.len > 0) {
        st = copy_id(ld, row->parent, &raw->parent_id);
    }
    if (st == ST_OK) {
        st = note_sys(ld, row, &raw->sys);
    }
    if (st == ST_OK) {
        st = map_put(&ld->ids, id_key(row->source, row->session), idx);
    }
    *ret = idx;
    return st;
}

static enum status add_subs(struct loader *ld, const struct trace_row *row, uint32_t session)
{
    size_t idx = 0;
    size_t max = 0;
    yyjson_val *val = NULL;
    yyjson_arr_foreach(row->subs, idx, max, val)
    {
        struct raw_sub *sub = vec_add(&ld->subs, ld->mem);
        if (sub == NULL) {
            return ST_NOMEM;
        }
        sub->parent = session;
        sub->step = session_at(ld, session)->session.step_count;
        enum status st = copy_id(ld, json_str(val), &sub->id);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status add_row(struct loader *ld, const struct trace_row *row)
{
    uint32_t session = find_session(ld, row->source, row->session);
    enum status st = session == TRACE_NONE ? open_session(ld, row, &session) : ST_OK;
    const char *tools = NULL;
    if (st == ST_OK && row->subs != NULL) {
        st = add_subs(ld, row, session);
    }
    if (st == ST_OK) {
        st = copy_tools(ld, row->tools, &tools);
    }
    if (st != ST_OK) {
        return st;
    }
    if (ld->steps.count >= TRACE_STEPS_MAX) {
        return ST_TOOBIG;
    }
    struct raw_step *raw = vec_add(&ld->steps, ld->mem);
    if (raw == NULL) {
        return ST_NOMEM;
    }
    raw->step.in_tokens = row->in_tokens;
    raw->step.out_tokens = row->out_tokens;
    raw->step.gap_us = (uint64_t)(row->gap_s * 1e6);
    raw->step.is_gap_from_request = row->is_gap_from_request;
    raw->step.is_tool = row->is_tool;
    raw->step.has_gap = row->has_gap;
    raw->step.tools = tools;
    raw->new_tokens = row->new_tokens;
    raw->session = session;
    raw->t_s = row->t_s;
    raw->t_end_s = row->t_s + row->llm_s;
    session_at(ld, session)->session.step_count++;
    return ST_OK;
}

static enum status add_line(struct loader *ld, struct str line, uint64_t number, struct err *err)
{
    struct err why = {0};
    struct trace_row row;
    yyjson_read_err json_err = {0};
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)line.p, line.len, 0, NULL, &json_err);
    if (doc == NULL) {
        return err_set(err, ST_PROTO, "line %llu: not JSON at byte %zu", (unsigned long long)number,
                       json_err.pos);
    }
    enum status st = trace_row_read(yyjson_doc_get_root(doc), &row, &why);
    if (st == ST_OK) {
        st = add_row(ld, &row);
        if (st != ST_OK) {
            status_ignore(err_set(&why, st, "%s", status_text(st)), "stored in why");
        }
    }
    yyjson_doc_free(doc);
    return st == ST_OK ? ST_OK
                       : err_set(err, st, "line %llu: %s", (unsigned long long)number, why.text);
}

/* How much of the prompt before this prompt begins with. Sources that report what a provider's
 * cache served say nothing about the text when the cache had expired: there a prompt that grew is
 * taken to have kept all. */
static uint32_t
true_reuse(const struct raw_step *raw, const struct raw_step *before, const char *source)
{
    if (before == NULL) {
        return 0;
    }
    uint32_t in = raw->step.in_tokens;
    uint32_t prior = before->step.in_tokens;
    uint32_t reuse = in - raw->new_tokens;
    bool is_growing = in >= prior;
    bool is_cache_report = strcmp(source, "agentcgroup") == 0;
    if (reuse > prior || (is_growing && (is_cache_report || prior - reuse <= TRACE_REUSE_SLACK))) {
        return prior < in ? prior : in;
    }
    return reuse;
}

/* Groups the raw steps by session, keeping their order: order[] gets raw indices, and trace->steps
 * the steps. */
static enum status group_steps(struct loader *ld, uint32_t *order)
{
    struct trace *trace = ld->trace;
    const struct raw_step *raws = ld->steps.p;
    uint32_t at = 0;
    for (uint32_t i = 0; i < ld->sessions.count; i++) {
        struct trace_session *session = &session_at(ld, i)->session;
        session->step_at = at;
        at += session->step_count;
        session->step_count = 0;
    }
    trace->step_count = at;
    trace->steps = arena_calloc(&trace->arena, at, sizeof(*trace->steps));
    if (trace->steps == NULL) {
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < at; i++) {
        struct trace_session *session = &session_at(ld, raws[i].session)->session;
        uint32_t place = session->step_at + session->step_count;
        const struct raw_step *before = session->step_count == 0 ? NULL : &raws[order[place - 1]];
        order[place] = i;
        trace->steps[place] = raws[i].step;
        trace->steps[place].reuse_tokens = true_reuse(&raws[i], before, session->source);
        session->step_count++;
    }
    return ST_OK;
}

/* Recorded length; else what first steps were seen to share; else half of the shortest first
 * prompt. */
static void set_sys_tokens(struct loader *ld)
{
    const struct sys_stat *stats = ld->sys_stats.p;
    for (uint32_t i = 0; i < ld->sessions.count; i++) {
        struct raw_session *raw = session_at(ld, i);
        if (raw->sys == UINT32_MAX) {
            continue;
        }
        const struct sys_stat *stat = &stats[raw->sys];
        uint32_t tokens = stat->recorded_tokens;
        if (tokens == 0 && stat->reuse_tokens > 0) {
            tokens =
                stat->reuse_tokens < stat->min_in_tokens ? stat->reuse_tokens : stat->min_in_tokens;
        } else if (tokens == 0) {
            tokens = stat->min_in_tokens / 2;
        }
        raw->session.sys_tokens = tokens;
    }
}

/* The parent's step during or after which the sub-agent began, by the recorded times. */
static uint32_t
step_by_time(const struct loader *ld, const uint32_t *order, uint32_t parent, double t_s)
{
    const struct raw_step *raws = ld->steps.p;
    const struct trace_session *session = &session_at(ld, parent)->session;
    uint32_t step = 0;
    for (uint32_t i = 1;
         i < session->step_count && raws[order[session->step_at + i]].t_end_s <= t_s; i++) {
        step = i;
    }
    return step;
}

static void place_named_subs(struct loader *ld)
{
    const struct raw_sub *subs = ld->subs.p;
    for (uint32_t i = 0; i < ld->subs.count; i++) {
        const struct trace_session *parent = &session_at(ld, subs[i].parent)->session;
        uint32_t child = find_session(ld, str_of(parent->source), str_of(subs[i].id));
        if (child == TRACE_NONE) {
            continue;
        }
        struct raw_session *raw = session_at(ld, child);
        if (raw->parent_id != NULL && strcmp(raw->parent_id, parent->id) == 0 && !raw->is_placed) {
            raw->session.spawn_step = subs[i].step == 0 ? 0 : subs[i].step - 1;
            raw->is_placed = true;
        }
    }
}

/* Links each sub-agent to its parent; last first, so that the lists come out in file order. */
static void link_subs(struct loader *ld, const uint32_t *order)
{
    for (uint32_t i = ld->sessions.count; i-- > 0;) {
        struct raw_session *raw = session_at(ld, i);
        uint32_t parent = TRACE_NONE;
        if (raw->parent_id != NULL) {
            parent = find_session(ld, str_of(raw->session.source), str_of(raw->parent_id));
            ld->trace->orphan_count += parent == TRACE_NONE;
        }
        if (parent == TRACE_NONE) {
            ld->trace->root_count++;
            continue;
        }
        if (!raw->is_placed) {
            raw->session.spawn_step = step_by_time(ld, order, parent, raw->first_t_s);
        }
        struct trace_session *above = &session_at(ld, parent)->session;
        raw->session.parent = parent;
        raw->session.sibling_next = above->child_first;
        above->child_first = i;
    }
}

static enum status check_nesting(const struct loader *ld, struct err *err)
{
    for (uint32_t i = 0; i < ld->sessions.count; i++) {
        uint32_t depth = 0;
        for (uint32_t at = i; at != TRACE_NONE; at = session_at(ld, at)->session.parent) {
            if (depth++ > NEST_MAX) {
                return err_set(err, ST_PROTO,
                               "session %s: sub-agents in a circle, or more than %d deep",
                               session_at(ld, i)->session.id, NEST_MAX);
            }
        }
    }
    return ST_OK;
}

static enum status assemble(struct loader *ld, struct err *err)
{
    struct trace *trace = ld->trace;
    if (ld->steps.count == 0) {
        return err_set(err, ST_INVAL, "the trace has no steps");
    }
    uint32_t *order = mem_calloc(ld->mem, ld->steps.count, sizeof(*order));
    enum status st = order == NULL ? ST_NOMEM : group_steps(ld, order);
    if (st == ST_OK) {
        set_sys_tokens(ld);
        place_named_subs(ld);
        link_subs(ld, order);
        st = check_nesting(ld, err);
    } else {
        status_ignore(err_set(err, st, "no memory for the trace"), "returned below");
    }
    mem_free(ld->mem, order, ld->steps.count * sizeof(*order));
    if (st != ST_OK) {
        return st;
    }
    trace->session_count = ld->sessions.count;
    trace->sessions = arena_calloc(&trace->arena, trace->session_count, sizeof(*trace->sessions));
    if (trace->sessions == NULL) {
        return err_set(err, ST_NOMEM, "no memory for the trace");
    }
    for (uint32_t i = 0; i < trace->session_count; i++) {
        trace->sessions[i] = session_at(ld, i)->session;
    }
    return ST_OK;
}

enum status
trace_load(struct trace *ret, const struct mem *mem, struct lines *lines, struct err *err)
{
    struct trace trace = {0};
    struct loader ld;
    struct str line;
    arena_init(&trace.arena, mem, 65536, SIZE_MAX / 2);
    loader_init(&ld, &trace, mem);
    enum status st = lines_next(lines, &line, err);
    while (st == ST_OK) {
        if (str_trim(line).len > 0) {
            st = add_line(&ld, line, lines_number(lines), err);
        }
        if (st == ST_OK) {
            st = lines_next(lines, &line, err);
        }
    }
    if (st == ST_CLOSED) {
        trace.line_count = lines_number(lines);
        st = assemble(&ld, err);
    }
    loader_fini(&ld);
    if (st != ST_OK) {
        arena_fini(&trace.arena);
        return st;
    }
    *ret = trace;
    return ST_OK;
}

enum status
trace_load_file(struct trace *ret, const struct mem *mem, const char *path, struct err *err)
{
    struct lines *lines = NULL;
    struct err why = {0};
    enum status st = lines_open(&lines, path, err);
    if (st != ST_OK) {
        return st;
    }
    st = trace_load(ret, mem, lines, &why);
    lines_close(lines);
    return st == ST_OK ? ST_OK : err_set(err, st, "%s: %s", path, why.text);
}

enum status
trace_load_named(struct trace *ret, const struct mem *mem, const char *path, struct err *err)
{
    if (path != NULL) {
        return trace_load_file(ret, mem, path, err);
    }
    struct lines *lines = NULL;
    enum status st = lines_open_mem(&lines, sample_data(), err);
    if (st == ST_OK) {
        st = trace_load(ret, mem, lines, err);
        lines_close(lines);
    }
    return st;
}

void trace_fini(struct trace *trace)
{
    if (trace != NULL) {
        arena_fini(&trace->arena);
        *trace = (struct trace){0};
    }
}
