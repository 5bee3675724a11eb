/* SPDX-License-Identifier: Apache-2.0 */
/* Rendezvous (highest random weight) hashing: each key orders the engines its own way, so that a
 * lost engine moves only its own keys and a new one takes an equal part from everybody.
 * PURE. THREAD: any. */
#ifndef ROUTING_RENDEZVOUS_H
#define ROUTING_RENDEZVOUS_H

#include <stdint.h>

/* Weight of an engine for a key; the engine with the greatest weight is the key's.
 *
 *     weight(key, engine) = XXH3_64(key, engine)   both as 8 little-endian bytes
 *
 * Source: Thaler and Ravishankar 1998, "Using name-based mappings to increase hit rates";
 * docs/formulas.md#F3.
 *
 * key         of the session, well mixed or not
 * engine_key  stable hash of the engine's name */
uint64_t route_rendezvous_weight(uint64_t key, uint64_t engine_key);

#endif
