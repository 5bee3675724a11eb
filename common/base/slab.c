/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/slab.h"

#include <string.h>

enum { SLAB_BLOCK_NODES = 128, SLAB_ALIGN = 16 };

void slab_init(struct slab *slab, const struct mem *mem, size_t node_bytes, uint32_t max_nodes)
{
    ASSERT(node_bytes >= 1 && node_bytes <= UINT32_MAX / (2 * SLAB_BLOCK_NODES));
    ASSERT(max_nodes < SLAB_NONE);
    size_t rounded = (node_bytes + SLAB_ALIGN - 1) & ~(size_t)(SLAB_ALIGN - 1);
    *slab = (struct slab){
        .mem = mem,
        .node_bytes = (uint32_t)rounded,
        .max_nodes = max_nodes,
        .free_head = SLAB_NONE,
    };
}

static size_t slab_block_bytes(const struct slab *slab)
{
    return (size_t)slab->node_bytes * SLAB_BLOCK_NODES;
}

/* The table of blocks has room for the next power of two, so it needs no field of its own. */
static size_t slab_table_cap(uint32_t block_count)
{
    size_t cap = 1;
    while (cap < block_count) {
        cap *= 2;
    }
    return block_count == 0 ? 0 : cap;
}

void slab_fini(struct slab *slab)
{
    if (slab == NULL || slab->mem == NULL) {
        return;
    }
    for (uint32_t i = 0; i < slab->block_count; i++) {
        mem_free(slab->mem, slab->blocks[i], slab_block_bytes(slab));
    }
    mem_free(slab->mem, slab->blocks, slab_table_cap(slab->block_count) * sizeof(slab->blocks[0]));
    slab->blocks = NULL;
    slab->block_count = 0;
    slab->used_nodes = 0;
    slab->fresh_idx = 0;
    slab->free_head = SLAB_NONE;
}

static bool slab_add_block(struct slab *slab)
{
    unsigned char *block = mem_alloc(slab->mem, slab_block_bytes(slab));
    if (block == NULL) {
        return false;
    }
    size_t old_cap = slab_table_cap(slab->block_count);
    if (slab->block_count == old_cap) {
        size_t new_cap = old_cap == 0 ? 1 : old_cap * 2;
        unsigned char **blocks = mem_resize(slab->mem, slab->blocks, old_cap * sizeof(blocks[0]),
                                            new_cap * sizeof(blocks[0]));
        if (blocks == NULL) {
            mem_free(slab->mem, block, slab_block_bytes(slab));
            return false;
        }
        slab->blocks = blocks;
    }
    slab->blocks[slab->block_count++] = block;
    return true;
}

void *slab_at(const struct slab *slab, uint32_t idx)
{
    ASSERT(idx < slab->fresh_idx);
    size_t offset = (size_t)(idx % SLAB_BLOCK_NODES) * slab->node_bytes;
    return slab->blocks[idx / SLAB_BLOCK_NODES] + offset;
}

void *slab_alloc(struct slab *slab, uint32_t *ret_idx)
{
    uint32_t idx;
    void *node;
    if (slab->free_head != SLAB_NONE) {
        idx = slab->free_head;
        node = slab_at(slab, idx);
        memcpy(&slab->free_head, node, sizeof(slab->free_head));
    } else {
        if (slab->fresh_idx >= slab->max_nodes) {
            slab->full_count++;
            return NULL;
        }
        if (slab->fresh_idx / SLAB_BLOCK_NODES >= slab->block_count && !slab_add_block(slab)) {
            return NULL;
        }
        idx = slab->fresh_idx++;
        node = slab_at(slab, idx);
    }
    memset(node, 0, slab->node_bytes);
    slab->used_nodes++;
    if (ret_idx != NULL) {
        *ret_idx = idx;
    }
    return node;
}

void slab_free(struct slab *slab, uint32_t idx)
{
    ASSERT(slab->used_nodes > 0);
    void *node = slab_at(slab, idx);
    memcpy(node, &slab->free_head, sizeof(slab->free_head));
    slab->free_head = idx;
    slab->used_nodes--;
}
