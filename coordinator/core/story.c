/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/story.h"

#include "common/base/hash.h"

enum {
    SWEEP_MAX = 256, /* stories looked at per tick */
    SWEEP_PART = 4,  /* an open gap is counted again when it has grown by this part */
    ASIDE_PART = 4,  /* a prompt below this part of the line's may be beside it */
};

#define TOKENS_PER_BYTE 0.25f /* until an engine has told */

enum status coord_stories_init(struct coord_stories *stories,
                               const struct mem *mem,
                               const struct coord_story_limits *limits,
                               struct coord_workflows *workflows)
{
    *stories = (struct coord_stories){.mem = mem, .workflows = workflows};
    slab_init(&stories->slab, mem, sizeof(struct coord_story), limits->max_sessions);
    map_init(&stories->by_label, mem, limits->max_sessions);
    aeg_graph_pool_init(&stories->graphs, mem, limits->max_blocks);
    coord_classes_init(&stories->classes, mem, limits->aeg.max_classes);
    return aeg_init(&stories->aeg, mem, &limits->aeg);
}

void coord_stories_fini(struct coord_stories *stories)
{
    if (stories->mem == NULL) {
        return;
    }
    aeg_fini(&stories->aeg);
    coord_classes_fini(&stories->classes);
    aeg_graph_pool_fini(&stories->graphs);
    map_fini(&stories->by_label);
    slab_fini(&stories->slab);
}

/* --- labels --- */

static struct coord_story *story_at(const struct coord_stories *stories, uint64_t idx)
{
    return slab_at(&stories->slab, (uint32_t)idx);
}

static uint64_t label_hash(const struct coord_session *session)
{
    char label[COORD_LABEL_BYTES];
    coord_session_label(coord_session_id_text(session), session->key, label);
    return hash_str(str_of(label), 0);
}

/* Puts it where a place is free; one that finds none just cannot be asked for. */
static enum status label_put(struct coord_stories *stories, const struct coord_story *story)
{
    uint64_t hash = label_hash(story->session);
    for (uint64_t i = 0; i < COORD_STORY_TWINS; i++) {
        if (map_get(&stories->by_label, hash + i) == NULL) {
            return map_put(&stories->by_label, hash + i, story->idx);
        }
    }
    return ST_FULL;
}

static void label_remove(struct coord_stories *stories, const struct coord_story *story)
{
    uint64_t hash = label_hash(story->session);
    for (uint64_t i = 0; i < COORD_STORY_TWINS; i++) {
        const uint64_t *idx = map_get(&stories->by_label, hash + i);
        if (idx != NULL && *idx == story->idx) {
            (void)map_remove(&stories->by_label, hash + i);
            return;
        }
    }
}

uint32_t coord_stories_find(const struct coord_stories *stories,
                            struct str label,
                            struct coord_story **ret,
                            uint32_t max)
{
    uint64_t hash = hash_str(label, 0);
    uint32_t count = 0;
    for (uint64_t i = 0; i < COORD_STORY_TWINS && count < max; i++) {
        const uint64_t *idx = map_get(&stories->by_label, hash + i);
        if (idx != NULL) {
            struct coord_story *story = story_at(stories, *idx);
            char own[COORD_LABEL_BYTES];
            coord_session_label(coord_session_id_text(story->session), story->session->key, own);
            if (str_eq(str_of(own), label)) {
                ret[count++] = story;
            }
        }
    }
    return count;
}

/* --- begin and end --- */

/* The class whose counts this session adds to. A client that names its kind of agent knows best. */
static struct aeg_key class_of(struct coord_stories *stories,
                               const struct coord_step_arrived *arrived)
{
    struct aeg_key key = {.tenant = hash_str(arrived->tenant, 0),
                          .model = hash_str(arrived->model, 0)};
    key.fingerprint = arrived->hints.class_hint.len > 0
                          ? hash_str(arrived->hints.class_hint, 0)
                          : coord_classes_resolve(&stories->classes, key.tenant, key.model,
                                                  arrived->opening, arrived->opening_sketch);
    return key;
}

