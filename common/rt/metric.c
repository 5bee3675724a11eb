/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rt/metric.h"

#include "common/rt/metric_table.h"

#include <stdatomic.h>

/* One shard per thread while there are enough: no cache line is fought over. The sum counts; a
 * gauge's share of one shard may wrap below zero. */
enum { SHARD_COUNT = 16, CACHE_LINE = 64 };

struct shard {
    _Alignas(CACHE_LINE) _Atomic uint64_t cells[METRIC_CELL_COUNT];
};

static struct shard shards[SHARD_COUNT];
static atomic_uint next_shard;
static _Thread_local struct shard *own_shard;

static struct shard *shard_of_thread(void)
{
    if (own_shard == NULL) {
        unsigned turn = atomic_fetch_add_explicit(&next_shard, 1, memory_order_relaxed);
        own_shard = &shards[turn % SHARD_COUNT];
    }
    return own_shard;
}

static unsigned cell_of(enum metric id, unsigned a, unsigned b)
{
    const struct metric_info *info = &metric_infos[id];
    ASSERT(a < info->label1->count && b < info->label2->count);
    return info->first_cell + (a * info->label2->count + b) * info->cells_each;
}

static void cell_add(unsigned cell, uint64_t n)
{
    atomic_fetch_add_explicit(&shard_of_thread()->cells[cell], n, memory_order_relaxed);
}

uint64_t metric_cell(unsigned cell)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SHARD_COUNT; i++) {
        sum += atomic_load_explicit(&shards[i].cells[cell], memory_order_relaxed);
    }
    return sum;
}

void metric_add(enum metric id, unsigned a, unsigned b, uint64_t n)
{
    cell_add(cell_of(id, a, b), n);
}

void metric_move(enum metric id, unsigned a, unsigned b, int64_t delta)
{
    cell_add(cell_of(id, a, b), (uint64_t)delta);
}

void metric_set(enum metric id, unsigned a, unsigned b, uint64_t value)
{
    atomic_store_explicit(&shards[0].cells[cell_of(id, a, b)], value, memory_order_relaxed);
}

void metric_observe(enum metric id, unsigned a, unsigned b, uint64_t value)
{
    const struct metric_buckets *buckets = metric_infos[id].buckets;
    ASSERT(buckets != NULL);
    unsigned cell = cell_of(id, a, b);
    unsigned i = 0;
    while (i < buckets->count && value > buckets->bounds[i]) {
        i++;
    }
    cell_add(cell + i, 1);
    cell_add(cell + buckets->count + 1, value);
}

uint64_t metric_read(enum metric id, unsigned a, unsigned b)
{
    unsigned cell = cell_of(id, a, b);
    uint64_t sum = 0;
    unsigned n =
        metric_infos[id].kind == METRIC_KIND_HISTOGRAM ? metric_infos[id].cells_each - 1 : 1;
    for (unsigned i = 0; i < n; i++) {
        sum += metric_cell(cell + i);
    }
    return sum;
}
