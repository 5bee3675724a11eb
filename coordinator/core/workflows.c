/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/workflows.h"

#include "common/base/hash.h"

enum { KEY_PROBES = 4 }; /* ids whose hashes are equal */

void coord_workflows_init(struct coord_workflows *workflows,
                          const struct mem *mem,
                          uint32_t max_count,
                          uint64_t max_bytes)
{
    *workflows = (struct coord_workflows){.mem = mem, .max_bytes = max_bytes};
    slab_init(&workflows->slab, mem, sizeof(struct coord_workflow), max_count);
    map_init(&workflows->by_id, mem, max_count);
    list_init(&workflows->unused);
    list_init(&workflows->used);
    list_init(&workflows->gone);
}

/* Takes it out of its list and out of memory. */
static void destroy(struct coord_workflows *workflows, struct coord_workflow *workflow)
{
    size_t text_bytes = (size_t)workflow->tenant_len + workflow->id_len;
    workflows->bytes -= workflow->spec->bytes + text_bytes;
    workflows->gone_count -= workflow->is_gone ? 1 : 0;
    list_remove(&workflow->link);
    aeg_spec_free(workflows->mem, workflow->spec);
    mem_free(workflows->mem, workflow->text, text_bytes);
    slab_free(&workflows->slab, workflow->idx);
}

void coord_workflows_fini(struct coord_workflows *workflows)
{
    if (workflows->mem == NULL) {
        return;
    }
    struct list *lists[] = {&workflows->unused, &workflows->used, &workflows->gone};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct list *link = NULL;
        while ((link = list_first(lists[i])) != NULL) {
            destroy(workflows, LIST_OWNER(link, struct coord_workflow, link));
        }
    }
    map_fini(&workflows->by_id);
    slab_fini(&workflows->slab);
}

static struct coord_workflow *at(const struct coord_workflows *workflows, uint32_t idx)
{
    return slab_at(&workflows->slab, idx);
}

static uint64_t key_of(struct str tenant, struct str id)
{
    return hash_str(id, hash_str(tenant, 0));
}

static bool is_called(const struct coord_workflow *workflow, struct str tenant, struct str id)
{
    return str_eq((struct str){workflow->text, workflow->tenant_len}, tenant) &&
           str_eq(coord_workflow_id(workflow), id);
}

struct coord_workflow *
coord_workflows_find(const struct coord_workflows *workflows, struct str tenant, struct str id)
{
    uint64_t key = key_of(tenant, id);
    for (uint64_t i = 0; i < KEY_PROBES; i++) {
        const uint64_t *idx = map_get(&workflows->by_id, key + i);
        if (idx != NULL && is_called(at(workflows, (uint32_t)*idx), tenant, id)) {
            return at(workflows, (uint32_t)*idx);
        }
    }
    return NULL;
}

/* Nobody finds it any more; it stays for the sessions that have it. */
static void retire(struct coord_workflows *workflows, struct coord_workflow *workflow)
{
    (void)map_remove(&workflows->by_id, workflow->key);
    if (workflow->sessions == 0) {
        destroy(workflows, workflow);
        return;
    }
    workflow->is_gone = true;
    workflows->gone_count++;
    list_remove(&workflow->link);
    list_push_back(&workflows->gone, &workflow->link);
}

/* Forgets unused ones until one more of so many bytes fits. */
static bool make_room(struct coord_workflows *workflows, uint64_t bytes)
{
    while (workflows->bytes + bytes > workflows->max_bytes ||
           workflows->slab.used_nodes >= workflows->slab.max_nodes) {
        struct list *oldest = list_first(&workflows->unused);
        if (oldest == NULL) {
            return false;
        }
        retire(workflows, LIST_OWNER(oldest, struct coord_workflow, link));
        workflows->forgotten_count++;
    }
    return true;
}

/* A place under the first free key; the old one of that id is still there. */
static enum status
add(struct coord_workflows *workflows, struct aeg_spec *spec, struct str tenant, struct str id)
{
    uint64_t key = key_of(tenant, id);
    uint64_t probe = 0;
    while (probe < KEY_PROBES && map_get(&workflows->by_id, key + probe) != NULL) {
        probe++;
    }
    if (probe == KEY_PROBES) {
        return ST_FULL;
    }
    uint32_t idx = 0;
    struct coord_workflow *workflow = slab_alloc(&workflows->slab, &idx);
    if (workflow == NULL) {
        return ST_NOMEM;
    }
    char *text = mem_alloc(workflows->mem, tenant.len + id.len);
    enum status st = text == NULL ? ST_NOMEM : map_put(&workflows->by_id, key + probe, idx);
    if (st != ST_OK) {
        mem_free(workflows->mem, text, tenant.len + id.len);
        slab_free(&workflows->slab, idx);
        return st;
    }
    if (tenant.len > 0) {
        memcpy(text, tenant.p, tenant.len);
    }
    memcpy(text + tenant.len, id.p, id.len);
    *workflow = (struct coord_workflow){.spec = spec,
                                        .text = text,
                                        .tenant_len = (uint32_t)tenant.len,
                                        .id_len = (uint32_t)id.len,
                                        .idx = idx,
                                        .key = key + probe};
    spec->owner = idx;
    workflows->bytes += spec->bytes + tenant.len + id.len;
    list_push_back(&workflows->unused, &workflow->link);
    return ST_OK;
}

enum status coord_workflows_declare(struct coord_workflows *workflows,
                                    struct str tenant,
                                    struct str id,
                                    const struct aeg_spec_input *input)
{
    struct aeg_spec *spec = NULL;
    if (id.len == 0) {
        return ST_INVAL;
    }
    enum status st = aeg_spec_new(&spec, workflows->mem, input, NULL);
    if (st != ST_OK) {
        return st;
    }
    st = make_room(workflows, spec->bytes + tenant.len + id.len) ? ST_OK : ST_FULL;
    struct coord_workflow *old = coord_workflows_find(workflows, tenant, id);
    if (st == ST_OK) {
        st = add(workflows, spec, tenant, id);
    }
    if (st != ST_OK) {
        aeg_spec_free(workflows->mem, spec);
    } else if (old != NULL) {
        retire(workflows, old);
    }
    return st;
}

bool coord_workflows_drop(struct coord_workflows *workflows, struct str tenant, struct str id)
{
    struct coord_workflow *workflow = coord_workflows_find(workflows, tenant, id);
    if (workflow != NULL) {
        retire(workflows, workflow);
    }
    return workflow != NULL;
}

const struct aeg_spec *
coord_workflows_take(struct coord_workflows *workflows, struct str tenant, struct str id)
{
    struct coord_workflow *workflow = coord_workflows_find(workflows, tenant, id);
    if (workflow == NULL) {
        return NULL;
    }
    workflow->sessions++;
    list_remove(&workflow->link);
    list_push_back(&workflows->used, &workflow->link);
    return workflow->spec;
}

void coord_workflows_give(struct coord_workflows *workflows, const struct aeg_spec *spec)
{
    if (spec == NULL) {
        return;
    }
    struct coord_workflow *workflow = at(workflows, spec->owner);
    ASSERT(workflow->spec == spec && workflow->sessions > 0);
    workflow->sessions--;
    if (workflow->sessions > 0) {
        return;
    }
    if (workflow->is_gone) {
        destroy(workflows, workflow);
        return;
    }
    list_remove(&workflow->link);
    list_push_back(&workflows->unused, &workflow->link);
}