/* The story of the session that the step names as its starter: of the same tenant, best of the same
 * model. */
static struct coord_story *find_parent(const struct coord_stories *stories,
                                       const struct coord_session *session,
                                       struct str parent)
{
    char label[COORD_LABEL_BYTES];
    struct coord_story *found[COORD_STORY_TWINS];
    struct coord_story *best = NULL;
    coord_session_label(parent, 0, label);
    uint32_t count = coord_stories_find(stories, str_of(label), found, COORD_STORY_TWINS);
    for (uint32_t i = 0; i < count; i++) {
        const struct coord_session *other = found[i]->session;
        bool is_same_tenant = str_eq((struct str){other->text, other->tenant_len},
                                     (struct str){session->text, session->tenant_len});
        if (is_same_tenant && other != session &&
            (best == NULL || other->model == session->model)) {
            best = found[i];
        }
    }
    return best;
}

static void adopt(struct coord_story *parent, struct coord_story *story)
{
    if (parent != NULL) {
        story->parent = parent;
        list_push_back(&parent->children, &story->sibling);
    }
}

void coord_story_begin(struct coord_stories *stories,
                       struct coord_session *session,
                       const struct coord_step_arrived *arrived,
                       struct coord_session *parent,
                       uint64_t now_us)
{
    uint32_t idx = 0;
    struct coord_story *story = slab_alloc(&stories->slab, &idx);
    if (story == NULL) {
        stories->lost_count++;
        return;
    }
    story->session = session;
    story->idx = idx;
    story->opening = arrived->opening;
    story->line_step = AEG_STEP_NONE;
    list_init(&story->sibling);
    list_init(&story->children);
    aeg_graph_init(&story->graph, now_us);
    bool has_agent = arrived->branch.len > 0;
    (void)str_copy(story->agent, sizeof(story->agent),
                   has_agent ? arrived->branch : arrived->hints.class_hint);
    struct aeg_key key = class_of(stories, arrived);
    status_ignore(aeg_observe_start(&stories->aeg, &story->aeg, &key, now_us),
                  "without a class it is still a session");
    if (session->text != NULL) {
        aeg_run_start(&story->run, coord_workflows_take(stories->workflows, arrived->tenant,
                                                        coord_session_id_text(session)));
    }
    status_ignore(label_put(stories, story), "it can still be seen in the list");
    session->story = story;
    if (parent == NULL && arrived->parent.len > 0 && session->text != NULL) {
        adopt(find_parent(stories, session, arrived->parent), story);
    } else if (parent != NULL) {
        adopt(parent->story, story);
    }
}

void coord_story_end(struct coord_stories *stories,
                     struct coord_session *session,
                     bool is_over,
                     uint64_t now_us)
{
    struct coord_story *story = session->story;
    if (story == NULL) {
        return;
    }
    if (!story->is_ended) {
        aeg_observe_end(&stories->aeg, &story->aeg, is_over, now_us);
    }
    while (!list_is_empty(&story->children)) {
        struct coord_story *child =
            LIST_OWNER(list_first(&story->children), struct coord_story, sibling);
        list_remove(&child->sibling);
        list_init(&child->sibling);
        child->parent = NULL;
    }
    if (story->parent != NULL) {
        list_remove(&story->sibling);
    }
    label_remove(stories, story);
    aeg_graph_fini(&stories->graphs, &story->graph);
    coord_workflows_give(stories->workflows, story->run.spec);
    story->session = NULL;
    session->story = NULL;
    slab_free(&stories->slab, story->idx);
}

/* --- steps --- */

