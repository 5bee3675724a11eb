/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway of one loop: takes clients' requests, turns them into events for the core, and
 * carries out what the core answers. Bytes never pass through the core. THREAD: reactor (its loop);
 * front_status any. LIMITS: limits.* of the configuration. */
#ifndef COORDINATOR_IO_FRONT_H
#define COORDINATOR_IO_FRONT_H

#include "common/base/config.h"
#include "common/io/reactor/loop.h"
#include "coordinator/io/front_port.h"

struct front;
struct tls_ctx;

struct front_opts {
    struct loop *loop;
    const struct config *cfg; /* borrowed until front_reload or front_free */
    uint8_t loop_idx;         /* top bits of request ids */
    struct front_port port;
    struct tls_ctx *server_tls; /* NULL = plain */
};

MUST_CHECK enum status
front_new(struct front **ret, const struct front_opts *opts, struct err *err);
/* Ends everything at once. */
void front_free(struct front *front);
/* Serves a listening socket; takes fd on ST_OK. */
MUST_CHECK enum status front_listen(struct front *front, int fd);
/* Applies a new configuration's reloadable keys. cfg is borrowed from now on. */
void front_reload(struct front *front, const struct config *cfg);
/* Stops accepting; what runs goes on. */
void front_drain(struct front *front);
/* Brings the reactor's counts into the metrics. */
void front_publish_metrics(struct front *front);
/* Requests not yet ended. */
uint32_t front_in_flight(const struct front *front);

/* tls: for an https engine, else NULL; outlives the front. */
MUST_CHECK enum status front_add_engine(struct front *front,
                                        struct engine_id id,
                                        const struct config_engine *engine,
                                        const char *key,
                                        struct tls_ctx *tls,
                                        struct err *err);
void front_remove_engine(struct front *front, struct engine_id id);
void front_set_engine_kind(struct front *front, struct engine_id id, enum coord_engine_kind kind);
/* JSON of GET /v1/models, and whether GET /ready says yes. */
void front_set_models(struct front *front, struct str json, bool is_ready);

/* The core placed the step: what to tell the client about it. session and receipt (may be NULL) are
 * copied. */
void front_placed(struct front *front,
                  struct request_id req,
                  const char *session,
                  const char *receipt);
/* The node released the step: send it. */
void front_start(struct front *front,
                 struct request_id req,
                 struct engine_id engine,
                 uint32_t attempt);

void front_refuse(struct front *front, struct request_id req, const struct front_refusal *refusal);
/* Asks an engine how it is; COORD_EV_ENGINE_PROBED is posted later. */
void front_probe(struct front *front, struct engine_id engine, bool wants_models);

#endif
