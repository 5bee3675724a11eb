/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of agent sends a prompt, by its opening: the tools, and the system prompt with the
 * system messages that follow it (docs/formulas.md#F11).
 * PURE. THREAD: one owner. LIMITS: OPENING_CACHE sketches are remembered. */
#ifndef COORDINATOR_IO_OPENING_H
#define COORDINATOR_IO_OPENING_H

#include "coordinator/io/chain.h"

enum { OPENING_CACHE = 4096 };

/* Sketches of openings seen lately; all zero at its start. */
struct opening_cache {
    struct opening_sketch {
        uint64_t opening; /* 0 = free */
        uint64_t sketch;
    } items[OPENING_CACHE]; /* at the place that the opening's low bits say */
};

/* The sketch of the prompt's opening, which has the chain hash `opening`; 0 for opening 0. O(1)
 * when it is remembered, else O(SKETCH_TEXT_BYTES + tools). */
uint64_t
opening_sketch(struct opening_cache *cache, uint64_t opening, const struct chain_prompt *prompt);

#endif
