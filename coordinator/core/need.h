/* SPDX-License-Identifier: Apache-2.0 */
/* What the node is told of a step beside where it goes (routing/gate.h): bytes become tokens by the
 * session's own ratio.
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_NEED_H
#define COORDINATOR_CORE_NEED_H

#include "coordinator/core/state.h"

/* Of a session that has not told its tokens. */
#define COORD_TOKENS_PER_BYTE 0.25

struct gate_need coord_need_of(const struct coord_request *request);

/* done NULL = it has no answer. After its end was told to the session's story. */
struct gate_usage coord_usage_of(const struct coord_core *core,
                                 const struct coord_request *request,
                                 const struct coord_step_done *done,
                                 uint64_t now_us);

#endif
