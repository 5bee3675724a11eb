/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/graph.h"

#define MANTISSA_ONE UINT64_C(2048)

enum {
    BLOCK_STEPS = AEG_GRAPH_KEPT / AEG_GRAPH_BLOCKS,
    TOOL_BITS = 5,
    TOOL_MASK = (1 << TOOL_BITS) - 1,
    TOOL_OTHER = TOOL_MASK, /* 0 = none, 1 ... AEG_GRAPH_NAMES = a name */
    SHORT_MAX = UINT8_MAX,
    MANTISSA_BITS = 11,
    EXPONENT_MAX = 31,
    NAME_BLOCK_TEXT = AEG_GRAPH_BLOCK_BYTES - 4,
    NAME_BLOCKS = 2, /* of one graph */
};

/* A step, packed. */
struct vertex {
    uint32_t arrived_ms;
    uint32_t prompt_tokens;
    uint32_t cached_tokens;
    uint32_t output_tokens;
    uint32_t engine;
    uint16_t queued; /* durations as short_of() */
    uint16_t first;
    uint16_t total;
    uint8_t back; /* number - from; 0 = none */
    uint8_t attempts;
    uint32_t end : 3;
    uint32_t is_aside : 1;
    uint32_t tool_count : 8;
    uint32_t tools : AEG_STEP_TOOLS *TOOL_BITS;
};

/* Names one after the other, each behind a byte with its length; a length of 0 ends them. */
struct name_block {
    uint32_t next; /* SLAB_NONE */
    unsigned char text[NAME_BLOCK_TEXT];
};

_Static_assert(MANTISSA_ONE == 1 << MANTISSA_BITS, "the hidden one");
_Static_assert(sizeof(struct vertex) * BLOCK_STEPS == AEG_GRAPH_BLOCK_BYTES, "a block of steps");
_Static_assert(sizeof(struct name_block) == AEG_GRAPH_BLOCK_BYTES, "a block of names");
_Static_assert((int)AEG_GRAPH_NAMES < (int)TOOL_OTHER, "a name's number fits its bits");
_Static_assert(NAME_BLOCKS *NAME_BLOCK_TEXT - (int)AEG_GRAPH_NAMES == (int)AEG_GRAPH_NAME_BYTES,
               "room for names");

void aeg_graph_pool_init(struct aeg_graph_pool *pool, const struct mem *mem, uint32_t max_blocks)
{
    *pool = (struct aeg_graph_pool){.folded_count = 0};
    slab_init(&pool->blocks, mem, AEG_GRAPH_BLOCK_BYTES, max_blocks);
}

void aeg_graph_pool_fini(struct aeg_graph_pool *pool)
{
    slab_fini(&pool->blocks);
}

void aeg_graph_init(struct aeg_graph *graph, uint64_t now_us)
{
    *graph = (struct aeg_graph){.began_at_us = now_us, .name_block = SLAB_NONE};
    for (uint32_t i = 0; i < AEG_GRAPH_BLOCKS; i++) {
        graph->blocks[i] = SLAB_NONE;
    }
}

void aeg_graph_fini(struct aeg_graph_pool *pool, struct aeg_graph *graph)
{
    for (uint32_t i = 0; i < AEG_GRAPH_BLOCKS; i++) {
        if (graph->blocks[i] != SLAB_NONE) {
            slab_free(&pool->blocks, graph->blocks[i]);
        }
    }
    uint32_t idx = graph->name_block;
    while (idx != SLAB_NONE) {
        const struct name_block *names = slab_at(&pool->blocks, idx);
        uint32_t next = names->next;
        slab_free(&pool->blocks, idx);
        idx = next;
    }
    aeg_graph_init(graph, graph->began_at_us);
}

/* --- numbers --- */

/* A count of ms in 16 bits: 5 of exponent, 11 of mantissa with a hidden one, rounded.
 * Exact below 4096, within 0.05 % up to 4095 * 2^30 ms (139 years). */
static uint16_t short_of(uint64_t ms)
{
    uint32_t exponent = 0;
    while (ms >= 2 * MANTISSA_ONE) {
        ms = (ms + 1) >> 1;
        exponent++;
    }
    if (ms < MANTISSA_ONE) {
        return (uint16_t)ms;
    }
    exponent++;
    if (exponent > EXPONENT_MAX) {
        return UINT16_MAX;
    }
    return (uint16_t)(exponent << MANTISSA_BITS | (uint32_t)(ms - MANTISSA_ONE));
}

static uint64_t short_to_ms(uint16_t value)
{
    uint32_t exponent = value >> MANTISSA_BITS;
    uint64_t mantissa = value & (MANTISSA_ONE - 1);
    return exponent == 0 ? mantissa : (MANTISSA_ONE + mantissa) << (exponent - 1);
}

