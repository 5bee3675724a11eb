/* SPDX-License-Identifier: Apache-2.0 */
/* The data plane's routes: which path and method is what. Everything else is refused, never
 * forwarded. THREAD: any. */
#ifndef COORDINATOR_IO_ROUTE_H
#define COORDINATOR_IO_ROUTE_H

#include "coordinator/core/event.h"

enum route_kind {
    ROUTE_STEP, /* an LLM call: step_route says which */
    ROUTE_MODELS,
    ROUTE_ROOT,
    ROUTE_HEALTH,
    ROUTE_READY,
    ROUTE_OPTIONS,    /* OPTIONS on a known path: allow says what it takes */
    ROUTE_BAD_METHOD, /* known path, other method: allow says what it takes */
    ROUTE_BAD_TARGET, /* not an origin-form path, or one that could be read in two ways */
    ROUTE_UNKNOWN,
};

struct route_match {
    enum route_kind kind;
    enum coord_route step_route;
    const char *allow; /* "POST, OPTIONS" */
};

/* method: an llhttp method number. target: as received, query included. */
struct route_match route_find(uint8_t method, struct str target);

/* A query that names a model could be read by an engine instead of the body's. */
bool route_query_names_model(struct str target);

/* Serves an engine of this kind the route as it stands? */
bool route_is_served(enum coord_route route, enum coord_engine_kind kind);

#endif
