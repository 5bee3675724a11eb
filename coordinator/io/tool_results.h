/* SPDX-License-Identifier: Apache-2.0 */
/* Which tools' results a prompt ends with: those that come after the model's last turn, by the
 * calls of that turn.
 * THREAD: any. LIMITS: looks at the last TOOL_RESULTS_BACK messages, and at TOOL_RESULTS_CALLS
 * calls among them. */
#ifndef COORDINATOR_IO_TOOL_RESULTS_H
#define COORDINATOR_IO_TOOL_RESULTS_H

#include "coordinator/core/event.h"
#include "coordinator/io/tool_names.h"

enum { TOOL_RESULTS_BACK = 128, TOOL_RESULTS_CALLS = 32 };

/* Adds the names to names. messages: `messages` or `input` of the body; NULL or any other value
 * gives none. */
void tool_results_read(enum coord_route route, yyjson_val *messages, struct tool_names *names);

#endif
