/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of core.h about declared workflows, as JSON. */
#include "coordinator/core/core.h"
#include "coordinator/core/json_out.h"
#include "coordinator/core/state.h"

static void add_quoted(enum status *st, struct buf *out, const char *before, struct str text)
{
    json_note(st, buf_add_str(out, str_of(before)));
    json_note(st, buf_add_json(out, text));
    json_note(st, buf_add_str(out, STR("\"")));
}

static void add_said(enum status *st, struct buf *out, const char *name, uint32_t value)
{
    if (value != AEG_SPEC_UNSAID) {
        json_note(st, buf_add_fmt(out, ",\"%s\":%u", name, value));
    }
}

/* As it can be declared again. */
static void add_spec(enum status *st, struct buf *out, struct str id, const struct aeg_spec *spec)
{
    add_quoted(st, out, "{\"id\":\"", id);
    json_note(st, buf_add_str(out, STR(",\"nodes\":[")));
    for (uint32_t i = 0; i < spec->node_count; i++) {
        const struct aeg_spec_node *node = &spec->nodes[i];
        add_quoted(st, out, i == 0 ? "{\"name\":\"" : ",{\"name\":\"", node->name);
        add_said(st, out, "new_tokens", node->new_tokens);
        add_said(st, out, "output_tokens", node->output_tokens);
        add_said(st, out, "gap_ms", node->gap_ms);
        add_said(st, out, "work_ms", node->work_ms);
        add_said(st, out, "visits", node->visits > 1 ? node->visits : AEG_SPEC_UNSAID);
        json_note(st, buf_add_str(out, STR("}")));
    }
    json_note(st, buf_add_str(out, STR("],\"edges\":[")));
    for (uint32_t i = 0; i < spec->edge_count; i++) {
        const struct aeg_spec_edge *edge = &spec->edges[i];
        add_quoted(st, out, i == 0 ? "{\"from\":\"" : ",{\"from\":\"",
                   spec->nodes[edge->from].name);
        add_quoted(st, out, ",\"to\":\"", spec->nodes[edge->to].name);
        if (edge->probability < 1.0f) {
            json_note(st, buf_add_fmt(out, ",\"probability\":%.6g", (double)edge->probability));
        }
        json_note(st, buf_add_str(out, STR("}")));
    }
    json_note(st, buf_add_str(out, STR("]}")));
}

/* Without the closing brace. */
static void add_summary(enum status *st, struct buf *out, const struct coord_workflow *workflow)
{
    const struct aeg_spec *spec = workflow->spec;
    struct aeg_spec_set none = {{0}};
    struct aeg_spec_ahead ahead;
    aeg_spec_look_ahead(spec, &none, 0, &ahead);
    add_quoted(st, out, "{\"id\":\"", coord_workflow_id(workflow));
    json_note(st, buf_add_fmt(out,
                              ",\"sessions\":%u,\"nodes\":%u,\"edges\":%u,\"steps\":%.3f,"
                              "\"work_ms\":%.0f",
                              workflow->sessions, spec->node_count, spec->edge_count, ahead.steps,
                              ahead.steps * ahead.work.share_ratio * ahead.work.mean));
}

enum status
coord_core_write_workflows(const struct coord_core *core, uint32_t max_rows, struct buf *out)
{
    const struct coord_workflows *workflows = &core->workflows;
    const struct list *lists[] = {&workflows->used, &workflows->unused};
    enum status st = buf_add_str(out, STR("["));
    uint32_t rows = 0;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        for (const struct list *it = lists[i]->prev; it != lists[i] && rows < max_rows;
             it = it->prev) {
            json_note(&st, buf_add_str(out, rows++ == 0 ? STR("") : STR(",")));
            add_summary(&st, out, LIST_OWNER(it, const struct coord_workflow, link));
            json_note(&st, buf_add_str(out, STR("}")));
        }
    }
    json_note(&st, buf_add_str(out, STR("]")));
    return st;
}

enum status coord_core_write_workflow(const struct coord_core *core,
                                      struct str tenant,
                                      struct str id,
                                      struct buf *out)
{
    const struct coord_workflow *workflow = coord_workflows_find(&core->workflows, tenant, id);
    if (workflow == NULL) {
        return ST_NOTFOUND;
    }
    enum status st = ST_OK;
    add_summary(&st, out, workflow);
    json_note(&st, buf_add_str(out, STR(",\"workflow\":")));
    add_spec(&st, out, id, workflow->spec);
    json_note(&st, buf_add_str(out, STR("}")));
    return st;
}

bool coord_core_has_workflow(const struct coord_core *core, struct str tenant, struct str id)
{
    return coord_workflows_find(&core->workflows, tenant, id) != NULL;
}
