/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sessions/shape.h"

#include "common/base/hash.h"

#include <string.h>

#define FRESH_FIRST UINT32_C(0x80000000) /* above all recorded ids */

enum {
    TOKEN_BYTES = 4,
    SLACK_BLOCKS = 1,  /* the last block of a prompt is seldom a whole one */
    INNER_BLOCKS = 16, /* 4 KiB: a boundary inside a segment */
};

void shape_init(struct shape *shape, const struct mem *mem)
{
    *shape = (struct shape){.mem = mem, .fresh = FRESH_FIRST};
    map_init(&shape->names, mem, BLOCKS_COUNT_MAX * 4);
    map_init(&shape->ends, mem, BLOCKS_COUNT_MAX);
}

void shape_fini(struct shape *shape)
{
    map_fini(&shape->names);
    map_fini(&shape->ends);
    mem_free(shape->mem, shape->ids, shape->cap * sizeof(*shape->ids));
    mem_free(shape->mem, shape->next, shape->cap * sizeof(*shape->next));
    mem_free(shape->mem, shape->hashes, shape->cap * sizeof(*shape->hashes));
}

static enum status reserve(struct shape *shape, uint32_t count)
{
    if (count <= shape->cap) {
        return ST_OK;
    }
    if (count > BLOCKS_COUNT_MAX) {
        return ST_FULL;
    }
    uint32_t cap = count + count / 2 + 64;
    void *ids = mem_resize(shape->mem, shape->ids, shape->cap * sizeof(*shape->ids),
                           cap * sizeof(*shape->ids));
    shape->ids = ids != NULL ? ids : shape->ids;
    void *next = mem_resize(shape->mem, shape->next, shape->cap * sizeof(*shape->next),
                            cap * sizeof(*shape->next));
    shape->next = next != NULL ? next : shape->next;
    void *hashes = mem_resize(shape->mem, shape->hashes, shape->cap * sizeof(*shape->hashes),
                              cap * sizeof(*shape->hashes));
    shape->hashes = hashes != NULL ? hashes : shape->hashes;
    if (ids == NULL || next == NULL || hashes == NULL) {
        return ST_NOMEM;
    }
    shape->cap = cap;
    return ST_OK;
}

/* The recorded or made-up blocks of the next prompt into shape->next. */
static uint32_t next_blocks(struct shape *shape, const struct shape_step *step, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 0; step->row != NULL && i < step->row->run_count; i++) {
        struct block_run run = step->blocks->runs[step->row->run_at + i];
        for (uint32_t k = 0; k < run.count; k++) {
            shape->next[at++] = run.first + k;
        }
    }
    uint32_t reuse = step->row != NULL ? 0 : step->reuse_tokens / BLOCK_TOKENS;
    for (; at < count; at++) {
        bool is_old = at < reuse && at < shape->count;
        shape->next[at] = is_old ? shape->ids[at] : shape->fresh++;
    }
    uint32_t kept = 0;
    while (kept < count && kept < shape->count && shape->next[kept] == shape->ids[kept]) {
        kept++;
    }
    return kept;
}

static uint32_t block_count(const struct shape_step *step)
{
    uint32_t count = step->row == NULL ? step->in_tokens / BLOCK_TOKENS : 0;
    for (uint32_t i = 0; step->row != NULL && i < step->row->run_count; i++) {
        count += step->blocks->runs[step->row->run_at + i].count;
    }
    return count == 0 ? 1 : count;
}

/* The prompt before lies whole at the begin of the next one: the rest of its last block too, and
 * growth of less than a block is a block. */
static enum status keep_whole(struct shape *shape, uint32_t kept, bool is_longer, uint32_t *count)
{
    for (uint32_t i = kept; i < shape->count; i++) {
        if (i >= *count) {
            shape->next[i] = shape->ids[i];
            continue;
        }
        if (map_get(&shape->names, shape->next[i]) == NULL) {
            uint64_t old = *map_get(&shape->names, shape->ids[i]);
            enum status st = map_put(&shape->names, shape->next[i], old);
            if (st != ST_OK) {
                return st;
            }
        }
    }
    *count = *count < shape->count ? shape->count : *count;
    if (is_longer && *count == shape->count) {
        shape->next[(*count)++] = shape->fresh++;
    }
    return ST_OK;
}

/* A segment of the prompt before that ended in the block where the two part: as for its own end,
 * the rest of that block is what came after. */
static enum status keep_end(struct shape *shape, uint32_t at)
{
    bool is_end = map_get(&shape->ends, shape->hashes[at]) != NULL;
    if (!is_end || map_get(&shape->names, shape->next[at]) != NULL) {
        return ST_OK;
    }
    uint64_t old = *map_get(&shape->names, shape->ids[at]);
    return map_put(&shape->names, shape->next[at], old);
}

static bool is_whole(const struct shape *shape, const struct shape_step *step, uint32_t kept)
{
    if (shape->count == 0 || step->in_tokens < shape->in_tokens) {
        return false;
    }
    return step->row != NULL ? kept + SLACK_BLOCKS >= shape->base
                             : step->reuse_tokens >= shape->in_tokens;
}