static bool tail_holds(const struct coord_session *session, uint64_t key, uint32_t *ret_step)
{
    for (uint32_t i = 0; i < COORD_TAIL_MARK; i++) {
        /* The newest first: the same end may be there twice. */
        const struct coord_tail *tail = &session->tails[(session->newest + i) % COORD_TAIL_MARK];
        if (tail->is_used && tail->key == key) {
            *ret_step = tail->step;
            return true;
        }
    }
    return false;
}

/* Finds the longest part of the prompt that was a request of this session. */
static void look_back(const struct coord_session *session,
                      const struct coord_step_arrived *arrived,
                      uint64_t scope,
                      struct coord_request *request)
{
    uint32_t last = arrived->chain_count - 1;
    for (uint32_t i = arrived->chain_count; i-- > 0;) {
        uint32_t step = AEG_STEP_NONE;
        bool is_end = i == last || arrived->chain_is_end[i] != 0;
        if (is_end && tail_holds(session, arrived->chain[i] ^ scope, &step)) {
            request->is_repeat = i == last;
            *(i == last ? &request->step : &request->from) = step;
            return;
        }
    }
}

static bool
is_beside(const struct coord_stories *stories, const struct coord_story *story, uint32_t step)
{
    struct aeg_step_view view;
    return step != story->line_step &&
           aeg_graph_step(&stories->graphs, &story->graph, step, &view) && view.is_aside;
}

/* The client says which node of its declared workflow it is at. */
static bool names_node(const struct coord_story *story, const struct coord_step_arrived *arrived)
{
    const struct aeg_spec *spec = story->run.spec;
    return spec != NULL && aeg_spec_find(spec, arrived->hints.step_hint) < spec->node_count;
}

void coord_story_look(const struct coord_stories *stories,
                      const struct coord_session *session,
                      const struct coord_step_arrived *arrived,
                      uint64_t scope,
                      struct coord_request *request)
{
    const struct coord_story *story = session == NULL ? NULL : session->story;
    if (story == NULL || story->graph.steps == 0) {
        return;
    }
    if (arrived->chain_count > 0) {
        look_back(session, arrived, scope, request);
    }
    bool is_foreign = arrived->opening != story->opening && !names_node(story, arrived);
    if (request->is_repeat) {
        request->is_aside = is_beside(stories, story, request->step);
    } else if (request->from != AEG_STEP_NONE) {
        request->is_aside = is_beside(stories, story, request->from);
    } else if (is_foreign && arrived->prompt_bytes < story->line_bytes / ASIDE_PART) {
        request->is_aside = true;
    } else if (is_foreign && story->line_step == 0 &&
               story->line_bytes < arrived->prompt_bytes / ASIDE_PART) {
        request->begins_line = true; /* a title that was asked for first */
    } else {
        request->from = story->line_step; /* compacted, or without a chain */
    }
    if (!request->is_aside && request->match_bytes >= story->line_bytes) {
        request->reply_tokens = story->line_output_tokens;
    }
}

/* The gap before this step is over; its tools may be known only now, by their results. */
static void close_gap(struct coord_stories *stories,
                      struct coord_story *story,
                      const struct coord_step_arrived *arrived,
                      uint64_t now_us)
{
    if (!story->aeg.is_gap_open) {
        return;
    }
    if (!story->is_gap_named && arrived->tool_count > 0) {
        status_ignore(aeg_observe_gap_named(&stories->aeg, &story->aeg, arrived->tools,
                                            arrived->tool_count, now_us),
                      "a gap without a cell teaches nothing");
        aeg_graph_tools(&stories->graphs, &story->graph, story->line_step, arrived->tools,
                        arrived->tool_count);
    }
    aeg_run_returned(&story->run, now_us - story->aeg.gap_from_us);
    aeg_observe_gap_closed(&stories->aeg, &story->aeg, now_us);
}

