/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator's decisions: sessions, placement, health, retries, receipts. One event and the
 * time go in, a list of effects comes out; the same events give the same effects, bit for bit.
 * PURE. THREAD: core. LIMITS: struct coord_limits; every table is bounded and counted. */
#ifndef COORDINATOR_CORE_CORE_H
#define COORDINATOR_CORE_CORE_H

#include "common/base/mem.h"
#include "coordinator/core/event.h"
#include "coordinator/core/limits.h"

struct coord_core;

MUST_CHECK enum status coord_core_new(struct coord_core **ret,
                                      const struct mem *mem,
                                      const struct coord_limits *limits,
                                      uint64_t seed);
void coord_core_free(struct coord_core *core);
void coord_core_set_limits(struct coord_core *core,
                           const struct coord_limits *limits); /* table sizes are not changed */

/* ST_OK, or ST_NOMEM (nothing changed; an ARRIVED step must then be refused by the caller), or
 * ST_FULL (ENGINE_ADDED: max_engines), or as coord_workflows_declare. Only ARRIVED, ENGINE_ADDED,
 * ENGINE_PROBED with models and WORKFLOW_DECLARED can fail. ret_effects is owned by the core. */
MUST_CHECK enum status coord_core_step(struct coord_core *core,
                                       const struct coord_event *ev,
                                       uint64_t now_us,
                                       const struct coord_effects **ret_effects);

const struct coord_counters *coord_core_counters(const struct coord_core *core);
void coord_core_gauges(const struct coord_core *core, struct coord_gauges *ret);
uint32_t coord_core_session_count(const struct coord_core *core);
uint32_t coord_core_in_flight(const struct coord_core *core);
/* At least one engine can take steps (for /ready). An engine that is added does not take that back.
 */
bool coord_core_is_ready(const struct coord_core *core);

/* JSON answers for the admin port, appended to out. ST_NOTFOUND where the subject is unknown. */
struct buf;
MUST_CHECK enum status
coord_core_write_engines(const struct coord_core *core, uint64_t now_us, struct buf *out);
MUST_CHECK enum status coord_core_write_sessions(const struct coord_core *core,
                                                 uint64_t now_us,
                                                 uint32_t max_rows,
                                                 struct buf *out);

enum coord_session_format { COORD_SESSION_JSON, COORD_SESSION_DOT, COORD_SESSION_SVG };

/* The sessions of this label and those that they started, with their graphs and, in JSON, what is
 * expected of them. */
MUST_CHECK enum status coord_core_write_session(const struct coord_core *core,
                                                uint64_t now_us,
                                                struct str label,
                                                enum coord_session_format format,
                                                struct buf *out);
/* Is there a session of this label? */
bool coord_core_has_session(const struct coord_core *core, struct str label);
/* Declared workflows, those in use first, then the most recently used. */
MUST_CHECK enum status
coord_core_write_workflows(const struct coord_core *core, uint32_t max_rows, struct buf *out);
MUST_CHECK enum status coord_core_write_workflow(const struct coord_core *core,
                                                 struct str tenant,
                                                 struct str id,
                                                 struct buf *out);
bool coord_core_has_workflow(const struct coord_core *core, struct str tenant, struct str id);
MUST_CHECK enum status
coord_core_write_receipt(const struct coord_core *core, struct str request_name, struct buf *out);
/* The union of the models of engines that are up, as an OpenAI model list. */
MUST_CHECK enum status coord_core_write_models(const struct coord_core *core, struct buf *out);

#endif
