/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/pins.h"

#include "common/base/heap.h"
#include "common/base/map.h"

struct pin {
    struct heap_node node; /* key: until_us, tie: chain */
    uint64_t chain;
    struct sim_chain_hint hint; /* the chain's own is forgotten with its last unreferenced block */
    uint32_t *blocks;           /* [block_count] held, what depends on another behind it */
    uint32_t block_count;
};

struct sim_pins {
    const struct mem *mem;
    struct sim_kv *kv;
    struct map by_chain; /* -> struct pin */
    struct heap by_end;
    uint32_t *scratch; /* [total_blocks] */
    struct sim_pin_counts counts;
};

enum status sim_pins_new(struct sim_pins **ret, const struct mem *mem, struct sim_kv *kv)
{
    uint32_t total = sim_kv_counts(kv).total_blocks;
    struct sim_pins *pins = mem_calloc(mem, 1, sizeof(*pins));
    if (pins == NULL) {
        return ST_NOMEM;
    }
    pins->mem = mem;
    pins->kv = kv;
    map_init(&pins->by_chain, mem, total);
    heap_init(&pins->by_end, mem, total);
    pins->scratch = mem_calloc(mem, total, sizeof(*pins->scratch));
    if (pins->scratch == NULL) {
        sim_pins_free(pins);
        return ST_NOMEM;
    }
    *ret = pins;
    return ST_OK;
}

static struct pin *pin_of(const struct sim_pins *pins, uint64_t chain)
{
    const uint64_t *at = pins->by_chain.count > 0 ? map_get(&pins->by_chain, chain) : NULL;
    return at != NULL ? (struct pin *)(uintptr_t)*at : NULL;
}

static void let_go(struct sim_pins *pins, struct pin *pin)
{
    if (pin->block_count == 0) {
        return;
    }
    sim_kv_release(pins->kv, pin->blocks, pin->block_count, pin->chain);
    sim_kv_hint(pins->kv, pin->chain, &pin->hint);
    pins->counts.blocks -= pin->block_count;
    mem_free(pins->mem, pin->blocks, pin->block_count * sizeof(*pin->blocks));
    pin->blocks = NULL;
    pin->block_count = 0;
}

static void end(struct sim_pins *pins, struct pin *pin)
{
    let_go(pins, pin);
    heap_remove(&pins->by_end, &pin->node);
    (void)map_remove(&pins->by_chain, pin->chain);
    mem_free(pins->mem, pin, sizeof(*pin));
    pins->counts.chains--;
}

static struct pin *first_to_end(const struct sim_pins *pins)
{
    struct heap_node *node = heap_min(&pins->by_end);
    return node != NULL ? HEAP_OWNER(node, struct pin, node) : NULL;
}

void sim_pins_free(struct sim_pins *pins)
{
    if (pins == NULL) {
        return;
    }
    sim_pins_break_all(pins);
    map_fini(&pins->by_chain);
    heap_fini(&pins->by_end);
    mem_free(pins->mem, pins->scratch,
             sim_kv_counts(pins->kv).total_blocks * sizeof(*pins->scratch));
    mem_free(pins->mem, pins, sizeof(*pins));
}

/* Holds what nobody references now, beside what it holds. For want of memory it holds nothing. */
static void hold(struct sim_pins *pins, struct pin *pin)
{
    let_go(pins, pin);
    pin->hint = sim_kv_chain_hint(pins->kv, pin->chain);
    uint32_t count = sim_kv_hold(pins->kv, pin->chain, pins->scratch);
    if (count == 0) {
        return;
    }
    pin->blocks = mem_calloc(pins->mem, count, sizeof(*pin->blocks));
    if (pin->blocks == NULL) {
        sim_kv_release(pins->kv, pins->scratch, count, pin->chain);
        sim_kv_hint(pins->kv, pin->chain, &pin->hint);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        pin->blocks[i] = pins->scratch[i];
    }
    pin->block_count = count;
    pins->counts.blocks += count;
}

