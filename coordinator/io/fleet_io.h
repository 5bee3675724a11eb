/* SPDX-License-Identifier: Apache-2.0 */
/* What one loop knows of each engine to be able to talk to it: endpoint, name, key, kind. Decisions
 * about engines are the core's. THREAD: reactor. LIMITS: max engines given at init. */
#ifndef COORDINATOR_IO_FLEET_IO_H
#define COORDINATOR_IO_FLEET_IO_H

#include "common/base/config.h"
#include "common/base/err.h"
#include "common/base/ids.h"
#include "common/io/reactor/http_client.h"
#include "coordinator/core/event.h"

enum { FLEET_NAME_BYTES = 64, FLEET_KEY_BYTES = 1024, FLEET_URL_BYTES = 1024 };

struct fleet_engine {
    struct engine_id id;
    enum coord_engine_kind kind; /* COORD_ENGINE_UNKNOWN until probed, unless configured */
    bool is_kind_fixed;
    struct http_endpoint *ep;
    char name[FLEET_NAME_BYTES];
    char url[FLEET_URL_BYTES];
    char key[FLEET_KEY_BYTES]; /* "" = none; never logged */
};

struct fleet_io {
    struct http_client *client;
    struct fleet_engine **engines; /* [count] */
    uint32_t count;
    uint32_t cap;
};

void fleet_io_init(struct fleet_io *fleet, struct http_client *client);
void fleet_io_fini(struct fleet_io *fleet);
/* key: text sent as bearer token, "" = none. tls: for https, else NULL. ST_INVAL (URL), ST_NOMEM,
 * with err. */
MUST_CHECK enum status fleet_io_add(struct fleet_io *fleet,
                                    struct engine_id id,
                                    const struct config_engine *engine,
                                    const char *key,
                                    struct tls_ctx *tls,
                                    struct err *err);
/* Calls in progress go on. */
void fleet_io_remove(struct fleet_io *fleet, struct engine_id id);
/* NULL when unknown. O(engines). */
struct fleet_engine *fleet_io_find(const struct fleet_io *fleet, struct engine_id id);

#endif
