/* SPDX-License-Identifier: Apache-2.0 */
/* What the admin port of `saga serve` answers: health, metrics, and questions for the core.
 * THREAD: handlers on the admin thread. */
#ifndef CLI_ADMIN_ROUTES_H
#define CLI_ADMIN_ROUTES_H

#include "cli/hub.h"

struct admin;

/* Starts the admin server for cfg (admin.listen is not empty). ST_IO, ST_INVAL, ST_DENIED with err.
 */
MUST_CHECK enum status
admin_routes_start(struct admin **ret, const struct config *cfg, struct hub *hub, struct err *err);

#endif
