/* SPDX-License-Identifier: Apache-2.0 */
/* The prompt of one session as it grows: a chat message list of the recorded lengths, of which
 * exactly the recorded prefix is kept from step to step. Kept twice: as JSON to send, and flat, as
 * an engine sees it (prompt_render.h), to count tokens and shared prefixes. PURE. THREAD: one
 * owner. LIMITS: PROMPT_BYTES_MAX for each form. */
#ifndef BENCH_REPLAY_PROMPT_H
#define BENCH_REPLAY_PROMPT_H

#include "bench/replay/prompt_render.h"

enum { PROMPT_BYTES_MAX = 1 << 28, PROMPT_MESSAGES_MAX = 1 << 16 };

struct prompt_message {
    enum prompt_role role;
    size_t json_at; /* into json, at its comma or brace */
    size_t flat_at; /* into flat */
    size_t text_at; /* its content: [text_at, text_end) of flat */
    size_t text_end;
    uint64_t tool_call; /* number of the call it makes or answers, 0 = none */
};

struct prompt {
    const struct mem *mem;
    struct buf json; /* the messages, comma-separated, without the brackets */
    struct buf flat;
    size_t answer_end; /* of flat: the prompt before and its answer, all of which the engine has
                          seen; 0 = the prompt does not begin with them */
    struct prompt_message *messages; /* [count] */
    uint32_t count;
    uint32_t cap;
};

/* What the next step's prompt looks like, in tokens already scaled. */
struct prompt_step {
    uint64_t seed;       /* of the session's text; the same in all its steps */
    uint64_t sys_seed;   /* of the system prompt */
    uint32_t sys_tokens; /* used by the first step */
    uint32_t step;       /* 0.. */
    uint32_t in_tokens;
    uint32_t reuse_tokens; /* ignored when keeps_all */
    bool keeps_all;        /* the whole prompt before is a prefix of this one */
    bool is_tool;          /* opened by tool results */
};

void prompt_init(struct prompt *prompt, const struct mem *mem);
void prompt_fini(struct prompt *prompt);

/* Turns the prompt of the step before (empty at step 0) into this step's. reply is what the model
 * answered to it. The result is in_tokens long where that is possible: a kept prefix, the reply and
 * a minimum of new text may make it longer. ST_NOMEM, ST_FULL: the prompt is unusable. */
MUST_CHECK enum status
prompt_advance(struct prompt *prompt, const struct prompt_step *step, struct str reply);

/* Tokens an engine is expected to count. */
uint32_t prompt_tokens(const struct prompt *prompt);

/* The message list, without its brackets. */
static inline struct str prompt_json(const struct prompt *prompt)
{
    return buf_str(&prompt->json);
}

/* What an engine sees, four bytes a token. */
static inline struct str prompt_flat(const struct prompt *prompt)
{
    return buf_str(&prompt->flat);
}

#endif