static enum status make(struct sim_pins *pins, uint64_t chain, uint64_t until_us, struct pin **ret)
{
    struct pin *pin = mem_calloc(pins->mem, 1, sizeof(*pin));
    if (pin == NULL) {
        return ST_NOMEM;
    }
    pin->chain = chain;
    enum status st = map_put(&pins->by_chain, chain, (uint64_t)(uintptr_t)pin);
    if (st == ST_OK) {
        st = heap_insert(&pins->by_end, &pin->node, until_us, chain);
        if (st == ST_OK) {
            pins->counts.chains++;
            pins->counts.set_count++;
            *ret = pin;
            return ST_OK;
        }
        (void)map_remove(&pins->by_chain, chain);
    }
    mem_free(pins->mem, pin, sizeof(*pin));
    return st;
}

enum status sim_pins_set(struct sim_pins *pins, uint64_t chain, uint64_t until_us)
{
    ASSERT(chain != 0);
    struct pin *pin = pin_of(pins, chain);
    if (until_us == 0) {
        if (pin != NULL) {
            end(pins, pin);
        }
        return ST_OK;
    }
    if (pin != NULL) {
        heap_update(&pins->by_end, &pin->node, until_us, chain);
        return ST_OK;
    }
    enum status st = make(pins, chain, until_us, &pin);
    if (st == ST_OK) {
        hold(pins, pin);
    }
    return st;
}

void sim_pins_released(struct sim_pins *pins, uint64_t chain)
{
    struct pin *pin = pin_of(pins, chain);
    if (pin != NULL) {
        hold(pins, pin);
    }
}

void sim_pins_used(struct sim_pins *pins, uint64_t chain)
{
    struct pin *pin = pin_of(pins, chain);
    if (pin != NULL) {
        pins->counts.used_count++;
        pin->hint = SIM_CHAIN_UNKNOWN;
        end(pins, pin);
    }
}

bool sim_pins_hint(struct sim_pins *pins, uint64_t chain, const struct sim_chain_hint *hint)
{
    struct pin *pin = pin_of(pins, chain);
    if (pin == NULL || pin->block_count == 0) {
        return false;
    }
    pin->hint = *hint;
    return true;
}

void sim_pins_expire(struct sim_pins *pins, uint64_t now_us)
{
    struct pin *pin = first_to_end(pins);
    for (; pin != NULL && pin->node.key <= now_us; pin = first_to_end(pins)) {
        pins->counts.expired_count++;
        end(pins, pin);
    }
}

bool sim_pins_break(struct sim_pins *pins)
{
    struct pin *pin = first_to_end(pins);
    if (pin != NULL) {
        pins->counts.broken_count++;
        end(pins, pin);
    }
    return pin != NULL;
}

void sim_pins_break_all(struct sim_pins *pins)
{
    while (sim_pins_break(pins)) {
    }
}

uint64_t sim_pins_next_at_us(const struct sim_pins *pins)
{
    const struct pin *pin = first_to_end(pins);
    return pin != NULL ? pin->node.key : UINT64_MAX;
}

struct sim_pin_counts sim_pins_counts(const struct sim_pins *pins)
{
    return pins->counts;
}

bool sim_pins_check(const struct sim_pins *pins)
{
    const struct sim_pin_counts *n = &pins->counts;
    uint64_t blocks = 0;
    uint32_t it = 0;
    uint64_t chain = 0;
    uint64_t at = 0;
    while (map_next(&pins->by_chain, &it, &chain, &at)) {
        const struct pin *pin = (const struct pin *)(uintptr_t)at;
        blocks += pin->block_count;
        if (pin->chain != chain || !heap_node_is_linked(&pin->node)) {
            return false;
        }
        for (uint32_t i = 0; i < pin->block_count; i++) {
            if (!sim_kv_is_held(pins->kv, pin->blocks[i])) {
                return false;
            }
        }
    }
    return blocks == n->blocks && n->chains == pins->by_chain.count &&
           n->chains == pins->by_end.count &&
           n->set_count >= n->chains + n->expired_count + n->broken_count + n->used_count;
}
