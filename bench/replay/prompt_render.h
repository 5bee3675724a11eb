/* SPDX-License-Identifier: Apache-2.0 */
/* How a message list becomes what an engine counts and caches: the chat template and the
 * pseudo-tokens of the simulated engine (simulator/worker/chain.h), four bytes each. Texts begin on
 * a token; marks are tokens that no text makes. Other engines differ by a few tokens a message.
 * PURE. THREAD: any. */
#ifndef BENCH_REPLAY_PROMPT_RENDER_H
#define BENCH_REPLAY_PROMPT_RENDER_H

#include "common/base/str.h"

enum prompt_role { PROMPT_SYSTEM, PROMPT_USER, PROMPT_ASSISTANT, PROMPT_TOOL };

/* Name of a role in the API. */
const char *prompt_role_name(enum prompt_role role);

/* What stands before and behind a message's content. ST_NOMEM, ST_FULL. */
MUST_CHECK enum status prompt_render_open(struct buf *flat, enum prompt_role role);
MUST_CHECK enum status
prompt_render_close(struct buf *flat, enum prompt_role role, uint64_t tool_call);
/* What ends every prompt: the answer is opened. */
MUST_CHECK enum status prompt_render_tail(struct buf *flat);

/* Bytes of both together without a tool call, and of the tail. */
enum { PROMPT_FRAME_BYTES = 8, PROMPT_TAIL_BYTES = 4 };

/* Id of a tool call, as both sides of it quote it. */
enum { PROMPT_CALL_ID_BYTES = 24 };
void prompt_call_id(uint64_t tool_call, char out[PROMPT_CALL_ID_BYTES]);

#endif
