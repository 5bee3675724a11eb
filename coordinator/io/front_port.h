/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway and the owner of the core exchange besides events: the way to post them, request
 * ids, refusals. THREAD: any (plain data). */
#ifndef COORDINATOR_IO_FRONT_PORT_H
#define COORDINATOR_IO_FRONT_PORT_H

#include "coordinator/core/event.h"

/* Where events go. post may run the core at once, but the functions below are called by the core's
 * owner only later, from the loop. The event is borrowed for the call. */
struct front_port {
    void (*post)(void *ctx, const struct coord_event *ev);
    void *ctx;
};

/* Set in a request id whose client asked for a receipt. */
#define FRONT_WANTS_RECEIPT (UINT64_C(1) << 55)
static inline uint8_t front_loop_of(struct request_id req)
{
    return (uint8_t)(req.v >> 56);
}

/* Why the core refuses a step. */
struct front_refusal {
    enum coord_refuse why;
    uint32_t retry_after_s;
    enum coord_fail last_fail;
    uint16_t last_status;
};

#endif
