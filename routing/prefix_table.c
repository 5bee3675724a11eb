/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/prefix_table.h"

#include "common/base/hash.h"

enum status prefix_table_init(struct prefix_table *table, const struct mem *mem, uint32_t entries)
{
    ASSERT(entries >= PREFIX_WAYS && (entries & (entries - 1)) == 0);
    *table = (struct prefix_table){.mem = mem};
    table->entries = mem_calloc(mem, entries, sizeof(table->entries[0]));
    if (table->entries == NULL) {
        return ST_NOMEM;
    }
    table->cap = entries;
    return ST_OK;
}

void prefix_table_fini(struct prefix_table *table)
{
    if (table->cap > 0) {
        mem_free(table->mem, table->entries, table->cap * sizeof(table->entries[0]));
    }
    *table = (struct prefix_table){.cap = 0};
}

/* Where the set of this hash begins. */
static struct prefix_entry *set_of(const struct prefix_table *table, uint64_t hash)
{
    uint64_t sets = table->cap / PREFIX_WAYS;
    return &table->entries[(hash_mix(hash, 0) & (sets - 1)) * PREFIX_WAYS];
}

const struct prefix_entry *prefix_table_find(const struct prefix_table *table, uint64_t hash)
{
    if (table->cap == 0) {
        return NULL;
    }
    const struct prefix_entry *set = set_of(table, hash);
    for (uint32_t i = 0; i < PREFIX_WAYS; i++) {
        if (set[i].used != 0 && set[i].hash == hash) {
            return &set[i];
        }
    }
    return NULL;
}

uint32_t prefix_table_match(const struct prefix_table *table, const uint64_t *chain, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && prefix_table_find(table, chain[i]) != NULL) {
        i++;
    }
    return i;
}

/* Its entry; a new one in place of a free one, or of the one used least recently. */
static struct prefix_entry *entry_for(struct prefix_table *table, uint64_t hash)
{
    struct prefix_entry *set = set_of(table, hash);
    struct prefix_entry *oldest = set;
    for (uint32_t i = 0; i < PREFIX_WAYS; i++) {
        if (set[i].used != 0 && set[i].hash == hash) {
            return &set[i];
        }
        oldest = set[i].used < oldest->used ? &set[i] : oldest;
    }
    *oldest = (struct prefix_entry){.hash = hash};
    return oldest;
}

/* To the front; the one sent it the longest time ago makes room. */
static void entry_add(struct prefix_entry *entry, uint32_t engine)
{
    uint32_t at = 0;
    while (at < entry->engine_count && entry->engines[at] != engine) {
        at++;
    }
    if (at == entry->engine_count && at < PREFIX_ENGINES) {
        entry->engine_count++;
    }
    at = at < PREFIX_ENGINES ? at : PREFIX_ENGINES - 1;
    for (; at > 0; at--) {
        entry->engines[at] = entry->engines[at - 1];
    }
    entry->engines[0] = engine;
}

void prefix_table_add(struct prefix_table *table,
                      const uint64_t *chain,
                      uint32_t count,
                      uint32_t engine)
{
    if (table->cap == 0) {
        return;
    }
    table->turn++;
    for (uint32_t i = 0; i < count && i < PREFIX_CHAIN_MAX; i++) {
        struct prefix_entry *entry = entry_for(table, chain[i]);
        entry->used = table->turn * PREFIX_CHAIN_MAX + (PREFIX_CHAIN_MAX - 1 - i);
        entry_add(entry, engine);
    }
}

void prefix_table_forget(struct prefix_table *table, uint32_t engine)
{
    for (uint32_t i = 0; i < table->cap; i++) {
        struct prefix_entry *entry = &table->entries[i];
        uint32_t left = 0;
        for (uint32_t k = 0; k < entry->engine_count; k++) {
            if (entry->engines[k] != engine) {
                entry->engines[left++] = entry->engines[k];
            }
        }
        entry->engine_count = left;
    }
}
