/* SPDX-License-Identifier: Apache-2.0 */
/* saga sim --events FILE: a log of `saga serve --record-events` through the coordinator's core once
 * more.
 * THREAD: one. */
#ifndef CLI_SIM_EVENTS_H
#define CLI_SIM_EVENTS_H

#include <stdbool.h>

/* Prints what was replayed and whether every decision came out as recorded. Returns an exit code:
 * CMD_FAILED when one did not, or the file cannot be read. */
int sim_events(const char *path, bool is_json);

#endif
