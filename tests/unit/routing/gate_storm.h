/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes become a row of events for a gate: steps, engines that come and go, policies. After
 * each one the gate's books are compared with a recount, and every step's state with what it was
 * told: each starts once at most, on an engine that is there, and ends once. THREAD: one. */
#ifndef TESTS_UNIT_ROUTING_GATE_STORM_H
#define TESTS_UNIT_ROUTING_GATE_STORM_H

#include "common/base/mem.h"

#include <stddef.h>
#include <stdint.h>

/* Counts, so that a test can tell that something happened. */
struct gate_storm_counts {
    uint32_t submitted;
    uint32_t started;
    uint32_t settled;
    uint32_t withdrawn;
    uint32_t moves;
    uint32_t pauses;
    uint32_t engines_gone;
    uint32_t failed; /* for lack of memory */
};

/* Asserts as said above, with ASSERT. mem may fail. */
void gate_storm(const uint8_t *data,
                size_t len,
                const struct mem *mem,
                struct gate_storm_counts *ret);

#endif
