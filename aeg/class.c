/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/class.h"

#include "common/base/hash.h"

/* A kind whose decayed count is below this may lose its place to a new one. */
#define FADED 0.5f

enum { SEED_TOOL = 11, FIXED_KINDS = 4 };

static uint64_t map_key(const struct aeg_key *key)
{
    return hash_mix(key->tenant, hash_mix(key->model, key->fingerprint));
}

/* Tenants live in the same map, under a key that no class has but by chance. */
static uint64_t tenant_map_key(uint64_t tenant)
{
    return hash_mix(~tenant, tenant);
}

static bool key_eq(const struct aeg_key *a, const struct aeg_key *b)
{
    return a->tenant == b->tenant && a->model == b->model && a->fingerprint == b->fingerprint;
}

uint64_t aeg_kind_of_tool(struct str name)
{
    uint64_t hash = hash_str(name, SEED_TOOL);
    return name.len == 0 ? AEG_KIND_ANSWER : (hash < FIXED_KINDS ? hash + FIXED_KINDS : hash);
}

static uint32_t next_serial(struct aeg_table *table)
{
    table->serial++;
    table->serial += table->serial == 0;
    return table->serial;
}

static struct aeg_node *add_node(struct aeg_table *table)
{
    uint32_t idx = 0;
    struct aeg_node *node = slab_alloc(&table->nodes, &idx);
    if (node != NULL) {
        node->idx = idx;
        node->serial = next_serial(table);
        node->tenant = AEG_NONE;
        list_init(&node->tenant_lru);
    }
    return node;
}

enum status
aeg_table_init(struct aeg_table *table, const struct mem *mem, const struct aeg_limits *limits)
{
    if (limits->max_kinds < 1 || limits->max_kinds > AEG_KINDS_MAX || limits->max_classes < 1 ||
        limits->max_classes > UINT32_MAX / 4 || limits->max_tenants < 1 ||
        limits->max_tenants > UINT32_MAX / 4 || limits->tenant_share < 1 ||
        limits->half_life_us < 1 || limits->max_cells / 4 < limits->max_kinds) {
        return ST_INVAL;
    }
    *table = (struct aeg_table){.mem = mem, .limits = *limits};
    uint32_t nodes = limits->max_classes + limits->max_tenants;
    slab_init(&table->nodes, mem, sizeof(struct aeg_node), nodes + 1);
    slab_init(&table->cells, mem, sizeof(struct aeg_cell), limits->max_cells);
    map_init(&table->by_key, mem, nodes);
    list_init(&table->lru);
    struct aeg_node *node = add_node(table);
    if (node == NULL) {
        aeg_table_fini(table);
        return ST_NOMEM;
    }
    table->global = node->idx;
    return ST_OK;
}

void aeg_table_fini(struct aeg_table *table)
{
    slab_fini(&table->nodes);
    slab_fini(&table->cells);
    map_fini(&table->by_key);
}

static struct aeg_node *tenant_of(const struct aeg_table *table, const struct aeg_node *node)
{
    return node->tenant == AEG_NONE ? NULL : aeg_node_at(table, node->tenant);
}

static void free_cells(struct aeg_table *table, struct aeg_node *node)
{
    for (uint32_t i = 0; i < node->kind_count; i++) {
        aeg_cell_at(table, node->cells[i])->serial = 0;
        slab_free(&table->cells, node->cells[i]);
    }
}

static void forget_tenant(struct aeg_table *table, struct aeg_node *tenant)
{
    free_cells(table, tenant);
    (void)map_remove(&table->by_key, tenant_map_key(tenant->key.tenant));
    tenant->serial = 0;
    slab_free(&table->nodes, tenant->idx);
    table->tenant_count--;
}

/* Drops a class, and its tenant with its last class. */
static void forget_class(struct aeg_table *table, struct aeg_node *node)
{
    struct aeg_node *tenant = tenant_of(table, node);
    free_cells(table, node);
    (void)map_remove(&table->by_key, map_key(&node->key));
    list_remove(&node->lru);
    list_remove(&node->tenant_lru);
    tenant->cell_total -= node->kind_count;
    tenant->class_count--;
    node->serial = 0;
    slab_free(&table->nodes, node->idx);
    table->class_count--;
    if (tenant->class_count == 0) {
        forget_tenant(table, tenant);
    }
}

uint32_t aeg_table_find(const struct aeg_table *table, const struct aeg_key *key)
{
    const uint64_t *found = map_get(&table->by_key, map_key(key));
    if (found == NULL || !key_eq(&aeg_node_at(table, (uint32_t)*found)->key, key)) {
        return AEG_NONE;
    }
    return (uint32_t)*found;
}

