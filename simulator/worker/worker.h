/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated engine behind HTTP: the OpenAI and Anthropic APIs as vLLM serves them, over the model
 * of simulator/model in real or scaled time. Many fit into one process.
 *
 * THREAD: reactor (the loop it was made for). LIMITS: body_bytes (413), requests_max and queue_max
 * (503), context (400). */
#ifndef SIMULATOR_WORKER_WORKER_H
#define SIMULATOR_WORKER_WORKER_H

#include "common/base/err.h"
#include "simulator/worker/opts.h"

struct loop;
struct sim_worker;

struct sim_worker_stats {
    struct sim_engine_counters engine;
    struct sim_kv_counts kv;
    uint32_t running; /* requests in the batch */
    uint32_t waiting;
    uint32_t requests;          /* in progress */
    uint64_t request_count;     /* ever taken */
    uint64_t client_gone_count; /* aborted because the client left */
};

/* Serves the listening socket (ownership passes on ST_OK). ST_INVAL, ST_NOMEM, ST_IO with err. */
MUST_CHECK enum status sim_worker_new(struct sim_worker **ret,
                                      struct loop *loop,
                                      const struct sim_worker_opts *opts,
                                      int listen_fd,
                                      struct err *err);
/* Closes everything at once. In the loop's thread, or after the loop has stopped. */
void sim_worker_free(struct sim_worker *worker);

void sim_worker_stats(const struct sim_worker *worker, struct sim_worker_stats *ret);

#endif
