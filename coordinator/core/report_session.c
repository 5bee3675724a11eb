/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions and their graphs for the admin port. */
#include "aeg/view.h"
#include "coordinator/core/core.h"
#include "coordinator/core/json_out.h"
#include "coordinator/core/state.h"

static struct str engine_name(const struct coord_core *core, struct engine_id id)
{
    const struct coord_engine *engine = coord_fleet_find(&core->fleet, id);
    return str_of(engine == NULL ? "" : engine->name);
}

static struct str model_name(const struct coord_core *core, const struct coord_session *session)
{
    return session->model == COORD_MODEL_NONE ? STR("")
                                              : coord_models_text(&core->models, session->model);
}

static void label_of(const struct coord_session *session, char label[static COORD_LABEL_BYTES])
{
    coord_session_label(coord_session_id_text(session), session->key, label);
}

/* Where it is in its declared workflow, and how far that is trusted. */
static void add_run(enum status *st, struct buf *out, const struct aeg_run *run)
{
    static const char *const names[] = {
        [AEG_TRUST_PATH] = "path",     [AEG_TRUST_GAP] = "gap",   [AEG_TRUST_NEW] = "new_tokens",
        [AEG_TRUST_OUTPUT] = "output", [AEG_TRUST_WORK] = "work",
    };
    if (run->spec == NULL) {
        return;
    }
    bool is_known = run->node < run->spec->node_count;
    json_note(st, buf_add_str(out, STR("\"workflow\":{")));
    json_add_text(st, out, "node", is_known ? run->spec->nodes[run->node].name : STR(""));
    json_note(st, buf_add_str(out, STR("\"trust\":{")));
    for (int i = 0; i < AEG_TRUSTS; i++) {
        json_note(st, buf_add_fmt(out, "%s\"%s\":%.3f", i == 0 ? "" : ",", names[i],
                                  aeg_run_trust(run, (enum aeg_trust)i)));
    }
    json_note(st, buf_add_str(out, STR("}},")));
}

static void
add_story(enum status *st, struct buf *out, const struct coord_story *story, uint64_t now_us)
{
    if (story->parent != NULL) {
        char label[COORD_LABEL_BYTES];
        label_of(story->parent->session, label);
        json_add_text(st, out, "parent", str_of(label));
    }
    json_add_text(st, out, "agent", str_of(story->agent));
    json_note(st, buf_add_fmt(out, "\"class\":\"%016llx\",",
                              (unsigned long long)story->aeg.key.fingerprint));
    json_add_flag(st, out, "ended", story->is_ended);
    add_run(st, out, &story->run);
    if (story->aeg.is_gap_open) {
        json_add_u64(st, out, "gap_ms", (now_us - story->aeg.gap_from_us) / 1000);
    }
}

/* The members of a session's row, without the braces; the last one has no comma. */
static void add_session(enum status *st,
                        struct buf *out,
                        const struct coord_core *core,
                        const struct coord_session *session,
                        uint64_t now_us)
{
    char label[COORD_LABEL_BYTES];
    label_of(session, label);
    json_add_text(st, out, "session", str_of(label));
    if (session->model != COORD_MODEL_NONE) {
        json_add_text(st, out, "model", model_name(core, session));
    }
    json_add_text(st, out, "by", str_of(session->text == NULL ? "chain" : "id"));
    json_add_text(st, out, "state", str_of(coord_session_state_text(session->state)));
    if (session->story != NULL) {
        add_story(st, out, session->story, now_us);
    }
    json_add_text(st, out, "home", engine_name(core, session->home));
    json_add_text(st, out, "alt", engine_name(core, session->alt));
    json_add_u64(st, out, "steps", session->steps);
    json_add_u64(st, out, "in_flight", session->in_flight);
    json_add_u64(st, out, "home_bytes", session->home_bytes);
    json_add_u64(st, out, "prompt_tokens", session->prompt_tokens);
    json_add_u64(st, out, "cached_tokens", session->cached_tokens);
    json_add_u64(st, out, "output_tokens", session->output_tokens);
    json_add_u64(st, out, "age_ms", (now_us - session->born_at_us) / 1000);
    json_note(st, buf_add_fmt(out, "\"idle_ms\":%llu",
                              (unsigned long long)((now_us - session->used_at_us) / 1000)));
}

