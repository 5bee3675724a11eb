/* SPDX-License-Identifier: Apache-2.0 */
/* A step arrives: may it come in, whose is it, where does it go.
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_ARRIVE_H
#define COORDINATOR_CORE_ARRIVE_H

#include "coordinator/core/state.h"

/* ST_OK (it was placed or refused), or ST_NOMEM (nothing changed). */
MUST_CHECK enum status coord_on_arrived(struct coord_core *core,
                                        const struct coord_step_arrived *arrived,
                                        uint64_t now_us);

#endif
