/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator's decisions: sessions, placement, health, retries, receipts. One event and the time go in, a list of
 * effects comes out; the same events give the same effects, bit for bit.
 * PURE. THREAD: core. LIMITS: struct coord_limits; every table is bounded and counted. */
#ifndef COORDINATOR_CORE_CORE_H
#define COORDINATOR_CORE_CORE_H

#include "common/base/mem.h"
#include "coordinator/core/event.h"

struct coord_core;

struct coord_limits {
    uint32_t max_sessions;
    uint32_t max_requests;
    uint32_t max_engines;
    uint32_t max_receipts;
    uint64_t session_idle_us;
    uint32_t margin_steps;         /* routing.margin */
    bool retry_executed;
    double retry_budget_ratio;
    uint64_t health_interval_us;
    uint32_t health_fail_count;
    uint64_t health_open_us;
};

struct coord_counters {
    uint64_t steps_arrived, steps_done, steps_gone, steps_refused;
    uint64_t retries, retries_denied_budget;
    uint64_t sessions_born, sessions_forgotten, sessions_forked;
    uint64_t home_hits, home_moves;          /* steps sent to / away from their session's engine */
    uint64_t session_by_id, session_by_chain, session_new;
    uint64_t breaker_opened;
    uint64_t prompt_tokens, cached_tokens, output_tokens;   /* from engines' usage */
    uint64_t sessions_full, requests_full;
};

MUST_CHECK enum status coord_core_new(struct coord_core **ret, const struct mem *mem, const struct coord_limits *limits, uint64_t seed);
void coord_core_free(struct coord_core *core);
void coord_core_set_limits(struct coord_core *core, const struct coord_limits *limits); /* table sizes are not changed */

/* ST_OK, or ST_NOMEM (nothing changed; an ARRIVED step must then be refused by the caller), or ST_FULL (ENGINE_ADDED: max_engines).
 * Only ARRIVED, ENGINE_ADDED and ENGINE_PROBED with models can fail. ret_effects is owned by the
 * core. */
MUST_CHECK enum status coord_core_step(struct coord_core *core, const struct coord_event *ev, uint64_t now_us,
                                       const struct coord_effects **ret_effects);

const struct coord_counters *coord_core_counters(const struct coord_core *core);
uint32_t coord_core_session_count(const struct coord_core *core);
uint32_t coord_core_in_flight(const struct coord_core *core);
/* At least one engine up and the first probe of every engine answered or failed (for /ready). */
bool coord_core_is_ready(const struct coord_core *core);

/* JSON answers for the admin port, appended to out. ST_NOTFOUND where the subject is unknown. */
struct buf;
MUST_CHECK enum status coord_core_write_engines(const struct coord_core *core, uint64_t now_us, struct buf *out);
MUST_CHECK enum status coord_core_write_sessions(const struct coord_core *core, uint64_t now_us, uint32_t max_rows, struct buf *out);
MUST_CHECK enum status coord_core_write_receipt(const struct coord_core *core, struct str request_name, struct buf *out);
/* The union of the models of engines that are up, as an OpenAI model list. */
MUST_CHECK enum status coord_core_write_models(const struct coord_core *core, struct buf *out);

#endif
