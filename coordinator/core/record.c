/* SPDX-License-Identifier: Apache-2.0 */
/* The writing half of record.h. */
#include "coordinator/core/record.h"

/* Keeps the first error of a row of appends. */
static void note(enum status *st, enum status got)
{
    if (*st == ST_OK) {
        *st = got;
    }
}

static void add_num(enum status *st, struct buf *out, const char *name, uint64_t value)
{
    note(st, buf_add_fmt(out, ",\"%s\":%llu", name, (unsigned long long)value));
}

static void add_text(enum status *st, struct buf *out, const char *name, struct str text)
{
    note(st, buf_add_fmt(out, ",\"%s\":\"", name));
    note(st, buf_add_json(out, text));
    note(st, buf_add_str(out, STR("\"")));
}

static void add_chain(enum status *st, struct buf *out, const struct coord_step_arrived *arrived)
{
    note(st, buf_add_str(out, STR(",\"chain\":[")));
    for (uint32_t i = 0; i < arrived->chain_count; i++) {
        note(st, buf_add_fmt(out, "%s[%llu,%u,%u]", i == 0 ? "" : ",",
                             (unsigned long long)arrived->chain[i], arrived->chain_bytes[i],
                             arrived->chain_is_end[i] != 0 ? 1u : 0u));
    }
    note(st, buf_add_str(out, STR("]")));
}

static void add_texts(
    enum status *st, struct buf *out, const char *name, const struct str *texts, uint32_t count)
{
    note(st, buf_add_fmt(out, ",\"%s\":[", name));
    for (uint32_t i = 0; i < count; i++) {
        note(st, buf_add_str(out, i == 0 ? STR("\"") : STR(",\"")));
        note(st, buf_add_json(out, texts[i]));
        note(st, buf_add_str(out, STR("\"")));
    }
    note(st, buf_add_str(out, STR("]")));
}

static void add_hints(enum status *st, struct buf *out, const struct coord_hints *hints)
{
    add_text(st, out, "class_hint", hints->class_hint);
    add_text(st, out, "step_hint", hints->step_hint);
    add_num(st, out, "priority", (uint32_t)hints->priority);
    add_num(st, out, "output_tokens", hints->output_tokens);
    add_num(st, out, "deadline_us", hints->deadline_us);
    add_num(st, out, "retention_us", hints->retention_us);
    add_num(st, out, "is_final", hints->is_final ? 1 : 0);
    add_num(st, out, "expects_resume", hints->expects_resume ? 1 : 0);
}

static void add_arrived(enum status *st, struct buf *out, const struct coord_step_arrived *arrived)
{
    add_num(st, out, "req", arrived->req.v);
    add_text(st, out, "name", arrived->name);
    add_text(st, out, "tenant", arrived->tenant);
    add_text(st, out, "session", arrived->session);
    add_text(st, out, "schema", arrived->schema);
    add_text(st, out, "parent", arrived->parent);
    add_text(st, out, "branch", arrived->branch);
    add_hints(st, out, &arrived->hints);
    add_text(st, out, "model", arrived->model);
    add_num(st, out, "route", (uint64_t)arrived->route);
    add_num(st, out, "prompt_bytes", arrived->prompt_bytes);
    add_num(st, out, "max_output_tokens", arrived->max_output_tokens);
    add_num(st, out, "is_stream", arrived->is_stream ? 1 : 0);
    add_texts(st, out, "tools", arrived->tools, arrived->tool_count);
    add_num(st, out, "opening", arrived->opening);
    add_num(st, out, "opening_sketch", arrived->opening_sketch);
    add_chain(st, out, arrived);
}

static void add_done(enum status *st, struct buf *out, const struct coord_step_done *done)
{
    add_num(st, out, "req", done->req.v);
    add_num(st, out, "outcome", (uint64_t)done->outcome);
    add_num(st, out, "http_status", done->http_status);
    add_num(st, out, "has_usage", done->has_usage ? 1 : 0);
    add_num(st, out, "prompt_tokens", done->prompt_tokens);
    add_num(st, out, "cached_tokens", done->cached_tokens);
    add_num(st, out, "output_tokens", done->output_tokens);
    add_num(st, out, "finish", (uint64_t)done->finish);
    add_texts(st, out, "tools", done->tools, done->tool_count);
}

