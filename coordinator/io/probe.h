/* SPDX-License-Identifier: Apache-2.0 */
/* Asks an engine how it is: GET /health, then (when wanted) GET /v1/models for its models and kind,
 * and /version where the models do not tell. The result is posted as COORD_EV_ENGINE_PROBED.
 * THREAD: reactor. LIMITS: answers up to PROBE_BODY_MAX bytes; one probe per engine at a time. */
#ifndef COORDINATOR_IO_PROBE_H
#define COORDINATOR_IO_PROBE_H

#include "coordinator/io/front_state.h"

void probe_start(struct front *front, struct engine_id engine, bool wants_models);
/* Ends all without a word. */
void probe_stop_all(struct front *front);

#endif