static void repeat(struct coord_stories *stories,
                   struct coord_story *story,
                   struct coord_request *request,
                   uint64_t now_us)
{
    struct aeg_step_view view;
    if (aeg_graph_step(&stories->graphs, &story->graph, request->step, &view)) {
        request->is_learnt = view.end == AEG_END_ANSWER || view.end == AEG_END_TOOLS ||
                             view.end == AEG_END_LENGTH || view.end == AEG_END_OTHER;
    }
    aeg_graph_reopen(&stories->graphs, &story->graph, request->step, now_us);
    if (!request->is_aside) {
        aeg_observe_gap_dropped(&stories->aeg, &story->aeg);
    }
}

/* The line has another opening. Mostly only a date in it has changed; else what came first was
 * something small beside the task, or the agent is another one now. */
static void change_class(struct coord_stories *stories,
                         struct coord_story *story,
                         const struct coord_step_arrived *arrived,
                         uint64_t now_us)
{
    struct aeg_key key = class_of(stories, arrived);
    story->opening = arrived->opening;
    if (key.fingerprint != story->aeg.key.fingerprint) {
        status_ignore(aeg_observe_start(&stories->aeg, &story->aeg, &key, now_us),
                      "without a class it is still a session");
    }
}

static uint32_t tokens_of(double bytes, double ratio)
{
    double tokens = bytes * ratio;
    return tokens < (double)UINT32_MAX ? (uint32_t)tokens : UINT32_MAX;
}

/* New tokens of a prompt that no engine has counted yet; 0 = not known. */
static uint32_t fresh_tokens(const struct coord_story *story, const struct coord_request *request)
{
    double bytes = (double)(request->prompt_bytes - request->match_bytes);
    uint32_t tokens = tokens_of(bytes, (double)story->tokens_per_byte);
    return tokens > request->reply_tokens ? tokens - request->reply_tokens : 0;
}

void coord_story_arrived(struct coord_stories *stories,
                         struct coord_request *request,
                         const struct coord_step_arrived *arrived,
                         uint64_t now_us)
{
    struct coord_session *session = request->session;
    struct coord_story *story = session->story;
    if (story == NULL) {
        return;
    }
    request->is_final = arrived->hints.is_final;
    if (request->is_repeat) {
        repeat(stories, story, request, now_us);
        return;
    }
    request->step =
        aeg_graph_open(&stories->graphs, &story->graph, request->from, request->is_aside, now_us);
    if (arrived->chain_count > 0) {
        session->tails[session->newest].step = request->step;
    }
    if (request->is_aside) {
        return;
    }
    if (request->begins_line) {
        aeg_graph_set_aside(&stories->graphs, &story->graph, story->line_step);
        aeg_observe_gap_dropped(&stories->aeg, &story->aeg);
    } else {
        close_gap(stories, story, arrived, now_us);
    }
    if (arrived->opening != story->opening) {
        change_class(stories, story, arrived, now_us);
    }
    (void)aeg_run_arrived(&story->run, arrived->hints.step_hint, fresh_tokens(story, request));
    story->line_step = request->step;
    story->line_bytes = request->prompt_bytes;
    story->line_output_tokens = 0;
}

/* What the step was, in tokens; by the session's own ratio where the engine does not say. */
static void learn_step(struct coord_stories *stories,
                       struct coord_story *story,
                       const struct coord_request *request,
                       const struct coord_step_done *done,
                       uint64_t now_us)
{
    double bytes = (double)request->prompt_bytes;
    if (done->has_usage && done->prompt_tokens > 0 && bytes > 0.0) {
        story->tokens_per_byte = (float)((double)done->prompt_tokens / bytes);
    }
    double ratio =
        (double)(story->tokens_per_byte > 0.0f ? story->tokens_per_byte : TOKENS_PER_BYTE);
    uint32_t prompt = done->has_usage ? done->prompt_tokens : tokens_of(bytes, ratio);
    uint32_t known = tokens_of((double)request->match_bytes, ratio);
    known = known < UINT32_MAX - request->reply_tokens ? known + request->reply_tokens : UINT32_MAX;
    uint64_t from_us = request->started_at_us > 0 ? request->started_at_us : now_us;
    struct aeg_step step = {
        .new_tokens = prompt > known ? prompt - known : 0,
        .out_tokens = done->output_tokens,
        .context_tokens =
            prompt < UINT32_MAX - done->output_tokens ? prompt + done->output_tokens : UINT32_MAX,
        .service_us = now_us - from_us,
    };
    aeg_observe_step(&stories->aeg, &story->aeg, &step, now_us);
    aeg_run_answered(&story->run, done->output_tokens, step.service_us);
}

