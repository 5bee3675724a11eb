/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/tenants_shares.h"

#include "common/base/hash.h"
#include "common/base/map.h"

#include <stdlib.h>

enum { COLUMNS_MAX = 32 };
#define RATE_MAX 1e9

struct client {
    char name[SCENARIO_NAME_BYTES];
    double rate;
};

struct table {
    struct client *clients; /* [TENANTS_CLIENTS_MAX] */
    uint32_t count;
    struct map by_name; /* hash -> place */
    double sum;
    uint32_t pool, client, rate; /* columns */
};

static uint32_t split(struct str line, struct str *ret)
{
    uint32_t count = 0;
    while (count < COLUMNS_MAX && str_split(&line, ',', &ret[count])) {
        count++;
    }
    return count;
}

static bool find_column(const struct str *columns, uint32_t count, struct str name, uint32_t *ret)
{
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(columns[i], name)) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static enum status add(struct table *table, struct str pool, struct str client, double rate)
{
    char name[SCENARIO_NAME_BYTES];
    size_t len = str_copy(name, sizeof(name) / 2, pool);
    name[len] = '/';
    (void)str_copy(name + len + 1, sizeof(name) - len - 1, client);
    uint64_t key = hash_str(str_of(name), 0);
    const uint64_t *place = map_get(&table->by_name, key);
    uint64_t at = place == NULL ? table->count : *place;
    if (place == NULL) {
        if (table->count == TENANTS_CLIENTS_MAX) {
            return ST_TOOBIG;
        }
        enum status st = map_put(&table->by_name, key, at);
        if (st != ST_OK) {
            return st;
        }
        memcpy(table->clients[at].name, name, sizeof(name));
        table->count++;
    }
    table->clients[at].rate += rate;
    table->sum += rate;
    return ST_OK;
}

static enum status
read_all(struct table *table, const char *name, struct lines *lines, struct err *err)
{
    struct str columns[COLUMNS_MAX];
    struct str line = STR("");
    enum status st = lines_next(lines, &line, err);
    uint32_t count = st == ST_OK ? split(line, columns) : 0;
    if (!find_column(columns, count, STR("pool"), &table->pool) ||
        !find_column(columns, count, STR("client"), &table->client) ||
        !find_column(columns, count, STR("rate_rps"), &table->rate)) {
        return err_set(err, ST_INVAL, "%s:1: a heading with pool, client and rate_rps is missing",
                       name);
    }
    while ((st = lines_next(lines, &line, err)) == ST_OK) {
        unsigned long long number = lines_number(lines);
        double rate = 0;
        bool is_whole = split(line, columns) == count;
        if (!is_whole || str_to_f64(columns[table->rate], &rate) != ST_OK ||
            !(rate >= 0 && rate <= RATE_MAX)) {
            return err_set(err, ST_INVAL, "%s:%llu: no rate of a client", name, number);
        }
        st = add(table, columns[table->pool], columns[table->client], rate);
        if (st != ST_OK) {
            return err_set(err, st, "%s:%llu: too many clients", name, number);
        }
    }
    if (st != ST_CLOSED) {
        return st;
    }
    return table->sum > 0 ? ST_OK : err_set(err, ST_INVAL, "%s: all rates are 0", name);
}

static int by_rate(const void *a, const void *b)
{
    const struct client *x = a;
    const struct client *y = b;
    return x->rate != y->rate ? (x->rate < y->rate ? 1 : -1) : strcmp(x->name, y->name);
}

static void fill(struct scenario *scenario, const struct table *table)
{
    double left = 1;
    uint32_t most = SCENARIO_TENANTS_MAX - 1;
    scenario->tenant_count = 0;
    for (uint32_t i = 0; i < table->count && i < most && table->clients[i].rate > 0; i++) {
        struct scenario_tenant *made = &scenario->tenants[scenario->tenant_count++];
        *made = (struct scenario_tenant){.share = table->clients[i].rate / table->sum};
        (void)str_copy(made->name, sizeof(made->name), str_of(table->clients[i].name));
        left -= made->share;
    }
    if (table->count > most && left > 0) {
        struct scenario_tenant *made = &scenario->tenants[scenario->tenant_count++];
        *made = (struct scenario_tenant){.share = left};
        (void)str_copy(made->name, sizeof(made->name), STR("rest"));
    }
}

enum status tenants_shares_read(struct scenario *scenario,
                                const char *name,
                                struct lines *lines,
                                struct err *err)
{
    struct table table = {0};
    table.clients = mem_calloc(mem_heap(), TENANTS_CLIENTS_MAX, sizeof(*table.clients));
    if (table.clients == NULL) {
        return err_set(err, ST_NOMEM, "%s: no memory", name);
    }
    map_init(&table.by_name, mem_heap(), TENANTS_CLIENTS_MAX);
    enum status st = read_all(&table, name, lines, err);
    if (st == ST_OK) {
        qsort(table.clients, table.count, sizeof(*table.clients), by_rate);
        fill(scenario, &table);
    }
    map_fini(&table.by_name);
    mem_free(mem_heap(), table.clients, TENANTS_CLIENTS_MAX * sizeof(*table.clients));
    return st;
}

enum status tenants_shares_load(struct scenario *scenario, const char *path, struct err *err)
{
    struct lines *lines = NULL;
    enum status st = lines_open(&lines, path, err);
    if (st == ST_OK) {
        st = tenants_shares_read(scenario, path, lines, err);
        lines_close(lines);
    }
    return st;
}