uint32_t aeg_table_find_tenant(const struct aeg_table *table, uint64_t tenant)
{
    const uint64_t *found = map_get(&table->by_key, tenant_map_key(tenant));
    return found == NULL ? AEG_NONE : (uint32_t)*found;
}

static void touch(struct aeg_table *table, struct aeg_node *node)
{
    struct aeg_node *tenant = tenant_of(table, node);
    list_remove(&node->lru);
    list_push_back(&table->lru, &node->lru);
    list_remove(&node->tenant_lru);
    list_push_back(&tenant->tenant_lru, &node->tenant_lru);
}

static enum status open_tenant(struct aeg_table *table, uint64_t key, struct aeg_node **ret)
{
    uint32_t found = aeg_table_find_tenant(table, key);
    if (found != AEG_NONE) {
        *ret = aeg_node_at(table, found);
        return ST_OK;
    }
    if (table->tenant_count >= table->limits.max_tenants) {
        table->no_tenant_count++;
        return ST_FULL;
    }
    struct aeg_node *node = add_node(table);
    if (node == NULL) {
        return ST_NOMEM;
    }
    node->key.tenant = key;
    enum status st = map_put(&table->by_key, tenant_map_key(key), node->idx);
    if (st != ST_OK) {
        slab_free(&table->nodes, node->idx);
        return st;
    }
    table->tenant_count++;
    *ret = node;
    return ST_OK;
}

/* The first class in LRU order, of the tenant when that is not NULL, whose end would not take
 * `keep` (a class, or a tenant) along. */
static struct aeg_node *
victim(struct aeg_table *table, struct aeg_node *tenant, const struct aeg_node *keep)
{
    struct list *head = tenant != NULL ? &tenant->tenant_lru : &table->lru;
    for (struct list *it = head->next; it != head; it = it->next) {
        struct aeg_node *node = tenant != NULL ? LIST_OWNER(it, struct aeg_node, tenant_lru)
                                               : LIST_OWNER(it, struct aeg_node, lru);
        bool is_last_of_keep = keep != NULL && node->tenant == keep->idx && keep->class_count == 1;
        if (node != keep && !is_last_of_keep) {
            return node;
        }
    }
    return NULL;
}

static bool make_room(struct aeg_table *table, struct aeg_node *tenant, const struct aeg_node *keep)
{
    struct aeg_node *node = victim(table, tenant, keep);
    if (node == NULL) {
        return false;
    }
    forget_class(table, node);
    table->forgotten_count++;
    return true;
}

/* Shares are at least one class, and a class's cells. */
static uint32_t class_share(const struct aeg_table *table)
{
    uint32_t share = table->limits.max_classes / table->limits.tenant_share;
    return share > 0 ? share : 1;
}

static uint32_t cell_share(const struct aeg_table *table)
{
    uint32_t share = table->limits.max_cells / table->limits.tenant_share;
    uint32_t least = 2 * (table->limits.max_kinds + FIXED_KINDS);
    return share > least ? share : least;
}

static enum status
add_class(struct aeg_table *table, const struct aeg_key *key, struct aeg_node *tenant)
{
    struct aeg_node *node = add_node(table);
    if (node == NULL) {
        return ST_NOMEM;
    }
    node->key = *key;
    node->tenant = tenant->idx;
    enum status st = map_put(&table->by_key, map_key(key), node->idx);
    if (st != ST_OK) {
        slab_free(&table->nodes, node->idx);
        return st;
    }
    list_push_back(&table->lru, &node->lru);
    list_push_back(&tenant->tenant_lru, &node->tenant_lru);
    tenant->class_count++;
    table->class_count++;
    return ST_OK;
}

enum status aeg_table_open(struct aeg_table *table, const struct aeg_key *key, uint32_t *ret_node)
{
    uint32_t found = aeg_table_find(table, key);
    if (found != AEG_NONE) {
        touch(table, aeg_node_at(table, found));
        *ret_node = found;
        return ST_OK;
    }
    const uint64_t *collided = map_get(&table->by_key, map_key(key));
    if (collided != NULL) {
        forget_class(table, aeg_node_at(table, (uint32_t)*collided));
        table->forgotten_count++;
    }
    uint32_t old = aeg_table_find_tenant(table, key->tenant);
    bool is_over = old != AEG_NONE && aeg_node_at(table, old)->class_count >= class_share(table);
    if (is_over) {
        (void)make_room(table, aeg_node_at(table, old), NULL);
    } else if (table->class_count >= table->limits.max_classes) {
        (void)make_room(table, NULL, NULL);
    }
    struct aeg_node *tenant = NULL;
    enum status st = open_tenant(table, key->tenant, &tenant);
    if (st != ST_OK) {
        return st;
    }
    st = add_class(table, key, tenant);
    if (st != ST_OK) {
        if (tenant->class_count == 0) {
            forget_tenant(table, tenant);
        }
        return st;
    }
    *ret_node = aeg_table_find(table, key);
    return ST_OK;
}

