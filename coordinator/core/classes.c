/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/classes.h"

#include "common/base/hash.h"

enum { HINTS_PER_CLASS = 2 };

/* Keeps a tenant's group apart from that of a model. */
#define TAG_TENANT UINT64_C(0x2f6b1d83e5a94c70)

/* Classes of a tenant, or of one of its models. */
struct coord_class_group {
    struct list classes; /* used least recently first */
    uint64_t key;
    uint32_t count;
};

struct coord_class {
    struct list all;
    struct list by_tenant;
    struct list by_model;
    uint64_t fingerprint; /* opening that founded it */
    uint64_t sketch;      /* of that one: it never moves */
    uint32_t idx;
    uint32_t serial; /* 0 = this place of the slab is free */
    uint32_t tenant; /* index in groups */
    uint32_t model;
};

void coord_classes_init(struct coord_classes *classes, const struct mem *mem, uint32_t max_classes)
{
    *classes = (struct coord_classes){.mem = mem, .max_classes = max_classes};
    slab_init(&classes->slab, mem, sizeof(struct coord_class), max_classes);
    slab_init(&classes->groups, mem, sizeof(struct coord_class_group), 2 * max_classes);
    map_init(&classes->by_key, mem, 2 * max_classes);
    list_init(&classes->all);
    uint32_t sets = 1;
    while (sets * COORD_CLASSES_WAYS < max_classes * HINTS_PER_CLASS) {
        sets *= 2;
    }
    classes->hints = mem_calloc(mem, (size_t)sets * COORD_CLASSES_WAYS, sizeof(*classes->hints));
    classes->hint_sets = classes->hints == NULL ? 0 : sets;
}

void coord_classes_fini(struct coord_classes *classes)
{
    if (classes == NULL || classes->mem == NULL) {
        return;
    }
    mem_free(classes->mem, classes->hints,
             (size_t)classes->hint_sets * COORD_CLASSES_WAYS * sizeof(*classes->hints));
    map_fini(&classes->by_key);
    slab_fini(&classes->groups);
    slab_fini(&classes->slab);
    *classes = (struct coord_classes){.mem = NULL};
}

/* --- groups --- */

static struct coord_class_group *group_find(const struct coord_classes *classes, uint64_t key)
{
    const uint64_t *idx = map_get(&classes->by_key, key);
    return idx == NULL ? NULL : slab_at(&classes->groups, (uint32_t)*idx);
}

/* NULL: no memory. */
static struct coord_class_group *
group_take(struct coord_classes *classes, uint64_t key, uint32_t *ret_idx)
{
    const uint64_t *known = map_get(&classes->by_key, key);
    if (known != NULL) {
        *ret_idx = (uint32_t)*known;
        return slab_at(&classes->groups, *ret_idx);
    }
    struct coord_class_group *group = slab_alloc(&classes->groups, ret_idx);
    if (group == NULL) {
        return NULL;
    }
    if (map_put(&classes->by_key, key, *ret_idx) != ST_OK) {
        slab_free(&classes->groups, *ret_idx);
        return NULL;
    }
    group->key = key;
    list_init(&group->classes);
    return group;
}

static void group_give(struct coord_classes *classes, uint32_t idx)
{
    struct coord_class_group *group = slab_at(&classes->groups, idx);
    if (group->count == 0) {
        map_remove(&classes->by_key, group->key);
        slab_free(&classes->groups, idx);
    }
}

/* --- classes --- */

static struct coord_class_group *tenant_of(const struct coord_classes *classes,
                                           const struct coord_class *class)
{
    return slab_at(&classes->groups, class->tenant);
}

static struct coord_class_group *model_of(const struct coord_classes *classes,
                                          const struct coord_class *class)
{
    return slab_at(&classes->groups, class->model);
}

static void forget(struct coord_classes *classes, struct coord_class *class)
{
    uint32_t tenant = class->tenant;
    uint32_t model = class->model;
    list_remove(&class->all);
    list_remove(&class->by_tenant);
    list_remove(&class->by_model);
    tenant_of(classes, class)->count--;
    model_of(classes, class)->count--;
    class->serial = 0;
    slab_free(&classes->slab, class->idx);
    group_give(classes, tenant);
    group_give(classes, model);
    classes->forgotten_count++;
}

static void touch(struct coord_classes *classes, struct coord_class *class)
{
    list_remove(&class->all);
    list_push_back(&classes->all, &class->all);
    list_remove(&class->by_tenant);
    list_push_back(&tenant_of(classes, class)->classes, &class->by_tenant);
    list_remove(&class->by_model);
    list_push_back(&model_of(classes, class)->classes, &class->by_model);
}

/* Drops what stands in the way of one more class: first of the model, then of the tenant, then of
 * all. */
