/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/receipts.h"

#include "common/base/hash.h"

void coord_receipts_init(struct coord_receipts *receipts,
                         const struct mem *mem,
                         uint32_t max_receipts)
{
    *receipts = (struct coord_receipts){.max = max_receipts};
    slab_init(&receipts->slab, mem, sizeof(struct coord_receipt), max_receipts);
    map_init(&receipts->by_name, mem, max_receipts);
}

void coord_receipts_fini(struct coord_receipts *receipts)
{
    map_fini(&receipts->by_name);
    slab_fini(&receipts->slab);
}

struct coord_receipt *coord_receipts_at(const struct coord_receipts *receipts, uint64_t number)
{
    if (receipts->max == 0 || number == 0 || number > receipts->last ||
        receipts->last - number >= receipts->max) {
        return NULL;
    }
    struct coord_receipt *receipt =
        slab_at(&receipts->slab, (uint32_t)((number - 1) % receipts->max));
    return receipt->number == number ? receipt : NULL;
}

/* The place of the next number: a new one until the ring is full, then the oldest one's. */
static struct coord_receipt *ring_place(struct coord_receipts *receipts)
{
    if (receipts->last < receipts->max) {
        return slab_alloc(&receipts->slab, NULL);
    }
    struct coord_receipt *oldest =
        slab_at(&receipts->slab, (uint32_t)(receipts->last % receipts->max));
    uint64_t hash = hash_str(str_of(oldest->name), 0);
    const uint64_t *known = map_get(&receipts->by_name, hash);
    if (known != NULL && *known == oldest->number) {
        (void)map_remove(&receipts->by_name, hash);
    }
    return oldest;
}

struct coord_receipt *coord_receipts_add(struct coord_receipts *receipts, struct str name)
{
    if (receipts->max == 0) {
        return NULL;
    }
    struct coord_receipt *receipt = ring_place(receipts);
    if (receipt == NULL) {
        receipts->lost++;
        return NULL;
    }
    *receipt = (struct coord_receipt){.number = ++receipts->last, .match = ""};
    (void)str_copy(receipt->name, sizeof(receipt->name), name);
    if (map_put(&receipts->by_name, hash_str(str_of(receipt->name), 0), receipt->number) != ST_OK) {
        receipts->lost++; /* kept, but not to be found by name */
    }
    return receipt;
}

const struct coord_receipt *coord_receipts_find(const struct coord_receipts *receipts,
                                                struct str name)
{
    const uint64_t *number = map_get(&receipts->by_name, hash_str(name, 0));
    const struct coord_receipt *receipt =
        number == NULL ? NULL : coord_receipts_at(receipts, *number);
    return receipt != NULL && str_eq(str_of(receipt->name), name) ? receipt : NULL;
}
