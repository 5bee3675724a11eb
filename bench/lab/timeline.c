/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/timeline.h"

enum { ROOM_FIRST = 256 };

static bool grow(struct timeline *timeline)
{
    const struct mem *mem = mem_heap();
    uint32_t cap = timeline->cap == 0 ? ROOM_FIRST : timeline->cap * 2;
    size_t width = timeline->engines * sizeof(*timeline->items);
    struct lab_sample *items = mem_resize(mem, timeline->items, timeline->cap * width, cap * width);
    if (items == NULL) {
        return false;
    }
    timeline->items = items;
    timeline->cap = cap;
    return true;
}

void timeline_add(void *ctx, uint64_t at_us, const struct lab_sample *engines)
{
    struct timeline *timeline = ctx;
    for (uint32_t i = 0; i < timeline->engines && at_us <= timeline->until_us; i++) {
        double ratio = engines[i].kv_used_ratio;
        timeline->kv_sum += ratio;
        timeline->kv_max = ratio > timeline->kv_max ? ratio : timeline->kv_max;
        timeline->kv_count++;
    }
    if (!timeline->keeps_all || timeline->is_short) {
        return;
    }
    if (timeline->count == timeline->cap && !grow(timeline)) {
        timeline->is_short = true;
        return;
    }
    memcpy(timeline->items + (size_t)timeline->count * timeline->engines, engines,
           timeline->engines * sizeof(*engines));
    timeline->count++;
}

void timeline_fini(struct timeline *timeline)
{
    if (timeline != NULL) {
        size_t width = timeline->engines * sizeof(*timeline->items);
        mem_free(mem_heap(), timeline->items, timeline->cap * width);
        timeline->items = NULL;
        timeline->cap = 0;
        timeline->count = 0;
    }
}
