/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/chat.h"

#include "common/base/hash.h"
#include "common/base/json.h"
#include "common/base/map.h"

enum { TOKENS_MAX = 1 << 24, REQUESTS_FIRST = 1024, SPLIT_SEED = 13 };

struct request {
    uint64_t at_ms;
    uint32_t in_tokens;
    uint32_t out_tokens;
    uint32_t before; /* request that it goes on from, LAB_NONE = it begins a session */
    uint32_t after;  /* request that goes on from it, LAB_NONE */
    uint64_t first_block;
};

struct maker {
    struct request *requests; /* [count] */
    uint32_t count;
    uint32_t cap;
    struct map by_last; /* id of a prompt's last whole block -> the newest such request */
    const struct workload_opts *opts;
};

static enum status grow(struct maker *maker)
{
    if (maker->count < maker->cap) {
        return ST_OK;
    }
    uint32_t cap = maker->cap == 0 ? REQUESTS_FIRST : maker->cap * 2;
    if (cap > CHAT_REQUESTS_MAX) {
        return ST_TOOBIG;
    }
    struct request *grown =
        mem_resize(mem_heap(), maker->requests, maker->cap * sizeof(*grown), cap * sizeof(*grown));
    if (grown == NULL) {
        return ST_NOMEM;
    }
    maker->requests = grown;
    maker->cap = cap;
    return ST_OK;
}

/* A session goes on where a prompt begins with all whole blocks of an earlier one, of which there
 * are at least two: the first is common to all. The longest such, if nobody went on from there. */
static uint32_t find_before(const struct maker *maker, yyjson_val *ids)
{
    for (size_t i = yyjson_arr_size(ids); i-- > 1;) {
        const uint64_t *at = map_get(&maker->by_last, yyjson_get_uint(yyjson_arr_get(ids, i)));
        if (at != NULL) {
            return maker->requests[*at].after == LAB_NONE ? (uint32_t)*at : LAB_NONE;
        }
    }
    return LAB_NONE;
}

static enum status add_request(struct maker *maker, yyjson_val *row)
{
    yyjson_val *ids = yyjson_obj_get(row, "hash_ids");
    uint64_t at_ms = 0;
    uint64_t in_tokens = 0;
    uint64_t out_tokens = 0;
    size_t blocks = yyjson_arr_size(ids);
    if (!json_get_u64(row, "timestamp", &at_ms) || !json_get_u64(row, "input_length", &in_tokens) ||
        !json_get_u64(row, "output_length", &out_tokens) || in_tokens > TOKENS_MAX ||
        out_tokens > TOKENS_MAX || blocks == 0 || blocks > CHAT_BLOCKS_MAX ||
        in_tokens > blocks * CHAT_BLOCK_TOKENS ||
        (maker->count > 0 && at_ms < maker->requests[maker->count - 1].at_ms)) {
        return ST_PROTO;
    }
    enum status st = grow(maker);
    if (st != ST_OK) {
        return st;
    }
    uint32_t idx = maker->count;
    uint32_t before = find_before(maker, ids);
    maker->requests[idx] = (struct request){
        .at_ms = at_ms,
        .in_tokens = in_tokens > 0 ? (uint32_t)in_tokens : 1,
        .out_tokens = out_tokens > 0 ? (uint32_t)out_tokens : 1,
        .before = before,
        .after = LAB_NONE,
        .first_block = yyjson_get_uint(yyjson_arr_get_first(ids)),
    };
    size_t whole = (size_t)in_tokens / CHAT_BLOCK_TOKENS;
    if (whole >= 2) {
        st = map_put(&maker->by_last, yyjson_get_uint(yyjson_arr_get(ids, whole - 1)), idx);
    }
    if (st == ST_OK) {
        maker->count++;
        if (before != LAB_NONE) {
            maker->requests[before].after = idx;
        }
    }
    return st;
}