static uint32_t slot_of(const struct aeg_node *node, uint64_t kind)
{
    for (uint32_t i = 0; i < node->kind_count; i++) {
        if (node->kinds[i] == kind) {
            return i;
        }
    }
    return AEG_NONE;
}

uint32_t aeg_table_cell(const struct aeg_table *table, uint32_t node_idx, uint64_t kind)
{
    if (node_idx == AEG_NONE) {
        return AEG_NONE;
    }
    const struct aeg_node *node = aeg_node_at(table, node_idx);
    uint32_t slot = slot_of(node, kind);
    if (slot == AEG_NONE && kind >= FIXED_KINDS) {
        slot = slot_of(node, AEG_KIND_OTHER);
    }
    return slot == AEG_NONE ? AEG_NONE : node->cells[slot];
}

static void
start_cell(struct aeg_table *table, struct aeg_cell *cell, struct str name, uint64_t now_us)
{
    *cell = (struct aeg_cell){.serial = next_serial(table)};
    cell->clock = (struct dist_clock){now_us, now_us};
    cell->name_len = (uint32_t)(name.len < AEG_NAME_BYTES ? name.len : AEG_NAME_BYTES);
    if (cell->name_len > 0) {
        memcpy(cell->name, name.p, cell->name_len);
    }
}

/* A tool's slot that has faded away, or AEG_NONE. */
static uint32_t faded_slot(const struct aeg_table *table, const struct aeg_node *node, uint64_t now)
{
    uint64_t half_life_us = table->limits.half_life_us;
    for (uint32_t i = 0; i < node->kind_count; i++) {
        const struct aeg_cell *cell = aeg_cell_at(table, node->cells[i]);
        if (node->kinds[i] >= FIXED_KINDS &&
            cell->return_n * dist_scale(&cell->clock, now, half_life_us) < FADED &&
            now >= cell->clock.last_us && now - cell->clock.last_us >= half_life_us) {
            return i;
        }
    }
    return AEG_NONE;
}

static uint32_t tool_count(const struct aeg_node *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->kind_count; i++) {
        count += node->kinds[i] >= FIXED_KINDS;
    }
    return count;
}

static struct aeg_cell *take_cell(struct aeg_table *table, struct aeg_node *node, uint32_t *ret_idx)
{
    struct aeg_node *tenant =
        node->tenant == AEG_NONE && node->idx != table->global ? node : tenant_of(table, node);
    if (tenant != NULL && tenant->cell_total >= cell_share(table) &&
        tenant->class_count > (node == tenant ? 1u : 0u)) {
        (void)make_room(table, tenant, node);
    } else if (table->cells.used_nodes >= table->limits.max_cells) {
        (void)make_room(table, NULL, node);
    }
    struct aeg_cell *cell = slab_alloc(&table->cells, ret_idx);
    if (cell != NULL && tenant != NULL) {
        tenant->cell_total++;
    }
    return cell;
}

enum status aeg_table_cell_open(struct aeg_table *table,
                                uint32_t node_idx,
                                uint64_t kind,
                                struct str name,
                                uint64_t now_us,
                                uint32_t *ret_cell)
{
    struct aeg_node *node = aeg_node_at(table, node_idx);
    uint32_t slot = slot_of(node, kind);
    if (slot == AEG_NONE && kind >= FIXED_KINDS && tool_count(node) >= table->limits.max_kinds) {
        slot = faded_slot(table, node, now_us);
        if (slot != AEG_NONE) {
            node->kinds[slot] = kind;
            start_cell(table, aeg_cell_at(table, node->cells[slot]), name, now_us);
            table->replaced_count++;
        } else {
            table->other_count++;
            kind = AEG_KIND_OTHER;
            name = STR("");
            slot = slot_of(node, kind);
        }
    }
    if (slot != AEG_NONE) {
        *ret_cell = node->cells[slot];
        return ST_OK;
    }
    uint32_t cell_idx = 0;
    uint64_t full = table->cells.full_count;
    struct aeg_cell *cell = take_cell(table, node, &cell_idx);
    if (cell == NULL) {
        return table->cells.full_count > full ? ST_FULL : ST_NOMEM;
    }
    start_cell(table, cell, name, now_us);
    node->kinds[node->kind_count] = kind;
    node->cells[node->kind_count] = cell_idx;
    node->kind_count++;
    *ret_cell = cell_idx;
    return ST_OK;
}

size_t aeg_table_bytes(const struct aeg_table *table)
{
    return (size_t)table->nodes.used_nodes * sizeof(struct aeg_node) +
           (size_t)table->cells.used_nodes * sizeof(struct aeg_cell) + map_bytes(&table->by_key);
}
