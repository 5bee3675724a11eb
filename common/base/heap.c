/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/heap.h"

enum { HEAP_MIN_CAP = 16, HEAP_MAX_COUNT = 1 << 30 };

/* Keys are repeated here so that sifting touches no node but the ones it moves. */
struct heap_slot {
    uint64_t key;
    uint64_t tie;
    struct heap_node *node;
};

void heap_init(struct heap *heap, const struct mem *mem, uint32_t max_count)
{
    ASSERT(max_count <= HEAP_MAX_COUNT);
    *heap = (struct heap){.mem = mem, .max_count = max_count};
}

void heap_fini(struct heap *heap)
{
    if (heap == NULL || heap->mem == NULL) {
        return;
    }
    mem_free(heap->mem, heap->slots, heap->cap * sizeof(heap->slots[0]));
    heap->slots = NULL;
    heap->count = 0;
    heap->cap = 0;
}

static bool slot_is_less(const struct heap_slot *a, const struct heap_slot *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static void heap_set(struct heap *heap, uint32_t i, struct heap_slot slot)
{
    heap->slots[i] = slot;
    slot.node->place = i + 1;
}

static void heap_sift_up(struct heap *heap, uint32_t i, struct heap_slot slot)
{
    while (i > 0) {
        uint32_t parent = (i - 1) / 2;
        if (!slot_is_less(&slot, &heap->slots[parent])) {
            break;
        }
        heap_set(heap, i, heap->slots[parent]);
        i = parent;
    }
    heap_set(heap, i, slot);
}

static void heap_sift_down(struct heap *heap, uint32_t i, struct heap_slot slot)
{
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && slot_is_less(&heap->slots[child + 1], &heap->slots[child])) {
            child++;
        }
        if (!slot_is_less(&heap->slots[child], &slot)) {
            break;
        }
        heap_set(heap, i, heap->slots[child]);
        i = child;
    }
    heap_set(heap, i, slot);
}

/* Puts slot at i or wherever its key belongs from there. */
static void heap_place(struct heap *heap, uint32_t i, struct heap_slot slot)
{
    if (i > 0 && slot_is_less(&slot, &heap->slots[(i - 1) / 2])) {
        heap_sift_up(heap, i, slot);
    } else {
        heap_sift_down(heap, i, slot);
    }
}

static bool heap_grow(struct heap *heap)
{
    uint32_t new_cap = heap->cap == 0 ? HEAP_MIN_CAP : heap->cap * 2;
    struct heap_slot *slots = mem_resize(heap->mem, heap->slots, heap->cap * sizeof(slots[0]),
                                         new_cap * sizeof(slots[0]));
    if (slots == NULL) {
        return false;
    }
    heap->slots = slots;
    heap->cap = new_cap;
    return true;
}

enum status heap_insert(struct heap *heap, struct heap_node *node, uint64_t key, uint64_t tie)
{
    ASSERT(node->place == 0);
    if (heap->count >= heap->max_count) {
        heap->full_count++;
        return ST_FULL;
    }
    if (heap->count == heap->cap && !heap_grow(heap)) {
        return ST_NOMEM;
    }
    node->key = key;
    node->tie = tie;
    uint32_t i = heap->count++;
    heap_sift_up(heap, i, (struct heap_slot){key, tie, node});
    return ST_OK;
}

/* Slot of a node, checked to be in this heap. */
static uint32_t heap_slot_of(const struct heap *heap, const struct heap_node *node)
{
    ASSERT(node->place >= 1 && node->place <= heap->count);
    uint32_t i = node->place - 1;
    ASSERT(heap->slots[i].node == node);
    return i;
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    uint32_t i = heap_slot_of(heap, node);
    node->place = 0;
    heap->count--;
    if (i < heap->count) {
        heap_place(heap, i, heap->slots[heap->count]);
    }
}

void heap_update(struct heap *heap, struct heap_node *node, uint64_t key, uint64_t tie)
{
    uint32_t i = heap_slot_of(heap, node);
    node->key = key;
    node->tie = tie;
    heap_place(heap, i, (struct heap_slot){key, tie, node});
}

struct heap_node *heap_min(const struct heap *heap)
{
    return heap->count == 0 ? NULL : heap->slots[0].node;
}
