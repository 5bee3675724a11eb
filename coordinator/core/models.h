/* SPDX-License-Identifier: Apache-2.0 */
/* Model ids as small numbers: each text is kept once, with how many objects name it and how many
 * engines serve it.
 * PURE. THREAD: core. LIMITS: COORD_MODELS_CAP texts. */
#ifndef COORDINATOR_CORE_MODELS_H
#define COORDINATOR_CORE_MODELS_H

#include "common/base/map.h"
#include "common/base/slab.h"
#include "common/base/str.h"

enum { COORD_MODELS_CAP = 4096 };

#define COORD_MODEL_NONE UINT32_MAX

struct coord_model {
    char *text; /* [len] not terminated */
    uint64_t hash;
    uint32_t len;
    uint32_t refs;    /* sessions, requests and engines that name it */
    uint32_t servers; /* engines that list it and are not being removed */
};

struct coord_models {
    const struct mem *mem;
    struct slab slab;
    struct map by_hash; /* text hash -> slab index */
};

void coord_models_init(struct coord_models *models, const struct mem *mem);
/* All references must be gone, or the texts still named are freed with it. */
void coord_models_fini(struct coord_models *models);

/* Index of a known text, COORD_MODEL_NONE when unknown. */
uint32_t coord_models_find(const struct coord_models *models, struct str text);

/* Index of text with one more reference, made known if need be. ST_OK, ST_NOMEM, ST_FULL. */
MUST_CHECK enum status
coord_models_take(struct coord_models *models, struct str text, uint32_t *ret_idx);

/* One more reference to a known one; COORD_MODEL_NONE is fine in both. */
void coord_models_ref(struct coord_models *models, uint32_t idx);
/* One less; the last one forgets the text. */
void coord_models_unref(struct coord_models *models, uint32_t idx);

struct coord_model *coord_models_at(const struct coord_models *models, uint32_t idx);
struct str coord_models_text(const struct coord_models *models, uint32_t idx);

#endif
