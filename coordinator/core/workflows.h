/* SPDX-License-Identifier: Apache-2.0 */
/* Declared workflows by tenant and id. A session holds the one that it was born with; declaring the
 * id again is for those born later.
 * PURE. THREAD: core. OWNERSHIP: specs are the table's; one that was dropped or replaced goes with
 * its last session. LIMITS: max_count, max_bytes (of those gone but in use too): the one that has
 * been unused for longest is forgotten. */
#ifndef COORDINATOR_CORE_WORKFLOWS_H
#define COORDINATOR_CORE_WORKFLOWS_H

#include "aeg/spec.h"
#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/slab.h"

struct coord_workflow {
    struct list link; /* in unused, used or gone */
    struct aeg_spec *spec;
    char *text; /* tenant, id */
    uint32_t tenant_len;
    uint32_t id_len;
    uint32_t idx; /* in the slab */
    uint32_t sessions;
    uint64_t key; /* in by_id */
    bool is_gone; /* dropped or replaced: nobody finds it any more */
};

struct coord_workflows {
    const struct mem *mem;
    struct slab slab;
    struct map by_id;   /* hash of tenant and id, or one of those after it -> slab index */
    struct list unused; /* least recently used first */
    struct list used;
    struct list gone;
    uint64_t max_bytes;
    uint64_t bytes;      /* of specs and texts */
    uint32_t gone_count; /* of slab.used_nodes */
    uint64_t forgotten_count;
};

void coord_workflows_init(struct coord_workflows *workflows,
                          const struct mem *mem,
                          uint32_t max_count,
                          uint64_t max_bytes);
void coord_workflows_fini(struct coord_workflows *workflows);

/* Makes it known, in place of what was known by that id. ST_INVAL (see aeg_spec_new): nothing
 * changed; ST_FULL: no room even without the unused ones, which are forgotten now; ST_NOMEM: unused
 * ones may have been forgotten to make room. */
MUST_CHECK enum status coord_workflows_declare(struct coord_workflows *workflows,
                                               struct str tenant,
                                               struct str id,
                                               const struct aeg_spec_input *input);
/* False when it was not known. */
bool coord_workflows_drop(struct coord_workflows *workflows, struct str tenant, struct str id);

/* NULL when it is not known. O(1). */
struct coord_workflow *
coord_workflows_find(const struct coord_workflows *workflows, struct str tenant, struct str id);

/* The spec, held for one session until coord_workflows_give; NULL when it is not known. O(1). */
const struct aeg_spec *
coord_workflows_take(struct coord_workflows *workflows, struct str tenant, struct str id);
/* Lets go of one; NULL is fine. O(1). */
void coord_workflows_give(struct coord_workflows *workflows, const struct aeg_spec *spec);

static inline struct str coord_workflow_id(const struct coord_workflow *workflow)
{
    return (struct str){workflow->text + workflow->tenant_len, workflow->id_len};
}

#endif