enum status coord_core_write_sessions(const struct coord_core *core,
                                      uint64_t now_us,
                                      uint32_t max_rows,
                                      struct buf *out)
{
    enum status st = buf_add_str(out, STR("["));
    uint32_t rows = 0;
    for (int state = 0; state < COORD_SESSION_STATES; state++) {
        const struct list *head = &core->sessions.lists[state];
        /* The most recently used one is at the end. */
        for (const struct list *link = head->prev; link != head && rows < max_rows;
             link = link->prev) {
            json_note(&st, buf_add_str(out, rows == 0 ? STR("{") : STR(",{")));
            add_session(&st, out, core, LIST_OWNER(link, const struct coord_session, link), now_us);
            json_note(&st, buf_add_str(out, STR("}")));
            rows++;
        }
    }
    json_note(&st, buf_add_str(out, STR("]")));
    return st;
}

/* --- one task --- */

/* Sessions of a task, as lanes. */
struct task {
    struct aeg_view view;
    const struct coord_story *stories[AEG_VIEW_LANES];
    char labels[AEG_VIEW_LANES][COORD_LABEL_BYTES];
    struct aeg_engine_name *engines; /* [engine_cap] */
    uint32_t engine_cap;
};

static void add_lane(const struct coord_core *core,
                     struct task *task,
                     const struct coord_story *story,
                     uint32_t parent)
{
    struct aeg_view *view = &task->view;
    if (view->lane_count == AEG_VIEW_LANES) {
        view->hidden_lanes++;
        return;
    }
    uint32_t at = view->lane_count++;
    task->stories[at] = story;
    label_of(story->session, task->labels[at]);
    view->lanes[at] = (struct aeg_lane){
        .label = str_of(task->labels[at]),
        .agent = str_of(story->agent),
        .model = model_name(core, story->session),
        .parent = parent,
        .spawned_by = AEG_STEP_NONE,
        .joined_by = AEG_STEP_NONE,
        .is_busy = story->session->in_flight > 0,
        /* After an answer, a child is done, and a person may never return. */
        .is_gap_open = story->aeg.is_gap_open && story->aeg.kind != AEG_KIND_ANSWER,
        .graph = &story->graph,
    };
}

/* The sessions of this label, then those that they started, and so on. ST_NOTFOUND, ST_NOMEM. */
static enum status
task_init(struct task *task, const struct coord_core *core, struct str label, uint64_t now_us)
{
    struct coord_story *found[COORD_STORY_TWINS];
    memset(task, 0, sizeof(*task));
    task->view.pool = &core->stories.graphs;
    task->view.now_us = now_us;
    uint32_t count = coord_stories_find(&core->stories, label, found, COORD_STORY_TWINS);
    for (uint32_t i = 0; i < count; i++) {
        add_lane(core, task, found[i], AEG_STEP_NONE);
    }
    if (count == 0) {
        return ST_NOTFOUND;
    }
    for (uint32_t i = 0; i < task->view.lane_count; i++) {
        LIST_FOR_EACH(link, &task->stories[i]->children)
        {
            add_lane(core, task, LIST_OWNER(link, const struct coord_story, sibling), i);
        }
    }
    task->engine_cap = core->fleet.count;
    task->engines = mem_calloc(core->mem, task->engine_cap + 1, sizeof(task->engines[0]));
    if (task->engines == NULL) {
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < core->fleet.count; i++) {
        const struct coord_engine *engine = core->fleet.engines[i];
        task->engines[i] = (struct aeg_engine_name){engine->id, str_of(engine->name)};
    }
    task->view.engines = task->engines;
    task->view.engine_count = core->fleet.count;
    aeg_view_link(&task->view);
    return ST_OK;
}

static void task_fini(struct task *task, const struct coord_core *core)
{
    mem_free(core->mem, task->engines, (task->engine_cap + 1) * sizeof(task->engines[0]));
}

/* Below it a size says nothing: what little is known lies too wide. */
#define CONFIDENCE_MIN 0.01