static uint64_t ms_between(uint64_t from_us, uint64_t to_us)
{
    return to_us > from_us ? (to_us - from_us) / 1000 : 0;
}

static uint32_t arrived_of(const struct aeg_graph *graph, uint64_t now_us)
{
    uint64_t ms = ms_between(graph->began_at_us, now_us);
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

static uint32_t at_most(uint32_t value, uint32_t max)
{
    return value < max ? value : max;
}

/* --- steps --- */

static bool is_kept(const struct aeg_graph *graph, uint32_t number)
{
    return number < graph->steps && graph->steps - number <= graph->kept;
}

static uint32_t *block_of(struct aeg_graph *graph, uint32_t number)
{
    return &graph->blocks[number / BLOCK_STEPS % AEG_GRAPH_BLOCKS];
}

static struct vertex *
vertex_at(const struct aeg_graph_pool *pool, const struct aeg_graph *graph, uint32_t number)
{
    uint32_t idx = graph->blocks[number / BLOCK_STEPS % AEG_GRAPH_BLOCKS];
    struct vertex *block = slab_at(&pool->blocks, idx);
    return &block[number % BLOCK_STEPS];
}

static void folded_add(struct aeg_folded *sum, uint64_t arrived_ms)
{
    if (sum->steps == 0 || arrived_ms < sum->from_ms) {
        sum->from_ms = arrived_ms;
    }
    sum->until_ms = arrived_ms > sum->until_ms ? arrived_ms : sum->until_ms;
    sum->steps++;
}

static void folded_add_open(struct aeg_folded *sum, uint64_t arrived_ms)
{
    folded_add(sum, arrived_ms);
    sum->open_arrived_ms += arrived_ms;
    sum->open_steps++;
}

static void folded_end(struct aeg_folded *sum,
                       const struct vertex *step,
                       uint64_t arrived_ms,
                       uint64_t ended_ms)
{
    sum->busy_ms += ended_ms > arrived_ms ? ended_ms - arrived_ms : 0;
    sum->until_ms = ended_ms > sum->until_ms ? ended_ms : sum->until_ms;
    sum->prompt_tokens += step->prompt_tokens;
    sum->cached_tokens += step->cached_tokens;
    sum->output_tokens += step->output_tokens;
    sum->tool_steps += step->end == AEG_END_TOOLS;
    sum->failed_steps += step->end >= AEG_END_REFUSED;
}

/* Which of the open ones it is nobody knows; over all of them the sum comes out right. */
static uint64_t folded_take_open(struct aeg_folded *sum)
{
    uint64_t arrived_ms = sum->open_arrived_ms / sum->open_steps;
    sum->open_arrived_ms -= arrived_ms;
    sum->open_steps--;
    return arrived_ms;
}

static void fold_oldest(struct aeg_graph_pool *pool, struct aeg_graph *graph)
{
    const struct vertex *step = vertex_at(pool, graph, graph->steps - graph->kept);
    uint64_t arrived_ms = step->arrived_ms;
    if (step->end == AEG_END_OPEN) {
        folded_add_open(&graph->folded, arrived_ms);
    } else {
        folded_add(&graph->folded, arrived_ms);
        folded_end(&graph->folded, step, arrived_ms, arrived_ms + short_to_ms(step->total));
    }
    graph->kept--;
    pool->folded_count++;
}

/* A full pool: the block of the graph's own oldest steps, which are folded. */
static bool take_oldest_block(struct aeg_graph_pool *pool, struct aeg_graph *graph, uint32_t *to)
{
    if (graph->kept == 0) {
        return false;
    }
    uint32_t *from = block_of(graph, graph->steps - graph->kept);
    do {
        fold_oldest(pool, graph);
    } while (graph->kept > 0 && block_of(graph, graph->steps - graph->kept) == from);
    *to = *from;
    *from = SLAB_NONE;
    return true;
}

static bool make_room(struct aeg_graph_pool *pool, struct aeg_graph *graph)
{
    if (graph->kept == AEG_GRAPH_KEPT) {
        fold_oldest(pool, graph);
    }
    uint32_t *block = block_of(graph, graph->steps);
    return *block != SLAB_NONE || slab_alloc(&pool->blocks, block) != NULL ||
           take_oldest_block(pool, graph, block);
}

uint32_t aeg_graph_open(struct aeg_graph_pool *pool,
                        struct aeg_graph *graph,
                        uint32_t from,
                        bool is_aside,
                        uint64_t now_us)
{
    uint32_t number = graph->steps;
    uint32_t arrived_ms = arrived_of(graph, now_us);
    bool has_room = make_room(pool, graph);
    graph->steps++;
    if (!has_room) {
        folded_add_open(&graph->folded, arrived_ms);
        pool->lost_count++;
        return number;
    }
    graph->kept++;
    bool is_near = from < number && number - from <= SHORT_MAX;
    *vertex_at(pool, graph, number) = (struct vertex){
        .arrived_ms = arrived_ms,
        .engine = ENGINE_NONE.v,
        .back = is_near ? (uint8_t)(number - from) : 0,
        .attempts = 1,
        .is_aside = is_aside,
    };
    return number;
}

void aeg_graph_reopen(struct aeg_graph_pool *pool,
                      struct aeg_graph *graph,
                      uint32_t number,
                      uint64_t now_us)
{
    if (!is_kept(graph, number)) {
        return;
    }
    struct vertex *step = vertex_at(pool, graph, number);
    *step = (struct vertex){
        .arrived_ms = arrived_of(graph, now_us),
        .engine = ENGINE_NONE.v,
        .back = step->back,
        .attempts = (uint8_t)at_most(step->attempts + 1U, SHORT_MAX),
        .is_aside = step->is_aside,
    };
}

void aeg_graph_set_aside(struct aeg_graph_pool *pool, struct aeg_graph *graph, uint32_t number)
{
    if (is_kept(graph, number)) {
        vertex_at(pool, graph, number)->is_aside = true;
    }
}

static void set_end(struct vertex *step, const struct aeg_step_end *end, uint64_t arrived_us)
{
    uint64_t ended_us = end->ended_at_us > arrived_us ? end->ended_at_us : arrived_us;
    uint64_t started_us = end->started_at_us == 0 ? ended_us : end->started_at_us;
    started_us = started_us > arrived_us ? started_us : arrived_us;
    uint64_t answered_us = end->answered_at_us == 0 ? ended_us : end->answered_at_us;
    step->end = end->end & 7U;
    step->engine = end->engine.v;
    step->prompt_tokens = end->prompt_tokens;
    step->cached_tokens = end->cached_tokens;
    step->output_tokens = end->output_tokens;
    step->queued = short_of(ms_between(arrived_us, started_us));
    step->first = short_of(ms_between(started_us, answered_us));
    step->total = short_of(ms_between(arrived_us, ended_us));
}

void aeg_graph_close(struct aeg_graph_pool *pool,
                     struct aeg_graph *graph,
                     uint32_t number,
                     const struct aeg_step_end *end)
{
    if (is_kept(graph, number)) {
        struct vertex *step = vertex_at(pool, graph, number);
        set_end(step, end, graph->began_at_us + (uint64_t)step->arrived_ms * 1000);
    } else if (number < graph->steps && graph->folded.open_steps > 0) {
        struct vertex sums = {.arrived_ms = 0};
        set_end(&sums, end, graph->began_at_us);
        folded_end(&graph->folded, &sums, folded_take_open(&graph->folded),
                   ms_between(graph->began_at_us, end->ended_at_us));
    }
}

/* --- names --- */

/* Without splitting a UTF-8 sequence, if that is what it is. */
static struct str name_cut(struct str name)
{
    if (name.len <= AEG_TOOL_BYTES) {
        return name;
    }
    size_t len = AEG_TOOL_BYTES;
    for (size_t i = 0; i < 3 && ((unsigned char)name.p[len] & 0xC0) == 0x80; i++) {
        len--;
    }
    bool is_split = ((unsigned char)name.p[len] & 0xC0) == 0x80;
    return (struct str){name.p, is_split ? AEG_TOOL_BYTES : len};
}

/* Where the name at *pos of the block is; false at the end of its names. */
static bool name_next(const struct name_block *names, size_t *pos, struct str *ret)
{
    if (*pos >= NAME_BLOCK_TEXT || names->text[*pos] == 0) {
        return false;
    }
    *ret = (struct str){(const char *)&names->text[*pos + 1], names->text[*pos]};
    *pos += 1 + ret->len;
    return true;
}

/* The last block's free place, and how many names and blocks there are; or the name's number. */
struct name_search {
    uint32_t *link; /* to a block that is not there yet */
    struct name_block *last;
    size_t pos;
    uint32_t count;
    uint32_t blocks;
};

static uint32_t name_find(const struct aeg_graph_pool *pool,
                          struct aeg_graph *graph,
                          struct str name,
                          struct name_search *at)
{
    *at = (struct name_search){.link = &graph->name_block};
    while (*at->link != SLAB_NONE) {
        struct str there;
        at->last = slab_at(&pool->blocks, *at->link);
        at->link = &at->last->next;
        at->pos = 0;
        at->blocks++;
        while (name_next(at->last, &at->pos, &there)) {
            at->count++;
            if (str_eq(there, name)) {
                return at->count;
            }
        }
    }
    return 0;
}

static bool name_add_block(struct aeg_graph_pool *pool, struct name_search *at)
{
    uint32_t idx = SLAB_NONE;
    struct name_block *names = at->blocks < NAME_BLOCKS ? slab_alloc(&pool->blocks, &idx) : NULL;
    if (names == NULL) {
        return false;
    }
    names->next = SLAB_NONE;
    *at->link = idx;
    at->last = names;
    at->pos = 0;
    return true;
}

static uint32_t name_number(struct aeg_graph_pool *pool, struct aeg_graph *graph, struct str name)
{
    struct name_search at;
    name = name_cut(name);
    if (name.len == 0) {
        return TOOL_OTHER;
    }
    uint32_t number = name_find(pool, graph, name, &at);
    if (number != 0) {
        return number;
    }
    bool has_room = at.last != NULL && at.pos + 1 + name.len <= NAME_BLOCK_TEXT;
    if (at.count == AEG_GRAPH_NAMES || (!has_room && !name_add_block(pool, &at))) {
        pool->other_count++;
        return TOOL_OTHER;
    }
    at.last->text[at.pos] = (unsigned char)name.len;
    memcpy(&at.last->text[at.pos + 1], name.p, name.len);
    return at.count + 1;
}

void aeg_graph_tools(struct aeg_graph_pool *pool,
                     struct aeg_graph *graph,
                     uint32_t number,
                     const struct str *tools,
                     uint32_t tool_count)
{
    if (!is_kept(graph, number)) {
        return;
    }
    uint32_t packed = 0;
    for (uint32_t i = 0; i < tool_count && i < AEG_STEP_TOOLS; i++) {
        packed |= name_number(pool, graph, tools[i]) << (i * TOOL_BITS);
    }
    struct vertex *step = vertex_at(pool, graph, number);
    step->tools = packed & ((1U << (AEG_STEP_TOOLS * TOOL_BITS)) - 1);
    step->tool_count = at_most(tool_count, SHORT_MAX) & SHORT_MAX;
}

static struct str
name_at(const struct aeg_graph_pool *pool, const struct aeg_graph *graph, uint32_t number)
{
    struct str name = STR("other");
    uint32_t idx = number == TOOL_OTHER ? SLAB_NONE : graph->name_block;
    while (idx != SLAB_NONE) {
        const struct name_block *names = slab_at(&pool->blocks, idx);
        size_t pos = 0;
        while (name_next(names, &pos, &name)) {
            number--;
            if (number == 0) {
                return name;
            }
        }
        idx = names->next;
    }
    return name;
}

bool aeg_graph_step(const struct aeg_graph_pool *pool,
                    const struct aeg_graph *graph,
                    uint32_t number,
                    struct aeg_step_view *ret)
{
    if (!is_kept(graph, number)) {
        return false;
    }
    const struct vertex *step = vertex_at(pool, graph, number);
    uint64_t total = short_to_ms(step->total);
    uint64_t queued = short_to_ms(step->queued);
    uint64_t first = short_to_ms(step->first);
    queued = queued < total ? queued : total;
    *ret = (struct aeg_step_view){
        .number = number,
        .from = step->back == 0 ? AEG_STEP_NONE : number - step->back,
        .attempts = step->attempts,
        .is_aside = step->is_aside,
        .end = (enum aeg_end)step->end,
        .engine = {step->engine},
        .arrived_ms = step->arrived_ms,
        .queued_ms = queued,
        .first_ms = first < total - queued ? first : total - queued,
        .total_ms = total,
        .prompt_tokens = step->prompt_tokens,
        .cached_tokens = step->cached_tokens,
        .output_tokens = step->output_tokens,
        .tool_count = step->tool_count,
    };
    for (uint32_t i = 0; i < ret->tool_count && i < AEG_STEP_TOOLS; i++) {
        ret->tools[i] = name_at(pool, graph, step->tools >> (i * TOOL_BITS) & TOOL_MASK);
    }
    return true;
}

const char *aeg_end_text(enum aeg_end end)
{
    switch (end) {
    case AEG_END_OPEN:
        return "open";
    case AEG_END_ANSWER:
        return "answer";
    case AEG_END_TOOLS:
        return "tools";
    case AEG_END_LENGTH:
        return "length";
    case AEG_END_OTHER:
        return "other";
    case AEG_END_REFUSED:
        return "refused";
    case AEG_END_FAILED:
        return "failed";
    case AEG_END_GONE:
        return "gone";
    }
    return "?";
}
