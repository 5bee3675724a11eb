/* SPDX-License-Identifier: Apache-2.0 */
/* Events and effects as lines of JSON without pointers, and events back from such lines: a
 * recorded log replays through coord_core_step and gives the same effects. The reader takes what
 * the writer writes (keys in its order), no other JSON.
 * PURE. THREAD: any. LIMITS: COORD_CHAIN_MAX boundaries, COORD_RECORD_MODELS_MAX models per
 * event. */
#ifndef COORDINATOR_CORE_RECORD_H
#define COORDINATOR_CORE_RECORD_H

#include "common/base/arena.h"
#include "coordinator/core/event.h"
#include "coordinator/core/limits.h"

enum { COORD_RECORD_MODELS_MAX = 4096 };

/* Appends one line, with its line feed. ST_OK, ST_FULL, ST_NOMEM (out may end in half a line). */
MUST_CHECK enum status
coord_record_event(const struct coord_event *ev, uint64_t now_us, struct buf *out);

/* Appends one line per effect. */
MUST_CHECK enum status coord_record_effects(const struct coord_effects *effects, struct buf *out);

/* Reads an event's line (with or without the line feed). What *ret points to lies in the arena.
 * ST_OK; ST_NOTFOUND for an effect's line; ST_INVAL for anything else; ST_NOMEM. */
MUST_CHECK enum status coord_record_read(struct str line,
                                         struct arena *arena,
                                         struct coord_event *ret,
                                         uint64_t *ret_now_us);

/* Appends the line that says what coord_core_new or coord_core_set_limits was given. */
MUST_CHECK enum status
coord_record_limits(const struct coord_limits *limits, uint64_t seed, struct buf *out);
/* Reads such a line. ST_OK; ST_NOTFOUND: another kind of line; ST_INVAL: of another version, or
 * broken. */
MUST_CHECK enum status
coord_record_read_limits(struct str line, struct coord_limits *ret, uint64_t *ret_seed);

#endif