static void add_probed(enum status *st, struct buf *out, const struct coord_engine_probed *probed)
{
    add_num(st, out, "engine", probed->engine.v);
    add_num(st, out, "is_up", probed->is_up ? 1 : 0);
    add_num(st, out, "kind", (uint64_t)probed->kind);
    if (probed->models == NULL) {
        note(st, buf_add_str(out, STR(",\"models\":null")));
        return;
    }
    add_texts(st, out, "models", probed->models, probed->model_count);
}

/* ["...", */
static void add_name(enum status *st, struct buf *out, bool is_first, struct str name)
{
    note(st, buf_add_str(out, is_first ? STR("[\"") : STR(",[\"")));
    note(st, buf_add_json(out, name));
    note(st, buf_add_str(out, STR("\",")));
}

static void
add_workflow(enum status *st, struct buf *out, const struct coord_workflow_declared *declared)
{
    const struct aeg_spec_input *spec = &declared->spec;
    add_text(st, out, "tenant", declared->tenant);
    add_text(st, out, "id", declared->id);
    note(st, buf_add_str(out, STR(",\"nodes\":[")));
    for (uint32_t i = 0; i < spec->node_count; i++) {
        const struct aeg_spec_node_input *node = &spec->nodes[i];
        add_name(st, out, i == 0, node->name);
        note(st, buf_add_fmt(out, "%u,%u,%u,%u,%u]", node->new_tokens, node->output_tokens,
                             node->gap_ms, node->work_ms, node->visits));
    }
    note(st, buf_add_str(out, STR("],\"edges\":[")));
    for (uint32_t i = 0; i < spec->edge_count; i++) {
        add_name(st, out, i == 0, spec->edges[i].from);
        note(st, buf_add_str(out, STR("\"")));
        note(st, buf_add_json(out, spec->edges[i].to));
        note(st, buf_add_fmt(out, "\",%u]", spec->edges[i].probability_ppm));
    }
    note(st, buf_add_str(out, STR("]")));
}

/* Happenings of one attempt of a step. */
static void add_attempt(enum status *st, struct buf *out, struct request_id req, uint32_t attempt)
{
    add_num(st, out, "req", req.v);
    add_num(st, out, "attempt", attempt);
}

static void add_event(enum status *st, struct buf *out, const struct coord_event *ev)
{
    switch (ev->kind) {
    case COORD_EV_STEP_ARRIVED:
        add_arrived(st, out, &ev->u.arrived);
        break;
    case COORD_EV_STEP_STARTED:
        add_attempt(st, out, ev->u.started.req, ev->u.started.attempt);
        add_num(st, out, "engine", ev->u.started.engine.v);
        break;
    case COORD_EV_STEP_ANSWERED:
        add_attempt(st, out, ev->u.answered.req, ev->u.answered.attempt);
        add_num(st, out, "http_status", ev->u.answered.http_status);
        break;
    case COORD_EV_STEP_DONE:
        add_done(st, out, &ev->u.done);
        break;
    case COORD_EV_STEP_GONE:
        add_num(st, out, "req", ev->u.gone.req.v);
        break;
    case COORD_EV_ATTEMPT_FAILED:
        add_attempt(st, out, ev->u.failed.req, ev->u.failed.attempt);
        add_num(st, out, "why", (uint64_t)ev->u.failed.why);
        add_num(st, out, "http_status", ev->u.failed.http_status);
        break;
    case COORD_EV_NODE_REFUSED:
        add_attempt(st, out, ev->u.node_refused.req, ev->u.node_refused.attempt);
        add_num(st, out, "is_timeout", ev->u.node_refused.is_timeout ? 1 : 0);
        break;
    case COORD_EV_ENGINE_ADDED:
        add_num(st, out, "engine", ev->u.engine_added.engine.v);
        add_text(st, out, "name", ev->u.engine_added.name);
        add_num(st, out, "max_running", ev->u.engine_added.max_running);
        add_num(st, out, "kv_tokens", ev->u.engine_added.kv_tokens);
        break;
    case COORD_EV_ENGINE_REMOVED:
        add_num(st, out, "engine", ev->u.engine_removed.engine.v);
        break;
    case COORD_EV_ENGINE_PROBED:
        add_probed(st, out, &ev->u.engine_probed);
        break;
    case COORD_EV_SESSION_RELEASED:
        add_text(st, out, "label", ev->u.released.label);
        break;
    case COORD_EV_WORKFLOW_DECLARED:
        add_workflow(st, out, &ev->u.workflow);
        break;
    case COORD_EV_WORKFLOW_DROPPED:
        add_text(st, out, "tenant", ev->u.workflow_dropped.tenant);
        add_text(st, out, "id", ev->u.workflow_dropped.id);
        break;
    case COORD_EV_TICK:
        break;
    }
}