static void
add_sizes(enum status *st, struct buf *out, const char *name, const struct aeg_sizes *sizes)
{
    if (sizes->confidence < CONFIDENCE_MIN) {
        json_note(st, buf_add_fmt(out, ",\"%s\":null", name));
        return;
    }
    json_note(st, buf_add_fmt(out, ",\"%s\":{\"median\":%.1f,\"mean\":%.1f,\"confidence\":%.3f}",
                              name, sizes->median, sizes->mean, sizes->confidence));
}

static void add_forecast(enum status *st,
                         struct buf *out,
                         const struct coord_core *core,
                         const struct coord_story *story,
                         uint64_t now_us)
{
    static const uint64_t horizons_s[] = {1, 10, 60, 300};
    struct aeg_forecast forecast;
    coord_story_forecast(&core->stories, story, now_us, &forecast);
    json_note(st, buf_add_str(out, STR(",\"forecast\":{\"return\":{")));
    for (size_t i = 0; i < sizeof(horizons_s) / sizeof(horizons_s[0]); i++) {
        json_note(st, buf_add_fmt(out, "\"%llus\":%.4f,", (unsigned long long)horizons_s[i],
                                  aeg_forecast_return(&forecast, horizons_s[i] * 1000000)));
    }
    json_note(st,
              buf_add_fmt(out,
                          "\"ever\":%.4f,\"hazard_per_s\":%.5f,\"confidence\":%.3f},"
                          "\"reuse\":{\"ratio\":%.4f,\"confidence\":%.3f}",
                          forecast.return_ratio, forecast.hazard_per_s, forecast.return_confidence,
                          forecast.reuse_ratio, forecast.reuse_confidence));
    if (forecast.work_confidence >= CONFIDENCE_MIN) {
        json_note(st, buf_add_fmt(out, ",\"work\":{\"seconds\":%.2f,\"confidence\":%.3f}",
                                  forecast.work_s, forecast.work_confidence));
    } else {
        json_note(st, buf_add_str(out, STR(",\"work\":null")));
    }
    add_sizes(st, out, "new_tokens", &forecast.new_tokens);
    add_sizes(st, out, "output_tokens", &forecast.out_tokens);
    add_sizes(st, out, "steps_to_go", &forecast.steps_to_go);
    json_note(st, buf_add_str(out, STR("}")));
}

static void add_link(enum status *st, struct buf *out, const char *name, uint32_t step)
{
    if (step != AEG_STEP_NONE) {
        json_note(st, buf_add_fmt(out, ",\"%s\":%u", name, step));
    }
}

static enum status
add_task(const struct coord_core *core, const struct task *task, uint64_t now_us, struct buf *out)
{
    enum status st =
        buf_add_fmt(out, "{\"hidden_sessions\":%u,\"sessions\":[", task->view.hidden_lanes);
    for (uint32_t i = 0; i < task->view.lane_count; i++) {
        const struct aeg_lane *lane = &task->view.lanes[i];
        json_note(&st, buf_add_str(out, i == 0 ? STR("{") : STR(",{")));
        add_session(&st, out, core, task->stories[i]->session, now_us);
        add_link(&st, out, "spawned_by_step", lane->spawned_by);
        add_link(&st, out, "joined_by_step", lane->joined_by);
        if (lane->parent != AEG_STEP_NONE) {
            json_note(&st, buf_add_fmt(out, ",\"is_waited_for\":%s",
                                       lane->is_waited_for ? "true" : "false"));
        }
        add_forecast(&st, out, core, task->stories[i], now_us);
        json_note(&st, buf_add_str(out, STR(",\"graph\":{")));
        json_note(&st, aeg_view_json(&task->view, i, out));
        json_note(&st, buf_add_str(out, STR("}}")));
    }
    json_note(&st, buf_add_str(out, STR("]}")));
    return st;
}

enum status coord_core_write_session(const struct coord_core *core,
                                     uint64_t now_us,
                                     struct str label,
                                     enum coord_session_format format,
                                     struct buf *out)
{
    struct task task;
    enum status st = task_init(&task, core, label, now_us);
    if (st != ST_OK) {
        return st;
    }
    switch (format) {
    case COORD_SESSION_JSON:
        st = add_task(core, &task, now_us, out);
        break;
    case COORD_SESSION_DOT:
        st = aeg_view_dot(&task.view, out);
        break;
    case COORD_SESSION_SVG:
        st = aeg_view_svg(&task.view, out);
        break;
    }
    task_fini(&task, core);
    return st;
}