static void make_room(struct coord_classes *classes, uint64_t tenant_key, uint64_t model_key)
{
    const struct coord_class_group *model = group_find(classes, model_key);
    const struct coord_class_group *tenant = group_find(classes, tenant_key);
    uint32_t share = classes->max_classes / COORD_CLASSES_SHARE;
    share = share > 0 ? share : 1;
    if (model != NULL && model->count >= COORD_CLASSES_SCAN) {
        forget(classes, LIST_OWNER(list_first(&model->classes), struct coord_class, by_model));
    } else if (tenant != NULL && tenant->count >= share) {
        forget(classes, LIST_OWNER(list_first(&tenant->classes), struct coord_class, by_tenant));
    } else if (classes->slab.used_nodes >= classes->max_classes) {
        forget(classes, LIST_OWNER(list_first(&classes->all), struct coord_class, all));
    }
}

/* NULL: no memory. */
static struct coord_class *
found(struct coord_classes *classes, uint64_t tenant_key, uint64_t model_key)
{
    uint32_t idx = 0;
    uint32_t tenant_idx = 0;
    uint32_t model_idx = 0;
    make_room(classes, tenant_key, model_key);
    struct coord_class *class = slab_alloc(&classes->slab, &idx);
    if (class == NULL) {
        return NULL;
    }
    struct coord_class_group *tenant = group_take(classes, tenant_key, &tenant_idx);
    struct coord_class_group *model =
        tenant == NULL ? NULL : group_take(classes, model_key, &model_idx);
    if (model == NULL) {
        if (tenant != NULL) {
            group_give(classes, tenant_idx);
        }
        slab_free(&classes->slab, idx);
        return NULL;
    }
    classes->serial = classes->serial == UINT32_MAX ? 1 : classes->serial + 1;
    *class = (struct coord_class){
        .idx = idx, .serial = classes->serial, .tenant = tenant_idx, .model = model_idx};
    list_push_back(&classes->all, &class->all);
    list_push_back(&tenant->classes, &class->by_tenant);
    list_push_back(&model->classes, &class->by_model);
    tenant->count++;
    model->count++;
    classes->founded_count++;
    return class;
}

/* Bits that differ. Summed in pairs, in fours, in bytes, then all bytes at once: the compiler's own
 * count is a call into its library. */
static uint32_t distance(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ b;
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* The class whose sketch is nearest, the older one of two; NULL when none is near. */
static struct coord_class *
nearest(const struct coord_classes *classes, uint64_t model_key, uint64_t sketch)
{
    const struct coord_class_group *model = group_find(classes, model_key);
    struct coord_class *best = NULL;
    uint32_t best_bits = COORD_CLASSES_BITS;
    if (model == NULL) {
        return NULL;
    }
    LIST_FOR_EACH(link, &model->classes)
    {
        struct coord_class *class = LIST_OWNER(link, struct coord_class, by_model);
        uint32_t bits = distance(class->sketch, sketch);
        bool is_older = best == NULL || class->serial < best->serial;
        if (bits < best_bits || (bits == best_bits && is_older)) {
            best = class;
            best_bits = bits;
        }
    }
    return best;
}

/* --- openings --- */

static struct coord_class_hint *set_of(const struct coord_classes *classes, uint64_t key)
{
    return &classes->hints[((key >> 32) & (classes->hint_sets - 1)) * COORD_CLASSES_WAYS];
}

/* Moves the hint at this place of its set to the front. */
static void to_front(struct coord_class_hint *set, uint32_t way, struct coord_class_hint hint)
{
    memmove(&set[1], &set[0], way * sizeof(set[0]));
    set[0] = hint;
}

static struct coord_class *known(const struct coord_classes *classes, uint64_t key)
{
    struct coord_class_hint *set = set_of(classes, key);
    for (uint32_t way = 0; way < COORD_CLASSES_WAYS; way++) {
        struct coord_class_hint hint = set[way];
        if (hint.key == key) {
            struct coord_class *class = slab_at(&classes->slab, hint.class_idx);
            to_front(set, way, hint);
            return class->serial == hint.serial ? class : NULL;
        }
    }
    return NULL;
}

static void remember(const struct coord_classes *classes, uint64_t key, struct coord_class *class)
{
    struct coord_class_hint *set = set_of(classes, key);
    uint32_t way = 0;
    while (way < COORD_CLASSES_WAYS - 1 && set[way].key != key) {
        way++;
    }
    to_front(
        set, way,
        (struct coord_class_hint){.key = key, .class_idx = class->idx, .serial = class->serial});
}

uint64_t coord_classes_resolve(struct coord_classes *classes,
                               uint64_t tenant,
                               uint64_t model,
                               uint64_t opening,
                               uint64_t sketch)
{
    if (opening == 0 || classes->hint_sets == 0) {
        return opening;
    }
    uint64_t tenant_key = hash_mix(TAG_TENANT, tenant);
    uint64_t model_key = hash_mix(tenant_key, model);
    uint64_t key = hash_mix(model_key, opening) | 1;
    struct coord_class *class = known(classes, key);
    if (class != NULL) {
        touch(classes, class);
        return class->fingerprint;
    }
    class = nearest(classes, model_key, sketch);
    if (class != NULL) {
        classes->joined_count++;
        touch(classes, class);
    } else {
        class = found(classes, tenant_key, model_key);
        if (class == NULL) {
            return opening;
        }
        class->fingerprint = opening;
        class->sketch = sketch;
    }
    remember(classes, key, class);
    return class->fingerprint;
}
