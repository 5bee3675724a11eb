/* SPDX-License-Identifier: Apache-2.0 */
/* Makes up a JSON value that satisfies a JSON schema, as far as types, enums, required members and
 * plain bounds go. For arguments of tool calls.
 *
 * THREAD: any. LIMITS: nesting SIM_SCHEMA_DEPTH_MAX, deeper parts become null, and so does all that
 * follows after SIM_SCHEMA_BYTES_MAX. */
#ifndef SIMULATOR_WORKER_SCHEMA_H
#define SIMULATOR_WORKER_SCHEMA_H

#include "common/base/rng.h"
#include "simulator/worker/out.h"

enum { SIM_SCHEMA_DEPTH_MAX = 12, SIM_SCHEMA_BYTES_MAX = 32768 };

/* schema NULL or anything that is no schema gives {}. Strings named command or cmd hold a harmless
 * command. */
void sim_schema_write(struct sim_out *out, yyjson_val *schema, struct rng *rng);

/* The idx-th word of the vocabulary, three letters. */
struct str sim_word(uint64_t idx);

#endif