/* In the order of enum coord_event_kind; the reader has the same list. */
static const char *const event_texts[] = {
#define X(name, text) [COORD_EV_##name] = text,
#include "coordinator/core/event_kind.def"
#undef X
};

enum status coord_record_event(const struct coord_event *ev, uint64_t now_us, struct buf *out)
{
    enum status st = ST_OK;
    note(&st, buf_add_fmt(out, "{\"ev\":\"%s\",\"at_us\":%llu", event_texts[ev->kind],
                          (unsigned long long)now_us));
    add_event(&st, out, ev);
    note(&st, buf_add_str(out, STR("}\n")));
    return st;
}

static void add_effect(enum status *st, struct buf *out, const struct coord_effect *ef)
{
    switch (ef->kind) {
    case COORD_EF_SUBMIT:
        note(st, buf_add_str(out, STR("{\"ef\":\"submit\"")));
        add_attempt(st, out, ef->u.submit.req, ef->u.submit.attempt);
        add_num(st, out, "engine", ef->u.submit.engine.v);
        add_text(st, out, "session", str_of(ef->u.submit.session));
        break;
    case COORD_EF_REFUSE:
        note(st, buf_add_str(out, STR("{\"ef\":\"refuse\"")));
        add_num(st, out, "req", ef->u.refuse.req.v);
        add_num(st, out, "why", (uint64_t)ef->u.refuse.why);
        add_num(st, out, "retry_after_s", ef->u.refuse.retry_after_s);
        add_num(st, out, "last_fail", (uint64_t)ef->u.refuse.last_fail);
        add_num(st, out, "last_status", ef->u.refuse.last_status);
        break;
    case COORD_EF_WITHDRAW:
        note(st, buf_add_str(out, STR("{\"ef\":\"withdraw\"")));
        add_attempt(st, out, ef->u.withdraw.req, ef->u.withdraw.attempt);
        add_num(st, out, "engine", ef->u.withdraw.engine.v);
        break;
    case COORD_EF_PROBE:
        note(st, buf_add_str(out, STR("{\"ef\":\"probe\"")));
        add_num(st, out, "engine", ef->u.probe.engine.v);
        add_num(st, out, "wants_models", ef->u.probe.wants_models ? 1 : 0);
        break;
    case COORD_EF_SETTLED:
        note(st, buf_add_str(out, STR("{\"ef\":\"settled\"")));
        add_attempt(st, out, ef->u.settled.req, ef->u.settled.attempt);
        add_num(st, out, "engine", ef->u.settled.engine.v);
        break;
    }
}

enum status coord_record_effects(const struct coord_effects *effects, struct buf *out)
{
    enum status st = ST_OK;
    for (uint32_t i = 0; i < effects->count; i++) {
        add_effect(&st, out, &effects->items[i]);
        note(&st, buf_add_str(out, STR("}\n")));
    }
    return st;
}