/* A step of the line was answered. */
static void answered(struct coord_stories *stories,
                     struct coord_story *story,
                     const struct coord_request *request,
                     const struct coord_step_done *done,
                     uint64_t now_us)
{
    if (!request->is_learnt) {
        learn_step(stories, story, request, done, now_us);
    }
    if (request->step == story->line_step) {
        story->line_output_tokens = done->output_tokens;
    }
    if (request->is_final) {
        aeg_observe_end(&stories->aeg, &story->aeg, true, now_us);
        story->is_ended = true;
    } else if (story->session->in_flight == 1) {
        status_ignore(aeg_observe_gap_opened(&stories->aeg, &story->aeg, done->tools,
                                             done->tool_count, now_us),
                      "a gap without a cell teaches nothing");
        story->is_gap_named = done->tool_count > 0;
        story->swept_at_us = now_us;
    }
}

void coord_story_ended(struct coord_stories *stories,
                       const struct coord_request *request,
                       enum aeg_end end,
                       const struct coord_step_done *done,
                       uint64_t now_us)
{
    struct coord_story *story = request->session == NULL ? NULL : request->session->story;
    if (story == NULL) {
        return;
    }
    struct aeg_step_end how = {
        .end = end,
        .engine = request->engine == NULL ? ENGINE_NONE : request->engine->id,
        .started_at_us = request->started_at_us,
        .answered_at_us = request->answered_at_us,
        .ended_at_us = now_us,
    };
    if (done != NULL) {
        how.prompt_tokens = done->prompt_tokens;
        how.cached_tokens = done->cached_tokens;
        how.output_tokens = done->output_tokens;
    }
    aeg_graph_close(&stories->graphs, &story->graph, request->step, &how);
    if (done != NULL && done->tool_count > 0) {
        aeg_graph_tools(&stories->graphs, &story->graph, request->step, done->tools,
                        done->tool_count);
    }
    bool is_aside = request->is_aside || is_beside(stories, story, request->step);
    if (done != NULL && done->outcome == COORD_OUTCOME_OK && !is_aside) {
        answered(stories, story, request, done, now_us);
    }
}

void coord_story_sweep(struct coord_stories *stories, uint64_t now_us)
{
    uint32_t places = stories->slab.fresh_idx;
    uint32_t count = places < SWEEP_MAX ? places : SWEEP_MAX;
    for (uint32_t i = 0; i < count; i++) {
        stories->sweep_at = stories->sweep_at + 1 < places ? stories->sweep_at + 1 : 0;
        struct coord_story *story = story_at(stories, stories->sweep_at);
        if (story->session == NULL || !story->aeg.is_gap_open) {
            continue;
        }
        uint64_t elapsed_us = now_us - story->aeg.gap_from_us;
        if (now_us - story->swept_at_us > elapsed_us / SWEEP_PART) {
            aeg_observe_gap_censored(&stories->aeg, &story->aeg, now_us);
            story->swept_at_us = now_us;
        }
    }
}

void coord_story_forecast(const struct coord_stories *stories,
                          const struct coord_story *story,
                          uint64_t now_us,
                          struct aeg_forecast *ret)
{
    aeg_forecast(&stories->aeg, &story->aeg, now_us, ret);
    aeg_run_apply(&story->run, &story->aeg, ret);
}
