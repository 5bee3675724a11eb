/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rt/metric_table.h"

#include <stdatomic.h>

#define METRIC_VALUE_TEXT(label, value, text) text,
#define LABEL(id, text, list)                                           \
    static const char *const values_##id[] = {list(METRIC_VALUE_TEXT)}; \
    static const struct metric_label label_##id = {text, values_##id, METRIC_##id##_COUNT};
#include "common/rt/metric_label.def"
#undef LABEL

/* 1, 2.5, 5 steps from half a millisecond to an hour: first tokens and whole answers fit in both.
 */
static const uint64_t bounds_TIME[] = {500,      1000,      2500,      5000,       10000,
                                       25000,    50000,     100000,    250000,     500000,
                                       1000000,  2500000,   5000000,   10000000,   30000000,
                                       60000000, 120000000, 300000000, 1800000000, 3600000000};
static const uint64_t bounds_BYTES[] = {256,    1024,    4096,    16384,    65536,
                                        262144, 1048576, 4194304, 16777216, 67108864};

enum {
    BOUNDS_TIME = sizeof(bounds_TIME) / sizeof(bounds_TIME[0]),
    BOUNDS_BYTES = sizeof(bounds_BYTES) / sizeof(bounds_BYTES[0]),
};

static const struct metric_buckets buckets_TIME = {bounds_TIME, BOUNDS_TIME};
static const struct metric_buckets buckets_BYTES = {bounds_BYTES, BOUNDS_BYTES};

/* Cells of all metrics in a row: each FIRST follows the LAST of the metric before it. */
#define CELLS_OF(id, label1, label2, each) \
    FIRST_##id,                            \
        LAST_##id = FIRST_##id + METRIC_##label1##_COUNT * METRIC_##label2##_COUNT * (each)-1,

enum {
#define COUNTER(id, name, label1, label2, unit, help, action) CELLS_OF(id, label1, label2, 1)
#define GAUGE(id, name, label1, label2, unit, help, action)   CELLS_OF(id, label1, label2, 1)
#define HISTOGRAM(id, name, label1, label2, buckets, unit, help, action) \
    CELLS_OF(id, label1, label2, BOUNDS_##buckets + 2)
#include "common/rt/metrics.def"
#undef COUNTER
#undef GAUGE
#undef HISTOGRAM
    CELL_COUNT
};

const struct metric_info metric_infos[METRIC_COUNT] = {
#define PLAIN(kind, id, name, label1, label2, unit, help, action)        \
    [METRIC_##id] = {kind, name, &label_##label1, &label_##label2, NULL, \
                     unit, help, action,          FIRST_##id,      1},
#define COUNTER(id, name, label1, label2, unit, help, action) \
    PLAIN(METRIC_KIND_COUNTER, id, name, label1, label2, unit, help, action)
#define GAUGE(id, name, label1, label2, unit, help, action) \
    PLAIN(METRIC_KIND_GAUGE, id, name, label1, label2, unit, help, action)
#define HISTOGRAM(id, name, label1, label2, buckets, unit, help, action) \
    [METRIC_##id] = {METRIC_KIND_HISTOGRAM,                              \
                     name,                                               \
                     &label_##label1,                                    \
                     &label_##label2,                                    \
                     &buckets_##buckets,                                 \
                     unit,                                               \
                     help,                                               \
                     action,                                             \
                     FIRST_##id,                                         \
                     BOUNDS_##buckets + 2},
#include "common/rt/metrics.def"
#undef COUNTER
#undef GAUGE
#undef HISTOGRAM
#undef PLAIN
};

/* One shard per thread while there are enough: no cache line is fought over. The sum counts; a
 * gauge's share of one shard may wrap below zero. */
enum { SHARD_COUNT = 16, CACHE_LINE = 64 };

struct shard {
    _Alignas(CACHE_LINE) _Atomic uint64_t cells[CELL_COUNT];
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