static enum status
read_all(struct maker *maker, const char *name, struct lines *lines, struct err *err)
{
    struct str line = STR("");
    enum status st = ST_OK;
    while ((st = lines_next(lines, &line, err)) == ST_OK) {
        yyjson_doc *doc = yyjson_read(line.p, line.len, 0);
        st = doc == NULL ? ST_PROTO : add_request(maker, yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
        if (st == ST_PROTO) {
            return err_set(err, st, "%s:%llu: no request of a Mooncake trace (or not by time)",
                           name, (unsigned long long)lines_number(lines));
        }
        if (st != ST_OK) {
            return err_set(err, st, "%s: %s", name, status_text(st));
        }
    }
    return st == ST_CLOSED ? ST_OK : st;
}

/* A person reads the answer and writes on: the wait between the requests, less the time that our
 * engine would have taken. */
static struct lab_step step_of(const struct maker *maker, const struct request *request)
{
    const struct sim_profile *profile = maker->opts->profile;
    struct lab_step step = {
        .prompt_tokens = request->in_tokens, .output_tokens = request->out_tokens, .tool = STR("")};
    if (request->before == LAB_NONE) {
        return step;
    }
    const struct request *before = &maker->requests[request->before];
    uint32_t whole = before->in_tokens - before->in_tokens % CHAT_BLOCK_TOKENS;
    uint64_t all = (uint64_t)before->in_tokens + before->out_tokens;
    whole = whole < request->in_tokens ? whole : request->in_tokens;
    step.kept_tokens = all <= request->in_tokens ? (uint32_t)all : whole;
    step.is_human = true;
    double model_us = (before->in_tokens * profile->b_s_per_token + //
                       before->out_tokens * profile->f_s) *
                      1e6;
    double gap_us = (double)(request->at_ms - before->at_ms) * 1e3 - model_us;
    step.gap_us = gap_us > 0 ? (uint64_t)gap_us : 0;
    step.gap_us = step.gap_us < WORKLOAD_HUMAN_MAX_US ? step.gap_us : WORKLOAD_HUMAN_MAX_US;
    return step;
}

static bool is_wanted(const struct maker *maker, uint32_t first)
{
    enum workload_split split = maker->opts->split;
    uint64_t half = hash_mix(first, SPLIT_SEED) & 1;
    return split == SPLIT_ALL || half == (split == SPLIT_TEST);
}

/* The session that begins with this request, as far as an engine can hold it. */
static enum status
make_session(const struct maker *maker, struct workload *workload, uint32_t first)
{
    const struct sim_profile *profile = maker->opts->profile;
    uint32_t most =
        profile->context_tokens < profile->kv_tokens ? profile->context_tokens : profile->kv_tokens;
    uint32_t count = 0;
    uint32_t i = first;
    while (i != LAB_NONE &&
           (uint64_t)maker->requests[i].in_tokens + maker->requests[i].out_tokens <= most) {
        count++;
        i = maker->requests[i].after;
    }
    workload->cut_count += i != LAB_NONE ? 1 : 0;
    if (count == 0) {
        return ST_OK;
    }
    struct lab_step *steps = arena_calloc(&workload->arena, count, sizeof(*steps));
    if (steps == NULL) {
        return ST_NOMEM;
    }
    i = first;
    for (uint32_t k = 0; k < count; k++) {
        steps[k] = step_of(maker, &maker->requests[i]);
        i = maker->requests[i].after;
    }
    uint32_t idx = workload->session_count++;
    uint32_t in_tokens = maker->requests[first].in_tokens;
    workload->sessions[idx] = (struct lab_session){
        .steps = steps,
        .step_count = count,
        .system_id = (uint32_t)hash_mix(maker->requests[first].first_block, SPLIT_SEED),
        .system_tokens = in_tokens < CHAT_BLOCK_TOKENS ? in_tokens : CHAT_BLOCK_TOKENS,
        .parent = LAB_NONE,
        .recorded = idx,
    };
    workload->trees[workload->tree_count++] = (struct workload_tree){.first = idx, .count = 1};
    return ST_OK;
}

static enum status make_all(const struct maker *maker, struct workload *workload)
{
    struct arena *arena = &workload->arena;
    size_t count = maker->count > 0 ? maker->count : 1;
    workload->sessions = arena_calloc(arena, count, sizeof(*workload->sessions));
    workload->trees = arena_calloc(arena, count, sizeof(*workload->trees));
    enum status st = workload->sessions == NULL || workload->trees == NULL ? ST_NOMEM : ST_OK;
    for (uint32_t i = 0; st == ST_OK && i < maker->count; i++) {
        if (maker->requests[i].before == LAB_NONE && is_wanted(maker, i)) {
            st = make_session(maker, workload, i);
        }
    }
    return st;
}

enum status chat_read(struct workload *ret,
                      const char *name,
                      struct lines *lines,
                      const struct workload_opts *opts,
                      struct err *err)
{
    struct maker maker = {.opts = opts};
    struct workload workload = {.kind = WORKLOAD_CHAT};
    arena_init(&workload.arena, mem_heap(), 1 << 16, SIZE_MAX / 2);
    map_init(&maker.by_last, mem_heap(), CHAT_REQUESTS_MAX);
    enum status st = read_all(&maker, name, lines, err);
    if (st == ST_OK) {
        st = make_all(&maker, &workload);
        st = st == ST_OK ? ST_OK : err_set(err, st, "%s: no memory for the workload", name);
    }
    if (st == ST_OK && workload.tree_count == 0) {
        st = err_set(err, ST_INVAL, "%s: no session that an engine can hold", name);
    }
    map_fini(&maker.by_last);
    mem_free(mem_heap(), maker.requests, maker.cap * sizeof(*maker.requests));
    if (st != ST_OK) {
        arena_fini(&workload.arena);
        return st;
    }
    *ret = workload;
    return ST_OK;
}

enum status
chat_load(struct workload *ret, const char *path, const struct workload_opts *opts, struct err *err)
{
    struct lines *lines = NULL;
    enum status st = lines_open(&lines, path, err);
    if (st == ST_OK) {
        st = chat_read(ret, path, lines, opts, err);
        lines_close(lines);
    }
    return st;
}