/* own_at: from there on the first request is like no other. */
static enum status name_block(struct shape *shape, uint32_t i, bool is_opening, uint32_t own_at)
{
    uint32_t id = shape->next[i];
    if (map_get(&shape->names, id) != NULL) {
        return ST_OK;
    }
    uint64_t name = hash_mix(is_opening && i < own_at ? shape->open_seed : shape->seed, id);
    if (is_opening && i < shape->sys_blocks) {
        name = hash_mix(shape->sys_seed, i);
    }
    return map_put(&shape->names, id, name);
}

static enum shape_link link_of(const struct shape *shape, uint32_t kept)
{
    if (shape->count == 0) {
        return SHAPE_FIRST;
    }
    if (kept == shape->count) {
        return SHAPE_WHOLE;
    }
    if (kept * 2 >= shape->count) {
        return SHAPE_REWIND;
    }
    return kept > shape->sys_blocks + SLACK_BLOCKS ? SHAPE_COMPACT : SHAPE_CLEAR;
}

static enum status mark_end(struct shape *shape, uint32_t blocks)
{
    return blocks == 0 ? ST_OK : map_put(&shape->ends, shape->hashes[blocks - 1], 1);
}

/* Where segments of the newest prompt end: it follows one of `before` blocks and keeps `kept`. */
static enum status
mark_ends(struct shape *shape, const struct shape_step *step, uint32_t before, uint32_t kept)
{
    enum status st = mark_end(shape, shape->count);
    if (kept <= shape->sys_blocks && shape->sys_blocks < shape->count && st == ST_OK) {
        st = mark_end(shape, shape->sys_blocks); /* it may say something else now */
    }
    if (before == 0) {
        return st;
    }
    bool is_whole = kept == before;
    /* The rest of a replaced message is one block at least, then comes the reply. */
    uint32_t message = is_whole ? before : kept + 1;
    bool has_reply = is_whole || step->is_tool;
    if (has_reply && message + shape->reply < shape->count) {
        st = st == ST_OK ? mark_end(shape, message) : st;
        st = st == ST_OK ? mark_end(shape, message + shape->reply) : st;
    }
    return st;
}

enum status shape_advance(struct shape *shape, const struct shape_step *step, enum shape_link *ret)
{
    uint32_t before = shape->count;
    uint32_t count = block_count(step);
    uint32_t base = count;
    enum status st = reserve(shape, (count > before ? count : before) + 1);
    if (st != ST_OK) {
        return st;
    }
    uint32_t kept = next_blocks(shape, step, count);
    if (is_whole(shape, step, kept)) {
        st = keep_whole(shape, kept, step->in_tokens > shape->in_tokens, &count);
        kept = before;
    } else if (kept < before && kept < count) {
        st = keep_end(shape, kept);
    }
    *ret = link_of(shape, kept);
    uint32_t own_at = shape->own_blocks < count ? count - shape->own_blocks : 0;
    uint64_t hash = 0;
    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        st = name_block(shape, i, before == 0, own_at);
        if (st == ST_OK) {
            hash = hash_mix(hash, *map_get(&shape->names, shape->next[i]));
            shape->hashes[i] = hash;
        }
    }
    if (st != ST_OK) {
        return st;
    }
    memcpy(shape->ids, shape->next, count * sizeof(*shape->ids));
    shape->count = count;
    shape->base = base;
    shape->in_tokens = step->in_tokens;
    st = mark_ends(shape, step, before, kept);
    shape->reply = step->out_tokens / BLOCK_TOKENS;
    return st;
}

/* The next boundary behind block at: where a segment ends, else 4 KiB on. */
static uint32_t boundary_after(const struct shape *shape, uint32_t at, bool *ret_is_end)
{
    for (uint32_t i = at; i < shape->count && i < at + INNER_BLOCKS; i++) {
        if (map_get(&shape->ends, shape->hashes[i]) != NULL) {
            *ret_is_end = true;
            return i + 1;
        }
    }
    *ret_is_end = false;
    return at + INNER_BLOCKS;
}

void shape_chain(const struct shape *shape, struct shape_chain *ret)
{
    uint32_t total = 0;
    bool is_end = false;
    for (uint32_t at = 0; at < shape->count; at = boundary_after(shape, at, &is_end)) {
        total++;
    }
    uint32_t skip = total > COORD_CHAIN_MAX ? total - COORD_CHAIN_MAX : 0;
    uint32_t at = 0;
    ret->count = 0;
    for (uint32_t i = 0; i < total; i++) {
        at = boundary_after(shape, at, &is_end);
        if (i >= skip) {
            ret->hashes[ret->count] = is_end ? shape->hashes[at - 1] : ~shape->hashes[at - 1];
            ret->bytes[ret->count] = at * BLOCK_TOKENS * TOKEN_BYTES;
            ret->is_end[ret->count++] = is_end ? 1 : 0;
        }
    }
}
