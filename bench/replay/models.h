/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a server for its models: GET /v1/models, the first id.
 * THREAD: reactor. */
#ifndef BENCH_REPLAY_MODELS_H
#define BENCH_REPLAY_MODELS_H

#include "common/base/err.h"
#include "common/io/reactor/http_client.h"

enum { MODELS_NAME_BYTES = 256, MODELS_BODY_MAX = 1 << 22 };

struct models;

/* name is "" when there was no answer to use; err says why. The object is gone when this returns.
 */
typedef void (*models_done_fn)(void *ctx, const char *name, const struct err *err);

/* Starts; done is never called from inside. api_key may be NULL. ST_NOMEM, ST_FULL. */
MUST_CHECK enum status models_ask(struct http_endpoint *endpoint,
                                  struct loop *loop,
                                  const char *api_key,
                                  models_done_fn done,
                                  void *ctx,
                                  struct models **ret);
/* Ends it without a word. NULL is fine. */
void models_cancel(struct models *models);

#endif
