/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated engines inside `saga serve --engines sim:N`: a thread and loop of their own, each
 * engine on its own loopback port. THREAD: main. */
#ifndef CLI_SIMFLEET_H
#define CLI_SIMFLEET_H

#include "common/base/config.h"
#include "common/base/err.h"

enum { SIMFLEET_MAX = 64 };

struct simfleet;

/* Starts count engines whose time runs speed times as fast as modelled. ST_NOMEM, ST_IO with err.
 */
MUST_CHECK enum status
simfleet_start(struct simfleet **ret, uint32_t count, double speed, struct err *err);
/* http://127.0.0.1:PORT of engine idx. */
const char *simfleet_url(const struct simfleet *fleet, uint32_t idx);
/* KV memory of each, tokens. */
uint64_t simfleet_kv_tokens(void);
void simfleet_stop(struct simfleet *fleet);

#endif
