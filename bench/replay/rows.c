/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/rows.h"

void rows_init(struct rows *rows, const struct mem *mem)
{
    *rows = (struct rows){.mem = mem};
}

void rows_fini(struct rows *rows)
{
    if (rows != NULL && rows->mem != NULL) {
        mem_free(rows->mem, rows->rows, rows->cap * sizeof(*rows->rows));
        *rows = (struct rows){0};
    }
}

enum status rows_add(struct rows *rows, const struct row *row)
{
    if (rows->count == ROWS_MAX) {
        return ST_FULL;
    }
    if (rows->count == rows->cap) {
        uint32_t cap = rows->cap == 0 ? 256 : rows->cap * 2;
        void *grown = mem_resize(rows->mem, rows->rows, rows->cap * sizeof(*rows->rows),
                                 cap * sizeof(*rows->rows));
        if (grown == NULL) {
            return ST_NOMEM;
        }
        rows->rows = grown;
        rows->cap = cap;
    }
    rows->rows[rows->count++] = *row;
    return ST_OK;
}
