/* SPDX-License-Identifier: Apache-2.0 */
/* Error bodies in the shape of the API that was asked, for whole answers and inside streams.
 * THREAD: any. */
#ifndef COORDINATOR_IO_ERRORS_H
#define COORDINATOR_IO_ERRORS_H

#include "common/base/str.h"
#include "coordinator/core/event.h"

struct error_info {
    int status;         /* HTTP status; decides `type` */
    const char *code;   /* short word, e.g. "model_not_found" */
    struct str message; /* for people; never echoes a prompt or a key */
    struct str request; /* x-request-id, may be empty */
};

enum { ERROR_BODY_BYTES = 1024 };

/* JSON body for a route: Anthropic's shape for messages and count_tokens, OpenAI's otherwise.
 * Always fits into ERROR_BODY_BYTES (the message is cut) and is terminated; returns its length. */
size_t
error_write_body(enum coord_route route, const struct error_info *info, char *out, size_t cap);
/* The same as one SSE event, ending in an empty line: `data: {"error":...}` for chat and
 * completions, `event: error` + data for responses (type "error") and messages. */
size_t
error_write_event(enum coord_route route, const struct error_info *info, char *out, size_t cap);

#endif
