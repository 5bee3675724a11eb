/* SPDX-License-Identifier: Apache-2.0 */
/* An answer other than success, and its body in the words and shapes of vLLM.
 * THREAD: any. */
#ifndef SIMULATOR_WORKER_REFUSAL_H
#define SIMULATOR_WORKER_REFUSAL_H

#include "common/base/err.h"
#include "simulator/worker/out.h"

struct sim_refusal {
    int status;        /* HTTP */
    const char *param; /* field at fault, NULL = none */
    char text[ERR_TEXT_BYTES];
};

/* Fills it and returns false, so that a reader can write: return sim_refuse(ret, 400, "n", "...");
 */
bool sim_refuse(struct sim_refusal *ret, int status, const char *param, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Body of the OpenAI routes: {"error":{"message","type","param","code"}}. */
void sim_refusal_openai(const struct sim_refusal *refusal, struct sim_out *out);
/* Body of /v1/messages: {"type":"error","error":{"type","message"}}. */
void sim_refusal_anthropic(const struct sim_refusal *refusal, struct sim_out *out);

#endif
