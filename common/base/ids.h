/* SPDX-License-Identifier: Apache-2.0 */
/* Identifiers as one-field structs, so that the compiler catches a swap.
 * PURE. THREAD: any. */
#ifndef COMMON_BASE_IDS_H
#define COMMON_BASE_IDS_H

#include <stdint.h>

/* A client request in progress: loop in the top 8 bits, then a counter; never reused while the
 * process lives. */
struct request_id {
    uint64_t v;
};

/* An engine of the fleet; never reused while the process lives. */
struct engine_id {
    uint32_t v;
};

#define ENGINE_NONE ((struct engine_id){UINT32_MAX})

#endif
