/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of a KV memory whose blocks stay for a time after their request has ended, as Continuum
 * pins them (arXiv 2511.02230). A pinned chain holds a reference to each of its blocks and to what
 * they depend on, so that no eviction policy sees them; when it gives them back they count as
 * released then.
 *
 * PURE. THREAD: one owner. LIMITS: as many pins as the memory has blocks. */
#ifndef SIMULATOR_MODEL_PINS_H
#define SIMULATOR_MODEL_PINS_H

#include "simulator/model/kv.h"

struct sim_pins;

struct sim_pin_counts {
    uint32_t chains;        /* pinned now */
    uint64_t blocks;        /* that those hold; a shared one counts for each */
    uint64_t set_count;     /* pins made, not those moved to another time */
    uint64_t expired_count; /* their time was over */
    uint64_t broken_count;  /* something else needed the room */
    uint64_t used_count;    /* the chain ran again before */
};

/* Over a memory that finds blocks by chain (sim_kv_opts.has_chains). ST_NOMEM. */
MUST_CHECK enum status
sim_pins_new(struct sim_pins **ret, const struct mem *mem, struct sim_kv *kv);
/* Gives back what is held. */
void sim_pins_free(struct sim_pins *pins);

/* Pins the chain (not 0) up to a time, UINT64_MAX = for good, or moves that time; its blocks that
 * are in use now are held from sim_pins_released on. 0 = unpin. ST_FULL, ST_NOMEM. */
MUST_CHECK enum status sim_pins_set(struct sim_pins *pins, uint64_t chain, uint64_t until_us);

/* A request of the chain has given its blocks back. */
void sim_pins_released(struct sim_pins *pins, uint64_t chain);

/* A request of the chain has taken what it could hit. */
void sim_pins_used(struct sim_pins *pins, uint64_t chain);

/* As sim_engine_hint; false when no blocks of the chain are held. */
bool sim_pins_hint(struct sim_pins *pins, uint64_t chain, const struct sim_chain_hint *hint);

void sim_pins_expire(struct sim_pins *pins, uint64_t now_us);

/* Ends the pin that would expire first, of equals that of the smaller chain; false when there is
 * none. */
bool sim_pins_break(struct sim_pins *pins);

/* Ends all, counted as broken. */
void sim_pins_break_all(struct sim_pins *pins);

/* When the next one expires, UINT64_MAX = none does. */
uint64_t sim_pins_next_at_us(const struct sim_pins *pins);

struct sim_pin_counts sim_pins_counts(const struct sim_pins *pins);

/* Walks everything; false when an invariant is broken. */
bool sim_pins_check(const struct sim_pins *pins);

#endif
