/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sessions/blocks.h"

#include "common/base/hash.h"
#include "common/base/json.h"

static void *
room(const struct mem *mem, void *items, uint32_t count, uint32_t *cap, size_t item_bytes)
{
    if (count < *cap) {
        return items;
    }
    uint32_t more = *cap == 0 ? 1024 : *cap * 2;
    void *p = mem_resize(mem, items, *cap * item_bytes, more * item_bytes);
    if (p != NULL) {
        *cap = more;
    }
    return p;
}

static enum status add_run(struct blocks *blocks, yyjson_val *val, uint32_t *total)
{
    uint64_t first = yyjson_get_uint(yyjson_arr_get(val, 0));
    uint64_t count = yyjson_get_uint(yyjson_arr_get(val, 1));
    if (yyjson_arr_size(val) != 2 || count > BLOCKS_COUNT_MAX || first > UINT32_MAX - count ||
        *total + count > BLOCKS_COUNT_MAX) {
        return ST_PROTO;
    }
    if (blocks->run_count >= BLOCKS_RUNS_MAX) {
        return ST_TOOBIG;
    }
    void *p =
        room(blocks->mem, blocks->runs, blocks->run_count, &blocks->run_cap, sizeof(*blocks->runs));
    if (p == NULL) {
        return ST_NOMEM;
    }
    blocks->runs = p;
    blocks->runs[blocks->run_count++] =
        (struct block_run){.first = (uint32_t)first, .count = (uint32_t)count};
    *total += (uint32_t)count;
    return ST_OK;
}

static uint64_t step_key(struct str session, uint64_t step)
{
    return hash_mix(hash_str(session, 0), step);
}

static enum status add_row(struct blocks *blocks, yyjson_val *obj)
{
    struct str id;
    uint64_t step = 0;
    yyjson_val *runs = yyjson_obj_get(obj, "runs");
    if (!json_get_str(obj, "s", &id) || !json_get_u64(obj, "i", &step) || !yyjson_is_arr(runs)) {
        return ST_PROTO;
    }
    uint64_t key = step_key(id, step);
    if (map_get(&blocks->by_step, key) != NULL) {
        return ST_PROTO;
    }
    if (blocks->row_count >= BLOCKS_ROWS_MAX) {
        return ST_TOOBIG;
    }
    void *p =
        room(blocks->mem, blocks->rows, blocks->row_count, &blocks->row_cap, sizeof(*blocks->rows));
    if (p == NULL) {
        return ST_NOMEM;
    }
    blocks->rows = p;
    struct blocks_row *row = &blocks->rows[blocks->row_count];
    *row = (struct blocks_row){.run_at = blocks->run_count};
    uint32_t total = 0;
    size_t i;
    size_t max;
    yyjson_val *val;
    yyjson_arr_foreach(runs, i, max, val)
    {
        enum status st = add_run(blocks, val, &total);
        if (st != ST_OK) {
            return st;
        }
    }
    row->run_count = blocks->run_count - row->run_at;
    return map_put(&blocks->by_step, key, blocks->row_count++);
}

enum status
blocks_load(struct blocks *ret, const struct mem *mem, const char *path, struct err *err)
{
    *ret = (struct blocks){.mem = mem};
    map_init(&ret->by_step, mem, BLOCKS_ROWS_MAX);
    struct lines *lines = NULL;
    enum status st = lines_open(&lines, path, err);
    struct str line;
    while (st == ST_OK && (st = lines_next(lines, &line, err)) == ST_OK) {
        yyjson_doc *doc = yyjson_read(line.p, line.len, 0);
        st = doc == NULL ? ST_PROTO : add_row(ret, yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
        if (st != ST_OK) {
            err_set(err, st, "%s: line %llu: not a row of block runs", path,
                    (unsigned long long)lines_number(lines));
        }
    }
    lines_close(lines);
    return st == ST_CLOSED ? ST_OK : st;
}

void blocks_fini(struct blocks *blocks)
{
    if (blocks->mem == NULL) {
        return;
    }
    map_fini(&blocks->by_step);
    mem_free(blocks->mem, blocks->rows, blocks->row_cap * sizeof(*blocks->rows));
    mem_free(blocks->mem, blocks->runs, blocks->run_cap * sizeof(*blocks->runs));
}

const struct blocks_row *blocks_find(const struct blocks *blocks, struct str session, uint32_t step)
{
    if (blocks->mem == NULL) {
        return NULL;
    }
    const uint64_t *row = map_get(&blocks->by_step, step_key(session, step));
    return row == NULL ? NULL : &blocks->rows[*row];
}
