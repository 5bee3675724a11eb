/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/models.h"

#include "common/base/hash.h"

void coord_models_init(struct coord_models *models, const struct mem *mem)
{
    models->mem = mem;
    slab_init(&models->slab, mem, sizeof(struct coord_model), COORD_MODELS_CAP);
    map_init(&models->by_hash, mem, COORD_MODELS_CAP);
}

static void text_free(const struct coord_models *models, struct coord_model *model)
{
    mem_free(models->mem, model->text, (size_t)model->len + 1);
    model->text = NULL;
}

void coord_models_fini(struct coord_models *models)
{
    if (models->mem == NULL) {
        return;
    }
    uint32_t it = 0;
    uint64_t key;
    uint64_t idx;
    while (map_next(&models->by_hash, &it, &key, &idx)) {
        text_free(models, coord_models_at(models, (uint32_t)idx));
    }
    map_fini(&models->by_hash);
    slab_fini(&models->slab);
}

struct coord_model *coord_models_at(const struct coord_models *models, uint32_t idx)
{
    return slab_at(&models->slab, idx);
}

struct str coord_models_text(const struct coord_models *models, uint32_t idx)
{
    const struct coord_model *model = coord_models_at(models, idx);
    return (struct str){model->text, model->len};
}

/* Two texts of one hash: the second one takes the next number, a few times. */
enum { MODEL_PROBES = 4 };

uint32_t coord_models_find(const struct coord_models *models, struct str text)
{
    uint64_t hash = hash_str(text, 0);
    for (uint64_t i = 0; i < MODEL_PROBES; i++) {
        const uint64_t *idx = map_get(&models->by_hash, hash + i);
        if (idx != NULL && str_eq(coord_models_text(models, (uint32_t)*idx), text)) {
            return (uint32_t)*idx;
        }
    }
    return COORD_MODEL_NONE;
}

enum status coord_models_take(struct coord_models *models, struct str text, uint32_t *ret_idx)
{
    uint32_t idx = coord_models_find(models, text);
    if (idx != COORD_MODEL_NONE) {
        coord_models_ref(models, idx);
        *ret_idx = idx;
        return ST_OK;
    }
    if (models->slab.used_nodes >= models->slab.max_nodes) {
        return ST_FULL;
    }
    uint64_t hash = hash_str(text, 0);
    for (uint64_t i = 0; i < MODEL_PROBES && map_get(&models->by_hash, hash) != NULL; i++) {
        hash++;
    }
    char *copy = mem_alloc(models->mem, text.len + 1);
    struct coord_model *model = copy == NULL ? NULL : slab_alloc(&models->slab, &idx);
    if (model == NULL || map_put(&models->by_hash, hash, idx) != ST_OK) {
        if (model != NULL) {
            slab_free(&models->slab, idx);
        }
        mem_free(models->mem, copy, text.len + 1);
        return ST_NOMEM;
    }
    (void)str_copy(copy, text.len + 1, text);
    *model = (struct coord_model){.text = copy, .hash = hash, .len = (uint32_t)text.len, .refs = 1};
    *ret_idx = idx;
    return ST_OK;
}

void coord_models_ref(struct coord_models *models, uint32_t idx)
{
    if (idx != COORD_MODEL_NONE) {
        coord_models_at(models, idx)->refs++;
    }
}

void coord_models_unref(struct coord_models *models, uint32_t idx)
{
    if (idx == COORD_MODEL_NONE) {
        return;
    }
    struct coord_model *model = coord_models_at(models, idx);
    ASSERT(model->refs > 0);
    if (--model->refs == 0) {
        (void)map_remove(&models->by_hash, model->hash);
        text_free(models, model);
        slab_free(&models->slab, idx);
    }
}
