/* SPDX-License-Identifier: Apache-2.0 */
/* How a reply looks in each API, as stream events and as a whole body. Shapes follow vLLM.
 * THREAD: any. */
#ifndef SIMULATOR_WORKER_DIALECT_H
#define SIMULATOR_WORKER_DIALECT_H

#include "simulator/worker/reply.h"

/* One answer under way. */
struct sim_render {
    enum sim_api api;
    bool wants_usage;
    bool wants_usage_each;
    bool lacks_done; /* leave the closing event out */
    struct str id;   /* without the API's prefix */
    struct str model;
    uint64_t created_s;  /* wall clock, since 1970 */
    uint32_t max_tokens; /* as asked, 0 = not given */
    uint32_t prompt_tokens;
    uint32_t cached_tokens;   /* of the prompt; known from the first token on */
    uint32_t output_tokens;   /* rendered so far; all of them in a whole body */
    uint32_t sequence_number; /* responses: of the next event */
    const struct sim_reply *reply;
};

struct sim_dialect {
    /* Events before anything is generated; may be NULL. */
    void (*open)(struct sim_render *r, struct sim_out *out);
    /* Events before the one of the first token; may be NULL. */
    void (*first)(struct sim_render *r, struct sim_out *out);
    /* The event of one token. */
    void (*piece)(struct sim_render *r, const struct sim_piece *piece, struct sim_out *out);
    /* Events after the last token. */
    void (*close)(struct sim_render *r, struct sim_out *out);
    /* The body when not streaming. */
    void (*whole)(struct sim_render *r, struct sim_out *out);
};

extern const struct sim_dialect sim_dialect_chat;
extern const struct sim_dialect sim_dialect_completions;
extern const struct sim_dialect sim_dialect_responses;
extern const struct sim_dialect sim_dialect_messages;

/* The dialect of an API that generates. */
static inline const struct sim_dialect *sim_dialect_of(enum sim_api api)
{
    switch (api) {
    case SIM_API_CHAT:
        return &sim_dialect_chat;
    case SIM_API_COMPLETIONS:
        return &sim_dialect_completions;
    case SIM_API_RESPONSES:
        return &sim_dialect_responses;
    case SIM_API_MESSAGES:
        return &sim_dialect_messages;
    case SIM_API_COUNT:
    case SIM_API_TOKENIZE:
        break;
    }
    return NULL;
}

/* Prompt tokens that this request put into the cache: its full blocks that were not there. */
static inline uint32_t sim_render_stored_tokens(const struct sim_render *r)
{
    return r->prompt_tokens / SIM_BLOCK_TOKENS * SIM_BLOCK_TOKENS - r->cached_tokens;
}

#endif
