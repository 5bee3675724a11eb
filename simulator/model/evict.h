/* SPDX-License-Identifier: Apache-2.0 */
/* The eviction policies, one entry each.
 *
 * PURE. THREAD: any. */
#ifndef SIMULATOR_MODEL_EVICT_H
#define SIMULATOR_MODEL_EVICT_H

#include "simulator/model/kv.h"

/* The entry with this name; NULL when there is none. */
const struct sim_evict *sim_evict_find(struct str name);

/* The first entry, "lru": what vLLM does. */
const struct sim_evict *sim_evict_default(void);

#endif
